"""The front door: whatever holds the answers of several runs, read and described in one place."""
