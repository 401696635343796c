"""Show: results wrapped for people, as words, tables and files."""
