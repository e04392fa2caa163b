"""Layers carry each package once, in the versions that the tests ran on."""

import re
from pathlib import Path

import pytest
from sakuin_local.places import REPOSITORY

LAYERS = ("base", "japanese", "html", "web")


def pinned(lock: Path) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+==\S+)", lock.read_text(), re.MULTILINE))


def layer(name: str) -> set[str]:
    return pinned(REPOSITORY / "layers" / name / "requirements.txt")


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_versions_of_the_development_environment(name: str) -> None:
    assert layer(name) <= pinned(REPOSITORY / "requirements" / "dev.txt")


@pytest.mark.parametrize("name", LAYERS[1:])
def test_what_the_base_layer_has_no_other_repeats(name: str) -> None:
    assert layer(name) & layer("base") == set()


def test_what_lambda_brings_is_in_no_layer() -> None:
    brought = {"boto3", "botocore", "s3transfer", "urllib3"}

    assert not {entry.split("==")[0] for name in LAYERS for entry in layer(name)} & brought


@pytest.mark.parametrize("lock", sorted([*REPOSITORY.glob("requirements/*.txt"), *REPOSITORY.glob("layers/*/*.txt")]))
def test_a_lock_has_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()

    assert "--hash=sha256:" in text
    assert not re.search(r"https?://|file://|--index|--find-links|^-e|/root/|/home/", text, re.MULTILINE)
