"""What changed in the index, for programs that follow it."""
