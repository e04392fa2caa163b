"""The bucket, the queues and the other clients of AWS."""

from typing import TYPE_CHECKING, Any

from sakuin.bootstrap.watching import Watch, queues
from sakuin.platform.sqs import SqsQueue
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.sqs import MaterialQueue
    from sakuin.adapters.sqs_tables import TableQueues


def aws(service: str) -> Any:
    """One of boto3's clients."""
    from sakuin.adapters.aws import client

    return client(service)


def bucket_of_pages(settings: Settings) -> "S3Bucket":
    """The bucket of materials."""
    from sakuin.adapters.s3 import S3Bucket

    return S3Bucket(aws("s3"), settings.bucket)


def material_queue(settings: Settings, observed: Watch) -> "MaterialQueue":
    """Messages to the function that indexes materials."""
    from sakuin.adapters.sqs import MaterialQueue

    return MaterialQueue(SqsQueue(queues(observed), settings.queue_url))


def table_queues(settings: Settings, observed: Watch, fingerprint: str = "") -> "TableQueues":
    """Messages to the workers of Tables, for one index over Tables or, with "", for all."""
    from sakuin.adapters.sqs_tables import TableQueues

    client = queues(observed)
    tool = SqsQueue(client, settings.tool_queue_url)
    embed = SqsQueue(client, settings.embed_queue_url)
    return TableQueues(tool, embed, fingerprint)
