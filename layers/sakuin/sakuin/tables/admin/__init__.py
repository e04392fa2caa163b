"""Administration of projects, Tables, Tools and endpoints."""
