"""Processes events of the materials bucket: messages from MaterialQueue."""

import os

from sakuin.wiring import index_material
from sakuin.wiring.clients import Clients

handler = index_material.handler(Clients.of(os.environ, "Index"))
