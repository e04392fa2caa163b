"""Builds the handler of each function from its settings."""
