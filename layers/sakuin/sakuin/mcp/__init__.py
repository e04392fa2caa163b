"""The Model Context Protocol: tools for agents."""
