"""How a question is read."""
