"""A running stack, as the benchmarks drive it, and how they measure."""

import os
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import boto3
import httpx


class Stack:
    """The stack whose data folder is `data`, or `SAKUIN_DATA`, or `.sakuin`."""

    def __init__(self, data: Path | None = None) -> None:
        self.data = data or Path(os.environ.get("SAKUIN_DATA", ".sakuin"))
        lines = (self.data / "env").read_text().splitlines()
        self.environment = dict(line.split("=", 1) for line in lines if "=" in line)
        self.http = httpx.Client(base_url=self.environment["SAKUIN_URL"], timeout=120)
        self.s3 = self.client("s3")

    def client(self, service: str) -> Any:
        """A boto3 client of the stack's account."""
        return boto3.client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )

    def put(self, key: str, body: str) -> None:
        """Uploads a page."""
        self.s3.put_object(Bucket=self.environment["SAKUIN_BUCKET"], Key=key, Body=body.encode())

    def delete(self, key: str) -> None:
        """Deletes a page."""
        self.s3.delete_object(Bucket=self.environment["SAKUIN_BUCKET"], Key=key)

    def mcp(
        self, method: str, parameters: dict[str, Any], *, path: str = "/mcp", key: str | None = None
    ) -> dict[str, Any]:
        """The result of one MCP request, without a client's handshake; to the library if nothing else is named."""
        headers = {
            "Authorization": f"Bearer {key or self.environment['SAKUIN_API_KEY']}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        answer = self.http.post(path, headers=headers, json=message)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()["result"]
        return result

    def search(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        """The results of `search_knowledge`."""
        call = {"name": "search_knowledge", "arguments": {"query": query, **arguments}}
        results: list[dict[str, Any]] = self.mcp("tools/call", call)["structuredContent"]["results"]
        return results


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]
