"""What the pages of reproduced papers have in common: words, verdicts, claims, drawing."""
