"""The command line: one verb for each step of the flow."""
