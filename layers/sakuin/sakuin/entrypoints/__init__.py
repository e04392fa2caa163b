"""One protocol a file."""
