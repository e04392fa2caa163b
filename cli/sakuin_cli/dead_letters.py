"""The dead letter queues of a deployment, on Amazon SQS."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError
from sakuin.adapters.sqs import translated
from sakuin.adapters.sqs_work import attributes_of
from sakuin.adapters.vendor_calls import MESSAGE_ATTRIBUTE
from sakuin.domain.work import WORK_ATTRIBUTE, WorkQueueName
from sakuin.entrypoints.material_messages import changes
from sakuin.entrypoints.tool_messages import BodyArrived, ToolEvent, embed_work, tool_work
from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.services.follow_bucket import AskedAgain, Change, LookedAt, Removed

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required

_HIDDEN_SECONDS = 30
_A_REQUEST = 10
# What EventBridge puts along with an event that it could not deliver.
_BUS_REASON, _BUS_TRIES = "ERROR_MESSAGE", "RETRY_ATTEMPTS"
# A body that nobody can read is shown as it is, up to here.
_SHOWN = 120
_OUTPUTS: Mapping[WorkQueueName, str] = {"material": "Material", "tool": "Tool", "embed": "Embed"}


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message among the dead letters.

    `work_id` names its work. `since` is when it was sent first, in seconds since 1970. `bus_reason` is why it was not
    delivered, where an event bus knows. `handle` names it to its queue, for this listing only.
    """

    id: str
    work_id: str
    queue: WorkQueueName
    body: str
    tries: int
    since: float
    bus_reason: str | None
    correlation_id: str
    handle: str


@dataclass(frozen=True, slots=True)
class DeadLetterQueues:
    """`sqs` is boto3's client; `urls` and `dead_urls` are by the queues' names."""

    sqs: Any
    urls: Mapping[WorkQueueName, str]
    dead_urls: Mapping[WorkQueueName, str]

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

    def receive(self, queue: WorkQueueName) -> list[DeadLetter]:
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
        attributes = attributes_of(letter.work_id, letter.correlation_id)
        with translated():
            self.sqs.send_message(
                QueueUrl=self.urls[letter.queue], MessageBody=letter.body, MessageAttributes=attributes
            )
            self.sqs.delete_message(QueueUrl=self.dead_urls[letter.queue], ReceiptHandle=letter.handle)

    def _some(self, queue: WorkQueueName) -> list[DeadLetter]:
        with translated():
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


def _letter(queue: WorkQueueName, message: Mapping[str, Any]) -> DeadLetter:
    system = message.get("Attributes", {})
    own = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    return DeadLetter(
        id=message["MessageId"],
        work_id=own.get(WORK_ATTRIBUTE) or message["MessageId"],
        queue=queue,
        body=message["Body"],
        tries=int(own.get(_BUS_TRIES) or system.get("ApproximateReceiveCount", 1)),
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


def in_words(queue: WorkQueueName, body: str) -> str:
    """What a message asks for, in one line."""
    readers = {"material": _material, "tool": _tool, "embed": _embed}
    try:
        words = readers[queue](body) or f"nothing to do: {_shortened(body)}"
    except SakuinError:
        words = f"not a message of this queue: {_shortened(body)}"
    # A terminal would obey what it cannot print.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in words)


def _material(body: str) -> str:
    return "; ".join(map(_change, changes(body)))


def _change(change: Change) -> str:
    if isinstance(change, AskedAgain):
        return f"apply {change.material} again: {change.reason}"
    if isinstance(change, LookedAt):
        return f"look at {change.key}: {change.reason}"
    done = "removed" if isinstance(change, Removed) else "uploaded"
    return f"{change.source.key} was {done} (version {change.source.version_id or '–'})"


def _tool(body: str) -> str:
    try:
        event = ToolEvent.model_validate(json.loads(body))
    except (ValueError, RecursionError, ValidationError):
        return "; ".join(
            f"import the uploaded document of Table {asked.table_id}"
            if isinstance(asked, BodyArrived)
            else f"walk over Table {asked.table_id}" + (f", from string {asked.skip:,}" if asked.skip else "")
            for asked in tool_work(body)
        )
    tool = f" of tool {event.detail.tool_id}," if event.detail.tool_id else " of"
    return f"{event.event}{tool} Table {event.detail.table_id}"


def _embed(body: str) -> str:
    asked = embed_work(body)
    return f"embed {len(asked.chunks)} chunks of Table {asked.table_id}"


def _shortened(body: str) -> str:
    line = " ".join(body.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
