"""Commands for authors, on their own files."""
