"""What the searches of pages and of Tables share."""
