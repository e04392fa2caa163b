"""Pages of projects: Tables, Search Tools, MCP endpoints, members and synonyms."""
