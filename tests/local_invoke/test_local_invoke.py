"""`sam local invoke` of every function with its sample events: in Lambda's container, with the layers as deployed.

Needs a container runtime and minutes: `make local-invoke` (its guide: docs/how-to). The same events are given to the
deployed functions in tests/integration/test_deployed.py each time.
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
    overrides.write_text(json.dumps(variables))
    texts = {text for own in variables.values() for text in own.values()}
    ports = {urlsplit(text).port or 0 for text in texts if text.startswith(f"http://{HOST}")}
    options = ["--template", str(file), "--env-vars", str(overrides), "--skip-pull-image"]
    options += ["--parameter-overrides", f"PythonRuntime={RUNTIME} Architecture={ARCHITECTURE}"]
    with relayed(HOST, ports):
        yield options


def _variables(deployed: Deployed) -> dict[str, dict[str, str]]:
    """By function, the variables that it is deployed with, with addresses that a container reaches."""
    functions = deployed.client("lambda")
    resources = deployed.client("cloudformation").describe_stack_resources(StackName="sakuin")["StackResources"]
    names = {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in resources
        if one["ResourceType"] == "AWS::Lambda::Function"
    }
    variables: dict[str, dict[str, str]] = {}
    for function, name in names.items():
        own = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        own["AWS_ENDPOINT_URL"] = deployed.environment["AWS_ENDPOINT_URL"]
        variables[function] = {each: text.replace("127.0.0.1", HOST) for each, text in own.items()}
    return variables


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
def test_an_event_is_answered_in_a_container(deployed: Deployed, invocation: list[str], sample: SampleEvent) -> None:
    sample.check(invoked(deployed, invocation, sample, sample.event(deployed)))


@pytest.mark.parametrize("sample", AUTHORIZED, ids=lambda one: one.name)
def test_a_request_with_a_key_that_opens_is_answered_in_lambda_s_container(
    deployed: Deployed, invocation: list[str], sample: SampleEvent
) -> None:
    sample.check(invoked(deployed, invocation, sample, sample.event(deployed, authorized=True)))
