"""The API keys of a local stack, created once per data folder; the functions get only their hashes."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from sakuin.platform.keys import hash_of_key, new_key
from sakuin.platform.secrets import search_secret

from sakuin_local.supabase.tokens import secret_of


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """Keys: `knowledge` for `/mcp`, `admin` for `/v1/…`."""

    knowledge: str = field(repr=False)
    admin: str = field(repr=False)


def api_keys_of(folder: Path) -> ApiKeys:
    """Returns the data folder's keys."""
    return ApiKeys(secret_of(folder / "library-key", new_key), secret_of(folder / "admin-key", new_key))


def secret_values(
    keys: ApiKeys, name: str, *, service_key: str, search_key: str, publishable_key: str, jwt_secret: str
) -> dict[str, str]:
    """Returns the functions' secrets by name, as Secrets Manager stores them."""
    # The local endpoints accept any key.
    both = {"supabase_publishable_key": publishable_key, "openai_api_key": "local", "turbopuffer_api_key": "local"}
    main = {"supabase_service_key": service_key, "admin_key_hashes": [hash_of_key(keys.admin)]}
    search = {"supabase_search_key": search_key, "knowledge_key_hashes": [hash_of_key(keys.knowledge)]}
    return {
        name: json.dumps({**both, **main, "supabase_jwt_secret": jwt_secret}),
        search_secret(name): json.dumps({**both, **search}),
    }
