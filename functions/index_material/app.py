"""Follows the materials bucket: messages from MaterialQueue."""

import os

from sakuin.bootstrap.material_indexing import material_indexer

handler = material_indexer(os.environ)
