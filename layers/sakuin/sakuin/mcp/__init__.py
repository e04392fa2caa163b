"""The Model Context Protocol: what agents call."""
