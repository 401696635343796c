"""Charts as Vega-Lite. vl-convert, which draws pictures, is imported in this folder alone."""

from seedproof.report.charts.drawing import (
    FORMATS,
    javascript,
    picture,
    picture_spec,
    spec,
)

__all__ = ["FORMATS", "javascript", "picture", "picture_spec", "spec"]
