"""Answers agents: POST /mcp."""

from sakuin.wiring.handlers import http_function

handler = http_function("mcp", "Search")
