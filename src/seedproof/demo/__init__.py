"""Real records that come with the package, for `seedproof demo`."""
