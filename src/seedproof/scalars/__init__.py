"""One number per run, without examples: reading, figures and comparisons."""
