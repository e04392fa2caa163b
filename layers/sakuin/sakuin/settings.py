"""What the environment says, read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sakuin.errors import Misconfigured
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.limits import Limits
from sakuin.platform.embedding import EmbeddingModel
from sakuin.retrieval.index_version import TableCut


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a deployed function, from its environment. Their defaults are in `template.yaml`.

    `base_url` goes before each link, `material_prefix` is the part of S3 keys that is not in a material's name.
    `learns_model` names the language model that writes `learns`; empty means that none is asked.
    `table_cut` says which strings of Tables are large, and how large their chunks are.
    A message comes back to its queue when its worker gave no sign for `lease_seconds`.
    `flip_when_built`: an index version answers as soon as it is complete; else `sakuin index flip` says when.
    """

    bucket: str
    queue_url: str
    secret_name: str
    supabase_url: str
    openai_base_url: str
    embedding_model: EmbeddingModel
    learns_model: str
    base_url: str
    material_prefix: str
    allowed_origins: tuple[str, ...]
    box_selectors: tuple[str, ...]
    tables_bucket: str
    event_bus_name: str
    tool_queue_url: str
    embed_queue_url: str
    turbopuffer_base_url: str
    table_cut: TableCut
    embedding_usd_per_million_tokens: float
    flip_when_built: bool
    lease_seconds: int
    limits: Limits
    # Empty but for the function that asks it.
    mcp_function: str

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Reads the settings in `environ`; a missing or unusable one raises `Misconfigured`."""
        return cls(
            bucket=_text(environ, "MATERIALS_BUCKET"),
            queue_url=_text(environ, "MATERIAL_QUEUE_URL"),
            secret_name=_text(environ, "SECRET_NAME"),
            supabase_url=_text(environ, "SUPABASE_URL"),
            openai_base_url=_text(environ, "OPENAI_BASE_URL"),
            embedding_model=EmbeddingModel(
                name=_text(environ, "EMBEDDING_MODEL"),
                dimensions=_number(environ, "EMBEDDING_DIMENSIONS"),
                query_prefix=_any_text(environ, "EMBEDDING_QUERY_PREFIX"),
                passage_prefix=_any_text(environ, "EMBEDDING_PASSAGE_PREFIX"),
            ),
            # `sam deploy` asks for a value and accepts no empty one: a space stands for it.
            learns_model=_any_text(environ, "LEARNS_MODEL").strip(),
            base_url=_any_text(environ, "BASE_URL"),
            material_prefix=folder_prefix(_any_text(environ, "MATERIAL_PREFIX")),
            allowed_origins=tuple(_any_text(environ, "ALLOWED_ORIGINS").split()),
            tables_bucket=_text(environ, "TABLES_BUCKET"),
            event_bus_name=_text(environ, "EVENT_BUS_NAME"),
            tool_queue_url=_text(environ, "TOOL_QUEUE_URL"),
            embed_queue_url=_text(environ, "EMBED_QUEUE_URL"),
            turbopuffer_base_url=_text(environ, "TURBOPUFFER_BASE_URL"),
            table_cut=TableCut(
                threshold=_number(environ, "CHUNK_THRESHOLD_CHARS"),
                chunk_size=_number(environ, "CHUNK_SIZE_CHARS"),
                overlap=_number(environ, "CHUNK_OVERLAP_CHARS"),
            ),
            box_selectors=css_selectors(_any_text(environ, "BOX_SELECTORS")),
            embedding_usd_per_million_tokens=_price(environ, "EMBEDDING_USD_PER_MILLION_TOKENS"),
            flip_when_built=_text(environ, "FLIP_WHEN_BUILT") == "true",
            lease_seconds=_number(environ, "LEASE_SECONDS"),
            limits=Limits.read(_text(environ, "LIMITS")),
            mcp_function=environ.get("MCP_FUNCTION", ""),
        )


def _any_text(environ: Mapping[str, str], name: str) -> str:
    if name in environ:
        return environ[name]
    raise Misconfigured(f"{name} is not set. `template.yaml` sets it in the environment of each function.")


def _text(environ: Mapping[str, str], name: str) -> str:
    if value := _any_text(environ, name).strip():
        return value
    raise Misconfigured(f"{name} is empty. Give its parameter of `template.yaml` a value.")


def folder_prefix(prefix: str) -> str:
    """A folder as keys begin with it: `/a/site` → `a/site/`; nothing for the top."""
    path = prefix.strip("/")
    return f"{path}/" if path else ""


def css_selectors(text: str) -> tuple[str, ...]:
    """CSS selectors between commas, the default ones for none; `:is(.a, .b)` is one selector."""
    selectors = (selector.strip() for selector in re.split(r",(?![^()\[\]]*[)\]])", text))
    return tuple(selector for selector in selectors if selector) or DEFAULT_BOX_SELECTORS


def _number(environ: Mapping[str, str], name: str) -> int:
    value = _text(environ, name)
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a whole number, not {value!r}") from None


def _price(environ: Mapping[str, str], name: str) -> float:
    value = _text(environ, name)
    try:
        return float(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a number, not {value!r}") from None
