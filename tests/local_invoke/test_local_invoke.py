"""`sam local invoke` of every function with its sample events: in Lambda's container, with the layers as deployed.

Needs a container runtime and minutes: `make local-invoke` (its guide: docs/how-to). The same events are given to the
deployed functions in tests/integration/test_events.py each time.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from sakuin_local.aws.template import read_template

from tests.integration.conftest import REPOSITORY, Deployed
from tests.integration.conftest import deployed as deployed
from tests.integration.sample_events import AUTHORIZED, SAMPLE_EVENTS, SampleEvent
from tests.local_invoke.relay import relayed

# Where containers find this machine: the gateway of the runtime's bridge.
HOST = os.environ.get("SAKUIN_LOCAL_INVOKE", "")
BUILT = Path(os.environ.get("SAKUIN_LOCAL_INVOKE_BUILD", REPOSITORY / ".aws-sam" / "local-invoke"))
RUNTIME = os.environ.get("SAKUIN_LOCAL_INVOKE_RUNTIME", "python3.13")
ARCHITECTURE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
SAM = REPOSITORY / ".tools" / "sam" / "bin" / "sam"

pytestmark = pytest.mark.skipif(not HOST, reason="needs a container runtime: make local-invoke")


@pytest.fixture(scope="module")
def invocation(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command's options: the built template, told where the local stack is."""
    variables = _variables(deployed)
    # SAM passes on only variables that the template declares.
    template = read_template(BUILT / "template.yaml")
    template["Globals"]["Function"]["Environment"]["Variables"]["AWS_ENDPOINT_URL"] = ""
    file = BUILT / "template.local.yaml"
    file.write_text(yaml.safe_dump(template, allow_unicode=True), encoding="utf-8")
    overrides = tmp_path_factory.mktemp("invoke") / "variables.json"
    overrides.write_text(json.dumps({"Parameters": variables}))
    ports = {urlsplit(url).port or 0 for url in variables.values() if url.startswith(f"http://{HOST}")}
    options = ["--template", str(file), "--env-vars", str(overrides), "--skip-pull-image"]
    options += ["--parameter-overrides", f"PythonRuntime={RUNTIME} Architecture={ARCHITECTURE}"]
    with relayed(HOST, ports):
        yield options


def _variables(deployed: Deployed) -> dict[str, str]:
    environment, outputs = deployed.environment, deployed.outputs
    addresses = {
        "AWS_ENDPOINT_URL": environment["AWS_ENDPOINT_URL"],
        "SUPABASE_URL": environment["SAKUIN_SUPABASE_URL"],
        "OPENAI_BASE_URL": environment["SAKUIN_OPENAI_BASE_URL"],
        "TURBOPUFFER_BASE_URL": environment["SAKUIN_TURBOPUFFER_BASE_URL"],
        "MATERIAL_QUEUE_URL": outputs["MaterialQueueUrl"],
        "TOOL_QUEUE_URL": outputs["ToolQueueUrl"],
        "EMBED_QUEUE_URL": outputs["EmbedQueueUrl"],
    }
    names = {
        "EMBEDDING_MODEL": "multilingual-e5-small",
        "EMBEDDING_QUERY_PREFIX": "query: ",
        "EMBEDDING_PASSAGE_PREFIX": "passage: ",
        "LEARNS_MODEL": "",
        "VOCABULARY": "school-mathematics",
        "SECRET_NAME": environment["SAKUIN_SECRET"],
        "MATERIALS_BUCKET": outputs["MaterialsBucket"],
        "TABLES_BUCKET": outputs["TablesBucket"],
        "EVENT_BUS_NAME": outputs["EventBusName"],
    }
    return names | {name: url.replace("127.0.0.1", HOST) for name, url in addresses.items()}


def invoked(deployed: Deployed, invocation: list[str], sample: SampleEvent, event: dict[str, Any]) -> dict[str, Any]:
    """What the function in its container answers."""
    keys = {name: text for name, text in deployed.environment.items() if name.startswith("AWS_")}
    # SAM itself speaks to no AWS here.
    keys.pop("AWS_ENDPOINT_URL")
    done = subprocess.run(
        [SAM, "local", "invoke", sample.function, *invocation, "--event", "-"],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        env={**os.environ, **keys, "SAM_CLI_TELEMETRY": "0"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert "errorType" not in answer, done.stderr[-3000:]
    return answer


@pytest.mark.parametrize("sample", SAMPLE_EVENTS, ids=lambda one: one.name)
def test_an_event_is_answered_in_lambda_s_container(
    deployed: Deployed, invocation: list[str], sample: SampleEvent
) -> None:
    sample.check(invoked(deployed, invocation, sample, sample.event(deployed)))


@pytest.mark.parametrize("sample", AUTHORIZED, ids=lambda one: one.name)
def test_a_request_with_a_key_that_opens_is_answered_in_lambda_s_container(
    deployed: Deployed, invocation: list[str], sample: SampleEvent
) -> None:
    sample.check(invoked(deployed, invocation, sample, sample.event(deployed, authorized=True)))
