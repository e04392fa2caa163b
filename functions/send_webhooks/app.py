"""Sends events to those who subscribed: messages from WebhookQueue."""

import os

from sakuin.wiring import send_webhooks
from sakuin.wiring.clients import Clients

handler = send_webhooks.handler(Clients.of(os.environ, "Webhooks"))
