"""Embeds the chunks of Tables: messages from EmbedQueue."""

import os

from sakuin.wiring.embed_chunks import chunk_embedder

handler = chunk_embedder(os.environ)
