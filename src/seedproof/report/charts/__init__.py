"""Charts as Vega-Lite. Altair and vl-convert are imported in this folder and nowhere else."""

from seedproof.report.charts.drawing import FORMATS, find, javascript, picture, spec

__all__ = ["FORMATS", "find", "javascript", "picture", "spec"]
