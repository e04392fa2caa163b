"""Answers agents: POST /mcp."""

import os

from sakuin.bootstrap.functions import mcp_endpoint

handler = mcp_endpoint(os.environ)
