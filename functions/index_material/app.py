"""Follows the materials bucket: messages from MaterialQueue."""

import os

from sakuin.bootstrap.functions import material_indexer

handler = material_indexer(os.environ)
