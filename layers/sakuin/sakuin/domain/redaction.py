"""Secrets in a text, hidden: those that are known, and whatever looks like one."""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[hidden]"
# A shorter one is a word, such as the `local` that stands for keys on one machine.
_SHORTEST = 12
_LOOKS_SECRET = re.compile(
    r"""
      \bsk_sakuin_[\w-]{8,}                                  # keys of ours
    | \bsb_secret_[\w-]+                                     # Supabase
    | \bsk-[\w-]{16,}                                        # OpenAI
    | \btpuf_\w{8,}                                          # turbopuffer
    | \beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*                      # tokens (RFC 7519)
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                          # AWS
    | (?<=Bearer[ ])[^\s"'\\,;]+
    | (?<=://)[^/\s:@"'\\]+:[^/\s@"'\\]+(?=@)                # passwords in addresses
    | (?<=X-Amz-Signature=)[^&\s"'\\]+                       # presigned addresses
    | (?<=X-Amz-Credential=)[^&\s"'\\]+
    | (?<=X-Amz-Security-Token=)[^&\s"'\\]+
    """,
    re.VERBOSE | re.IGNORECASE,
)


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """The text without the `known` secrets and without what looks like one; JSON stays JSON."""
    return _LOOKS_SECRET.sub(HIDDEN, without(text, known))


def without(text: str, known: Iterable[str]) -> str:
    """The text without the `known` secrets, also as JSON or an address spells them."""
    for secret in known:
        if len(secret) >= _SHORTEST:
            for spelled in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
                text = text.replace(spelled, HIDDEN)
    return text
