"""The sources of a page's `learns`: the author's file, a language model, or else plain items."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sakuin.errors import Invalid, NotFound
from sakuin.knowledge.learns.authored import LARGEST_FILE, LearnsFile, learns_keys, parse_learns
from sakuin.knowledge.learns.instructions import Section, sections_of
from sakuin.knowledge.learns.writer import complete_learns, plain_learns
from sakuin.knowledge.model import Learns
from sakuin.knowledge.names import OWN_FOLDER
from sakuin.knowledge.page import EMBEDDED_LENGTH, Explanation, Page
from sakuin.knowledge.postgres import Items, LearnsRecords
from sakuin.platform.s3 import S3Bucket


class LearnsModel(Protocol):
    """A language model that writes `learns`."""

    @property
    def name(self) -> str:
        """Returns the names of model and instruction, a part of the cache key."""

    def learns(self, sections: Sequence[Section]) -> Mapping[str, Items]:
        """Returns items by anchor for some explanations of a page; none for one that it left out.

        A timeout raises `Unavailable`. An anchor that is not in the answer was not asked about.
        """


@dataclass(frozen=True, slots=True)
class LearnsOfPage:
    """The `learns` by anchor, and the versions of the files that were read, by key."""

    learns: Mapping[str, Learns]
    files: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class LearnsSources:
    """Collects the `learns` of a page. It calls no language model: what has no answer yet is provisional."""

    bucket: S3Bucket
    records: LearnsRecords
    model: LearnsModel | None
    prefix: str
    # The last version of each file: all pages of a folder use the same.
    _read: dict[str, tuple[str, LearnsFile]] = field(default_factory=dict)

    def __call__(self, key: str, material: str, page: Page) -> LearnsOfPage:
        """Returns the `learns` of every explanation of the page stored under `key`."""
        files = self.versions(key)
        authored = self._authored(files, material)
        texts = {section.anchor: text for text, section in self._texts(authored, material, page)}
        answers = self.records.answers(set(texts.values()))
        return LearnsOfPage(
            {item.anchor: _learns(item, page, authored, texts.get(item.anchor), answers) for item in page.explanations},
            files,
        )

    def texts(self, key: str, material: str, page: Page) -> Mapping[str, Section]:
        """Returns the explanations that a language model is asked about, by the key of their text."""
        # Equal texts have one key, and one answer.
        return dict(self._texts(self._authored(self.versions(key), material), material, page))

    def versions(self, key: str) -> dict[str, str | None]:
        """Returns the current versions of the `learns.yml` files that may name a page, by key, nearest first."""
        return {file_key: self.bucket.current_version(file_key) for file_key in learns_keys(key, self.prefix)}

    def _file(self, key: str, version: str) -> LearnsFile:
        cached = self._read.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        try:
            file = parse_learns(self.bucket.read(key, version_id=version, max_bytes=LARGEST_FILE).body)
        except (NotFound, Invalid):
            # The event of the file reports the error; pages do not wait until the author corrects it.
            file = LearnsFile({})
        self._read[key] = (version, file)
        return file

    def _authored(self, files: Mapping[str, str | None], material: str) -> dict[str, Items]:
        authored: dict[str, Items] = {}
        for key, version in files.items():
            if version is not None:
                # For each anchor the nearest file counts.
                authored = {**self._file(key, version).for_material(material), **authored}
        return authored

    def _texts(self, authored: Mapping[str, Items], material: str, page: Page) -> list[tuple[str, Section]]:
        # The text of the canary page is new in each run, and needs no model.
        if self.model is None or material.startswith(OWN_FOLDER):
            return []
        name = self.model.name
        return [(_key(name, one), one) for one in sections_of(material, page) if not authored.get(one.anchor)]


def _learns(
    explanation: Explanation, page: Page, authored: Mapping[str, Items], key: str | None, answers: Mapping[str, Items]
) -> Learns:
    if given := authored.get(explanation.anchor):
        return Learns(complete_learns(given, explanation, page), "author", given)
    if key is not None and (items := answers.get(key)):
        return Learns(complete_learns(items, explanation, page), "model", key=key)
    is_final = key is None or key in answers
    return Learns(plain_learns(explanation, page), "rules" if is_final else "provisional", key=key)


def _key(model: str, section: Section) -> str:
    """Returns the key of an answer. Its place and its neighbours do not count: they are no new text."""
    shown = [model, section.title, section.text[:EMBEDDED_LENGTH]]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()
