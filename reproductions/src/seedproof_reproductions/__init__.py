"""Papers reproduced with the house's own studies, records, measures and comparisons."""
