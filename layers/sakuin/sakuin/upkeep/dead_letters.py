"""The dead letters of a deployment: what they ask for, why they failed, and sending them again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sakuin.errors import SakuinError, Unavailable
from sakuin.knowledge.messages import (
    AskLearns,
    ObjectRemoved,
    RecheckKey,
    ReindexMaterial,
    read_event,
    subject_of_event,
)
from sakuin.platform.queue_handler import parsed_message
from sakuin.platform.retry import MAX_RECEIVES, QueueName
from sakuin.platform.sqs import GROUP_ATTRIBUTE, SqsQueue, translate_errors
from sakuin.platform.telemetry import MESSAGE_ATTRIBUTE
from sakuin.platform.unfinished_work import WorkSubject
from sakuin.tables.messages import (
    DocumentUploaded,
    EventScanRequest,
    ToolEvent,
    embed_message,
    subject_of_request,
    tool_message,
)

NO_ANSWER = "the worker ended without an answer; see the log of its function"
_HIDDEN_SECONDS = 30
_A_REQUEST = 10
# Attributes that EventBridge adds to an event that it could not deliver.
_BUS_REASON, _BUS_TRIES = "ERROR_MESSAGE", "RETRY_ATTEMPTS"
# An unreadable body is shown up to this length.
_SHOWN = 120
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message in a dead letter queue.

    `since` is the time of its first sending, in seconds since 1970. `bus_reason` is the reason of an event bus that
    could not deliver it. `handle` is its receipt handle.
    """

    id: str
    queue: QueueName
    body: str
    tries: int
    since: float
    bus_reason: str | None
    correlation_id: str
    handle: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """A message in words.

    `subject` is None if there is nothing to do, or if the message cannot be read; then `problem` is the reason.
    """

    text: str
    subject: WorkSubject | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """What a row of unfinished work says: the reason, the time of the failure, and the number of failures."""

    reason: str
    since: str
    attempts: int


# The failures of these subjects by kind, subject and index; None if the deployment cannot be asked.
FailuresOf = Callable[[Collection[str]], Mapping[tuple[str, str, str], KnownFailure] | None]


@dataclass(frozen=True, slots=True)
class DescribedLetter:
    """A dead letter for people: what it asks for, why it failed (None: unknown), since when, and the attempts."""

    id: str
    queue: QueueName
    what: str
    why: str | None
    since: str
    tries: int
    body: str


@dataclass(frozen=True, slots=True)
class DeadLetterQueues:
    """The queues of a deployment. `sqs` is boto3's client; `urls` and `dead_urls` are by queue name."""

    sqs: Any
    urls: Mapping[QueueName, str]
    dead_urls: Mapping[QueueName, str]

    def count(self, queue: QueueName) -> int:
        """Returns the number of dead letters of a queue, hidden ones too. SQS counts approximately."""
        with translate_errors():
            answer = self.sqs.get_queue_attributes(QueueUrl=self.dead_urls[queue], AttributeNames=list(_COUNTS))
        return sum(int(answer["Attributes"][name]) for name in _COUNTS)

    def receive(self, queue: QueueName, *, most: int | None = None) -> list[DeadMessage]:
        """Receives the dead letters of a queue, or at least `most` of them, oldest first.

        They are hidden from others for half a minute.
        """
        found: dict[str, DeadMessage] = {}
        while (most is None or len(found) < most) and (some := self._some(queue)):
            new = [letter for letter in some if letter.id not in found]
            if not new:
                # There are so many that the first ones are visible again.
                break
            found |= {letter.id: letter for letter in new}
        return sorted(found.values(), key=lambda letter: (letter.since, letter.id))

    def release(self, letters: Sequence[DeadMessage]) -> None:
        """Makes letters visible again. A letter that no longer exists is not an error."""
        for letter in letters:
            # It is already visible, or deleted.
            with suppress(Unavailable):
                SqsQueue(self.sqs, self.dead_urls[letter.queue]).hide(letter.handle, seconds=0)

    def send_again(self, letter: DeadMessage) -> None:
        """Sends a letter to its original queue, and then deletes it from the dead letters."""
        queue = SqsQueue(self.sqs, self.urls[letter.queue])
        own = {MESSAGE_ATTRIBUTE: letter.correlation_id}
        queue.send_copy(letter.body, own, delay_seconds=0, group=letter.group)
        with translate_errors():
            self.sqs.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

    def send_all_again(self, queue: QueueName, *, until: Callable[[], bool]) -> int:
        """Sends the letters of a queue again, ten at a time, until there are none or `until` is true.

        Returns the number of letters. If it raises, those of the last ten that were not sent are visible again after
        half a minute.
        """
        sent = 0
        while not until() and (some := self._some(queue)):
            for letter in some:
                self.send_again(letter)
                sent += 1
        return sent

    def _some(self, queue: QueueName) -> list[DeadMessage]:
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


