"""The queues of a deployment: how much they have, and their dead letters."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from unicodedata import normalize
from urllib.parse import unquote_plus

from sakuin.errors import NotFound, SakuinError, Unavailable
from sakuin.knowledge.messages import AskLearns, ObjectRemoved, RecheckKey, ReindexMaterial, read_event
from sakuin.platform.queue_handler import SENT_ATTRIBUTE, parsed_message
from sakuin.platform.retry import MAX_RECEIVES, QUEUES, QueueName
from sakuin.platform.sqs import GROUP_ATTRIBUTE, REASON_ATTRIBUTE, TRIES_ATTRIBUTE, SqsQueue, translate_errors
from sakuin.platform.supabase.forms import Time
from sakuin.platform.telemetry import MESSAGE_ATTRIBUTE
from sakuin.tables.messages import DocumentUploaded, ToolEvent, embed_message, tool_message
from sakuin.texts.catalogue import code_of, coded, restored

_HIDDEN_SECONDS = 30
_A_REQUEST = 10
# An unreadable body is shown up to this length.
_SHOWN = 120
_LONGEST_BODY = 10_000
LetterAction = Literal["send_again", "discard"]


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message in a dead letter queue.

    `since` is the time of its first sending, in seconds since 1970. `reason` is that of the worker that gave it up, or
    of an event bus that could not deliver it. `handle` is its receipt handle.
    """

    id: str
    queue: QueueName
    body: str
    tries: int
    since: float
    reason: str | None
    correlation_id: str
    handle: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class DescribedLetter:
    """A dead letter for people: what it asks for, why it failed, since when, and the attempts.

    `body` has the first 10,000 characters of the message.
    """

    id: str
    queue: QueueName
    what: str
    why: str
    since: Time
    tries: int
    body: str
    why_code: str | None = None


