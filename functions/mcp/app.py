"""Answers agents: POST /mcp."""

import os

from sakuin.wiring import mcp
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import restorable

handler = restorable(lambda: mcp.handler(Clients.of(os.environ, "Search")))
