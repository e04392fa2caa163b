"""Answers agents: POST /mcp."""

import os

from sakuin.wiring.mcp import mcp_endpoint
from sakuin.wiring.starting import restorable

handler = restorable(lambda: mcp_endpoint(os.environ))
