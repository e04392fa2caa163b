"""What a reader learns from an explanation."""
