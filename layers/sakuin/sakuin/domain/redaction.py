"""Secrets in a text, hidden: those that are known, and whatever looks like one."""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[hidden]"
# A shorter one is a word, such as the `local` that stands for keys on one machine.
_SHORTEST = 12
# Where a word begins, also behind Japanese, and behind what stands for a line's end or a character in JSON.
_BEGINS = r"(?:\b|(?<=\\[nrt])|(?<=\\u[0-9a-f]{4}))"
_LOOKS_SECRET = re.compile(
    rf"""
      {_BEGINS}sk_sakuin_[\w-]{{8,}}                            # keys of ours
    | {_BEGINS}sb_secret_[\w-]+                               # Supabase
    | {_BEGINS}sk-[\w-]{{16,}}                                  # OpenAI
    | {_BEGINS}tpuf_\w{{8,}}                                    # turbopuffer
    # Tokens (RFC 7519). From each of a thousand beginnings in one word the whole word would be looked through again:
    # so a word is looked at once, from where it begins.
    | (?<![\w-])(?=[\w-]++\.[\w-]{{5,}}+\.)
      (?P<before>(?:(?!{_BEGINS}eyJ)[\w-])*+)eyJ[\w-]{{5,}}+\.[\w-]{{5,}}+\.[\w-]*+
    | {_BEGINS}(?:AKIA|ASIA)[A-Z0-9]{{16}}\b                    # AWS
    | (?<=Bearer[ ])[^\s"'\\,;]+
    | (?<=://)[^/\s:@"'\\]+:[^/\s@"'\\]+(?=@)                # passwords in addresses
    | (?<=X-Amz-Signature=)[^&\s"'\\]+                       # presigned addresses
    | (?<=X-Amz-Credential=)[^&\s"'\\]+
    | (?<=X-Amz-Security-Token=)[^&\s"'\\]+
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """The text without the `known` secrets and without what looks like one; JSON stays JSON."""
    return _LOOKS_SECRET.sub(rf"\g<before>{HIDDEN}", without(text, known))


def without(text: str, known: Iterable[str]) -> str:
    """The text without the `known` secrets, also as JSON or an address spells them."""
    for secret in known:
        if len(secret) >= _SHORTEST:
            for spelled in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
                text = text.replace(spelled, HIDDEN)
    return text
