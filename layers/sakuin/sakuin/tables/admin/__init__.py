"""Projects, Tables, Tools and endpoints, as people change them."""