def _letter(queue: QueueName, message: Mapping[str, Any]) -> DeadMessage:
    system = message.get("Attributes", {})
    own = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    # Listing a letter counts as a receive.
    receives = min(int(system.get("ApproximateReceiveCount", 1)), MAX_RECEIVES)
    return DeadMessage(
        id=message["MessageId"],
        queue=queue,
        body=message["Body"],
        tries=int(own.get(_BUS_TRIES) or receives),
        since=float(system.get("SentTimestamp", 0)) / 1000,
        bus_reason=own.get(_BUS_REASON) or None,
        correlation_id=own.get(MESSAGE_ATTRIBUTE, ""),
        handle=message["ReceiptHandle"],
        group=system.get(GROUP_ATTRIBUTE, ""),
    )


def described(letters: Sequence[DeadMessage], failures_of: FailuresOf) -> list[DescribedLetter]:
    """Returns the letters with what the deployment knows of their failures."""
    asked = [contents(letter.queue, letter.body) for letter in letters]
    failures = failures_of({each.subject.id for each in asked if each.subject})
    return [_described(letter, each, failures) for letter, each in zip(letters, asked, strict=True)]


def _described(
    letter: DeadMessage, asked: Contents, failures: Mapping[tuple[str, str, str], KnownFailure] | None
) -> DescribedLetter:
    subject = asked.subject
    failure = (failures or {}).get((subject.kind, subject.id, subject.fingerprint)) if subject else None
    reason = letter.bus_reason or (failure.reason if failure else asked.problem)
    return DescribedLetter(
        id=letter.id,
        queue=letter.queue,
        what=asked.text,
        why=reason or (NO_ANSWER if failures is not None else None),
        since=failure.since if failure else datetime.fromtimestamp(letter.since, UTC).isoformat(timespec="seconds"),
        tries=max(letter.tries, failure.attempts if failure else 0),
        body=letter.body,
    )


def contents(queue: QueueName, body: str) -> Contents:
    """Returns the contents of a message of a queue."""
    readers = {"material": _material, "tool": _tool, "embed": _embed}
    try:
        found = readers[queue](parsed_message(body))
    except SakuinError as error:
        found = Contents(f"not a message of this queue: {_shortened(body)}", problem=str(error))
    if found is None:
        found = Contents(f"nothing to do: {_shortened(body)}")
    # A terminal interprets control characters.
    text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in found.text)
    return replace(found, text=text)


def _material(message: Mapping[str, Any]) -> Contents | None:
    event = read_event(message)
    if event is None:
        return None
    if isinstance(event, ReindexMaterial):
        text = f"index {event.material} again: {event.reason}"
    elif isinstance(event, AskLearns):
        text = f"ask a language model for the learns of {event.material}"
    elif isinstance(event, RecheckKey):
        text = f"check {event.key} against the bucket: {event.reason}"
    else:
        action = "removed" if isinstance(event, ObjectRemoved) else "uploaded"
        text = f"{event.source.key} was {action} (version {event.source.version_id or '–'})"
    return Contents(text, subject_of_event(event))


def _tool(message: Mapping[str, Any]) -> Contents | None:
    asked = tool_message(message)
    if asked is None:
        return None
    if isinstance(asked, DocumentUploaded):
        text = f"import the uploaded document of Table {asked.table_id}"
    elif isinstance(asked, EventScanRequest):
        event = ToolEvent.model_validate(message)
        tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
        text = f"{event.event}{tool} Table {asked.table_id}"
    else:
        text = f"scan Table {asked.table_id}" + (f", from string {asked.skip:,}" if asked.skip else "")
    return Contents(text, subject_of_request(asked))


def _embed(message: Mapping[str, Any]) -> Contents:
    asked = embed_message(message)
    count = len(asked.chunks)
    counted = f"{count:,} chunk" if count == 1 else f"{count:,} chunks"
    return Contents(f"embed {counted} of Table {asked.table_id}", subject_of_request(asked))


def _shortened(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
