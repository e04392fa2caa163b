"""The outputs of a deployed stack, from CloudFormation."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from sakuin.domain.work import WorkQueueName
from sakuin.errors import Misconfigured, Unavailable


def outputs_of(client: Any, stack: str) -> Mapping[str, str]:
    """Value by name. `client` is boto3's CloudFormation client; a stack that is not there is `Misconfigured`."""
    try:
        found = client.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        raise Misconfigured(
            f"There is no stack {stack!r} in this account and region. Correct SAKUIN_STACK or the AWS_ variables"
        ) from error
    except BotoCoreError as error:
        raise Unavailable("CloudFormation did not answer", vendor="cloudformation") from error
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


def queue_urls(outputs: Mapping[str, str]) -> tuple[dict[WorkQueueName, str], dict[WorkQueueName, str]]:
    """The addresses of the three queues of work, and of their dead letters."""
    names: tuple[tuple[WorkQueueName, str], ...] = (("material", "Material"), ("tool", "Tool"), ("embed", "Embed"))
    try:
        urls = {queue: outputs[f"{name}QueueUrl"] for queue, name in names}
        return urls, {queue: outputs[f"{name}DeadLettersUrl"] for queue, name in names}
    except KeyError as error:
        raise Misconfigured(f"The stack has no output {error}: deploy this version of template.yaml") from error
