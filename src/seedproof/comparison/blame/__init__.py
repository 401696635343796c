"""Which source of randomness is to blame."""
