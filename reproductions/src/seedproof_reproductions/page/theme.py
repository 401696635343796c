"""Colors that follow the reader's choice of light or dark, also inside an image.

An image is asked for the scheme of the element that shows it, which MkDocs' theme sets with its
switch; where nothing sets one, it is the system's.
"""

INK, FAINT, GRID, GROUND = "var(--ink)", "var(--faint)", "var(--grid)", "var(--ground)"
ACCENT, WARNING = "var(--accent)", "var(--warning)"
LIGHT = {
    "ink": "#333a42",
    "faint": "#6b737c",
    "grid": "#e4e1da",
    "ground": "#ffffff",
    "accent": "#1d6a96",
    "warning": "#b3541e",
}
DARK = {
    "ink": "#dfe3e8",
    "faint": "#9aa3ad",
    "grid": "#3a3f4a",
    "ground": "#1e2129",
    "accent": "#7cc0e8",
    "warning": "#f0a06a",
}


def _rule(colors: dict[str, str]) -> str:
    found = ";".join(f"--{name}:{color}" for name, color in colors.items())
    return f"svg{{{found}}}"


STYLE = f"<style>{_rule(LIGHT)}@media (prefers-color-scheme: dark){{{_rule(DARK)}}}</style>"
