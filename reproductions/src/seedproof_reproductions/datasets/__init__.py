"""Texts with labels by name: public ones are fetched, others are the user's own copy."""
