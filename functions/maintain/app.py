"""Runs on a schedule: maintenance, reconciliation, the canary."""

import os

from sakuin.wiring import maintain
from sakuin.wiring.clients import Clients

handler = maintain.handler(Clients.of(os.environ, "Maintain"))
