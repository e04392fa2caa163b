"""No secret is in the repository or its history."""

import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What a vendor's key, a token and a private key look like; a made-up one is shorter, or has words in it.
SHAPES = re.compile(
    r"""
      \bsk_sakuin_[A-Za-z0-9_-]{43}\b
    | \bsb_secret_[A-Za-z0-9_-]{20,}
    | \bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}
    | \btpuf_[A-Za-z0-9]{24,}
    | \bsbp_[a-f0-9]{40}\b
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bgh[pousr]_[A-Za-z0-9]{36}\b | \bgithub_pat_\w{40,}
    | \bnpm_[A-Za-z0-9]{36}\b | \bpypi-[A-Za-z0-9_-]{50,}
    | \bxox[baprs]-[A-Za-z0-9-]{20,}
    | \bAIza[A-Za-z0-9_-]{35}\b
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}
    | -----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----
    | (?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY)["']?\s*[=:]\s*["']?[A-Za-z0-9/+]{40}\b
    | ://[^/\s:@"'{}$<>]+:(?!PASSWORD|password|secret|planted)[^/\s@"'{}$<>]{12,}@
    """,
    re.VERBOSE,
)
# One of these begins what SHAPES finds: looking for them first takes a tenth of the time.
BEGINNINGS = (
    *("sk_sakuin_", "sb_secret_", "sk-", "tpuf_", "sbp_", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("github_pat_", "npm_", "pypi-", "xox", "AIza", "eyJ", "-----BEGIN ", "://"),
    *("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
)
# Each is made up, and this is why it stands where it stands.
MADE_UP = {
    "ASIAABCDEFGHIJKLMNOP": "planted by tests/test_planted_secrets.py",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI1YzQzIn0.c2lnbmF0dXJlLW9mLWEtdXNlcg": "planted there too",
}


def found(text: str) -> set[str]:
    return {match[0] for at in places(text) if (match := SHAPES.match(text, at))} - MADE_UP.keys()


def places(text: str) -> Iterator[int]:
    """Returns where a secret may begin."""
    for beginning in BEGINNINGS:
        at = text.find(beginning)
        while at >= 0:
            yield at
            at = text.find(beginning, at + 1)


def git(*arguments: str) -> str:
    """Returns git's output; a copy without git has no history to check."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no git repository")
    return done.stdout.decode("utf-8", "replace")


def texts() -> Iterator[tuple[str, str]]:
    """Returns every file that is tracked or would be with the next commit."""
    for name in git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        path = ROOT / name
        if name and path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_no_file_holds_a_secret() -> None:
    assert {name: found(text) for name, text in texts() if found(text)} == {}


def added_lines() -> Iterator[str]:
    """Returns the lines that commits added, many at a time: the whole history would take 100 MB."""
    git("rev-parse", "HEAD")
    command = ["git", "log", "--all", "-p", "-U0", "--no-color", "--text"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as log:
        assert log.stdout
        while lines := list(itertools.islice(log.stdout, 50_000)):
            yield "".join(line for line in lines if line[:1] == "+")
    assert log.returncode == 0


def test_no_commit_ever_brought_a_secret() -> None:
    assert {secret for lines in added_lines() for secret in found(lines)} == set()


def test_no_file_that_holds_secrets_by_its_nature_is_tracked() -> None:
    names = [name for name, _ in texts()]
    assert not [
        name for name in names if re.search(r"(^|/)(\.env(\..*)?|.*\.pem|.*\.key|secret\.json|keys\.json)$", name)
    ]


@pytest.mark.parametrize("folder", [".sakuin/keys.json", ".sakuin/env", "secret.json", "backup/x"])
def test_what_holds_secrets_on_a_keeper_s_machine_is_ignored(folder: str) -> None:
    assert git("check-ignore", folder).strip() == folder


def _made(*parts: str) -> str:
    # Put together here, so that this file holds none.
    return "".join(parts)


@pytest.mark.parametrize(
    "secret",
    [
        _made("sk_sakuin_", "aB3" * 14, "x"),
        _made("sb_", "secret_", "N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz"),
        _made("sk-", "proj-", "a1B2c3D4" * 6),
        _made("tpuf_", "a1B2c3D4" * 4),
        _made("AKIA", "IOSFODNN7", "EXAMPLX"),
        _made("ghp_", "a1B2c3D4e5F6" * 3),
        _made("eyJhbGciOiJIUzI1NiJ9", ".eyJyb2xlIjoic2VydmljZV9yb2xlIn0", ".c2lnbmF0dXJlc2lnbmF0dXJl"),
        _made("sbp", "_", "a1b2c3d4" * 5),
        _made("github", "_pat_", "a1B2c3D4" * 5),
        _made("npm", "_", "a1B2c3D4e5F6" * 3),
        _made("pypi", "-", "a1B2c3D4e5" * 5),
        _made("xoxb", "-", "a1B2c3D4e5" * 2),
        _made("AIza", "a1B2c3D" * 5),
        _made("-----BEGIN ", "RSA PRIVATE KEY-----"),
        _made("AWS_SECRET_ACCESS_KEY", "=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"),
        _made("postgresql://postgres", ":hunter2hunter2", "@db.example.org"),
    ],
)
def test_a_secret_would_be_found(secret: str) -> None:
    assert found(f'x = "{secret}"\n')
