"""The function `mcp`, which answers agents."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from sakuin import __version__
from sakuin.explain.ask_mcp import EXPLANATION, PLAYGROUND, answer_event
from sakuin.explain.explain import Explain, ExplainKnowledge, ExplainTool
from sakuin.knowledge.model import Place
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.vocabulary import vocabulary_of
from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.mcp.answers import RecordRefused, record_nothing
from sakuin.mcp.app import McpApp
from sakuin.mcp.callers import Users
from sakuin.mcp.changes.event_types import page_events, tool_events
from sakuin.mcp.changes.events import WebhookMethods
from sakuin.mcp.changes.feed import ChangeFeed
from sakuin.mcp.changes.questions import StandingQuestions
from sakuin.mcp.changes.subscriptions import Subscriptions
from sakuin.mcp.changes.webhooks import Webhooks
from sakuin.mcp.knowledge.tools import KnowledgeTools, RecordFeedback
from sakuin.mcp.playground import AnswerPlayground
from sakuin.mcp.rate_limiter import Quotas, RateLimiter
from sakuin.mcp.rest import RestSearch
from sakuin.mcp.search_tools import SearchTools
from sakuin.mcp.server import knowledge_server, search_tools_server
from sakuin.platform.asgi import persistent_handler
from sakuin.platform.aws import Handler
from sakuin.platform.keys import RECORD_SECONDS, KeyUse, LibraryKeys, StoredKeys, record_once_a_day
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.platform.supabase.client import Client
from sakuin.settings import Settings
from sakuin.tables.postgres import ToolSearch
from sakuin.upkeep.canary import ask_for_canary
from sakuin.upkeep.daily_counts import SECONDS as COUNT_SECONDS
from sakuin.upkeep.daily_counts import CountingMeter, DailyCountRecords, DailyCounts
from sakuin.upkeep.refused_questions import SECONDS, Feedback, RefusedQuestions, feedback_recorder, recorder
from sakuin.wiring.clients import Clients, sign_in_of
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import kept_or_own, own_index, recent
from sakuin.wiring.searches import Searches

if TYPE_CHECKING:
    from sakuin.platform.supabase.tokens import UserTokens

# An address that does not prove that it wants events hears of no more attempts.
CHALLENGES_PER_MINUTE = 60


# What the library is: a handshake waits for it, may be a minute old, and is kept for as many folders of keys.
_PLACES_SECONDS, _PLACES_AGE, _FOLDERS = 2.0, 60.0, 100
_FEEDBACK_SECONDS = 5.0


def user_tokens(settings: Settings, secret: NamedSecret, client: Client) -> "Callable[[], UserTokens]":
    """Returns what gives the access tokens of users. The first call loads their libraries, which keys do not need."""

    @cache
    def tokens() -> "UserTokens":
        from sakuin.platform.supabase.tokens import tokens_of

        return tokens_of(settings.supabase_url, lambda: secret.now().jwt_secrets, client)

    return tokens


def record_refused_questions(clients: Clients, counts: DailyCounts) -> RecordRefused:
    """Returns what counts weak answers, and records the questions if the deployment wants that."""
    questions = RefusedQuestions(clients.short_supabase(SECONDS))
    is_recorded = clients.settings.record_refused_questions
    record_text = recorder(questions, clients.telemetry.redaction) if is_recorded else record_nothing

    def record(question: str, tool_id: str | None, is_weak: bool) -> None:
        counts.add("weak", int(is_weak))
        record_text(question, tool_id, is_weak)

    return record


def record_feedback(clients: Clients) -> RecordFeedback:
    """Returns what counts the feedback of agents, with questions if the deployment records those that are refused."""

    # Repeated, it could count twice.
    feedback = Feedback(clients.short_supabase(_FEEDBACK_SECONDS))
    is_recorded = clients.settings.record_refused_questions
    return feedback_recorder(feedback, clients.telemetry.redaction, with_questions=is_recorded)


def recent_places(clients: Clients) -> Callable[[str], Sequence[Place]]:
    """Returns what gives the places of a folder, at most a minute old."""
    read = ReadKnowledge(clients.short_supabase(_PLACES_SECONDS), clients.settings.base_url)

    @lru_cache(maxsize=_FOLDERS)
    def of_folder(folder: str) -> Callable[[], Sequence[Place]]:
        return recent(replace(read, folder=folder).places, seconds=_PLACES_AGE, clock=clients.clock)

    return lambda folder: of_folder(folder)()


def handler(clients: Clients) -> Handler:
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    secret = clients.secret()
    sign_in = sign_in_of(settings, secret)
    searches = Searches(clients, kept_or_own(clients, writes=False))
    searches.embedder(settings.embedding_model)
    # Loads the dictionary and the vocabulary before the first question.
    vocabulary = vocabulary_of(vocabulary_id(settings.vocabulary))
    lexicon_lookup("索引", vocabulary)
    analyze_query("索引", LexiconEntries(), vocabulary)
    tokens = user_tokens(settings, secret, client)
    if clients.starts_ahead:
        searches.store()
        tokens()
    read = ReadKnowledge(client, settings.base_url)
    feed = ChangeFeed(client, read.url)
    counts = DailyCounts(DailyCountRecords(clients.short_supabase(COUNT_SECONDS)).write)
    meter, record_refused = CountingMeter(telemetry.meter, counts), record_refused_questions(clients, counts)
    tools = KnowledgeTools(
        searches,
        read,
        meter,
        settings.offers_chatgpt_tools,
        record_refused,
        recent_places(clients),
        record_feedback(clients),
        settings.feedback_tool,
    )
    records = ToolSearch(client, own_index(settings).tables.id)
    record_use = record_once_a_day(KeyUse(clients.short_supabase(RECORD_SECONDS)).record)
    stored_keys = StoredKeys(LibraryKeys(client).for_searches)
    explain = Explain(ExplainKnowledge(searches, read), ExplainTool(records, searches))
    quotas, limits = Quotas(client), settings.limits
    search_tools = SearchTools(searches, meter, record_refused)
    allow = RateLimiter(quotas, limits.queries_per_minute, clients.clock)
    allow_host = RateLimiter(quotas, CHALLENGES_PER_MINUTE, clients.clock, "of a host", "challenges")
    webhooks = WebhookMethods(
        Subscriptions(client, lambda: secret.now().database_key), Webhooks(settings.webhooks == "private"), allow_host
    )
    offered = None if settings.webhooks == "off" else webhooks
    playground = AnswerPlayground(KnowledgeTools(searches, read), SearchTools(searches), explain, allow)
    answers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "canary": lambda token: {"missing": ask_for_canary(searches, str(token))},
        PLAYGROUND: playground,
        EXPLANATION: explain.answer,
    }
    app = McpApp(
        knowledge_server(tools, __version__, page_events(feed, StandingQuestions(searches, feed)), offered),
        KeyRing(secret, lambda now: now.knowledge_key_hashes, stored_keys.hashes),
        settings.allowed_origins,
        tools_server=search_tools_server(search_tools, __version__, tool_events(feed), offered),
        endpoint=records.endpoint_of_key,
        record_use=record_use,
        folder_of=stored_keys.folder,
        allow=allow,
        allow_public=RateLimiter(quotas, limits.public_queries_per_minute, clients.clock, "public_queries_per_minute")
        if settings.public_library
        else None,
        users=Users(sign_in, lambda token: tokens().searcher_of(token), records.endpoint_of_user),
        longest_body=limits.mcp_request_bytes,
        rest=RestSearch(tools, search_tools, feed),
        address=sign_in.address,
        set_caller=counts.set_caller,
    )
    return http_handler(persistent_handler(app, app.run), telemetry, partial(answer_event, answers), counts)
