"""Findings as a SARIF 2.1.0 log, which code hosts show beside the lines of a change."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sakuin import __version__
from sakuin.knowledge.validation import Finding

from sakuin_cli.files import write_text

_LEVELS = {"error": "error", "warning": "warning"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(
    file: Path, findings: Iterable[Finding], paths: Mapping[str, str], lines: Mapping[str, int] | None = None
) -> None:
    """Writes the log; `paths` are the files by material, those of `learns.yml` by key.

    `lines` are those of elements by id, `material#anchor`; others are looked for in the file.
    """
    listed = list(findings)
    rules = [{"id": rule} for rule in sorted({finding.rule for finding in listed})]
    driver = {"name": "sakuin", "version": __version__, "rules": rules}
    results = [_result(finding, paths.get(finding.material, finding.material), lines or {}) for finding in listed]
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    write_text(file, json.dumps(log, ensure_ascii=False, indent=2) + "\n")


def _result(finding: Finding, path: str, lines: Mapping[str, int]) -> dict[str, Any]:
    line = lines.get(f"{finding.material}#{finding.anchor}") or line_of(path, finding.anchor)
    location = {"artifactLocation": {"uri": relative(path)}, "region": {"startLine": line}}
    return {
        "ruleId": finding.rule,
        "level": _LEVELS.get(finding.severity, "note"),
        "message": {"text": f"{finding.material}: {finding.message}"},
        "locations": [{"physicalLocation": location}],
    }


def relative(path: str) -> str:
    """Returns a path as seen from the current folder, if it is below it."""
    file = Path(path).absolute()
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()


def line_of(path: str, anchor: str | None) -> int:
    """Returns the first line with an element of this id, else one that has the anchor; 1 if none has."""
    try:
        lines = Path(path).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return 1
    if not anchor:
        return 1
    element = re.compile(rf"""\b(?:id|name)\s*=\s*["']?{re.escape(anchor)}(?:["'\s>]|$)""")
    of_element = (number for number, line in enumerate(lines, 1) if element.search(line))
    return next(of_element, None) or next((number for number, line in enumerate(lines, 1) if anchor in line), 1)
