"""Can one run stand in for many? What a report says of runs over their steps."""
