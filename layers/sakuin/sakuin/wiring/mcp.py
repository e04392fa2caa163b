"""The function `mcp`, which answers agents."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from mangum import Mangum

from sakuin.explain.ask_mcp import EXPLANATION, answer_event
from sakuin.explain.explain import Explain, ExplainKnowledge, ExplainTool
from sakuin.knowledge.model import EVERYTHING, Filters
from sakuin.knowledge.postgres_search import ReadKnowledge
from sakuin.language.model import LexiconEntries
from sakuin.language.questions.query_analysis import analyze_query, lexicon_lookup
from sakuin.language.vocabulary import vocabulary_of
from sakuin.language.vocabulary_files import vocabulary_id
from sakuin.mcp.admission import Admission
from sakuin.mcp.answers import RecordRefused, record_nothing
from sakuin.mcp.app import mcp_app
from sakuin.mcp.callers import EndpointKeys, Users, WrongKeys
from sakuin.mcp.knowledge.tools import KnowledgeTools, RecordFeedback
from sakuin.mcp.playground import AnswerExplanation
from sakuin.mcp.rate_limiter import Quotas, RateLimiter
from sakuin.mcp.search_tools import SearchTools
from sakuin.platform.aws import Handler
from sakuin.platform.keys import RECORD_SECONDS, KeyUse, LibraryKeys, StoredKeys, record_once_a_day
from sakuin.platform.secrets import KeyRing, NamedSecret
from sakuin.platform.supabase.client import Client
from sakuin.platform.telemetry import Meter
from sakuin.settings import Settings
from sakuin.tables.postgres import ToolSearch
from sakuin.upkeep.canary import ask_for_canary
from sakuin.upkeep.daily_counts import SECONDS as COUNT_SECONDS
from sakuin.upkeep.daily_counts import CountingMeter, DailyCountRecords, DailyCounts
from sakuin.upkeep.refused_questions import SECONDS, Feedback, RefusedQuestions, feedback_recorder, recorder
from sakuin.wiring.clients import Clients, sign_in_of
from sakuin.wiring.handlers import http_handler
from sakuin.wiring.index_versions import own_index, recent, searched_versions
from sakuin.wiring.searches import Searches

if TYPE_CHECKING:
    from sakuin.platform.supabase.tokens import UserTokens

# What the library is: a handshake waits for it, may be a minute old, and is kept for as many filters of keys.
_PLACES_SECONDS, _PLACES_AGE, _FILTERS = 2.0, 60.0, 100
_FEEDBACK_SECONDS = 5.0

T = TypeVar("T")


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


def recent_of_callers(clients: Clients, of: Callable[[ReadKnowledge], T]) -> Callable[[Filters], T]:
    """Returns what gives something of all that passes a fixed filter, at most a minute old."""
    read = ReadKnowledge(clients.short_supabase(_PLACES_SECONDS), clients.settings.base_url)

    @lru_cache(maxsize=_FILTERS)
    def of_caller(fixed: Filters) -> Callable[[], T]:
        return recent(partial(of, replace(read, fixed=fixed)), seconds=_PLACES_AGE, clock=clients.clock)

    return lambda fixed: of_caller(fixed)()


def load_dictionary(settings: Settings) -> None:
    """Loads the dictionary and the vocabulary before the first question."""
    vocabulary = vocabulary_of(vocabulary_id(settings.vocabulary))
    lexicon_lookup("索引", vocabulary)
    analyze_query("索引", LexiconEntries(), vocabulary)


def knowledge_tools(
    clients: Clients, searches: Searches, read: ReadKnowledge, meter: Meter, record: RecordRefused
) -> KnowledgeTools:
    """Returns the tools of the library that agents call."""
    return KnowledgeTools(
        searches,
        read,
        meter,
        clients.settings.offers_chatgpt_tools,
        record,
        recent_of_callers(clients, ReadKnowledge.places),
        recent_of_callers(clients, ReadKnowledge.filter_values),
        record_feedback(clients),
        clients.settings.feedback_tool,
    )


def admission_of(
    clients: Clients, secret: NamedSecret, tokens: Callable[[], "UserTokens"], records: ToolSearch, allow: RateLimiter
) -> Admission:
    """Returns what admits callers with a key or an access token."""
    settings, limits, client = clients.settings, clients.settings.limits, clients.supabase
    stored_keys = StoredKeys(LibraryKeys(client).for_searches)

    def fixed_of(key_hash: str) -> Filters:
        key = stored_keys.named(key_hash)
        return Filters.of_key(key.folder, key.filter) if key else EVERYTHING

    public = RateLimiter(Quotas(client), limits.public_queries_per_minute, clients.clock, "public_queries_per_minute")
    return Admission(
        KeyRing(secret, lambda now: now.knowledge_key_hashes, stored_keys.hashes),
        EndpointKeys(records.endpoint_of_key, WrongKeys(clients.clock)),
        Users(sign_in_of(settings, secret), lambda token: tokens().searcher_of(token), records.endpoint_of_user),
        fixed_of,
        record_once_a_day(KeyUse(clients.short_supabase(RECORD_SECONDS)).record),
        allow,
        public if settings.public_library else None,
        limits.mcp_request_bytes,
    )


def handler(clients: Clients) -> Handler:
    settings, telemetry, client = clients.settings, clients.telemetry, clients.supabase
    secret = clients.secret()
    versions = searched_versions(clients)
    searches, public = Searches(clients, versions), Searches(clients, versions, is_public=True)
    searches.embedder(settings.embedding_model)
    load_dictionary(settings)
    tokens = user_tokens(settings, secret, client)
    if clients.starts_ahead:
        searches.store()
        tokens()
    read, records = ReadKnowledge(client, settings.base_url), ToolSearch(client, own_index(settings).tables.id)
    counts = DailyCounts(DailyCountRecords(clients.short_supabase(COUNT_SECONDS)).write)
    meter, record = CountingMeter(telemetry.meter, counts), record_refused_questions(clients, counts)
    allow = RateLimiter(Quotas(client), settings.limits.queries_per_minute, clients.clock)
    explain = Explain(ExplainKnowledge(searches, read), ExplainTool(records, searches))
    answers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "canary": lambda token: {"missing": ask_for_canary(searches, str(token))},
        EXPLANATION: AnswerExplanation(KnowledgeTools(searches, read), SearchTools(searches), explain, allow),
    }
    app = mcp_app(
        replace(admission_of(clients, secret, tokens, records, allow), set_caller=counts.set_caller),
        knowledge_tools(clients, searches, read, meter, record),
        SearchTools(searches, meter, record),
        settings.allowed_origins,
        public,
    )
    return http_handler(Mangum(app, lifespan="off"), telemetry, partial(answer_event, answers), counts)
