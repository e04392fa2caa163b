"""The client of turbopuffer: searched rows in its namespaces, for Tables and for pages, and its errors."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from turbopuffer import APIConnectionError, APIError, APIStatusError, DefaultHttpxClient, Timeout, Turbopuffer
from turbopuffer.types import AttributeSchemaParam, Row

from sakuin.errors import Invalid, NotFound, Refused, SakuinError, Unavailable
from sakuin.platform.calls import Ask, background, interactive, retry_after
from sakuin.platform.redaction import redacted
from sakuin.platform.turbopuffer.documents import (
    DISTANCE,
    ROWS_AN_ANSWER,
    SearchedRow,
    documents,
    requests,
    rows_named,
    schema,
)
from sakuin.texts.catalogue import coded

# A large write takes seconds, and a worker can wait for it.
_TIMEOUT = Timeout(30.0, connect=5.0)

# An agent waits for a search, API Gateway at most 30 s. A cold namespace of a million rows answers within 2 s.
SEARCH_TIMEOUT = Timeout(6.0, connect=2.0)
LONGEST_QUICK_CALL = 8.0

_TOO_MANY = 429
_RETRIED = {408, 409, _TOO_MANY}
_REFUSED = {401, 402, 403}

# The limit of turbopuffer is 512 MB, but a function has the request and its rows in memory.
_MAX_REQUEST_BYTES = 64_000_000
# Of one multi-query.
_MAX_QUERIES = 16
# turbopuffer documents no limit of a filter.
MAX_DELETED_ROWS = 1_000

_NOT_NEWER = ("generation", "Lte", {"$ref_new": "generation"})

VENDOR = "turbopuffer"

T = TypeVar("T")


def connected(
    base_url: str, key: str, session: DefaultHttpxClient | None = None, current: Callable[[], str] | None = None
) -> Turbopuffer:
    """Returns a client of one region (`https://aws-us-east-1.turbopuffer.com`). It connects with the first request.

    It sends `key`, or what `current` returns. It makes no retries itself: those have no time budget, and sleep for up
    to half an hour.
    """

    def authorize(request: Any) -> None:
        request.headers["Authorization"] = f"Bearer {current() if current else key}"

    session = session or DefaultHttpxClient()
    session.event_hooks = {**session.event_hooks, "request": [*session.event_hooks["request"], authorize]}
    return Turbopuffer(
        base_url=base_url, api_key=key, timeout=_TIMEOUT, max_retries=0, telemetry=False, http_client=session
    )


def quick(client: Turbopuffer) -> Turbopuffer:
    """Returns the same client with the timeout of searches and of maintenance: no call takes longer than 8 seconds."""
    return client.with_options(timeout=SEARCH_TIMEOUT)


@contextmanager
def translate_errors(namespace: str) -> Iterator[None]:
    """Translates errors of turbopuffer into errors of the product."""
    try:
        yield
    except APIConnectionError as error:
        raise Unavailable(coded("vendor.turbopuffer_silent"), vendor=VENDOR) from error
    except APIStatusError as error:
        raise _ours(error, namespace) from error
    except (APIError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The answer of a proxy, or an incomplete one.
        raise Unavailable(coded("vendor.turbopuffer_unread"), vendor=VENDOR) from error


def understood(answer: T, *members: str) -> T:
    """Returns the answer. Raises `ValueError` if a member is missing, as in a proxy's page with the status 200."""
    if missing := [name for name in members if getattr(answer, name, None) is None]:
        raise ValueError(f"the answer has no {missing[0]}")
    return answer


def _ours(error: APIStatusError, namespace: str) -> SakuinError:
    status = error.status_code
    if status == 404 and _said(error) is not None:
        return NotFound(f"turbopuffer has no namespace {namespace}")
    if status == 404:
        # The answer of another server. As an unknown namespace it would mean that nothing was found.
        return Refused(coded("vendor.turbopuffer_address"), vendor=VENDOR)
    if status in _REFUSED:
        return Refused(coded("vendor.turbopuffer_key", status=status), vendor=VENDOR)
    if status in _RETRIED or status >= 500:
        pause = retry_after(error.response.headers)
        # Limits are of one namespace: https://turbopuffer.com/docs/limits
        busy = namespace if status == _TOO_MANY and namespace else None
        return Unavailable(
            coded("vendor.turbopuffer_answered", status=status), vendor=VENDOR, retry_after=pause, namespace=busy
        )
    return Invalid(f"turbopuffer refused the request with {status}: {_reason(error)}")


def _reason(error: APIStatusError) -> str:
    # The message may repeat the key that was sent.
    sent = error.request.headers.get("authorization", "").removeprefix("Bearer ")
    return redacted(str(_said(error) or error.message), [sent])[:300]


def _said(error: APIStatusError) -> object:
    return error.body.get("error") if isinstance(error.body, dict) else None


