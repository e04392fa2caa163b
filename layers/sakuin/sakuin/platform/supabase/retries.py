"""Requests to Supabase that changed nothing are made again."""

from itertools import count
from urllib.parse import unquote

import httpx

from sakuin.platform.calls import Retries, retry_after

# SQL functions that only read: PostgREST is asked for all functions by POST.
READING_FUNCTIONS = frozenset(
    {
        "changed_nodes",
        "chunks_to_store",
        "current_chunks",
        "embedding_tokens_today",
        "endpoint",
        "indexed_anchors",
        "known_vectors",
        "list_concepts",
        "lexicon_entries",
        "material_counts",
        "missing_vectors",
        "assign_namespace_suffix",
        "upload_results",
        "search_knowledge",
        "table_lexicon_entries",
    }
)

_READING_METHODS = ("GET", "HEAD")

_AWAY = (502, 503, 504)


class RepeatingTransport(httpx.BaseTransport):
    """The transport `inner`, which is asked again where that can do no harm.

    What could not be connected never arrived. A request that only reads may have arrived, and is asked again when the
    connection broke or the gateway had nobody behind it; one that timed out is not: it had its time.
    """

    def __init__(self, inner: httpx.BaseTransport, retries: Retries) -> None:
        self._inner = inner
        self._retries = retries

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._retries.budget.earn()
        started = self._retries.clock()
        for tried in count(1):
            try:
                response = self._inner.handle_request(request)
            except httpx.TransportError as error:
                if not _is_harmless(error, request):
                    raise
                pause = self._retries.pause(tried, started, wanted=None)
                if pause is None:
                    raise
            else:
                if response.status_code not in _AWAY or not _reads(request):
                    return response
                pause = self._retries.pause(tried, started, wanted=retry_after(response.headers))
                if pause is None:
                    return response
                response.close()
            self._retries.sleep(pause)
        raise AssertionError("counting ends never")

    def close(self) -> None:
        self._inner.close()


def _is_harmless(error: httpx.TransportError, request: httpx.Request) -> bool:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return True
    return _reads(request) and not isinstance(error, httpx.TimeoutException)


def _reads(request: httpx.Request) -> bool:
    folder, _, name = unquote(request.url.path).rpartition("/")
    return request.method in _READING_METHODS or (folder.endswith("/rpc") and name in READING_FUNCTIONS)
