"""Walks Tables: messages from ToolQueue."""

import os

from sakuin.bootstrap.functions import table_indexer

handler = table_indexer(os.environ)
