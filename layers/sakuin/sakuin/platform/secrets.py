"""The functions' secret: what only they may know."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any

from sakuin.errors import Misconfigured


def _member(description: str, default: Any = MISSING) -> Any:
    return field(default=default, repr=False, metadata={"description": description})


@dataclass(frozen=True, slots=True)
class Secrets:
    """What only the functions may know, from one secret in Secrets Manager."""

    supabase_service_key: str = _member("the service key of the Supabase project")
    openai_api_key: str = _member("the key for embeddings and `learns`")
    knowledge_key_hashes: tuple[str, ...] = _member("list of the SHA-256 hashes of the keys that open `POST /mcp`")
    admin_key_hashes: tuple[str, ...] = _member("list of the SHA-256 hashes of the keys that open `/v1`")
    turbopuffer_api_key: str = _member("the key for turbopuffer", default="")
    supabase_publishable_key: str = _member(
        "the publishable key of the Supabase project, sent with users' tokens; without it only admin keys are accepted",
        default="",
    )
    supabase_jwt_secret: str = _member(
        "only for projects that sign users' tokens with a shared secret; without it Supabase's public keys verify them",
        default="",
    )
    hook_secret: str = _member("what Supabase's webhook sends; without it no webhook is accepted", default="")
    previous_jwt_secrets: tuple[str, ...] = _member("list of JWT secrets that are still accepted", default=())
    previous_hook_secrets: tuple[str, ...] = _member("list of webhook secrets that are still accepted", default=())

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