@dataclass(frozen=True, slots=True)
class QueueState:
    """The messages of one queue: waiting for a worker, in flight (received and not finished), and dead letters.

    SQS counts approximately.
    """

    queue: QueueName
    waiting: int
    in_flight: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of a deployment. `sqs` is boto3's client; `urls` and `dead_urls` are by queue name."""

    sqs: Any
    urls: Mapping[QueueName, str]
    dead_urls: Mapping[QueueName, str]

    def states(self) -> Sequence[QueueState] | None:
        """Returns the states of all queues; None while SQS does not answer."""
        try:
            return [self._state(queue) for queue in QUEUES]
        except Unavailable:
            return None

    def letters(self, queue: QueueName, *, limit: int) -> list[DescribedLetter]:
        """Returns at most `limit` dead letters of a queue, oldest first. They stay there."""
        letters = self._received(queue, limit)
        self.release(letters)
        return list(map(_described, letters))

    def apply(
        self, action: LetterAction, queues: Collection[QueueName], *, ids: Collection[str] | None, limit: int
    ) -> list[DescribedLetter]:
        """Sends again or discards at most `limit` letters of each queue, or those whose ids begin with one of `ids`.

        Returns them. An unknown id raises `NotFound`, and all letters stay.
        """
        letters = [letter for queue in queues for letter in self._received(queue, None if ids else limit)]
        if ids:
            chosen = [letter for letter in letters if letter.id.startswith(tuple(ids))]
            unknown = [id for id in ids if not any(letter.id.startswith(id) for letter in chosen)]
            self.release(letters if unknown else [letter for letter in letters if letter not in chosen])
            if unknown:
                raise NotFound(f"There is no dead letter {unknown[0]!r}. `sakuin redrive` lists them")
            letters = chosen
        described = list(map(_described, letters))
        for letter in letters:
            if action == "discard":
                self.discard(letter)
            else:
                self.send_again(letter)
        return described

    def erase(self, texts: Collection[str], *, dry_run: bool) -> int:
        """Discards, or with `dry_run` counts, all dead letters with one of these texts in the message."""
        letters = [letter for queue in QUEUES for letter in self.receive(queue)]
        matching = [letter for letter in letters if any(text in _readable(letter.body) for text in texts)]
        if dry_run:
            self.release(letters)
            return len(matching)
        for letter in matching:
            self.discard(letter)
        self.release([letter for letter in letters if letter not in matching])
        return len(matching)

    def receive(self, queue: QueueName, *, most: int | None = None) -> list[DeadMessage]:
        """Receives the dead letters of a queue, or at least `most` of them, oldest first.

        They are hidden from others for half a minute.
        """
        letters: dict[str, DeadMessage] = {}
        while (most is None or len(letters) < most) and (page := self._page(queue)):
            new = [letter for letter in page if letter.id not in letters]
            if not new:
                # There are so many that the first ones are visible again.
                break
            letters |= {letter.id: letter for letter in new}
        return sorted(letters.values(), key=lambda letter: (letter.since, letter.id))

    def release(self, letters: Sequence[DeadMessage]) -> None:
        """Makes letters visible again. A letter that no longer exists is not an error."""
        for letter in letters:
            # It is already visible, or deleted.
            with suppress(Unavailable):
                SqsQueue(self.sqs, self.dead_urls[letter.queue]).hide(letter.handle, seconds=0)

    def send_again(self, letter: DeadMessage) -> None:
        """Sends a letter to its original queue, and then deletes it from the dead letters."""
        queue = SqsQueue(self.sqs, self.urls[letter.queue])
        # Without the attributes of its copies: it begins again.
        queue.send_copy(letter.body, {MESSAGE_ATTRIBUTE: letter.correlation_id}, delay_seconds=0, group=letter.group)
        self.discard(letter)

    def discard(self, letter: DeadMessage) -> None:
        with translate_errors():
            self.sqs.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

    def _received(self, queue: QueueName, limit: int | None) -> list[DeadMessage]:
        letters = self.receive(queue, most=limit)
        # SQS gives ten at a time.
        self.release(letters[limit:] if limit else ())
        return letters[:limit]

    def _page(self, queue: QueueName) -> list[DeadMessage]:
        with translate_errors():
            answer = self.sqs.receive_message(
                QueueUrl=self.dead_urls[queue],
                MaxNumberOfMessages=_A_REQUEST,
                VisibilityTimeout=_HIDDEN_SECONDS,
                # A short poll would query only some of the servers of SQS.
                WaitTimeSeconds=1,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        return [_letter(queue, message) for message in answer.get("Messages", ())]

    def _state(self, queue: QueueName) -> QueueState:
        counts = SqsQueue(self.sqs, self.urls[queue]).counts()
        dead = SqsQueue(self.sqs, self.dead_urls[queue]).counts().all
        return QueueState(queue, counts.waiting, counts.in_flight, dead)


def _letter(queue: QueueName, message: Mapping[str, Any]) -> DeadMessage:
    system = message.get("Attributes", {})
    attributes = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    return DeadMessage(
        id=message["MessageId"],
        queue=queue,
        body=message["Body"],
        # SQS moves a message by itself after the last receive. Its count includes those of letters that were listed.
        tries=int(attributes.get(TRIES_ATTRIBUTE) or MAX_RECEIVES),
        since=float(attributes.get(SENT_ATTRIBUTE) or float(system.get("SentTimestamp", 0)) / 1000),
        reason=_reason_in(attributes.get(REASON_ATTRIBUTE, "")),
        correlation_id=attributes.get(MESSAGE_ATTRIBUTE, ""),
        handle=message["ReceiptHandle"],
        group=system.get(GROUP_ATTRIBUTE, ""),
    )


def _reason_in(text: str) -> str | None:
    """Returns the reason of a worker, or what an event bus says."""
    try:
        return str(restored(json.loads(text)))
    except ValueError:
        return text or None


def _described(letter: DeadMessage) -> DescribedLetter:
    text, problem = contents(letter.queue, letter.body)
    why = letter.reason or problem or coded("work.no_answer_log")
    return DescribedLetter(
        id=letter.id,
        queue=letter.queue,
        what=text,
        why=why,
        why_code=code_of(why),
        since=datetime.fromtimestamp(letter.since, UTC).isoformat(timespec="seconds"),
        tries=letter.tries,
        body=letter.body[:_LONGEST_BODY],
    )


def contents(queue: QueueName, body: str) -> tuple[str, str | None]:
    """Returns what a message asks for, in words, and why it cannot be read; None if it can."""
    readers = {"material": _material, "tool": _tool, "embed": _embed}
    line = " ".join(body.split())
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
    try:
        text, problem = readers[queue](parsed_message(body)) or f"nothing to do: {shown}", None
    except SakuinError as error:
        text, problem = f"not a message of this queue: {shown}", str(error)
    # A terminal interprets control characters.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text), problem


def _material(sent: Mapping[str, Any]) -> str | None:
    match read_event(sent):
        case None:
            return None
        case ReindexMaterial(material=material, reason=reason):
            return f"index {material} again: {reason or 'asked'}"
        case AskLearns(material=material):
            return f"ask a language model for the learns of {material}"
        case RecheckKey(key=key, reason=reason):
            return f"check {key} against the bucket: {reason or 'asked'}"
        case event:
            action = "removed" if isinstance(event, ObjectRemoved) else "uploaded"
            return f"{event.source.key} was {action} (version {event.source.version_id or '–'})"


def _tool(sent: Mapping[str, Any]) -> str | None:
    request = tool_message(sent)
    if request is None:
        return None
    if isinstance(request, DocumentUploaded):
        return f"import the uploaded document of Table {request.table_id}"
    if "detail-type" in sent:
        event = ToolEvent.model_validate(sent)
        tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
        return f"{event.event}{tool} Table {request.table_id}"
    return f"scan Table {request.table_id}{f', from string {request.skip:,}' if request.skip else ''}"


def _embed(sent: Mapping[str, Any]) -> str:
    request = embed_message(sent)
    return f"embed {len(request.chunks)} chunk{'s' * (len(request.chunks) > 1)} of Table {request.table_id}"


def _readable(body: str) -> str:
    """Returns the body of a message without the encodings of JSON and of S3's keys."""
    with suppress(ValueError):
        body = json.dumps(json.loads(body), ensure_ascii=False)
    return normalize("NFC", unquote_plus(body))
