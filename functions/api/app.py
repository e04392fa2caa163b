"""Answers the keepers of the library: /v1, /healthz."""

import os

from sakuin.bootstrap.rest import rest_endpoint
from sakuin.bootstrap.restoring import restorable

handler = restorable(lambda: rest_endpoint(os.environ))
