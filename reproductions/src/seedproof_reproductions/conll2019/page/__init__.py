"""The page of the reproduction, made from stored results alone."""
