"""Redaction of secrets in logs, answers and errors of a function."""

import json
import logging
import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

HIDDEN = "[hidden]"

# A shorter value may be an ordinary word, such as `local`, the key of the local stack.
_SHORTEST = 12

# The beginning of a word, also after Japanese characters and after escapes of JSON.
_BEGINS = r"(?:\b|(?<=\\[nrt])|(?<=\\u[0-9a-f]{4}))"

_LOOKS_SECRET = re.compile(
    rf"""
      {_BEGINS}sk_sakuin_[\w-]{{8,}}                            # keys of ours
    | {_BEGINS}sb_secret_[\w-]+                               # Supabase
    | {_BEGINS}sk-[\w-]{{16,}}                                  # OpenAI
    | {_BEGINS}tpuf_\w{{8,}}                                    # turbopuffer
    # Tokens (RFC 7519). The expression scans a word once, from its beginning. Otherwise a word with a thousand
    # possible beginnings would be scanned a thousand times.
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
    """Returns the text without the `known` secrets and without strings that look like secrets; JSON stays valid."""
    return _LOOKS_SECRET.sub(rf"\g<before>{HIDDEN}", hide(text, known))


def hide(text: str, known: Iterable[str]) -> str:
    """Returns the text without the `known` secrets, also as JSON strings or in URLs."""
    for secret in known:
        if len(secret) >= _SHORTEST:
            for spelled in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
                text = text.replace(spelled, HIDDEN)
    return text


class Failed(Exception):
    """A function failed. The message has no secret; the log has the details."""


@dataclass(slots=True)
class Redaction:
    """The secrets that a worker has read so far."""

    known: set[str] = field(default_factory=set, repr=False)

    def add(self, secrets: Iterable[str]) -> None:
        """Adds secrets to redact."""
        self.known.update(filter(None, secrets))

    def __call__(self, text: str) -> str:
        return redacted(text, self.known)


class RedactingFormatter(LambdaPowertoolsFormatter):
    """Powertools' formatter, redacted with its tracebacks."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self.redaction = redaction

    def serialize(self, log: Any) -> str:
        """Returns the line of JSON."""
        return self.redaction(super().serialize(log))


class RedactingFilter(logging.Filter):
    """Redacts the records of other handlers: Lambda's own prints the records of libraries."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self.redaction = redaction

    def filter(self, record: logging.LogRecord) -> bool:
        """Redacts the record; True."""
        record.msg, record.args = self.redaction(record.getMessage()), ()
        if record.exc_info and record.exc_info[0] is not None:
            # A formatter uses this text instead of the traceback.
            record.exc_text = self.redaction("".join(traceback.format_exception(*record.exc_info)).rstrip())
        return True


def redacting_logger() -> tuple[Logger, Redaction]:
    """Returns Powertools' logger and its redaction. A restored worker keeps both."""
    logger: Logger = Logger(logger_formatter=RedactingFormatter(Redaction()))
    formatter = logger.registered_formatter
    redaction = formatter.redaction if isinstance(formatter, RedactingFormatter) else Redaction()
    for handler in logging.getLogger().handlers:
        if not any(isinstance(each, RedactingFilter) for each in handler.filters):
            handler.addFilter(RedactingFilter(redaction))
    return logger, redaction
