"""What the environment says, read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sakuin.domain.limits import Limits
from sakuin.domain.page import DEFAULT_BOX_SELECTORS
from sakuin.domain.recipe import EmbeddingModel
from sakuin.domain.table_cut import TableCut
from sakuin.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a deployed function, from its environment.

    `base_url` goes before each link, `material_prefix` is the part of S3 keys that is not in a material's name.
    `learns_model` names the language model that writes `learns`; empty means that none is asked.
    `tables_bucket` and `event_bus_name` are missed only by a function that uses them (`configured`).
    `table_cut` says which strings of Tables are large, and how large their chunks are.
    Indexing waits for the next day once `embedding_daily_tokens` are embedded; 0 is no limit.
    `flip_when_built`: another index answers as soon as it is whole; else its keepers flip to it.
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
    max_page_bytes: int
    allowed_origins: tuple[str, ...]
    box_selectors: tuple[str, ...]
    tables_bucket: str = ""
    event_bus_name: str = ""
    tool_queue_url: str = ""
    embed_queue_url: str = ""
    material_dead_letters_url: str = ""
    tool_dead_letters_url: str = ""
    embed_dead_letters_url: str = ""
    turbopuffer_base_url: str = ""
    table_cut: TableCut = field(default_factory=TableCut)
    embedding_daily_tokens: int = 0
    embedding_usd_per_million_tokens: float = 0.02
    flip_when_built: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """The settings in `environ`; a missing or unusable one raises `Misconfigured`."""
        return cls(
            bucket=_text(environ, "MATERIALS_BUCKET", "sakuin-materials-123456789012"),
            queue_url=_text(environ, "MATERIAL_QUEUE_URL", "https://sqs.…/MaterialQueue"),
            secret_name=_text(environ, "SECRET_NAME", "sakuin/prod"),
            supabase_url=_text(environ, "SUPABASE_URL", "https://abcd.supabase.co"),
            openai_base_url=environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            embedding_model=EmbeddingModel(
                name=_text(environ, "EMBEDDING_MODEL", "text-embedding-3-small"),
                dimensions=_number(environ, "EMBEDDING_DIMENSIONS", 1536),
                query_prefix=environ.get("EMBEDDING_QUERY_PREFIX", ""),
                passage_prefix=environ.get("EMBEDDING_PASSAGE_PREFIX", ""),
            ),
            # SAM asks for a value and takes no empty one: a space stands for it.
            learns_model=environ.get("LEARNS_MODEL", "").strip(),
            base_url=environ.get("BASE_URL", ""),
            material_prefix=folder_prefix(environ.get("MATERIAL_PREFIX", "")),
            max_page_bytes=_number(environ, "MAX_PAGE_BYTES", 10_000_000),
            allowed_origins=tuple(environ.get("ALLOWED_ORIGINS", "").split()),
            tables_bucket=environ.get("TABLES_BUCKET", "").strip(),
            event_bus_name=environ.get("EVENT_BUS_NAME", "").strip(),
            tool_queue_url=environ.get("TOOL_QUEUE_URL", "").strip(),
            embed_queue_url=environ.get("EMBED_QUEUE_URL", "").strip(),
            material_dead_letters_url=environ.get("MATERIAL_DEAD_LETTERS_URL", "").strip(),
            tool_dead_letters_url=environ.get("TOOL_DEAD_LETTERS_URL", "").strip(),
            embed_dead_letters_url=environ.get("EMBED_DEAD_LETTERS_URL", "").strip(),
            turbopuffer_base_url=environ.get("TURBOPUFFER_BASE_URL", "").strip(),
            table_cut=TableCut(
                threshold=_number(environ, "CHUNK_THRESHOLD_CHARS", 1000),
                chunk_size=_number(environ, "CHUNK_SIZE_CHARS", 1000),
                overlap=_number(environ, "CHUNK_OVERLAP_CHARS", 150),
            ),
            box_selectors=css_selectors(environ.get("BOX_SELECTORS", "")),
            embedding_daily_tokens=_number(environ, "EMBEDDING_DAILY_TOKENS", 0),
            embedding_usd_per_million_tokens=_price(environ, "EMBEDDING_USD_PER_MILLION_TOKENS", 0.02),
            flip_when_built=environ.get("FLIP_WHEN_BUILT", "").strip() == "true",
            limits=Limits(
                page_explanations=_number(environ, "MAX_PAGE_EXPLANATIONS", 2_000),
                table_bytes=_number(environ, "MAX_TABLE_BYTES", 100_000_000),
                table_memory_bytes=_number(environ, "MAX_TABLE_MEMORY_BYTES", 600_000_000),
                table_strings=_number(environ, "MAX_TABLE_STRINGS", 200_000),
                table_chunks=_number(environ, "MAX_TABLE_CHUNKS", 1_000_000),
                string_chars=_number(environ, "MAX_STRING_CHARS", 5_000_000),
                projects=_number(environ, "MAX_PROJECTS", 100),
                members=_number(environ, "MAX_MEMBERS", 1_000),
                tables=_number(environ, "MAX_TABLES", 1_000),
                tools=_number(environ, "MAX_TOOLS", 1_000),
                endpoints=_number(environ, "MAX_ENDPOINTS", 1_000),
                endpoint_tools=_number(environ, "MAX_ENDPOINT_TOOLS", 100),
                mcp_request_bytes=_number(environ, "MAX_MCP_REQUEST_BYTES", 1_000_000),
                api_request_bytes=_number(environ, "MAX_API_REQUEST_BYTES", 6_000_000),
                queries_per_minute=_number(environ, "QUERIES_PER_MINUTE", 1_200),
            ),
        )


@dataclass(frozen=True, slots=True)
class Secrets:
    """What only the functions may know, from one secret in Secrets Manager."""

    supabase_service_key: str = field(repr=False)
    openai_api_key: str = field(repr=False)
    key_pepper: str = field(repr=False)
    knowledge_key_hashes: tuple[str, ...] = field(repr=False)
    admin_key_hashes: tuple[str, ...] = field(repr=False)
    supabase_jwt_secret: str = field(repr=False, default="")
    supabase_publishable_key: str = field(repr=False, default="")
    hook_secret: str = field(repr=False, default="")
    turbopuffer_api_key: str = field(repr=False, default="")
    key_pepper_since: datetime | None = None
    previous_key_peppers: tuple[str, ...] = field(repr=False, default=())
    previous_jwt_secrets: tuple[str, ...] = field(repr=False, default=())
    previous_hook_secrets: tuple[str, ...] = field(repr=False, default=())

    @property
    def confidential(self) -> tuple[str, ...]:
        """All of it that must never be shown; hashes of keys open nothing, and the publishable key is no secret."""
        single = self.supabase_service_key, self.openai_api_key, self.turbopuffer_api_key
        return tuple(filter(None, (*single, *self.key_peppers, *self.jwt_secrets, *self.hook_secrets)))

    @property
    def key_peppers(self) -> tuple[str, ...]:
        """What keys may be hashed with, the present pepper first."""
        return (self.key_pepper, *self.previous_key_peppers)

    @property
    def jwt_secrets(self) -> tuple[str, ...]:
        """What users' tokens may be signed with; none where Supabase signs with keys alone."""
        return tuple(filter(None, (self.supabase_jwt_secret, *self.previous_jwt_secrets)))

    @property
    def hook_secrets(self) -> tuple[str, ...]:
        """What a webhook may send along; none where no webhook is let in."""
        return tuple(filter(None, (self.hook_secret, *self.previous_hook_secrets)))

    @classmethod
    def read(cls, secret: Mapping[str, object], name: str) -> "Secrets":
        """The secret's JSON object; a missing member raises `Misconfigured` and shows no value.

        Without `supabase_jwt_secret` tokens are verified by Supabase's public keys alone, without
        `supabase_publishable_key` no user is let in, without `hook_secret` no webhook. The lists of previous ones are
        there while one is replaced, and `key_pepper_since` says when the pepper was.
        """
        return cls(
            supabase_service_key=_secret(secret, "supabase_service_key", name),
            openai_api_key=_secret(secret, "openai_api_key", name),
            key_pepper=_secret(secret, "key_pepper", name),
            knowledge_key_hashes=_hashes(secret, "knowledge_key_hashes", name),
            admin_key_hashes=_hashes(secret, "admin_key_hashes", name),
            supabase_jwt_secret=str(secret.get("supabase_jwt_secret") or ""),
            supabase_publishable_key=str(secret.get("supabase_publishable_key") or ""),
            hook_secret=str(secret.get("hook_secret") or ""),
            turbopuffer_api_key=str(secret.get("turbopuffer_api_key") or ""),
            key_pepper_since=_moment(secret, "key_pepper_since", name),
            previous_key_peppers=_previous(secret, "previous_key_peppers", name),
            previous_jwt_secrets=_previous(secret, "previous_jwt_secrets", name),
            previous_hook_secrets=_previous(secret, "previous_hook_secrets", name),
        )


