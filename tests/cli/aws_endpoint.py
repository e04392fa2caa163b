"""What a command asks AWS over the wire: a stack, and Lambda's limit of the account."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

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
    """The address of CloudFormation, which has these stacks with these outputs, and of Lambda.

    All stacks have the same parameters; Lambda allows the account `limit` concurrent executions.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert "account-settings" in self.path
            self.answer(200, json.dumps({"AccountLimit": {"ConcurrentExecutions": limit}}), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
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
