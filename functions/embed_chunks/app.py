"""Embeds the chunks of Tables: messages from EmbedQueue."""

import os

from sakuin.wiring import embed_chunks
from sakuin.wiring.clients import Clients

handler = embed_chunks.handler(Clients.of(os.environ, "Index"))
