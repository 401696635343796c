"""Versions that all settings share, under the name that pages import until they are rewritten."""

from seedproof_reproductions.results import shared_versions

__all__ = ["shared_versions"]
