"""Recommenders of the thesis behind the CoNLL 2019 paper (chapter 3), reproduced."""