@dataclass(frozen=True, slots=True)
class TurbopufferRows:
    """Searched rows in namespaces. There are no transactions.

    Rows have a generation, and no write replaces a row of a greater generation. `ask` makes the background calls of
    workers, `ask_now` the interactive calls of searches.
    """

    client: Turbopuffer
    max_request_bytes: int = _MAX_REQUEST_BYTES
    rows_an_answer: int = ROWS_AN_ANSWER
    ask: Ask = field(default_factory=background)
    ask_now: Ask = field(default_factory=interactive)

    def write(
        self, namespace: str, rows: Sequence[SearchedRow], attributes: Mapping[str, AttributeSchemaParam]
    ) -> None:
        """Stores rows by id, except where a row of a greater generation exists. Idempotent; they are durable then."""
        for request in requests(rows, self.max_request_bytes):
            self._write(
                namespace,
                upsert_rows=[each for row in request for each in documents(row)],
                upsert_condition=_NOT_NEWER,
                schema=schema(len(request[0].vectors[0]), attributes),
                distance_metric=DISTANCE,
            )

    def answers(self, namespace: str, queries: Mapping[str, Any]) -> Mapping[str, Sequence[Row]]:
        """Returns the documents by the names of the queries, in a round trip for sixteen; none for an empty query.

        Raises `NotFound` if there is no such namespace.
        """
        answers: dict[str, Sequence[Row]] = dict.fromkeys(queries, ())
        for names in parts([name for name, query in queries.items() if query], _MAX_QUERIES):
            call = partial(self._results, namespace, [queries[name] for name in names])
            answers |= dict(zip(names, self.ask_now(call, namespace=namespace), strict=True))
        return answers

    def _results(self, namespace: str, queries: list[Any]) -> list[Sequence[Row]]:
        with translate_errors(namespace):
            answer = self.client.namespace(namespace).multi_query(queries=queries, timeout=SEARCH_TIMEOUT)
            results = understood(answer, "results").results
            if len(results) != len(queries):
                raise ValueError("each query has a result")
            return [understood(result, "rows").rows or () for result in results]

    def delete_matching(self, namespace: str, filters: tuple[Any, ...]) -> int:
        """Deletes the documents that pass the filters. Returns their number."""
        with suppress(NotFound):
            return int(self._write(namespace, delete_by_filter=filters).rows_deleted or 0)
        return 0

    def delete(self, namespace: str, doc_ids: Collection[str], *, generation: int | None = None) -> None:
        """Deletes rows by id, with `generation` only those up to it. An unknown id is not an error."""
        not_newer = [] if generation is None else [("generation", "Lte", generation)]
        for ids in parts(doc_ids, MAX_DELETED_ROWS):
            self.delete_matching(namespace, ("And", [("chunk", "In", ids), *not_newer]))

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace with its rows. An unknown namespace is not an error."""
        with suppress(NotFound):
            self._asked(namespace, lambda: self.client.namespace(namespace).delete_all(), "status")

    def is_indexed(self, namespace: str) -> bool:
        """Returns whether searches see all rows that were stored before; true without such a namespace."""
        try:
            index = self._asked(namespace, lambda: self.client.namespace(namespace).metadata().index, "status")
        except NotFound:
            return True
        return bool(index.status == "up-to-date")

    def present(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """Returns which of some rows there are; none without such a namespace."""
        with suppress(NotFound):
            return {str(row["id"]) for row in self.answers(namespace, {"rows": rows_named(ids, None)})["rows"]}
        return set()

    def ids(self, namespace: str) -> Mapping[str, int]:
        """Returns the generation of every row by id, without those that are not visible yet: see `is_indexed`."""
        generations: dict[str, int] = {}
        after: list[Any] = [("passage", "Eq", 0)]
        with suppress(NotFound):
            while page := self._page_of_ids(namespace, after):
                generations |= {str(row.id): int(str(row["generation"])) for row in page}
                if len(page) < self.rows_an_answer:
                    break
                after = [*after[:1], ("id", "Gt", page[-1].id)]
        return generations

    def namespaces(self, prefix: str) -> list[str]:
        """Returns all namespaces whose names begin with `prefix`, in order."""

        def names() -> list[str]:
            with translate_errors(""):
                return sorted(each.id for each in understood(self.client.namespaces(prefix=prefix), "namespaces"))

        return self.ask(names)

    def _page_of_ids(self, namespace: str, filters: list[Any]) -> Sequence[Any]:
        def page() -> Any:
            return self.client.namespace(namespace).query(
                rank_by=("id", "asc"),
                limit=self.rows_an_answer,
                include_attributes=["generation"],
                filters=("And", filters),
            )

        rows: Sequence[Any] = self._asked(namespace, page, "rows").rows
        return rows

    def _write(self, namespace: str, **operation: Any) -> Any:
        return self._asked(namespace, lambda: self.client.namespace(namespace).write(**operation), "rows_affected")

    def _asked(self, namespace: str, call: Callable[[], T], *members: str) -> T:
        def answer() -> T:
            with translate_errors(namespace):
                return understood(call(), *members)

        return self.ask(answer, namespace=namespace)


def parts(items: Collection[T], size: int) -> Iterator[list[T]]:
    """Yields the different items in parts of a size."""
    different = list(dict.fromkeys(items))
    for start in range(0, len(different), size):
        yield different[start : start + size]
