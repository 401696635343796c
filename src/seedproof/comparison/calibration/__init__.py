"""Temperature scaling: fitted on one split, measured on another."""
