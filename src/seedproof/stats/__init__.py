"""Statistics that decide: intervals, contrasts, effects, power, permutation tests."""
