"""How fast and how right, measured by commands that anyone can run again."""
