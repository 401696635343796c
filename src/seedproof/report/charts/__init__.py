"""Charts as Vega-Lite. Altair and vl-convert are imported in this folder and nowhere else."""

from seedproof.report.charts.drawing import (
    FORMATS,
    javascript,
    picture,
    picture_spec,
    spec,
)

__all__ = ["FORMATS", "javascript", "picture", "picture_spec", "spec"]
