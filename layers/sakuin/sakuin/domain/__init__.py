"""What is true, with no I/O."""
