"""The REST API: /v1, /healthz."""

from sakuin.wiring.handlers import http_function

handler = http_function("api", "Api")
