"""`taskie report`: a plan as one HTML file for people. Only the command line imports this."""
