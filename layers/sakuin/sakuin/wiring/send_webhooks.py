"""The function `send_webhooks`: sends the events of subscriptions to their addresses."""

from functools import cache

from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.mcp.callers import Callers
from sakuin.mcp.changes.event_types import page_events, tool_events
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.questions import KeptVectors, StandingQuestions
from sakuin.mcp.changes.send_webhooks import SendWebhooks
from sakuin.mcp.changes.subscriptions import Subscriptions
from sakuin.mcp.changes.webhooks import Webhooks
from sakuin.mcp.rate_limiter import Quotas, RateLimiter
from sakuin.platform.aws import Handler
from sakuin.platform.keys import LibraryKeys, StoredKeys
from sakuin.platform.secrets import KeyRing
from sakuin.tables.postgres import ToolSearch
from sakuin.wiring.clients import Clients
from sakuin.wiring.handlers import queue_handler
from sakuin.wiring.index_versions import kept_or_own, own_index
from sakuin.wiring.searches import Searches


def handler(clients: Clients) -> Handler:
    return queue_handler("webhook", webhook_work(clients), clients)


def webhook_work(clients: Clients) -> SendWebhooks:
    """Returns what processes its messages."""
    settings, client, secret = clients.settings, clients.supabase, clients.secret()
    searches = Searches(clients, kept_or_own(clients, writes=False))
    searches.embedder = cache(lambda model: KeptVectors(clients.question_embedder(model)))
    feed = ChangeFeed(client, ReadKnowledge(client, settings.base_url).url)
    stored, records = StoredKeys(LibraryKeys(client).for_searches), ToolSearch(client, own_index(settings).tables.id)
    per_minute = settings.limits.deliveries_per_minute
    allow = RateLimiter(Quotas(client), per_minute, clients.clock, "deliveries_per_minute", "events")
    return SendWebhooks(
        # The key of the database's role encrypts the secrets of webhooks.
        Subscriptions(client, lambda: secret.now().database_key),
        page_events(feed, StandingQuestions(searches, feed)),
        tool_events(feed),
        Callers(
            KeyRing(clients.secret(), lambda now: now.knowledge_key_hashes, stored.hashes),
            stored.folder,
            records.endpoint_of_key,
            records.endpoint_of_user,
            lambda: settings.library_for_users,
        ).find,
        Webhooks(settings.webhooks == "private"),
        clients.webhook_queue(),
        lambda payer, events: allow(f"webhooks of {payer}", events),
    )
