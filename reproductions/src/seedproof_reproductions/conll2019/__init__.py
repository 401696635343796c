"""On Model Stability as a Function of Random Seed (Madhyastha & Jain, CoNLL 2019), reproduced."""
