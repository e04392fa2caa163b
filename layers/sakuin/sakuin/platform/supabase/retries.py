"""The transport that repeats requests to Supabase which changed nothing."""

from urllib.parse import unquote

import httpx

from sakuin.platform.calls import Retries, retry_after

# SQL functions that only read. PostgREST calls every function with POST.
READING_FUNCTIONS = frozenset(
    {
        "changed_nodes",
        "chunks_to_store",
        "current_chunks",
        "endpoint",
        "filter_values",
        "find_text",
        "indexed_anchors",
        "known_vectors",
        "list_concepts",
        "list_materials",
        "lexicon_entries",
        "material_counts",
        "objects_in_scope",
        "assign_namespace_suffix",
        "read_chunks",
        "read_page",
        "read_text",
        "upload_results",
        "search_candidates",
        "chunks_to_show",
        "table_lexicon_entries",
        "table_term_frequencies",
        "tokens_today",
        "unindexed_tables",
        "vectors_by_name",
    }
)

_READING_METHODS = ("GET", "HEAD")
_GATEWAY_ERRORS = (502, 503, 504)


class RepeatingTransport(httpx.BaseTransport):
    """The transport `inner`, with repeated requests where a repetition is safe.

    A request is repeated if no connection was made. A request that only reads is repeated also if the connection broke
    or the gateway answered with an error, but not after a timeout.
    """

    def __init__(self, inner: httpx.BaseTransport, retries: Retries) -> None:
        self._inner = inner
        self._retries = retries

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._retries.budget.add()
        started = self._retries.clock()
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._inner.handle_request(request)
            except httpx.TransportError as error:
                if not _is_repeatable(error, request):
                    raise
                pause = self._retries.pause(attempt, started, wanted=None)
                if pause is None:
                    raise
            else:
                if response.status_code not in _GATEWAY_ERRORS or not _reads(request):
                    return response
                pause = self._retries.pause(attempt, started, wanted=retry_after(response.headers))
                if pause is None:
                    return response
                response.close()
            self._retries.sleep(pause)

    def close(self) -> None:
        self._inner.close()


def _is_repeatable(error: httpx.TransportError, request: httpx.Request) -> bool:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return True
    return _reads(request) and not isinstance(error, httpx.TimeoutException)


def _reads(request: httpx.Request) -> bool:
    folder, _, name = unquote(request.url.path).rpartition("/")
    return request.method in _READING_METHODS or (folder.endswith("/rpc") and name in READING_FUNCTIONS)
