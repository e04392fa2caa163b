"""What the environment says, read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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
    A message comes back to its queue when its worker was not heard of for `lease_seconds`.
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
    turbopuffer_base_url: str = ""
    table_cut: TableCut = field(default_factory=TableCut)
    embedding_daily_tokens: int = 0
    embedding_usd_per_million_tokens: float = 0.02
    flip_when_built: bool = False
    lease_seconds: int = 60
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
            material_prefix=_folder(environ.get("MATERIAL_PREFIX", "")),
            max_page_bytes=_number(environ, "MAX_PAGE_BYTES", 10_000_000),
            allowed_origins=tuple(environ.get("ALLOWED_ORIGINS", "").split()),
            tables_bucket=environ.get("TABLES_BUCKET", "").strip(),
            event_bus_name=environ.get("EVENT_BUS_NAME", "").strip(),
            tool_queue_url=environ.get("TOOL_QUEUE_URL", "").strip(),
            embed_queue_url=environ.get("EMBED_QUEUE_URL", "").strip(),
            turbopuffer_base_url=environ.get("TURBOPUFFER_BASE_URL", "").strip(),
            table_cut=TableCut(
                threshold=_number(environ, "CHUNK_THRESHOLD_CHARS", 1000),
                chunk_size=_number(environ, "CHUNK_SIZE_CHARS", 1000),
                overlap=_number(environ, "CHUNK_OVERLAP_CHARS", 150),
            ),
            box_selectors=_selectors(environ.get("BOX_SELECTORS", "")),
            embedding_daily_tokens=_number(environ, "EMBEDDING_DAILY_TOKENS", 0),
            embedding_usd_per_million_tokens=_price(environ, "EMBEDDING_USD_PER_MILLION_TOKENS", 0.02),
            flip_when_built=environ.get("FLIP_WHEN_BUILT", "").strip() == "true",
            lease_seconds=_number(environ, "LEASE_SECONDS", 60),
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
    knowledge_key_hashes: tuple[str, ...] = field(repr=False)
    admin_key_hashes: tuple[str, ...] = field(repr=False)
    supabase_jwt_secret: str = field(repr=False, default="")
    supabase_publishable_key: str = field(repr=False, default="")
    hook_secret: str = field(repr=False, default="")
    turbopuffer_api_key: str = field(repr=False, default="")
    previous_jwt_secrets: tuple[str, ...] = field(repr=False, default=())
    previous_hook_secrets: tuple[str, ...] = field(repr=False, default=())

    @property
    def confidential(self) -> tuple[str, ...]:
        """All of it that must never be shown; hashes of keys open nothing, and the publishable key is no secret."""
        single = self.supabase_service_key, self.openai_api_key, self.turbopuffer_api_key
        return tuple(filter(None, (*single, *self.jwt_secrets, *self.hook_secrets)))

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
        there while one is replaced.
        """
        return cls(
            supabase_service_key=_secret(secret, "supabase_service_key", name),
            openai_api_key=_secret(secret, "openai_api_key", name),
            knowledge_key_hashes=_hashes(secret, "knowledge_key_hashes", name),
            admin_key_hashes=_hashes(secret, "admin_key_hashes", name),
            supabase_jwt_secret=str(secret.get("supabase_jwt_secret") or ""),
            supabase_publishable_key=str(secret.get("supabase_publishable_key") or ""),
            hook_secret=str(secret.get("hook_secret") or ""),
            turbopuffer_api_key=str(secret.get("turbopuffer_api_key") or ""),
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


def _folder(prefix: str) -> str:
    path = prefix.strip("/")
    return f"{path}/" if path else ""


def _selectors(text: str) -> tuple[str, ...]:
    """CSS selectors between commas; those in brackets, as in `:is(.a, .b)`, belong to their selector."""
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


def _previous(secret: Mapping[str, object], member: str, name: str) -> tuple[str, ...]:
    value = secret.get(member, [])
    # An empty one would be anybody's.
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise Misconfigured(f"The secret {name} has a member {member!r} that is no list of strings: correct it")


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """How the commands reach a deployment; what is empty is missed only by the command that needs it.

    Boto3 would read the rest of the process's environment; the `aws_` fields are given to it instead, so that
    a stack's own env file decides alone.
    """

    url: str
    api_key: str = field(repr=False)
    admin_key: str = field(repr=False)
    bucket: str
    material_prefix: str
    secret: str
    stack: str
    project: str
    tools_mcp_url: str
    tools_api_key: str = field(repr=False)
    box_selectors: tuple[str, ...]
    aws_endpoint_url: str | None
    aws_endpoint_url_s3: str | None
    aws_access_key_id: str | None
    aws_secret_access_key: str | None = field(repr=False)
    aws_session_token: str | None = field(repr=False)
    aws_region: str | None
    aws_profile: str | None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "DeskSettings":
        """The settings in `environ`. Raises nothing: `needed` does, once a command needs what is missing."""
        return cls(
            url=environ.get("SAKUIN_URL", "").strip().rstrip("/"),
            api_key=environ.get("SAKUIN_API_KEY", "").strip(),
            admin_key=environ.get("SAKUIN_ADMIN_KEY", "").strip(),
            bucket=environ.get("SAKUIN_BUCKET", "").strip(),
            material_prefix=_folder(environ.get("SAKUIN_MATERIAL_PREFIX", "")),
            secret=environ.get("SAKUIN_SECRET", "").strip(),
            stack=environ.get("SAKUIN_STACK", "").strip(),
            project=environ.get("SAKUIN_PROJECT", "").strip(),
            tools_mcp_url=environ.get("SAKUIN_TOOLS_MCP_URL", "").strip(),
            tools_api_key=environ.get("SAKUIN_TOOLS_API_KEY", "").strip(),
            box_selectors=_selectors(environ.get("SAKUIN_BOX_SELECTORS", "")),
            aws_endpoint_url=environ.get("AWS_ENDPOINT_URL") or None,
            aws_endpoint_url_s3=environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or None,
            aws_access_key_id=environ.get("AWS_ACCESS_KEY_ID") or None,
            aws_secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY") or None,
            aws_session_token=environ.get("AWS_SESSION_TOKEN") or None,
            aws_region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None,
            aws_profile=environ.get("AWS_PROFILE") or None,
        )


def needed(value: str, name: str, example: str) -> str:
    """A desk's setting that a command cannot do without; a missing one raises `Misconfigured`."""
    if value:
        return value
    raise Misconfigured(f"{name} is not set: run `sakuin up` first, or set {name}, for example {name}={example}")
