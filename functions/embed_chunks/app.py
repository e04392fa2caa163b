"""Embeds the chunks of Tables: messages from EmbedQueue."""

import os

from sakuin.bootstrap.chunk_embedding import chunk_embedder

handler = chunk_embedder(os.environ)
