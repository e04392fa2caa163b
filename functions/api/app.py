"""Answers the keepers of the library: /v1, /healthz."""

import os

from sakuin.bootstrap.functions import rest_endpoint

handler = rest_endpoint(os.environ)
