"""For people who work on Taskie; no part of what is installed."""
