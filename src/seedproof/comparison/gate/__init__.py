"""Rules, verdicts, and the environments that records were made in."""
