"""Hides secrets in all that leaves a function."""

import json
import logging
import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

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
    return _LOOKS_SECRET.sub(rf"\g<before>{HIDDEN}", hide(text, known))


def hide(text: str, known: Iterable[str]) -> str:
    """The text without the `known` secrets, also as JSON or an address spells them."""
    for secret in known:
        if len(secret) >= _SHORTEST:
            for spelled in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
                text = text.replace(spelled, HIDDEN)
    return text


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

T = TypeVar("T")


class Failed(Exception):
    """A function failed; its message holds no secret, and the log has the rest."""


@dataclass(slots=True)
class Redaction:
    """The secrets that a worker has read so far."""

    known: set[str] = field(default_factory=set, repr=False)

    def know(self, secrets: Iterable[str]) -> None:
        """These are hidden from now on."""
        self.known.update(filter(None, secrets))

    def __call__(self, text: str) -> str:
        """The text without them, and without what looks like a secret."""
        return redacted(text, self.known)


class RedactingFormatter(LambdaPowertoolsFormatter):
    """Powertools' line of JSON, tracebacks included, without secrets."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self.redaction = redaction

    def serialize(self, log: Any) -> str:
        """The line."""
        return self.redaction(super().serialize(log))


class RedactingFilter(logging.Filter):
    """For the handlers of others: Lambda's own prints what libraries log."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self.redaction = redaction

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record through, without secrets."""
        record.msg, record.args = self.redaction(record.getMessage()), ()
        if record.exc_info and record.exc_info[0] is not None:
            # A formatter that finds the text does not make it again.
            record.exc_text = self.redaction("".join(traceback.format_exception(*record.exc_info)).rstrip())
        return True


def redacting_logger() -> tuple[Logger, Redaction]:
    """Powertools' logger, and what it hides; a worker that is made anew goes on with both."""
    logger: Logger = Logger(logger_formatter=RedactingFormatter(Redaction()))
    formatter = logger.registered_formatter
    redaction = formatter.redaction if isinstance(formatter, RedactingFormatter) else Redaction()
    for handler in logging.getLogger().handlers:
        if not any(isinstance(each, RedactingFilter) for each in handler.filters):
            handler.addFilter(RedactingFilter(redaction))
    return logger, redaction
