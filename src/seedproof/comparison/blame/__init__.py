"""The source of randomness that causes the flips."""
