"""The sources of a page's `learns`: the author's file, a language model, the deterministic writer."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sakuin.errors import Invalid, NotFound, Unavailable
from sakuin.knowledge.canary import OWN_FOLDER
from sakuin.knowledge.learns.learns_yml import LARGEST_FILE, LearnsFile, learns_keys, parse_learns
from sakuin.knowledge.learns.writer import complete_learns, write_learns
from sakuin.knowledge.model import Learns
from sakuin.knowledge.page import Explanation, Page
from sakuin.knowledge.postgres import KnowledgeIndex
from sakuin.platform.s3 import S3Bucket


class LearnsModel(Protocol):
    """A language model that writes `learns`."""

    @property
    def name(self) -> str:
        """Returns the names of model and instruction, a part of the cache key."""

    def learns(self, page: Page) -> Mapping[str, tuple[str, ...]]:
        """Returns items by anchor for all explanations of a page, in one call. A timeout raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class LearnsOfPage:
    """The `learns` by anchor, and the versions of the files that were read, by key."""

    learns: Mapping[str, Learns]
    files: Mapping[str, str | None]

    @property
    def provisional(self) -> bool:
        """Returns whether the language model has to be called again later."""
        return any(learns.source == "provisional" for learns in self.learns.values())


@dataclass(frozen=True, slots=True)
class LearnsSources:
    """Collects the `learns` of a page. Without `model` it calls no language model."""

    bucket: S3Bucket
    index: KnowledgeIndex
    model: LearnsModel | None
    prefix: str
    # The last version of each file: all pages of a folder use the same.
    _read: dict[str, tuple[str, LearnsFile]] = field(default_factory=dict)

    def __call__(self, key: str, material: str, page: Page) -> LearnsOfPage:
        """Returns the `learns` of every explanation of the page stored under `key`."""
        files = self.versions(key)
        authored: dict[str, tuple[str, ...]] = {}
        for file_key, version in files.items():
            if version is not None:
                # For each anchor the nearest file counts.
                authored = {**self._file(file_key, version).for_material(material), **authored}
        missing = [item for item in page.explanations if item.anchor not in authored]
        # The text of the canary page is new in each run, and needs no model.
        is_modelled = missing and self.model and not material.startswith(OWN_FOLDER)
        modelled = self._modelled(page) if is_modelled else {}
        return LearnsOfPage(
            learns={item.anchor: self._learns(item, page, authored, modelled) for item in page.explanations},
            files=files,
        )

    def versions(self, key: str) -> dict[str, str | None]:
        """Returns the current versions of the `learns.yml` files that may name a page, by key, nearest first."""
        return {file_key: self.bucket.current_version(file_key) for file_key in learns_keys(key, self.prefix)}

    def _file(self, key: str, version: str) -> LearnsFile:
        known = self._read.get(key)
        if known is not None and known[0] == version:
            return known[1]
        try:
            file = parse_learns(self.bucket.read(key, max_bytes=LARGEST_FILE).body)
        except (NotFound, Invalid):
            # The event of the file reports the error; pages do not wait until the author corrects it.
            file = LearnsFile({})
        self._read[key] = (version, file)
        return file

    def _modelled(self, page: Page) -> Mapping[str, tuple[str, ...]] | None:
        if self.model is None:
            return {}
        cache_key = _cache_key(self.model.name, page)
        known = self.index.cached_learns(cache_key)
        if known is not None:
            return known
        try:
            learns = self.model.learns(page)
        except Unavailable:
            return None
        self.index.store_learns(cache_key, learns)
        return learns

    def _learns(
        self,
        explanation: Explanation,
        page: Page,
        authored: Mapping[str, tuple[str, ...]],
        modelled: Mapping[str, tuple[str, ...]] | None,
    ) -> Learns:
        anchor = explanation.anchor
        if given := authored.get(anchor):
            return Learns(complete_learns(given, explanation, page)[0], "author", given)
        if modelled and (items := modelled.get(anchor)):
            return Learns(complete_learns(items, explanation, page)[0], "model")
        return Learns(write_learns(explanation, page), "provisional" if modelled is None else "written")


def _cache_key(model: str, page: Page) -> str:
    texts = [(item.anchor, item.title, item.content) for item in page.explanations]
    return hashlib.sha256(json.dumps([model, texts], ensure_ascii=False).encode()).hexdigest()
