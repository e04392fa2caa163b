"""Explanations: how a question was interpreted and ranked."""
