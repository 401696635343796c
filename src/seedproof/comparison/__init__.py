"""Decide: is a difference real, may it ship, how many seeds are needed, what is to blame."""
