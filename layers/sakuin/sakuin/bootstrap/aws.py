"""The bucket, the queues and the other clients of AWS."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sakuin.bootstrap.watching import Watch, queues
from sakuin.settings import Settings

if TYPE_CHECKING:
    from sakuin.adapters.s3 import S3Bucket
    from sakuin.adapters.sqs import SqsWorkQueue
    from sakuin.adapters.sqs_tables import SqsTableQueues


def aws(service: str) -> Any:
    """One of boto3's clients."""
    from sakuin.adapters.aws import client

    return client(service)


def bucket_of_pages(settings: Settings) -> "S3Bucket":
    """The bucket of materials."""
    from sakuin.adapters.s3 import S3Bucket

    return S3Bucket(aws("s3"), settings.bucket)


def work_queue(queue_url: str, observed: Watch) -> "SqsWorkQueue":
    """The queue at this address."""
    from sakuin.adapters.sqs import SqsWorkQueue

    return SqsWorkQueue(queues(observed), queue_url)


def table_queues(settings: Settings, observed: Watch) -> "SqsTableQueues":
    """The two queues of Tables."""
    from sakuin.adapters.sqs_tables import SqsTableQueues

    return SqsTableQueues(queues(observed), settings.tool_queue_url, settings.embed_queue_url)


def postponing(queue: "SqsWorkQueue") -> Callable[[str, int], None]:
    """Has a message come again after some seconds, by its receipt handle."""
    return lambda receipt_handle, seconds: queue.postpone(receipt_handle, seconds=seconds)


def sending_again(queue: "SqsWorkQueue") -> Callable[[str, str, int], None]:
    """Sends a body again under the id of its work, after some seconds."""
    return lambda body, work_id, seconds: queue.send_again(body, work_id=work_id, delay_seconds=seconds)
