"""Cases with their answers in a YAML file beside the tests.

`WRITE=1 python -m pytest -n 0 FILE` stores the answers of now. Read the diff before you commit it.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

Case = Mapping[str, Any]
FORM: Any = {"allow_unicode": True, "sort_keys": False, "width": 118, "default_flow_style": None}
WRITE = bool(os.environ.get("WRITE"))


class _Values(yaml.CSafeDumper):
    """Writes a value that is there twice two times."""

    def ignore_aliases(self, _value: object) -> bool:
        return True


def cases(file: Path) -> list[Case]:
    """Returns the cases of a file. Each is what is asked, with its stored `answer`."""
    stored: list[Case] = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
    return stored


def compare(file: Path, case: Case, answer: object) -> None:
    """Fails if the answer is not the stored one; with WRITE, stores it."""
    if WRITE:
        stored = [{**each, "answer": answer} if each == case else each for each in cases(file)]
        file.write_text(yaml.dump(stored, Dumper=_Values, **FORM), "utf-8")
    elif answer != case.get("answer"):
        stored, now = (yaml.dump(each, Dumper=_Values, **FORM).splitlines() for each in (case.get("answer"), answer))
        pytest.fail("\n".join(difflib.unified_diff(stored, now, "stored", "now", lineterm="")), pytrace=False)