def configured(value: str, name: str, example: str) -> str:
    """A function's optional setting where it is needed after all; a missing one raises `Misconfigured`."""
    return _text({name: value}, name, example)


def _text(environ: Mapping[str, str], name: str, example: str) -> str:
    if value := environ.get(name, "").strip():
        return value
    raise Misconfigured(f"{name} is not set. Set it in template.yaml's Environment, for example {name}={example}")


def folder_prefix(prefix: str) -> str:
    """A folder as keys begin with it: `/a/site` → `a/site/`; nothing for the top."""
    path = prefix.strip("/")
    return f"{path}/" if path else ""


def css_selectors(text: str) -> tuple[str, ...]:
    """CSS selectors between commas, the default ones for none; `:is(.a, .b)` is one selector."""
    selectors = (selector.strip() for selector in re.split(r",(?![^()\[\]]*[)\]])", text))
    return tuple(selector for selector in selectors if selector) or DEFAULT_BOX_SELECTORS


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    value = environ.get(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a whole number, for example {default}, not {value!r}") from None


def _price(environ: Mapping[str, str], name: str, default: float) -> float:
    value = environ.get(name, str(default))
    try:
        return float(value)
    except ValueError:
        raise Misconfigured(f"{name} must be a number, for example {default}, not {value!r}") from None


def _secret(secret: Mapping[str, object], member: str, name: str) -> str:
    value = secret.get(member)
    if isinstance(value, str) and value:
        return value
    raise Misconfigured(f"The secret {name} has no member {member!r}: put it into its JSON object, as a string")


def _hashes(secret: Mapping[str, object], member: str, name: str) -> tuple[str, ...]:
    value = secret.get(member)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise Misconfigured(f"The secret {name} has no member {member!r}: put it into its JSON object, as a list of hashes")


def _moment(secret: Mapping[str, object], member: str, name: str) -> datetime | None:
    value = secret.get(member)
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise Misconfigured(f"The secret {name} has a member {member!r} that is no time with its zone: correct it")
    return read


def _previous(secret: Mapping[str, object], member: str, name: str) -> tuple[str, ...]:
    value = secret.get(member, [])
    # An empty one would be anybody's.
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise Misconfigured(f"The secret {name} has a member {member!r} that is no list of strings: correct it")
