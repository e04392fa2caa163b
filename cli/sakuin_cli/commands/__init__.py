"""One command a file, with the use case that only it needs."""
