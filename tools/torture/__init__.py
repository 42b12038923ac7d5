"""`make torture`: faults, floods, storms and mutants, each tried until it is counted. Not part of the daily tests."""
