"""The checks of `sakuin doctor` from inside a deployment: the database, and the vendors' keys and models."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from secrets import token_hex, token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from sakuin.errors import SakuinError
from sakuin.platform.openai.models import model_facts
from sakuin.platform.secrets import Secrets
from sakuin.platform.supabase.client import Client, call, credentials, database_credentials
from sakuin.platform.supabase.schema import ADVICE, SchemaState, compared
from sakuin.platform.supabase.sign_in import issuer_of
from sakuin.platform.waiting import WorkRecords
from sakuin.texts.catalogue import restored

# The schema of each extension that the migrations need, and its oldest version. pgvector 0.8 has iterative scans.
EXTENSIONS = {"vector": ("extensions", (0, 8)), "fuzzystrmatch": ("extensions", (1, 0))}
# The versions of Postgres that the tests have run on.
POSTGRES_VERSIONS = (17, 18)
# AWS and Supabase reject signatures and tokens of a clock that is wrong by minutes.
MOST_SECONDS_APART = 60
# Of the database's disk. Supabase enlarges a disk at 90 %, at most once in six hours, and makes a full one read-only.
NEARLY_FULL = 0.8
_NOTICE = timedelta(days=90)
_DENIED = "42501"
# It runs each minute, for at most two.
_LONGEST_WITHOUT_MAINTENANCE = timedelta(minutes=5)
# Of one request on an open connection. Within a continent it takes a third of this.
_FAR_SECONDS = 0.15
# Of many names the first ones are shown.
_NAMED = 5
# What an agent sends that signs in (RFC 7636, 8707).
_CALLBACK = "http://127.0.0.1:33418/callback"
_OF_AGENTS = {
    **{"response_type": "code", "redirect_uri": _CALLBACK, "scope": "email offline_access", "state": "doctor"},
    **{"code_challenge": "c" * 43, "code_challenge_method": "S256"},
}
_MIGRATE = "Apply the migrations: docs/how-to/deploy.md, step 3."
_SCHEMAS: Mapping[SchemaState, str] = {
    "older": "The schema is older than this version.",
    "newer": "The schema is newer than this version.",
    "changed": "The schema is not the one of this version, though all its migrations are applied.",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and what to do about it. `check` is the name of the check that found it."""

    check: str
    problem: str
    advice: str


