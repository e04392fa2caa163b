"""The first example of the MCP SDK and of FastMCP: a tool that adds two numbers, without sessions, answers as JSON.

`python -m benchmarks.comparison.peers.servers sdk`, or `fastmcp`.
"""

import sys

from fastmcp import FastMCP
from mcp.server import MCPServer

from benchmarks.comparison.server import serve


def add(a: int, b: int) -> int:
    """Add two numbers"""
    return a + b


def main(name: str) -> None:
    """Serves until the process ends."""
    if name == "sdk":
        server = MCPServer("Demo")
        server.tool()(add)
        serve(server.streamable_http_app(stateless_http=True, json_response=True))
    else:
        demo = FastMCP("Demo")
        demo.tool(add)
        serve(demo.http_app(stateless_http=True, json_response=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
