"""The settings of a function, from its environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sakuin.errors import Misconfigured
from sakuin.knowledge.names import has_host
from sakuin.knowledge.page import DEFAULT_BOX_SELECTORS
from sakuin.limits import Limits
from sakuin.platform.embedding import DIMENSIONS, EmbeddingModel
from sakuin.platform.retry import QueueName
from sakuin.retrieval.index_version import KnowledgeStore, TableCut


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a deployed function. Their defaults are in `template.yaml`.

    `base_url` prefixes each link; `material_prefix` is the part of S3 keys before a material's name. `learns_model` is
    the language model that writes `learns`, empty for none. `knowledge_store`: where explanations are searched.
    `table_cut`: the size of the chunks of Tables. `vocabulary` is the name of the vocabulary of pages, empty for none.
    A message returns to its queue if its worker does not extend its lease for `lease_seconds`. `activate_when_built`: a
    complete index version becomes the live one; else `sakuin index activate` does that. `public_library`: `/public/mcp`
    answers without a key. `library_for_users`: every user of Supabase Auth may search at `/mcp`. `chatgpt_tools`: the
    tools that ChatGPT's connectors expect are wanted; `feedback_tool`: that with which agents say whether a result
    answered. `record_refused_questions`: questions without a good match are kept for some days. `api_url` is the
    address that agents use; empty: the domain of the gateway's API. `webhooks`: events are sent to `public` addresses,
    also to `private` ones, or are `off`.
    """

    bucket: str
    queue_url: str
    secret_name: str
    supabase_url: str
    openai_base_url: str
    embedding_model: EmbeddingModel
    learns_model: str
    base_url: str
    public_library: bool
    library_for_users: bool
    api_url: str
    chatgpt_tools: bool
    feedback_tool: bool
    record_refused_questions: bool
    material_prefix: str
    allowed_origins: tuple[str, ...]
    box_selectors: tuple[str, ...]
    tables_bucket: str
    event_bus_name: str
    tool_queue_url: str
    embed_queue_url: str
    webhook_queue_url: str
    webhooks: str
    turbopuffer_base_url: str
    knowledge_store: KnowledgeStore
    table_cut: TableCut
    vocabulary: str
    activate_when_built: bool
    lease_seconds: int
    limits: Limits
    # Only the function `api` may read it.
    users_secret_name: str
    # Only the functions `maintain` and `api` have it.
    mcp_function: str
    # Workers have that of their queue, the function `api` has all.
    dead_letter_urls: Mapping[QueueName, str]

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Reads the settings; `Misconfigured` if one is missing or wrong."""
        return cls(
            bucket=_text(environ, "MATERIALS_BUCKET"),
            queue_url=_text(environ, "MATERIAL_QUEUE_URL"),
            secret_name=_text(environ, "SECRET_NAME"),
            supabase_url=_text(environ, "SUPABASE_URL"),
            openai_base_url=_text(environ, "OPENAI_BASE_URL"),
            embedding_model=EmbeddingModel(
                name=_text(environ, "EMBEDDING_MODEL"),
                dimensions=DIMENSIONS,
                query_prefix=_any_text(environ, "EMBEDDING_QUERY_PREFIX"),
                passage_prefix=_any_text(environ, "EMBEDDING_PASSAGE_PREFIX"),
            ),
            # `sam deploy` accepts no empty value; a space replaces it.
            learns_model=_any_text(environ, "LEARNS_MODEL").strip(),
            base_url=_any_text(environ, "BASE_URL"),
            public_library=_text(environ, "PUBLIC_LIBRARY") == "true",
            library_for_users=_text(environ, "LIBRARY_FOR_USERS") == "true",
            api_url=_any_text(environ, "API_URL").strip(),
            chatgpt_tools=_text(environ, "CHATGPT_TOOLS") == "true",
            feedback_tool=_text(environ, "FEEDBACK_TOOL") == "true",
            record_refused_questions=_text(environ, "RECORD_REFUSED_QUESTIONS") == "true",
            material_prefix=folder_prefix(_any_text(environ, "MATERIAL_PREFIX")),
            allowed_origins=tuple(_any_text(environ, "ALLOWED_ORIGINS").split()),
            tables_bucket=_text(environ, "TABLES_BUCKET"),
            event_bus_name=_text(environ, "EVENT_BUS_NAME"),
            tool_queue_url=_text(environ, "TOOL_QUEUE_URL"),
            embed_queue_url=_text(environ, "EMBED_QUEUE_URL"),
            webhook_queue_url=_text(environ, "WEBHOOK_QUEUE_URL"),
            webhooks=_text(environ, "WEBHOOKS"),
            turbopuffer_base_url=_text(environ, "TURBOPUFFER_BASE_URL"),
            knowledge_store="turbopuffer" if _text(environ, "KNOWLEDGE_STORE") == "turbopuffer" else "postgres",
            table_cut=TableCut(
                chunk_size=_number(environ, "CHUNK_SIZE_CHARS"), overlap=_number(environ, "CHUNK_OVERLAP_CHARS")
            ),
            vocabulary=_any_text(environ, "VOCABULARY").strip(),
            box_selectors=css_selectors(_any_text(environ, "BOX_SELECTORS")),
            activate_when_built=_text(environ, "ACTIVATE_WHEN_BUILT") == "true",
            lease_seconds=_number(environ, "LEASE_SECONDS"),
            limits=Limits.read(_text(environ, "LIMITS")),
            users_secret_name=_any_text(environ, "USERS_SECRET_NAME").strip(),
            mcp_function=environ.get("MCP_FUNCTION", ""),
            dead_letter_urls={
                "material": environ.get("MATERIAL_DEAD_LETTERS_URL", ""),
                "tool": environ.get("TOOL_DEAD_LETTERS_URL", ""),
                "embed": environ.get("EMBED_DEAD_LETTERS_URL", ""),
                "webhook": environ.get("WEBHOOK_DEAD_LETTERS_URL", ""),
            },
        )

    @property
    def queue_urls(self) -> Mapping[QueueName, str]:
        return {
            "material": self.queue_url,
            "tool": self.tool_queue_url,
            "embed": self.embed_queue_url,
            "webhook": self.webhook_queue_url,
        }

    @property
    def offers_chatgpt_tools(self) -> bool:
        """Returns whether the tools for ChatGPT are offered: it cites full links only."""
        return self.chatgpt_tools and has_host(self.base_url)


def _any_text(environ: Mapping[str, str], name: str) -> str:
    if name in environ:
        return environ[name]
    raise Misconfigured(f"{name} is not set. Add it to the environment of the function, as in `template.yaml`.")


def _text(environ: Mapping[str, str], name: str) -> str:
    if value := _any_text(environ, name).strip():
        return value
    raise Misconfigured(f"{name} is empty. Set its parameter of `template.yaml`.")


def folder_prefix(prefix: str) -> str:
    """Returns a folder as the prefix of keys: `/a/site` → `a/site/`; empty for the top."""
    path = prefix.strip("/")
    return f"{path}/" if path else ""


def css_selectors(text: str) -> tuple[str, ...]:
    """Returns the CSS selectors between commas, or the default ones. `:is(.a, .b)` is one selector."""
    selectors = (selector.strip() for selector in re.split(r",(?![^()\[\]]*[)\]])", text))
    return tuple(selector for selector in selectors if selector) or DEFAULT_BOX_SELECTORS


def _number(environ: Mapping[str, str], name: str) -> int:
    value = _text(environ, name)
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a whole number, not {value!r}") from None
