"""The sections of pages without a semantic id."""
