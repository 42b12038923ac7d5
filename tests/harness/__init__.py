"""The plugin's own tests: one file for each option, fixture or helper."""
