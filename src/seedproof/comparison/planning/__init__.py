"""Numbers of seeds, and the effects that they can show."""
