"""Would another seed have given another reason? What a report says and shows of explanations."""
