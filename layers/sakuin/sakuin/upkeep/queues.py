"""The queues of a deployment: what waits, what is in flight and since when, and their dead letters."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sakuin.errors import Invalid, NotFound, SakuinError, Unavailable
from sakuin.knowledge.messages import AskLearns, ObjectRemoved, RecheckKey, ReindexMaterial, read_event
from sakuin.platform.queue_handler import RESUMED, parsed_message
from sakuin.platform.retry import MAX_RECEIVES, QUEUES, QueueName
from sakuin.platform.sqs import GROUP_ATTRIBUTE, REASON_ATTRIBUTE, TRIES_ATTRIBUTE, SqsQueue, translate_errors
from sakuin.platform.supabase.forms import Time
from sakuin.platform.telemetry import MESSAGE_ATTRIBUTE
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore, WorkSubject
from sakuin.tables.messages import DocumentUploaded, ToolEvent, embed_message, tool_message
from sakuin.texts.catalogue import coded, counted

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
class Contents:
    """A message in words.

    `subject` is None if there is nothing to do, or if the message cannot be read; then `problem` is the reason.
    """

    text: str
    subject: WorkSubject | None = None
    problem: str | None = None


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


@dataclass(frozen=True, slots=True)
class DeadLetterQueues:
    """The queues of a deployment. `sqs` is boto3's client; `urls` and `dead_urls` are by queue name."""

    sqs: Any
    urls: Mapping[QueueName, str]
    dead_urls: Mapping[QueueName, str]

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
        own = {MESSAGE_ATTRIBUTE: letter.correlation_id, **RESUMED}
        queue.send_copy(letter.body, own, delay_seconds=0, group=letter.group)
        self.discard(letter)

    def discard(self, letter: DeadMessage) -> None:
        with translate_errors():
            self.sqs.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

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
    return DeadMessage(
        id=message["MessageId"],
        queue=queue,
        body=message["Body"],
        # SQS moves a message by itself after the last receive. Its count includes those of letters that were listed.
        tries=int(own.get(TRIES_ATTRIBUTE) or MAX_RECEIVES),
        since=float(system.get("SentTimestamp", 0)) / 1000,
        reason=own.get(REASON_ATTRIBUTE) or None,
        correlation_id=own.get(MESSAGE_ATTRIBUTE, ""),
        handle=message["ReceiptHandle"],
        group=system.get(GROUP_ATTRIBUTE, ""),
    )


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Lists dead letters with what `unfinished` knows of them, sends them again, or discards them."""

    queues: DeadLetterQueues
    unfinished: UnfinishedWorkStore

    def some(self, queue: QueueName, *, limit: int) -> list[DescribedLetter]:
        """Returns at most `limit` letters of a queue, oldest first. They stay there."""
        letters = self._received(queue, limit)
        self.queues.release(letters)
        return self._described(letters)

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
            self.queues.release(letters if unknown else [letter for letter in letters if letter not in chosen])
            if unknown:
                raise NotFound(f"There is no dead letter {unknown[0]!r}. `sakuin redrive` lists them")
            letters = chosen
        described = self._described(letters)
        for letter in letters:
            if action == "discard":
                self.queues.discard(letter)
            else:
                self.queues.send_again(letter)
        return described

    def _received(self, queue: QueueName, limit: int | None) -> list[DeadMessage]:
        letters = self.queues.receive(queue, most=limit)
        # SQS gives ten at a time.
        self.queues.release(letters[limit:] if limit else ())
        return letters[:limit]

    def _described(self, letters: Sequence[DeadMessage]) -> list[DescribedLetter]:
        read = [contents(letter.queue, letter.body) for letter in letters]
        subjects = {each.subject.id for each in read if each.subject}
        rows = self.unfinished.rows(subjects=subjects) if subjects else ()
        failures = {(row.kind, row.subject, row.fingerprint): row for row in rows}
        return [_described(letter, each, failures) for letter, each in zip(letters, read, strict=True)]


def _described(
    letter: DeadMessage, read: Contents, failures: Mapping[tuple[str, str, str], UnfinishedWork]
) -> DescribedLetter:
    subject = read.subject
    failure = failures.get((subject.kind, subject.id, subject.fingerprint)) if subject else None
    return DescribedLetter(
        id=letter.id,
        queue=letter.queue,
        what=read.text,
        why=letter.reason or (failure.reason if failure else read.problem) or coded("work.no_answer_log"),
        since=failure.since if failure else datetime.fromtimestamp(letter.since, UTC).isoformat(timespec="seconds"),
        tries=max(letter.tries, failure.attempts if failure else 0),
        body=letter.body[:_LONGEST_BODY],
    )


def contents(queue: QueueName, body: str) -> Contents:
    readers = {"material": _material, "tool": _tool, "embed": _embed, "webhook": _webhook}
    try:
        content = readers[queue](parsed_message(body))
    except SakuinError as error:
        content = Contents(coded("letter.unknown", body=_shortened(body)), problem=str(error))
    if content is None:
        content = Contents(coded("letter.nothing", body=_shortened(body)))
    # A terminal interprets control characters.
    text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in content.text)
    return replace(content, text=text)


def _material(sent: Mapping[str, Any]) -> Contents | None:
    event = read_event(sent)
    if event is None:
        return None
    if isinstance(event, ReindexMaterial):
        text = coded("letter.index_again", material=event.material, reason=event.reason)
    elif isinstance(event, AskLearns):
        text = coded("letter.ask_learns", material=event.material)
    elif isinstance(event, RecheckKey):
        text = coded("letter.check", key=event.key, reason=event.reason)
    else:
        action = "removed" if isinstance(event, ObjectRemoved) else "uploaded"
        text = coded(f"letter.{action}", key=event.source.key, version=event.source.version_id or "–")
    return Contents(text, event.subject)


def _tool(sent: Mapping[str, Any]) -> Contents | None:
    request = tool_message(sent)
    if request is None:
        return None
    if isinstance(request, DocumentUploaded):
        text: str = coded("letter.import", table=request.table_id)
    elif "detail-type" in sent:
        event = ToolEvent.model_validate(sent)
        tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
        text = f"{event.event}{tool} Table {request.table_id}"
    else:
        code = "letter.scan_from" if request.skip else "letter.scan"
        text = coded(code, table=request.table_id, skip=request.skip)
    return Contents(text, request.subject)


def _embed(sent: Mapping[str, Any]) -> Contents:
    request = embed_message(sent)
    chunks = counted("chunk", len(request.chunks))
    return Contents(coded("letter.embed", chunks=chunks, table=request.table_id), request.subject)


def _webhook(message: Mapping[str, Any]) -> Contents:
    if not isinstance(id := message.get("subscription"), str):
        raise Invalid("The message is not one of this queue")
    return Contents(f"send the events of subscription {id}")


def _shortened(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class QueueState:
    """The messages of one queue. SQS counts approximately.

    `in_flight` were received and are not finished. `unattended` of them have no known worker: they were received within
    the last five seconds, or their worker is dead. The queue delivers these again within 90 seconds.
    """

    queue: QueueName
    waiting: int
    in_flight: int
    unattended: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class WorkInFlight:
    """A message whose work takes more than five seconds: what it asks for, and since when.

    `worker`: alive, or dead; then the queue delivers the message again.
    """

    queue: QueueName
    what: str
    since: Time
    worker: Literal["alive", "dead"]


@dataclass(frozen=True, slots=True)
class Queues:
    """The states of all queues: the numbers of SQS, compared with the leases that workers have recorded."""

    letters: DeadLetters
    unfinished: UnfinishedWorkStore

    def in_flight(self) -> Sequence[WorkInFlight]:
        """Returns the work that takes more than five seconds, the oldest first."""
        return [
            WorkInFlight(queue, contents(queue, lease.body).text, lease.since, "dead" if lease.is_over else "alive")
            for lease in self.unfinished.leases()
            for queue in QUEUES
            if queue == lease.queue
        ]

    def states(self, in_flight: Sequence[WorkInFlight]) -> Sequence[QueueState] | None:
        """Returns the states; None while SQS does not answer. `in_flight` was read just before."""
        try:
            return [self._state(queue, in_flight) for queue in QUEUES]
        except Unavailable:
            return None

    def _state(self, queue: QueueName, in_flight: Sequence[WorkInFlight]) -> QueueState:
        sqs = self.letters.queues
        counts = SqsQueue(sqs.sqs, sqs.urls[queue]).counts()
        attended = sum(work.queue == queue and work.worker == "alive" for work in in_flight)
        dead = SqsQueue(sqs.sqs, sqs.dead_urls[queue]).counts().all
        return QueueState(queue, counts.waiting, counts.in_flight, max(counts.in_flight - attended, 0), dead)
