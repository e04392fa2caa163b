"""A deployed stack as CloudFormation describes it, and the dead letter queues that its outputs name."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.errors import Misconfigured, Unavailable
from sakuin.platform.retry import QUEUES
from sakuin.upkeep.dead_letters import DeadLetterQueues

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required


def described_stack(settings: CommandSettings) -> Mapping[str, Any]:
    """Returns the description of the stack in the settings."""
    stack = required(settings.stack, "SAKUIN_STACK", "sakuin")
    try:
        described: Mapping[str, Any] = aws_client(settings, "cloudformation").describe_stacks(StackName=stack)
    except ClientError as error:
        raise Misconfigured(
            f"There is no stack {stack!r} in this account and region. Correct SAKUIN_STACK or the AWS_ variables"
        ) from error
    except BotoCoreError as error:
        raise Unavailable("CloudFormation did not answer", vendor="cloudformation") from error
    result: Mapping[str, Any] = described["Stacks"][0]
    return result


def dead_letter_queues(settings: CommandSettings) -> DeadLetterQueues:
    """Returns the queues, whose URLs are outputs of the stack."""
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described_stack(settings).get("Outputs", ())}
    try:
        urls = {queue: outputs[f"{queue.capitalize()}QueueUrl"] for queue in QUEUES}
        dead_urls = {queue: outputs[f"{queue.capitalize()}DeadLettersUrl"] for queue in QUEUES}
    except KeyError as error:
        raise Misconfigured(f"The stack has no output {error}: deploy this version of template.yaml") from error
    return DeadLetterQueues(aws_client(settings, "sqs"), urls, dead_urls)
