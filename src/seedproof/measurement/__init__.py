"""Measure: aligned records in, one streaming pass, frozen results with intervals out."""
