"""An OpenAI-compatible embeddings endpoint on a model that ships inside a package."""
