"""Clients of AWS with short timeouts and few retries, calls of another Lambda function, and the bus of EventBridge."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from sakuin.errors import Misconfigured, SakuinError, Unavailable
from sakuin.texts.catalogue import coded

# Takes an event and its context.
Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

_CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3})
# A function is called while somebody waits: its start may take seconds, and it must not do its work twice.
_FUNCTION_CONFIG = _CONFIG.merge(Config(read_timeout=24, retries={"mode": "standard", "total_max_attempts": 1}))
# `maintain` publishes what was not accepted.
_EVENTS_CONFIG = _CONFIG.merge(Config(read_timeout=4, retries={"mode": "standard", "total_max_attempts": 1}))
# Newer regions reject presigned URLs of version 2, and those include no header in the signature.
_S3_CONFIG = _CONFIG.merge(Config(signature_version="s3v4"))

# https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
_TOO_MANY = ("TooManyRequestsException", "ResourceNotReadyException", "SnapStartNotReadyException")
_WRONG = ("AccessDeniedException", "ResourceNotFoundException")

# Of the events of the product.
SOURCE = "sakuin"
# The limit of PutEvents. Ten events of ours are far smaller than its 256 kB.
_EVENTS_A_REQUEST = 10


@cache
def session(**options: Any) -> Any:
    """Returns boto3's session. A new one would load its data and credentials again, for 40 ms a client."""
    return boto3.Session(**options)


def client(service: str, *, endpoint_url: str | None = None, **options: Any) -> Any:
    """Returns boto3's client of a service. `options` override what boto3 finds in its own configuration."""
    try:
        config = {"s3": _S3_CONFIG, "lambda": _FUNCTION_CONFIG, "events": _EVENTS_CONFIG}.get(service, _CONFIG)
        return session(**options).client(service, endpoint_url=endpoint_url, config=config)
    except (BotoCoreError, ValueError) as error:
        raise Misconfigured(f"The AWS settings are wrong: {error}. Correct the AWS_ variables") from error


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """One function by its ARN; `client` is boto3's."""

    client: Any
    arn: str

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Returns the function's answer; `Unavailable` if it does not answer or fails."""
        try:
            response = self.client.invoke(FunctionName=self.arn, Payload=json.dumps(event))
            answer = json.loads(response["Payload"].read())
        except ReadTimeoutError as error:
            raise self._unavailable("did not answer in time. Try again: a function that starts needs longer") from error
        except ClientError as error:
            raise self._error(error.response.get("Error", {}).get("Code", "")) from error
        except (BotoCoreError, ValueError) as error:
            raise self._unavailable("did not answer") from error
        if "FunctionError" in response or not isinstance(answer, dict):
            # The function's own log has the error: its message may have secrets.
            is_late = isinstance(answer, dict) and "timed out" in str(answer.get("errorMessage"))
            raise self._unavailable("did not finish in time" if is_late else "failed; its log says why")
        return answer

    def _error(self, code: str) -> SakuinError:
        if code in _TOO_MANY:
            return self._unavailable("has too many calls at once. Try again in a moment")
        if code in _WRONG:
            return Misconfigured(f"The function {self._name} cannot be called ({code}). Deploy the template again")
        return self._unavailable(f"did not answer ({code or 'no code'})")

    def _unavailable(self, what: str) -> Unavailable:
        return Unavailable(f"The function {self._name} {what}", vendor="lambda")

    @property
    def _name(self) -> str:
        """Returns the name and the alias: the rest of the ARN is the number of the account."""
        return self.arn.rpartition(":function:")[2]


@dataclass(frozen=True, slots=True)
class BusEvent:
    """An event. Its `detail` has no text of a page or a document."""

    type: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventBridgeBus:
    """A bus by its name; `client` is boto3's of `events`."""

    client: Any
    name: str

    def put(self, events: Sequence[BusEvent]) -> list[bool]:
        """Sends events, and returns of each whether the bus accepted it. No events is not an error."""
        accepted: list[bool] = []
        for start in range(0, len(events), _EVENTS_A_REQUEST):
            entries = [self._entry(event) for event in events[start : start + _EVENTS_A_REQUEST]]
            try:
                answer = self.client.put_events(Entries=entries)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable(coded("record.no_bus"), vendor="eventbridge") from error
            # Each entry is accepted or rejected by itself. The answer has the order of the request.
            accepted += [not entry.get("ErrorCode") for entry in answer["Entries"]]
        return accepted

    def _entry(self, event: BusEvent) -> dict[str, str]:
        return {
            "Source": SOURCE,
            "DetailType": event.type,
            "Detail": json.dumps(event.detail),
            "EventBusName": self.name,
        }
