"""Answers agents: POST /mcp."""

import os

from sakuin.bootstrap.answering import mcp_endpoint
from sakuin.bootstrap.restoring import restorable

handler = restorable(lambda: mcp_endpoint(os.environ))
