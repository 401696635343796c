"""Optional dependencies: check that one is there, and say how to get it if not."""

from importlib.util import find_spec

from seedproof.errors import MissingExtraError


def require(module: str, *, extra: str, feature: str) -> None:
    """Check that an optional dependency is installed.

    It imports nothing: a plain import follows in the same function, where tools can see it.
    """
    if find_spec(module) is None:
        raise MissingExtraError(
            "{feature} needs {module}, which is not installed. "
            "Install it with: pip install 'seedproof[{extra}]'",
            feature=feature,
            module=module,
            extra=extra,
        )
