"""How a built HTML page becomes a `Page`."""
