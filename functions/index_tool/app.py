"""Imports documents and scans Tables: messages from ToolQueue."""

import os

from sakuin.wiring.index_tool import table_indexer

handler = table_indexer(os.environ)
