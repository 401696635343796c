"""Check that optional dependencies are installed, and say how to install them."""

from importlib.util import find_spec

from seedproof.errors import MissingExtraError


def require(module: str, *, extra: str, feature: str) -> None:
    """Check that an optional dependency is installed.

    It imports nothing; a plain import, visible to tools, follows in the calling function.
    """
    if find_spec(module) is None:
        raise MissingExtraError(
            "{feature} needs {module}, which is not installed. "
            "Install it with: pip install 'seedproof[{extra}]'",
            feature=feature,
            module=module,
            extra=extra,
        )
