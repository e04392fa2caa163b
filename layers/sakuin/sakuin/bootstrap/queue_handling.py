"""How a function takes messages from its queue."""

from typing import Any

from sakuin.bootstrap.instrumented import instrument
from sakuin.bootstrap.watching import Watch, queues, renewing
from sakuin.entrypoints.redacting import Handler
from sakuin.platform.queue_handler import QueueHandler, QueueWork
from sakuin.platform.sqs import SqsQueue
from sakuin.platform.unfinished_work import UnfinishedWorkStore, short_client
from sakuin.settings import Secrets, Settings


def queue(url: str, watch: Watch) -> SqsQueue:
    """The queue at this address."""
    return SqsQueue(queues(watch), url)


def handler_of(url: str, work: QueueWork[Any], settings: Settings, secrets: Secrets, watch: Watch) -> Handler:
    """The Lambda handler of the queue at `url`."""
    client = renewing(short_client(settings.supabase_url, secrets.supabase_service_key), settings, secrets, watch)
    handler = QueueHandler(
        queue(url, watch),
        work,
        UnfinishedWorkStore(client),
        watch.logger,
        watch.metrics,
        watch.work,
        lease_seconds=settings.lease_seconds,
    )
    return instrument(handler.handle, watch)
