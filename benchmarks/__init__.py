"""What the hook costs, measured against the bare shell and the bare interpreter; and a simulation. No tests."""
