"""OpenAI, and endpoints with its API."""
