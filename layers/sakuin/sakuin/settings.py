"""The settings of a function, from its environment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sakuin.errors import Misconfigured
from sakuin.knowledge.names import has_host
from sakuin.knowledge.page import css_selectors
from sakuin.limits import Limits
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel
from sakuin.platform.retry import QUEUES, QueueName
from sakuin.retrieval.index_version import KnowledgeStore, TableCut

Environment = Mapping[str, str]


def _any_text(environ: Environment, name: str) -> str:
    if name in environ:
        return environ[name]
    raise Misconfigured(f"{name} is not set. Add it to the environment of the function, as in `template.yaml`.")


def _stripped(environ: Environment, name: str) -> str:
    # `sam deploy` accepts no empty value; a space replaces it.
    return _any_text(environ, name).strip()


def _text(environ: Environment, name: str) -> str:
    if value := _stripped(environ, name):
        return value
    raise Misconfigured(f"{name} is empty. Set its parameter of `template.yaml`.")


def _flag(environ: Environment, name: str) -> bool:
    return _text(environ, name) == "true"


def _number(environ: Environment, name: str) -> int:
    value = _text(environ, name)
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a whole number, not {value!r}") from None


def _store(environ: Environment, name: str) -> KnowledgeStore:
    return "turbopuffer" if _text(environ, name) == "turbopuffer" else "postgres"


def _model(environ: Environment, name: str) -> EmbeddingModel:
    prefixes = (_any_text(environ, f"EMBEDDING_{kind}_PREFIX") for kind in ("QUERY", "PASSAGE"))
    return EmbeddingModel(_text(environ, name), DIMENSIONS, *prefixes)


def _cut(environ: Environment, name: str) -> TableCut:
    return TableCut(chunk_size=_number(environ, name), overlap=_number(environ, "CHUNK_OVERLAP_CHARS"))


def folder_prefix(prefix: str) -> str:
    """Returns a folder as the prefix of keys: `/a/site` → `a/site/`; empty for the top."""
    path = prefix.strip("/")
    return f"{path}/" if path else ""


def _dead_letter_urls(environ: Environment, name: str) -> Mapping[QueueName, str]:
    return {queue: environ.get(f"{queue.upper()}_{name}", "") for queue in QUEUES}


def _setting(name: str, read: Callable[[Environment, str], object] = _text) -> Any:
    """Describes a setting: its variable, and what reads it."""
    return field(metadata={"read": lambda environ: read(environ, name)})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a deployed function. Their defaults are in `template.yaml`.

    `base_url` prefixes each link; `material_prefix` is the part of S3 keys before a material's name. `learns_model` is
    the language model that writes `learns`, empty for none; an address of its own is `learns_base_url`.
    `knowledge_store`: where explanations are searched. `table_cut`: the size of the chunks of Tables.
    `vocabulary` is the name of the vocabulary of pages, empty for none.
    `public_library`: below `/public` no key is needed. `library_for_users`: every user of Supabase Auth may search
    at `/mcp`. `chatgpt_tools`: the tools that ChatGPT's connectors expect are wanted; `feedback_tool`: that with which
    agents say whether a result answered. `record_refused_questions`: questions without a good match are kept for some
    days. `api_url` is the address that agents use; empty: the domain of the gateway's API.
    """

    bucket: str = _setting("MATERIALS_BUCKET")
    queue_url: str = _setting("MATERIAL_QUEUE_URL")
    secret_name: str = _setting("SECRET_NAME")
    supabase_url: str = _setting("SUPABASE_URL")
    openai_base_url: str = _setting("OPENAI_BASE_URL")
    embedding_model: EmbeddingModel = _setting("EMBEDDING_MODEL", _model)
    learns_model: str = _setting("LEARNS_MODEL", _stripped)
    learns_base_url: str = _setting("LEARNS_BASE_URL", _stripped)
    base_url: str = _setting("BASE_URL", _any_text)
    public_library: bool = _setting("PUBLIC_LIBRARY", _flag)
    library_for_users: bool = _setting("LIBRARY_FOR_USERS", _flag)
    api_url: str = _setting("API_URL", _stripped)
    chatgpt_tools: bool = _setting("CHATGPT_TOOLS", _flag)
    feedback_tool: bool = _setting("FEEDBACK_TOOL", _flag)
    record_refused_questions: bool = _setting("RECORD_REFUSED_QUESTIONS", _flag)
    material_prefix: str = _setting("MATERIAL_PREFIX", lambda environ, name: folder_prefix(_any_text(environ, name)))
    allowed_origins: tuple[str, ...] = _setting(
        "ALLOWED_ORIGINS", lambda environ, name: tuple(_any_text(environ, name).split())
    )
    box_selectors: tuple[str, ...] = _setting(
        "BOX_SELECTORS", lambda environ, name: css_selectors(_any_text(environ, name))
    )
    tables_bucket: str = _setting("TABLES_BUCKET")
    event_bus_name: str = _setting("EVENT_BUS_NAME")
    tool_queue_url: str = _setting("TOOL_QUEUE_URL")
    embed_queue_url: str = _setting("EMBED_QUEUE_URL")
    turbopuffer_base_url: str = _setting("TURBOPUFFER_BASE_URL")
    knowledge_store: KnowledgeStore = _setting("KNOWLEDGE_STORE", _store)
    table_cut: TableCut = _setting("CHUNK_SIZE_CHARS", _cut)
    vocabulary: str = _setting("VOCABULARY", _stripped)
    limits: Limits = _setting("LIMITS", lambda environ, name: Limits.read(_text(environ, name)))
    # Only the function `api` may read it.
    users_secret_name: str = _setting("USERS_SECRET_NAME", _stripped)
    # Only the functions `maintain` and `api` have it.
    mcp_function: str = _setting("MCP_FUNCTION", lambda environ, name: environ.get(name, ""))
    # Workers have that of their queue, the function `api` has all.
    dead_letter_urls: Mapping[QueueName, str] = _setting("DEAD_LETTERS_URL", _dead_letter_urls)

    @classmethod
    def read(cls, environ: Environment) -> "Settings":
        """Reads the settings; `Misconfigured` if one is missing or wrong."""
        return cls(**{each.name: each.metadata["read"](environ) for each in fields(cls)})

    @property
    def queue_urls(self) -> Mapping[QueueName, str]:
        return {"material": self.queue_url, "tool": self.tool_queue_url, "embed": self.embed_queue_url}

    @property
    def offers_chatgpt_tools(self) -> bool:
        """Returns whether the tools for ChatGPT are offered: it cites full links only."""
        return self.chatgpt_tools and has_host(self.base_url)
