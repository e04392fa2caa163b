"""The reader of HTML pages."""
