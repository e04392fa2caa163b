"""An OpenAI-compatible embeddings endpoint with a model from a Python package."""
