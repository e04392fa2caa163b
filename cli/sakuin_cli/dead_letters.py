"""The dead letter queues of a deployed stack, found by its outputs."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.errors import Misconfigured, Unavailable
from sakuin.platform.retry import QUEUES
from sakuin.upkeep.dead_letters import DeadLetterQueues

from sakuin_cli.connections import aws_client
from sakuin_cli.settings import CommandSettings, required


def dead_letter_queues(settings: CommandSettings) -> DeadLetterQueues:
    """Returns the queues, whose URLs are outputs of the stack."""
    stack = required(settings.stack, "SAKUIN_STACK", "sakuin")
    outputs = _outputs(aws_client(settings, "cloudformation"), stack)
    try:
        urls = {queue: outputs[f"{queue.capitalize()}QueueUrl"] for queue in QUEUES}
        dead_urls = {queue: outputs[f"{queue.capitalize()}DeadLettersUrl"] for queue in QUEUES}
    except KeyError as error:
        raise Misconfigured(f"The stack has no output {error}: deploy this version of template.yaml") from error
    return DeadLetterQueues(aws_client(settings, "sqs"), urls, dead_urls)


def _outputs(cloudformation: Any, stack: str) -> Mapping[str, str]:
    """Returns the outputs of a deployed stack by name."""
    try:
        found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        raise Misconfigured(
            f"There is no stack {stack!r} in this account and region. Correct SAKUIN_STACK or the AWS_ variables"
        ) from error
    except BotoCoreError as error:
        raise Unavailable("CloudFormation did not answer", vendor="cloudformation") from error
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
