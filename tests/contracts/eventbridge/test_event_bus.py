"""What EventBridge is sent, and what of it counts as sent."""

import json
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from sakuin.errors import Unavailable
from sakuin.platform.aws import BusEvent, EventBridgeBus

EVENTS = [BusEvent("ToolCreated", {"number": number}) for number in range(1, 24)]


class Client:
    """boto3's client of `events`; refuses the entries of these numbers."""

    def __init__(self, *, refuses: set[int] | None = None, down: bool = False) -> None:
        self.refuses, self.down, self.requests = refuses or set(), down, list[list[dict[str, Any]]]()

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:
        if self.down:
            raise EndpointConnectionError(endpoint_url="http://events")
        start = sum(map(len, self.requests)) + 1
        self.requests.append(Entries)
        answers = [
            {"ErrorCode": "ThrottlingException"} if number in self.refuses else {"EventId": "x"}
            for number in range(start, start + len(Entries))
        ]
        return {"FailedEntryCount": sum("ErrorCode" in answer for answer in answers), "Entries": answers}


def test_events_travel_by_ten() -> None:
    client = Client()
    assert EventBridgeBus(client, "bus").put(EVENTS) == [True] * 23
    assert [len(request) for request in client.requests] == [10, 10, 3]
    (entry, *_), *_ = client.requests
    assert (entry["Source"], entry["DetailType"], entry["EventBusName"]) == ("sakuin", "ToolCreated", "bus")
    assert json.loads(entry["Detail"]) == {"number": 1}


def test_what_the_bus_refuses_is_not_sent() -> None:
    accepted = EventBridgeBus(Client(refuses={2, 11, 23}), "bus").put(EVENTS)
    assert [number for number, is_accepted in enumerate(accepted, 1) if not is_accepted] == [2, 11, 23]
    assert EventBridgeBus(Client(), "bus").put([]) == []
    with pytest.raises(Unavailable):
        EventBridgeBus(Client(down=True), "bus").put(EVENTS)
