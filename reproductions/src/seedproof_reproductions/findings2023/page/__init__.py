"""The pages of the reproduction, made from stored results alone."""
