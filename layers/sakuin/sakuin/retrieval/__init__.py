"""What the searches of pages and of Tables share: ranking, weights, vectors, index versions."""
