"""A user's words in a terminal."""


def printable(text: str) -> str:
    """Words on one line, without what could steer a terminal."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in line)
