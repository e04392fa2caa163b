"""Schedules over materials: authors change files, workers are interleaved, events doubled and late, calls lost."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.convergence import materials_checks
from tests.convergence.actions import (
    END,
    GoOn,
    Maintenance,
    SharedAction,
    Work,
    fates,
    forget,
    numbers,
    unavailable,
    weighted,
)
from tests.convergence.machine import Schedule
from tests.convergence.materials_oracle import LEARNS, SYNONYMS, UNREADABLE, MaterialsOracle, page_of
from tests.convergence.materials_world import MaterialsWorld
from tests.convergence.passing import A_DAY
from tests.convergence.workers import Workers

_WORDS = ("一の版は公式に代入する。", "二の版は係数を読みとる。", "三の版は判別式を計算する。")
_ITEMS = (["公式を使う方法", "値の計算", "意味の説明"], ["別の方法を選ぶ手順", "係数の計算", "条件のルール"])
_GROUPS = ([["速さの公式", "みはじ"]], [["平方根", "ルート"], ["傾き", "変化の割合"]])
_COMPOSED = unicodedata.normalize("NFC", "ガ.html")
_PAGES = (_COMPOSED, unicodedata.normalize("NFD", _COMPOSED), "b.html")


@dataclass(frozen=True)
class Upload:
    """A page; without `boxes` it cannot be read."""

    key: str
    boxes: Mapping[str, str] | None


@dataclass(frozen=True)
class File:
    """A `learns.yml` or a `synonyms.yml`."""

    key: str
    which: int


@dataclass(frozen=True)
class Remove:
    """A key gets a delete marker; or its `version`th newest version goes for good."""

    key: str
    version: int | None


@dataclass(frozen=True)
class Reindex:
    """Somebody asks for a page to be indexed again."""

    key: str


@dataclass(frozen=True)
class Restart:
    """The emulator was killed: the bucket and the queue are empty, sequencers start from zero."""


Action = Upload | File | Remove | Reindex | Restart | SharedAction

_pages = st.sampled_from(_PAGES)
_keys = st.sampled_from((*_PAGES, *_PAGES, LEARNS, *SYNONYMS))
_words = st.sampled_from(_WORDS)
_boxes = st.fixed_dictionaries({"rule-a": _words}, optional={"def-b": _words, "tip-c": _words})
_places = st.sampled_from(
    (
        *(
            "",
            END,
            END,
            "rpc/apply_material",
            "rpc/missing_vectors",
            "s3 read",
            "s3 current_version",
            "rpc/page_record",
        ),
        *("openai", "POST knowledge_vector", "rpc/stage_words", "sqs", "rpc/materials_named_in", "rpc/store_synonyms"),
        *("bus", "rpc/mark_announced"),
        *(
            "rpc/begin_work",
            "rpc/record_wait",
            "rpc/finish_work",
            "rpc/note_requests",
            "rpc/begin_learns",
            "POST learns_cache",
            "rpc/release_learns",
        ),
        *range(1, 9),
    )
)
_upload = st.builds(Upload, _pages, _boxes | _boxes | _boxes | st.none())
_file = st.builds(File, st.sampled_from((LEARNS, *SYNONYMS)), st.integers(0, 1))
_remove = st.builds(Remove, _keys, st.none() | st.integers(0, 2))
_work = st.builds(Work, numbers, st.booleans(), _places, fates)
_go_on = st.builds(GoOn, numbers, _places, fates)
_places_of_schedule = st.sampled_from(
    (
        *("", END, END, "rpc/note_requests", "rpc/claim_learns", "sqs", "s3 held", "rpc/recorded_objects"),
        *("bus", "rpc/unannounced_pages", "rpc/mark_announced"),
    )
)
_maintenance = st.builds(Maintenance, st.booleans(), _places_of_schedule, fates)
_WEIGHTS = (
    *((_upload, 4), (_file, 1), (_remove, 2), (st.builds(Reindex, _pages), 1), (st.builds(Restart), 1)),
    *((_work, 6), (unavailable, 1), (_go_on, 4), (_maintenance, 2), (forget, 1)),
)
actions: st.SearchStrategy[Action] = weighted(_WEIGHTS)


class MaterialsMachine(Schedule):
    """A schedule over one bucket."""

    most_rounds = 20
    checks = materials_checks

    def __init__(self) -> None:
        super().__init__()
        self.world = MaterialsWorld.over(self.backend, counts=self.tally, **self.parts)
        self.oracle = MaterialsOracle(self.world.bucket)
        self.workers = Workers(self.world.sqs, self.world.handle, self.tally)
        self.tally["schedules"] += 1

    @initialize(boxes=_boxes, indexed=st.booleans())
    def begin(self, boxes: Mapping[str, str], indexed: bool) -> None:
        self._upload(Upload(_PAGES[0], boxes))
        self.world.notify()
        if indexed:
            self.workers.finish_all()
            # The message that asks the language model about it waits.
            self.world.each_minute()

    @rule(action=actions)
    def step(self, action: Action) -> None:
        match action:
            case Upload():
                self._upload(action)
            case File(key, which):
                body = _learns(which) if key == LEARNS else _yaml(_GROUPS[which])
                self.oracle.wrote(key, body, None)
                self.world.bucket.write(key, body)
            case Remove(key, version):
                self._remove(key, version)
            case Reindex(key):
                self.world.ask_again(key)
            case Restart():
                self.world.bucket.begin_anew()
                self.workers.forget(None)
            case _:
                self.act(action)
        self.world.notify()
        self.tally[f"step: {type(action).__name__.lower()}"] += 1

    def is_busy(self) -> bool:
        by_itself = self.world.each_minute() | self.world.each_night()
        if self.world.waits_for_model():
            # After some failures a text is asked about once a day.
            self.world.time_passes(A_DAY)
            by_itself = True
        # On command too: a bucket that lost most of its pages is not applied by itself.
        by_command = self.world.look_at_bucket()
        return by_itself or by_command

    def _upload(self, upload: Upload) -> None:
        body = UNREADABLE if upload.boxes is None else page_of(upload.boxes)
        self.oracle.wrote(upload.key, body, upload.boxes)
        self.world.bucket.write(upload.key, body)

    def _remove(self, key: str, version: int | None) -> None:
        if version is None:
            self.world.bucket.remove(key)
            return
        ids = self.world.bucket.versions(key)
        if ids:
            self.world.bucket.remove_version(key, ids[-1 - version % len(ids)])


def _learns(which: int) -> bytes:
    name = _PAGES[0].removesuffix(".html")
    return _yaml(
        {name: {"rule-a": _ITEMS[which]}, "b": {"def-b": _ITEMS[1 - which]}} if which else {name: {"rule-a": _ITEMS[0]}}
    )


def _yaml(data: object) -> bytes:
    return yaml.safe_dump(data, allow_unicode=True).encode()
