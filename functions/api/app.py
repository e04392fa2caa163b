"""The REST API: /v1, /healthz."""

import os

from sakuin.wiring.api import rest_endpoint
from sakuin.wiring.starting import restorable

handler = restorable(lambda: rest_endpoint(os.environ))
