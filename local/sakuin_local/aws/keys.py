"""The API keys of a local stack, created once per data folder; the functions get only their hashes."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sakuin.platform.keys import hash_of_key, new_key
from sakuin_cli.files import replace_bytes


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """Keys: `knowledge` for `/mcp`, `admin` for `/v1/…`."""

    knowledge: str = field(repr=False)
    admin: str = field(repr=False)


def api_keys_of(folder: Path) -> ApiKeys:
    """Returns the data folder's keys; only the owner may read the file."""
    file = folder / "keys.json"
    if file.exists():
        stored = json.loads(file.read_text())
        return ApiKeys(stored["knowledge"], stored["admin"])
    keys = ApiKeys(new_key(), new_key())
    replace_bytes(file, json.dumps(asdict(keys)).encode(), mode=0o600)
    return keys


def secret_value(keys: ApiKeys, *, supabase_service_key: str, supabase_publishable_key: str, jwt_secret: str) -> str:
    """Returns the functions' secret as Secrets Manager stores it."""
    return json.dumps(
        {
            "supabase_service_key": supabase_service_key,
            "supabase_publishable_key": supabase_publishable_key,
            # The local endpoint accepts any key.
            "openai_api_key": "local",
            "knowledge_key_hashes": [hash_of_key(keys.knowledge)],
            "admin_key_hashes": [hash_of_key(keys.admin)],
            "supabase_jwt_secret": jwt_secret,
            # The stand-in accepts any key.
            "turbopuffer_api_key": "local",
        }
    )
