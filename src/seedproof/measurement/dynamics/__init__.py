"""What runs do over their steps: how much one of them wavers, and whether it tells of the rest."""
