"""Sentences, tables and texts of a report about explanations."""
