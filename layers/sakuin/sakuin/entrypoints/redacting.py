"""What leaves a function, logs first of all, holds no secret: a net below sources that take care themselves."""

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from sakuin.domain.redaction import redacted

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
