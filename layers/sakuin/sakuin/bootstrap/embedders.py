"""The embedder of each model that an index is kept of."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from sakuin.bootstrap.watching import Watch, indexing_embedder
from sakuin.domain.recipe import EmbeddingModel
from sakuin.settings import Secrets, Settings

if TYPE_CHECKING:
    from postgrest import SyncPostgrestClient as Client

    from sakuin.ports.embedding import Embedder


def embedder_of_each_model(
    settings: Settings, secrets: Secrets, observed: Watch, client: "Client"
) -> "Callable[[EmbeddingModel], Embedder]":
    """The embedder of each model that an index is kept of."""

    @cache
    def embeds(model: EmbeddingModel) -> "Embedder":
        return indexing_embedder(replace(settings, embedding_model=model), secrets, observed, client)

    return embeds
