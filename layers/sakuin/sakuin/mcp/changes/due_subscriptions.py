"""Messages of WebhookQueue for subscriptions whose feed has moved."""

from typing import Any

from sakuin.platform.sqs import SqsQueue
from sakuin.platform.supabase.client import Client, call

# After the work of another message.
MESSAGES_AT_ONCE = 10


def send_due(client: Client, queue: SqsQueue, limit: int, *, match: bool = True) -> int:
    """Sends a message for each subscription whose feed has moved, at most `limit`; returns how many.

    Standing questions are compared with the changes only if it is to `match` them: that may take long. Else a message
    without a subscription has a worker of the queue do that.
    """
    due = call(client, "due_subscriptions", {"p_limit": limit, "p_match": match})
    for each in due:
        queue.send([message_of(each["id"], each["attempt"])], group=each["payer"])
    return len(due)


def message_of(id: str, attempt: int) -> dict[str, Any]:
    return {"subscription": id, "attempt": attempt}
