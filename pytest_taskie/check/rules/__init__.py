"""One rule each: what it is about, why, an example and the fix, and how it is found."""
