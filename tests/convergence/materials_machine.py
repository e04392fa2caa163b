"""Schedules over materials: authors change files, workers are interleaved, events doubled and late, calls lost."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import yaml
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.convergence.crew import Crew
from tests.convergence.interleaving import Fate
from tests.convergence.materials_checks import check_always, check_settled
from tests.convergence.materials_oracle import LEARNS, SYNONYMS, UNREADABLE, MaterialsOracle, page_of
from tests.convergence.materials_world import MaterialsHouse, MaterialsWorld
from tests.convergence.passing import A_MINUTE, AN_HOUR
from tests.convergence.tables_actions import END, Forget, GoOn, Maintenance, Work, fates
from tests.convergence.tally import Tally
from tests.convergence.weighing import weighted

_WORDS = ("一の版は公式に代入する。", "二の版は係数を読みとる。", "三の版は判別式を計算する。")
_ITEMS = (["公式を使う方法", "値の計算", "意味の説明"], ["別の方法を選ぶ手順", "係数の計算", "条件のルール"])
_GROUPS = ([["速さの公式", "みはじ"]], [["平方根", "ルート"], ["傾き", "変化の割合"]])
_COMPOSED = unicodedata.normalize("NFC", "ガ.html")
_PAGES = (_COMPOSED, unicodedata.normalize("NFD", _COMPOSED), "b.html")
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Upload:
    """A page, or one that cannot be read; `number` tells apart what else would be the same bytes."""

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
class Again:
    """Somebody asks for a page again."""

    key: str


@dataclass(frozen=True)
class BeginAnew:
    """An emulator that was killed: the bucket is empty, its sequencers begin anew, the queue has forgotten all."""


Action = Upload | File | Remove | Again | BeginAnew | Work | GoOn | Maintenance | Forget

_pages = st.sampled_from(_PAGES)
_keys = st.sampled_from((*_PAGES, *_PAGES, LEARNS, SYNONYMS))
_words = st.sampled_from(_WORDS)
_boxes = st.fixed_dictionaries({"rule-a": _words}, optional={"def-b": _words, "tip-c": _words})
_places = st.sampled_from(
    (
        *("", END, END, "rpc/apply_material", "rpc/apply_current", "s3 read", "s3 current_version", "GET material"),
        *("openai", "POST embedding_cache", "sqs", "rpc/materials_named_in", "rpc/store_synonyms"),
        *("rpc/record_unfinished", "rpc/finish_work"),
        *range(1, 9),
    )
)
_numbers = st.integers(0, 5)
_upload = st.builds(Upload, _pages, _boxes | _boxes | _boxes | st.none())
_file = st.builds(File, st.sampled_from((LEARNS, SYNONYMS)), st.integers(0, 1))
_remove = st.builds(Remove, _keys, st.none() | st.integers(0, 2))
_work = st.builds(Work, _numbers, st.booleans(), _places, fates)
_away = st.builds(Work, _numbers, st.booleans(), st.just("openai"), st.just(Fate.FAIL_BEFORE))
_go_on = st.builds(GoOn, _numbers, _places, fates)
_places_of_schedule = st.sampled_from(("", END, END, "rpc/claim_due_work", "sqs", "s3 held", "rpc/recorded_objects"))
_maintenance = st.builds(Maintenance, st.booleans(), _places_of_schedule, fates)
_WEIGHTS = (
    *((_upload, 4), (_file, 1), (_remove, 2), (st.builds(Again, _pages), 1), (st.builds(BeginAnew), 1)),
    *((_work, 6), (_away, 1), (_go_on, 4), (_maintenance, 2), (st.builds(Forget, st.none() | _numbers), 1)),
)
actions: st.SearchStrategy[Action] = weighted(_WEIGHTS)


class MaterialsMachine(RuleBasedStateMachine):
    """One bucket; the house and the tally are shared with all other schedules."""

    house: MaterialsHouse
    tally: Tally
    # What is broken on purpose.
    parts: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        super().__init__()
        self.world = MaterialsWorld(self.house, counts=self.tally.messages, **self.parts)
        self.oracle = MaterialsOracle(self.world.bucket)
        # A learns.yml whose requests an emulator forgets has to be pushed once more: docs/explanation/reliability.md.
        self.crew = Crew(self.world.sqs, self.world.handle, self.tally, lasting='"reindex"')
        self.tally.schedules += 1

    @initialize(boxes=_boxes, indexed=st.booleans())
    def begin(self, boxes: Mapping[str, str], indexed: bool) -> None:
        self._upload(Upload(_PAGES[0], boxes))
        self.world.notify()
        if indexed:
            self.crew.finish_all()

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
            case Again(key):
                self.world.ask_again(key)
            case BeginAnew():
                self.world.bucket.begin_anew()
                self.crew.forget(None)
            case Work(which, doubled, place, fate):
                self.crew.take(which, doubled=doubled, place=place, fate=fate)
            case GoOn(which, place, fate):
                self.crew.go_on(which, place=place, fate=fate)
            case Maintenance(later, place, fate):
                seconds = AN_HOUR if later else A_MINUTE
                self.world.time_passes(seconds)
                self.crew.time_passes(seconds, alive=not later)
                self.crew.begin(self.world.each_night if later else self.world.each_minute, place=place, fate=fate)
            case Forget(which):
                self.crew.forget(which)
        self.world.notify()
        self.tally.steps[type(action).__name__.lower()] += 1

    @invariant()
    def holds(self) -> None:
        check_always(self.world, self.oracle)

    def teardown(self) -> None:
        try:
            self._settle()
            check_settled(self.world, self.oracle)
        finally:
            self.crew.dismiss()
            self.world.clear()

    def _settle(self) -> None:
        """Nothing fails any more, all that waits is delivered, and the bucket is looked at until nothing differs."""
        for _ in range(_MOST_ROUNDS):
            self.crew.finish_all()
            self.world.time_passes(AN_HOUR)
            by_itself = self.world.each_minute() | self.world.each_night()
            # By hand too: a bucket that lost most of its pages is not followed without being asked.
            by_hand = self.world.look_at_bucket()
            if not (by_itself or by_hand or self.world.sqs.messages or self.world.sqs.dead):
                return
        raise AssertionError("It never comes to rest")

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
