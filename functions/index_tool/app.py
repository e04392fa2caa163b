"""Walks Tables: messages from ToolQueue."""

import os

from sakuin.bootstrap.table_indexing import table_indexer

handler = table_indexer(os.environ)