@dataclass(frozen=True, slots=True)
class Doctor:
    """Checks the deployment from inside. It embeds one word, and makes a user and a client of Auth, which it removes.

    `database_bytes` is the size of the database's disk. `models` are the used models of OpenAI, first that of
    embeddings; `shutdown_of` gives the day on which one ends, if it is announced. `lacks_base_url`: tools for ChatGPT
    are wanted without a host in `BaseUrl`. `http` has a timeout that allows all calls within a request. No text
    contains a vendor's answer: it may repeat a key.
    """

    client: Client
    secrets: Callable[[], Secrets] = field(repr=False)
    http: httpx2.Client
    supabase_url: str
    openai_base_url: str
    turbopuffer_base_url: str
    models: tuple[str, ...]
    dimensions: int
    query_prefix: str
    database_bytes: int
    lacks_base_url: bool = False
    shutdown_of: Callable[[str], date | None] = lambda model: model_facts(model).shutdown
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    clock: Callable[[], float] = time.monotonic

    def __call__(self) -> list[Problem]:
        """Returns what is wrong, nothing if all is right."""
        vendors = self._database, self._publishable_key, self._openai, self._models, self._turbopuffer
        checks = *vendors, self._chatgpt_tools
        return [problem for check in checks for problem in check()]

    def _database(self) -> Iterator[Problem]:
        try:
            state = call(self.client, "database_state", {})
        except SakuinError as error:
            yield Problem("database", str(error), "docs/how-to/deploy.md, step 3; then docs/runbooks.md#denied.")
            return
        yield from database_problems(state, self.dimensions, self.now())
        yield from disk_problems(state, self.database_bytes)
        yield from self._search_key()
        try:
            files = call(self.client, "broken_files", {})
            ended = call(self.client, "health_state", {})["maintained_at"]
            reasons = [reason for reason in WorkRecords(self.client).waiting().reasons if reason.vendor]
        except SakuinError:
            # The migrations or a grant is missing, which is said above.
            return
        if ended is None or self.now() - datetime.fromisoformat(ended) > _LONGEST_WITHOUT_MAINTENANCE:
            when = f"last ended well at {ended[:16]}Z" if ended else "has not ended well yet"
            advice = "It runs each minute, first a minute after the deployment. Its log says why it fails."
            yield Problem("maintenance", f"The function maintain {when}.", advice)
        for waiting in reasons[:_NAMED]:
            advice = "It continues by itself; `sakuin status` lists it. docs/runbooks.md#vendor-away."
            problem = f"Waiting for {waiting.vendor}: {waiting.count:,} ({waiting.reason.removesuffix('.')})."
            yield Problem("waiting", problem, advice)
        for file in files[:_NAMED]:
            advice = "Correct it and push it again. Until then its pages keep what the last readable version said."
            reason: str = restored(file["reason"])
            yield Problem("authored file", f"{file['key']} cannot be read: {reason.removesuffix('.')}.", advice)

    def _search_key(self) -> Iterator[Problem]:
        secrets = self.secrets()
        headers = database_credentials(secrets.supabase_search_apikey, secrets.supabase_search_key)
        answer = self._answer("POST", f"{self.supabase_url}/rest/v1/rpc/index_versions", headers)
        if answer is None or not answer.is_success:
            said = "did not answer" if answer is None else f"answered {answer.status_code}"
            advice = "Make supabase_search_key again: docs/how-to/deploy.md, step 6. No search works without it."
            yield Problem("search key", f"Supabase {said} to the key of searches.", advice)

    def _publishable_key(self) -> Iterator[Problem]:
        key = self.secrets().supabase_publishable_key
        if not key:
            return
        url = f"{self.supabase_url}/rest/v1/rpc/database_state"
        answer = self._answer("POST", url, credentials(key))
        # A valid key may not call the function; the gateway rejects another one without a code of Postgres.
        if answer is None or f'"{_DENIED}"' not in answer.text:
            said = "did not answer" if answer is None else f"answered {answer.status_code}"
            advice = "Correct supabase_publishable_key in the secret: without it no user's token is accepted."
            yield Problem("supabase key", f"Supabase {said} to the publishable key.", advice)
        yield from self._issuer(key)

    def _issuer(self, key: str) -> Iterator[Problem]:
        """Compares the issuer that tokens must have with the one that Supabase Auth names."""
        issuer = issuer_of(self.supabase_url)
        answer = self._answer("GET", f"{issuer}/.well-known/openid-configuration", credentials(key))
        # Older projects have no such document.
        if answer is None or not answer.is_success:
            return
        if f'"{issuer}"' in answer.text:
            yield from self._agents(issuer, key)
            return
        advice = "Deploy with the address as SupabaseUrl that Supabase Auth names as its issuer, without /auth/v1."
        yield Problem("issuer", "Supabase Auth names another issuer than SupabaseUrl: no user is accepted.", advice)

    def _agents(self, issuer: str, key: str) -> Iterator[Problem]:
        """Signs in as an agent and its user do, up to the consent page, with a client and a user made for it.

        https://github.com/supabase/auth/issues/2820: some projects answer 400 to what agents send.
        """
        client = {"client_name": "sakuin doctor", "redirect_uris": [_CALLBACK], "token_endpoint_auth_method": "none"}
        registered = self._json("POST", f"{issuer}/oauth/clients/register", credentials(key), client)
        if not (client_id := registered.get("client_id")):
            # The OAuth server is off, or agents may not register themselves.
            return
        secret, password = credentials(self.secrets().supabase_service_key), token_urlsafe(24)
        account = {"email": f"doctor-{token_hex(8)}@sakuin.invalid", "password": password, "email_confirm": True}
        user = self._json("POST", f"{issuer}/admin/users", secret, account)
        try:
            session = self._json("POST", f"{issuer}/token?grant_type=password", credentials(key), account)
            query = {"client_id": client_id, **_OF_AGENTS, "resource": f"{self.supabase_url}/mcp"}
            response = self._answer("GET", f"{issuer}/oauth/authorize?{urlencode(query)}", credentials(key))
            place = urlsplit(response.headers.get("location", "") if response is not None else "")
            authorization = parse_qs(place.query).get("authorization_id", ["none"])[0]
            if token := session.get("access_token"):
                url = f"{issuer}/oauth/authorizations/{authorization}"
                answer = self._answer("GET", url, credentials(key, token))
                if answer is None or not answer.is_success:
                    said = "did not answer" if answer is None else f"answered {answer.status_code}"
                    advice = (
                        "Until Supabase has corrected github.com/supabase/auth/issues/2820: connect agents by keys."
                    )
                    yield Problem("agents", f"Supabase {said} to an agent's request to sign in.", advice)
        finally:
            self._answer("DELETE", f"{issuer}/admin/oauth/clients/{client_id}", secret)
            if user_id := user.get("id"):
                self._answer("DELETE", f"{issuer}/admin/users/{user_id}", secret)

    def _openai(self) -> Iterator[Problem]:
        key = self.secrets().openai_api_key
        for model in self.models:
            url = f"{self.openai_base_url}/models/{model}"
            answer = self._answer("GET", url, {"Authorization": f"Bearer {key}"})
            if answer is None:
                advice = "Check OpenAiBaseUrl, and docs/runbooks.md#vendor-away."
                yield Problem("openai key", "OpenAI did not answer.", advice)
            elif answer.status_code == 404:
                advice = "Correct the model's parameter, or allow the model in OpenAI's project."
                yield Problem("openai model", f"OpenAI has no model {model} for this key.", advice)
            elif not answer.is_success:
                advice = "Check openai_api_key in the secret, and that it may read models: docs/runbooks.md#denied."
                yield Problem("openai key", f"OpenAI answered {answer.status_code} to the key.", advice)
            else:
                continue
            return
        yield from self._embedding(key)

    def _embedding(self, key: str) -> Iterator[Problem]:
        """Embeds one word: a vendor may answer to the key, and fail at its work."""
        url = f"{self.openai_base_url}/embeddings"
        text = f"{self.query_prefix}doctor"
        body = {"model": self.models[0], "input": [text], "dimensions": self.dimensions, "encoding_format": "base64"}
        answer = self._answer("POST", url, {"Authorization": f"Bearer {key}"}, body)
        if answer is None or not answer.is_success:
            said = "did not answer" if answer is None else f"answered {answer.status_code}"
            advice = "Pages and chunks wait and continue automatically: docs/runbooks.md#vendor-away."
            yield Problem("embeddings", f"OpenAI {said} to the embedding of one word.", advice)

    def _models(self) -> Iterator[Problem]:
        for model in self.models:
            end = self.shutdown_of(model)
            if end is not None and end - self.now().date() <= _NOTICE:
                advice = "Deploy with another model: docs/how-to/deploy.md, changing the index."
                yield Problem("model shutdown", f"OpenAI shuts {model} down on {end}.", advice)

    def _chatgpt_tools(self) -> Iterator[Problem]:
        if self.lacks_base_url:
            advice = "Deploy with BaseUrl=https://…, the address of your pages, or with ChatGptTools=false."
            problem = "ChatGptTools is on, and BaseUrl has no host: search and fetch are not offered."
            yield Problem("chatgpt tools", problem, advice)

    def _turbopuffer(self) -> Iterator[Problem]:
        key = self.secrets().turbopuffer_api_key
        if not key:
            advice = (
                "Add turbopuffer_api_key to the secret: Tables, and pages in turbopuffer, cannot be indexed without it."
            )
            yield Problem("turbopuffer key", "The secret has no key for turbopuffer.", advice)
            return
        url = f"{self.turbopuffer_base_url}/v1/namespaces?page_size=1"
        answer = self._answer("GET", url, {"Authorization": f"Bearer {key}"})
        if answer is None:
            advice = "Check TurbopufferBaseUrl, and docs/runbooks.md#vendor-away."
            yield Problem("turbopuffer key", "turbopuffer did not answer.", advice)
        elif not answer.is_success:
            advice = "Check turbopuffer_api_key in the secret, TurbopufferBaseUrl and the account's bills."
            yield Problem("turbopuffer key", f"turbopuffer answered {answer.status_code} to the key.", advice)
        elif (seconds := min(self._seconds(url, key) for _ in range(3))) > _FAR_SECONDS:
            advice = "Deploy with the nearest region as TurbopufferBaseUrl: each search there waits for it."
            yield Problem("region", f"turbopuffer needs {seconds * 1000:.0f} ms for an answer.", advice)

    def _seconds(self, url: str, key: str) -> float:
        started = self.clock()
        self._answer("GET", url, {"Authorization": f"Bearer {key}"})
        return self.clock() - started

    def _json(self, method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the JSON object of an answer, an empty one for a refusal."""
        answer = self._answer(method, url, headers, body)
        return dict(answer.json()) if answer is not None and answer.is_success else {}

    def _answer(
        self, method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None
    ) -> httpx2.Response | None:
        try:
            return self.http.request(method, url, headers=dict(headers), json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """The size of the database, beside `most_bytes`, the size of its disk; 0: the disk is not watched."""

    client: Client
    most_bytes: int

    def percent(self) -> float:
        """Returns how much of the disk the database takes; 0 if it is not watched."""
        return 100 * int(call(self.client, "database_bytes", {})) / self.most_bytes if self.most_bytes else 0.0


def database_problems(state: Mapping[str, Any], dimensions: int, now: datetime) -> Iterator[Problem]:
    """Yields what is wrong in an answer of `database_state`. `dimensions` is the length of the model's vectors."""
    kind = compared(**state["schema"])
    if kind in _SCHEMAS:
        yield Problem("schema", _SCHEMAS[kind], ADVICE[kind])
    if state["postgres"] not in POSTGRES_VERSIONS:
        advice = (
            "Upgrade Postgres in Supabase's project settings, or report how it went: docs/how-to/first-real-deploy.md."
        )
        yield Problem("versions", f"Postgres is {state['postgres']}, which nobody has tried.", advice)
    for name, (schema, oldest) in EXTENSIONS.items():
        extension = state["extensions"].get(name)
        if extension is None:
            yield Problem("extension", f"The extension {name} is missing.", _MIGRATE)
        elif extension["schema"] != schema:
            advice = f"In the SQL editor: alter extension {name} set schema {schema};"
            yield Problem("extension", f"The extension {name} is in the schema {extension['schema']}.", advice)
        elif tuple(map(int, re.findall(r"\d+", extension["version"]))) < oldest:
            advice = "Upgrade Postgres in Supabase's project settings."
            yield Problem("versions", f"The extension {name} is {extension['version']}.", advice)
    if missing := state["missing"]:
        advice = "Run the grants of supabase/schema/8_rights.sql in the SQL editor."
        yield Problem("grants", f"The service key has no right to {_listed(missing)}.", advice)
    if opened := state["open"]:
        advice = "Run supabase/schema/8_rights.sql from its row level security on, in the SQL editor."
        yield Problem("grants", f"Tables are open past the API: {_listed(opened)}.", advice)
    wrong = [f"{column} is {kind}" for column, kind in state["vectors"].items() if f"({dimensions})" not in kind]
    if wrong:
        advice = f"Vectors have {dimensions} dimensions: apply the migrations of this version to an empty database."
        yield Problem("vector dimensions", f"{_listed(wrong)}.", advice)
    apart = abs((now - datetime.fromisoformat(state["time"])).total_seconds())
    if apart > MOST_SECONDS_APART:
        advice = "Compare https://status.supabase.com; a restored or paused project may need a restart."
        yield Problem("clock", f"The database's clock differs by {apart:.0f} seconds.", advice)


def disk_problems(state: Mapping[str, Any], most_bytes: int) -> Iterator[Problem]:
    """Yields what an answer of `database_state` says about a disk of `most_bytes`; 0 is no limit."""
    advice = "docs/runbooks.md#database-full."
    if state["is_read_only"]:
        yield Problem("disk", "The database is read-only: nothing is indexed or changed.", advice)
    elif most_bytes and state["bytes"] > NEARLY_FULL * most_bytes:
        sizes = f"{state['bytes'] / 1e9:.1f} of {most_bytes / 1e9:.1f} GB"
        yield Problem(
            "disk", f"The database has {sizes} (database_bytes). Supabase makes a full one read-only.", advice
        )


def _listed(names: list[str]) -> str:
    omitted = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + omitted
