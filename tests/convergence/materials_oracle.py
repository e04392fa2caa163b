"""What must be searchable of materials, said by the bucket alone."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from tests.builders import a_page
from tests.doubles.bucket import MemoryBucket

LEARNS, SYNONYMS = "learns.yml", ("synonyms.yml", "a/synonyms.yml")
UNREADABLE = b"\xff\xfe\x00\x00 no page"

Boxes = Mapping[str, str]


def page_of(boxes: Boxes) -> bytes:
    """A page with these anchored boxes: anchor to words."""
    return a_page({anchor: f"見出し: {words}" for anchor, words in boxes.items()})


def name_of(key: str) -> str:
    return unicodedata.normalize("NFC", key).removesuffix(".html")


@dataclass
class MaterialsOracle:
    """All uploads: boxes by the page's bytes, and the bytes by key."""

    bucket: MemoryBucket
    boxes: dict[bytes, Boxes] = field(default_factory=dict)
    ever: dict[str, list[bytes]] = field(default_factory=dict)

    def wrote(self, key: str, body: bytes, boxes: Boxes | None) -> None:
        """Records an upload; without `boxes` it cannot be read."""
        self.ever.setdefault(key, []).append(body)
        if boxes is not None:
            self.boxes[body] = boxes

    def now(self, key: str) -> bytes | None:
        """What the bucket holds under a key."""
        if self.bucket.current_version(key) is None:
            return None
        return self.bucket.read(key, max_bytes=1_000_000).body

    def versions(self, name: str) -> list[Boxes]:
        """Every readable version that a material ever had."""
        return [
            self.boxes[body]
            for key, bodies in self.ever.items()
            if name_of(key) == name
            for body in bodies
            if body in self.boxes
        ]

    def keys(self, name: str) -> list[str]:
        """The keys of a material that hold something."""
        return [key for key in self.ever if name_of(key) == name and self.now(key) is not None]

    def learns(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """What the author's file says of a material now, by anchor."""
        said = yaml.safe_load(self.now(LEARNS) or b"{}")
        return {anchor: tuple(items) for anchor, items in said.get(name, {}).items()}

    def synonyms(self, key: str) -> list[list[str]]:
        return [list(group) for group in yaml.safe_load(self.now(key) or b"[]")]
