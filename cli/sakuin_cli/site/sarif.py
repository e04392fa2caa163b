"""Findings as a SARIF 2.1.0 log, which code hosts show beside the lines of a change."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sakuin import __version__
from sakuin.knowledge.validation import Finding

_LEVELS = {"error": "error", "warning": "warning"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(findings: Iterable[Finding], paths: Mapping[str, str]) -> dict[str, Any]:
    """Returns the log; `paths` are the files by material, those of `learns.yml` by key."""
    listed = list(findings)
    rules = [{"id": rule} for rule in sorted({finding.rule for finding in listed})]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "sakuin", "version": __version__, "rules": rules}},
                "results": [_result(finding, paths.get(finding.material, finding.material)) for finding in listed],
            }
        ],
    }


def _result(finding: Finding, path: str) -> dict[str, Any]:
    region = {"startLine": _line(path, finding.anchor)}
    location = {"artifactLocation": {"uri": _relative(path)}, "region": region}
    return {
        "ruleId": finding.rule,
        "level": _LEVELS.get(finding.severity, "note"),
        "message": {"text": f"{finding.material}: {finding.message}"},
        "locations": [{"physicalLocation": location}],
    }


def _relative(path: str) -> str:
    file = Path(path).absolute()
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()


def _line(path: str, anchor: str | None) -> int:
    """Returns the first line that has the anchor, 1 if none has."""
    try:
        lines = Path(path).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return 1
    return next((number for number, line in enumerate(lines, 1) if anchor and anchor in line), 1)
