"""For tests of seedproof and of what is built on it: simulated studies with a known truth."""
