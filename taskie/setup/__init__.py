"""`taskie install`, `taskie uninstall`, `taskie doctor`: set-up and care. Nothing here is on the hook's path."""
