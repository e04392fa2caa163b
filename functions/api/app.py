"""The REST API: /v1, /healthz."""

import os

from sakuin.wiring import api
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import restorable

handler = restorable(lambda: api.handler(Clients.of(os.environ, "Api")))
