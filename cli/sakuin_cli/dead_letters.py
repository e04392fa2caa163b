"""The dead letter queues of a deployment, on Amazon SQS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.knowledge.messages import ObjectRemoved, RecheckKey, ReindexMaterial, read_event, subject_of_event
from sakuin.platform.queue_handler import parsed_message
from sakuin.platform.retry import MAX_RECEIVES
from sakuin.platform.sqs import SqsQueue, translate_errors
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

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required
from sakuin_cli.terminal import counted

QueueName = Literal["material", "tool", "embed"]

_HIDDEN_SECONDS = 30
_A_REQUEST = 10
# What EventBridge puts along with an event that it could not deliver.
_BUS_REASON, _BUS_TRIES = "ERROR_MESSAGE", "RETRY_ATTEMPTS"
# A body that nobody can read is shown as it is, up to here.
_SHOWN = 120
_OUTPUTS: Mapping[QueueName, str] = {"material": "Material", "tool": "Tool", "embed": "Embed"}


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message among the dead letters.

    `since` is when it was sent first, in seconds since 1970. `bus_reason` is why it was not delivered, where an event
    bus knows. `handle` names it to its queue, for this listing only.
    """

    id: str
    queue: QueueName
    body: str
    tries: int
    since: float
    bus_reason: str | None
    correlation_id: str
    handle: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a message asks for, in one line.

    `subject` is what it is about; None where it asks for nothing, or where `problem` says why nobody can read it.
    """

    words: str
    subject: WorkSubject | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterQueues:
    """`sqs` is boto3's client; `urls` and `dead_urls` are by the queues' names."""

    sqs: Any
    urls: Mapping[QueueName, str]
    dead_urls: Mapping[QueueName, str]

    @classmethod
    def of(cls, settings: CommandSettings) -> "DeadLetterQueues":
        """The queues that the deployed stack names in its outputs."""
        stack = required(settings.stack, "SAKUIN_STACK", "sakuin")
        outputs = _outputs(aws_client(settings, "cloudformation"), stack)
        try:
            urls = {queue: outputs[f"{name}QueueUrl"] for queue, name in _OUTPUTS.items()}
            dead_urls = {queue: outputs[f"{name}DeadLettersUrl"] for queue, name in _OUTPUTS.items()}
        except KeyError as error:
            raise Misconfigured(f"The stack has no output {error}: deploy this version of template.yaml") from error
        return cls(aws_client(settings, "sqs"), urls, dead_urls)

    def receive(self, queue: QueueName) -> list[DeadLetter]:
        """All dead letters of a queue, the oldest first. For half a minute nobody else receives them."""
        found: dict[str, DeadLetter] = {}
        while some := self._some(queue):
            new = [letter for letter in some if letter.id not in found]
            if not new:
                # There are so many that the first ones have come back.
                break
            found |= {letter.id: letter for letter in new}
        return sorted(found.values(), key=lambda letter: (letter.since, letter.id))

    def release(self, letters: Sequence[DeadLetter]) -> None:
        """Lets others receive them again at once. A letter that is gone is not an error."""
        for letter in letters:
            try:
                self.sqs.change_message_visibility(
                    QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle, VisibilityTimeout=0
                )
            except ClientError:
                # It is visible already, or gone.
                continue

    def send_again(self, letter: DeadLetter) -> None:
        """Sends it to the queue that it came from, and only then deletes it from the dead letters."""
        queue = SqsQueue(self.sqs, self.urls[letter.queue])
        queue.send_copy(letter.body, {MESSAGE_ATTRIBUTE: letter.correlation_id}, delay_seconds=0)
        with translate_errors():
            self.sqs.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

    def _some(self, queue: QueueName) -> list[DeadLetter]:
        with translate_errors():
            answer = self.sqs.receive_message(
                QueueUrl=self.dead_urls[queue],
                MaxNumberOfMessages=_A_REQUEST,
                VisibilityTimeout=_HIDDEN_SECONDS,
                # Without waiting SQS asks only some of its machines.
                WaitTimeSeconds=1,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        return [_letter(queue, message) for message in answer.get("Messages", ())]


def _letter(queue: QueueName, message: Mapping[str, Any]) -> DeadLetter:
    system = message.get("Attributes", {})
    own = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    # Each listing counts too.
    receives = min(int(system.get("ApproximateReceiveCount", 1)), MAX_RECEIVES)
    return DeadLetter(
        id=message["MessageId"],
        queue=queue,
        body=message["Body"],
        tries=int(own.get(_BUS_TRIES) or receives),
        since=float(system.get("SentTimestamp", 0)) / 1000,
        bus_reason=own.get(_BUS_REASON) or None,
        correlation_id=own.get(MESSAGE_ATTRIBUTE, ""),
        handle=message["ReceiptHandle"],
    )


def _outputs(cloudformation: Any, stack: str) -> Mapping[str, str]:
    """The outputs of a deployed stack, value by name."""
    try:
        found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        raise Misconfigured(
            f"There is no stack {stack!r} in this account and region. Correct SAKUIN_STACK or the AWS_ variables"
        ) from error
    except BotoCoreError as error:
        raise Unavailable("CloudFormation did not answer", vendor="cloudformation") from error
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


def contents(queue: QueueName, body: str) -> Contents:
    """Returns what a message of a queue asks for."""
    readers = {"material": _material, "tool": _tool, "embed": _embed}
    try:
        found = readers[queue](parsed_message(body))
    except SakuinError as error:
        found = Contents(f"not a message of this queue: {_shortened(body)}", problem=str(error))
    if found is None:
        found = Contents(f"nothing to do: {_shortened(body)}")
    # A terminal would obey what it cannot print.
    words = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in found.words)
    return replace(found, words=words)


def _material(message: Mapping[str, Any]) -> Contents | None:
    event = read_event(message)
    if event is None:
        return None
    if isinstance(event, ReindexMaterial):
        words = f"index {event.material} again: {event.reason}"
    elif isinstance(event, RecheckKey):
        words = f"check {event.key} against the bucket: {event.reason}"
    else:
        done = "removed" if isinstance(event, ObjectRemoved) else "uploaded"
        words = f"{event.source.key} was {done} (version {event.source.version_id or '–'})"
    return Contents(words, subject_of_event(event))


def _tool(message: Mapping[str, Any]) -> Contents | None:
    asked = tool_message(message)
    if asked is None:
        return None
    if isinstance(asked, DocumentUploaded):
        words = f"import the uploaded document of Table {asked.table_id}"
    elif isinstance(asked, EventScanRequest):
        event = ToolEvent.model_validate(message)
        tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
        words = f"{event.event}{tool} Table {asked.table_id}"
    else:
        words = f"scan Table {asked.table_id}" + (f", from string {asked.skip:,}" if asked.skip else "")
    return Contents(words, subject_of_request(asked))


def _embed(message: Mapping[str, Any]) -> Contents:
    asked = embed_message(message)
    return Contents(f"embed {counted(len(asked.chunks), 'chunk')} of Table {asked.table_id}", subject_of_request(asked))


def _shortened(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
