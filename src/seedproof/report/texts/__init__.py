"""Reports on runs that give free texts."""
