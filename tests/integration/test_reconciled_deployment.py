"""The deployed index is compared with its sources: what was changed behind its back is found, and repaired."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Deployed

pytestmark = pytest.mark.integration


def maintained(deployed: Deployed, **event: bool) -> dict[str, Any]:
    """One call of `maintain`, as the schedule makes it."""
    answer = deployed.client("lambda").invoke(
        FunctionName=deployed.outputs["MaintainFunction"], Payload=json.dumps(event).encode()
    )
    assert "FunctionError" not in answer, answer["Payload"].read()
    done: dict[str, Any] = json.loads(answer["Payload"].read())
    return done


def test_a_night_compares_the_whole_deployment(deployed: Deployed) -> None:
    done = maintained(deployed, reconcile=True)
    assert done["goes_on"] is False, "what the samples need is less than a night"


def found(deployed: Deployed, where: str, *options: str) -> list[dict[str, Any]]:
    """What the command finds of a page or a Table; of others it may find something, too."""
    code, output = deployed.sakuin("reconcile", *options, "--json")
    findings: list[dict[str, Any]] = json.loads(output)["findings"]
    assert code == (1 if findings else 0), output
    return [one for one in findings if one["where"] == where]
