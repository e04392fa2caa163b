"""Processes events of the materials bucket: messages from MaterialQueue."""

import os

from sakuin.wiring.index_material import material_indexer

handler = material_indexer(os.environ)
