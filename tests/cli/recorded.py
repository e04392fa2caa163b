"""A deployment of a test's own answers, on loopback."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sakuin_local.serving import served

# Method, path and body of a request to the status and the JSON of its answer.
Answer = Callable[[str, str, bytes], tuple[int, object]]


@contextmanager
def recorded(answer: Answer) -> Iterator[str]:
    """The address, for as long as the block runs."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        status, document = answer(scope["method"], scope["path"], body)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(document).encode()})

    with served(application) as port:
        yield f"http://127.0.0.1:{port}"
