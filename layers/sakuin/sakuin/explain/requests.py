"""The requests of `POST /v1/explain`."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sakuin.arguments import Folder, Name, Query, TopK, Type
from sakuin.language.model import Rule
from sakuin.retrieval.vectors import SearchMode


class FiltersAsked(BaseModel):
    """The filters of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Type = None
    category: Name | None = None
    level: Name | None = None
    material: Name | None = None
    folder: Folder = None


class ExplanationAsked(BaseModel):
    """A question and its options. With `tool` it is for a Search Tool of the endpoint `mcp_id`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Query
    expected: (
        Annotated[str, Field(max_length=2000), AfterValidator(lambda id: unicodedata.normalize("NFC", id))] | None
    ) = None
    top_k: TopK = 5
    depth: TopK = 10
    filters: FiltersAsked = FiltersAsked()
    legs: SearchMode = "both"
    without: Annotated[frozenset[Rule], Field(max_length=20)] = frozenset()
    tool: Name | None = None
    mcp_id: Name | None = None
    # A fingerprint, its beginning, or "next"; without it the active index version.
    index: Name | None = None
