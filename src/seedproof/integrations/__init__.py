"""Thin adapters to other frameworks."""
