"""What a command asks AWS over the wire: a stack, Lambda's limit of the account, and the queues of moto."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import boto3
from botocore import xform_name

STACKS = (
    '<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks>'
    "<member><StackName>{name}</StackName><CreationTime>2026-11-22T00:00:00Z</CreationTime>"
    "<StackStatus>CREATE_COMPLETE</StackStatus><Outputs>{outputs}</Outputs>"
    "<Parameters>{parameters}</Parameters></member>"
    "</Stacks></DescribeStacksResult></DescribeStacksResponse>"
)
OUTPUT = "<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>"
PARAMETER = "<member><ParameterKey>{name}</ParameterKey><ParameterValue>{value}</ParameterValue></member>"
NO_STACK = (
    '<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type>'
    "<Code>ValidationError</Code><Message>Stack with id {name} does not exist</Message></Error></ErrorResponse>"
)


@contextmanager
def aws_endpoint(
    stacks: Mapping[str, Mapping[str, str]], parameters: Mapping[str, str] | None = None, limit: int = 1000
) -> Iterator[str]:
    """The address of CloudFormation, which has these stacks with these outputs, of Lambda, and of SQS.

    All stacks have the same parameters; Lambda allows the account `limit` concurrent executions.
    """
    # A command's environment would lead a client that is made later to this very address.
    sqs = boto3.client("sqs")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert "account-settings" in self.path
            self.answer(200, json.dumps({"AccountLimit": {"ConcurrentExecutions": limit}}), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if target := self.headers.get("X-Amz-Target"):
                self.answer(200, json.dumps(_asked(sqs, target, json.loads(body))), "application/x-amz-json-1.0")
                return
            (name,) = parse_qs(body.decode())["StackName"]
            if name not in stacks:
                self.answer(400, NO_STACK.format(name=name), "text/xml")
                return
            outputs = "".join(OUTPUT.format(name=key, value=escape(value)) for key, value in stacks[name].items())
            chosen = "".join(PARAMETER.format(name=key, value=value) for key, value in (parameters or {}).items())
            self.answer(200, STACKS.format(name=name, outputs=outputs, parameters=chosen), "text/xml")

        def answer(self, status: int, text: str, kind: str) -> None:
            sent = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *arguments: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _asked(sqs: Any, target: str, arguments: dict[str, Any]) -> dict[str, Any]:
    # Nobody sends while a test waits.
    at_once = {**arguments, "WaitTimeSeconds": 0} if "WaitTimeSeconds" in arguments else arguments
    answer = getattr(sqs, xform_name(target.rpartition(".")[2]))(**at_once)
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}
