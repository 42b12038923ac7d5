"""Ratios measured in one run: the hook against the bare shell and the bare interpreter."""
