"""Imports documents and scans Tables: messages from ToolQueue."""

import os

from sakuin.wiring import index_tool
from sakuin.wiring.clients import Clients

handler = index_tool.handler(Clients.of(os.environ, "Index"))
