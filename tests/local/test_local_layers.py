"""Layers carry each package once, in the versions that the tests ran on."""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sakuin_local.aws import layers
from sakuin_local.aws.layers import build_layers, built
from sakuin_local.places import REPOSITORY, TEMPLATE
from sakuin_local.processes import Programs

LAYERS = ("base", "japanese", "html", "turbopuffer", "web")


def pinned(lock: Path) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+==\S+)", lock.read_text(), re.MULTILINE))


def layer(name: str) -> set[str]:
    return pinned(REPOSITORY / "layers" / name / "requirements.txt")


@pytest.mark.parametrize("name", LAYERS[1:])
def test_what_the_base_layer_has_no_other_repeats(name: str) -> None:
    assert layer(name) & layer("base") == set()


def test_what_lambda_brings_is_in_no_layer() -> None:
    brought = {"boto3", "botocore", "s3transfer", "urllib3"}

    assert not {entry.split("==")[0] for name in LAYERS for entry in layer(name)} & brought


class CountedPrograms(Programs):
    """Runs nothing: makes the folder that the program would, and counts."""

    def __init__(self, logs: Path) -> None:
        super().__init__(logs)
        self.runs: list[str] = []

    def run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> str:
        self.runs.append(name)
        unfinished = next(part for part in map(str, command) if part.startswith("ARTIFACTS_DIR="))
        Path(unfinished.partition("=")[2]).mkdir(parents=True)
        return ""


def test_two_stacks_that_start_together_build_a_layer_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "TOOLS", tmp_path)
    programs = CountedPrograms(tmp_path)
    with ThreadPoolExecutor() as stacks:
        for stack in [stacks.submit(build_layers, TEMPLATE, programs, minor="3.13") for _ in range(4)]:
            stack.result()
    assert sorted(programs.runs) == sorted(f"layer-{name}" for name in LAYERS)
    assert all(built(REPOSITORY / "layers" / name, "3.13").exists() for name in LAYERS)
