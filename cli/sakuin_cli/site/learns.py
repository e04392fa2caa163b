"""The work order for `learns`, and the check of what comes back."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sakuin.errors import Invalid, NotFound
from sakuin.knowledge.learns.actions import ACTION_NOUNS, ENGLISH_ACTION, KANA, calculates
from sakuin.knowledge.learns.authored import LearnsFile, learns_keys, parse_learns, parse_synonyms
from sakuin.knowledge.learns.instructions import INSTRUCTIONS, STEPS, Section, sections_of
from sakuin.knowledge.learns.writer import clean_learns
from sakuin.knowledge.names import LEARNS_FILE, chunk_id, is_anchor
from sakuin.knowledge.page import Finding, IndexedChunk, Page
from sakuin.knowledge.validation import poor_learns, unreadable_file, unreadable_page
from sakuin.language.analysis import analyze
from sakuin.language.model import LexiconEntries, Specific
from sakuin.language.questions.function_words import language_of, may_be_german, stop_words
from sakuin.language.questions.query_analysis import analyze_query
from sakuin.language.questions.specifics import missing_from
from sakuin.language.unicode_text import nfkc
from sakuin.retrieval.vectors import text_hash

from sakuin_cli.evaluation.questions import Question
from sakuin_cli.evaluation.run import ask_all
from sakuin_cli.files import read_bytes, read_text, write_text
from sakuin_cli.site.pages import local_page
from sakuin_cli.terminal import OnProgress, tracked

if TYPE_CHECKING:
    from sakuin_cli.client import DeploymentClient
    from sakuin_cli.site.uploads import Upload, Uploads

# The hashes of the texts that items were accepted for, beside the pages: {material#anchor: hash}.
LOCK_FILE = "learns.lock"
_HASH_DIGITS = 16
# An example, as 4x²-9=0: signs and letters around a small number.
_EXAMPLE = re.compile(r"(?<![!-~²³])(?![!-~²³√−×÷±≠°]*\d{4})[!-~²-⁹√−×÷±≠°]*[\d²-⁹][!-~²-⁹√−×÷±≠°]*")
# A word or several, as two-level; and the last part of click.echo, not of main.rs.
_EVERYDAY, _MEMBER = re.compile(r"[a-z]+(?:-[a-z]+)*"), re.compile(r"(?<=[.:])[A-Za-z]\w{3,}$")
# A word of at most this share of the sections is rare. Of the weight of an item's words that the pages have, rare words
# of other sections' titles have at most this share.
_RARE, _FOREIGN = 0.05, 0.5


@dataclass(frozen=True, slots=True)
class WrittenSection:
    """A section with the author's items, if there are any, and why they are to be written again."""

    section: Section
    items: tuple[str, ...] | None
    illustrates: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return chunk_id(self.section.material, self.section.anchor)

    def finding(self, rule: str, message: str) -> Finding:
        return Finding("warning", rule, self.section.material, self.section.anchor, message)

    @property
    def hash(self) -> str:
        return text_hash(f"{self.section.title}\n{self.section.text}")[:_HASH_DIGITS]


@dataclass(frozen=True)
class LearnsOfSite:
    """The sections of a site, and findings about its files and items. `lock` has the accepted hashes by id."""

    sections: Sequence[WrittenSection]
    findings: Sequence[Finding]
    lock: Mapping[str, str]

    @cached_property
    def texts(self) -> Mapping[str, frozenset[str]]:
        """Returns the words of each section with its title and path, without its items."""
        return {one.id: frozenset(_words(_said(one.section))) for one in self.sections}

    @cached_property
    def frequency(self) -> Counter[str]:
        """Returns in how many sections a word is."""
        return Counter(word for words in self.texts.values() for word in words)

    @cached_property
    def titles(self) -> Sequence[frozenset[str]]:
        """Returns the words of each title."""
        return [frozenset(_words(one.section.title)) for one in self.sections]

    @cached_property
    def calculating(self) -> frozenset[str]:
        """Returns the materials of which a section calculates: their items have examples with other small numbers."""
        return frozenset(one.section.material for one in self.sections if calculates(one.section.text))

    def stale(self) -> Iterator[Finding]:
        """Yields a finding for each section whose text is another one than its items were accepted for."""
        for one in self.sections:
            if one.items and self.lock.get(one.id, one.hash) != one.hash:
                said = f"The text of #{one.section.anchor} has changed since its learns were accepted"
                yield one.finding("learns-stale", said)

    def promises(self) -> Iterator[Finding]:
        """Yields a finding for each item with a name or a subject that its section does not have."""
        for one in self.sections:
            for item in clean_learns(one.items or ()):
                if lacks := [*self._lacked(one, item)]:
                    said = f"「{item}」 of #{one.section.anchor} names {', '.join(lacks)}, which the section lacks"
                    yield one.finding("learns-promise", said)

    def _lacked(self, one: WrittenSection, item: str) -> Iterator[str]:
        """Yields the codes, names and numbers that a section lacks; else what it lacks of another one's subject."""
        action, text = ENGLISH_ACTION.sub("", item), _said(one.section)
        said = _EXAMPLE.sub(" ", action) if one.section.material in self.calculating else action
        question = analyze_query(said, LexiconEntries())
        missing = missing_from(text, question)
        names = (name for name in question.specifics if name.text in missing)
        yield from [name.text for name in names if not _is_free(name, said, text)] or self._foreign(one, said)

    def _foreign(self, one: WrittenSection, item: str) -> Sequence[str]:
        """Returns rare words of another title, which an item has whole, that outweigh what its section has."""
        here, total = self.texts[one.id], len(self.texts)
        weights = {word: math.log(total / self.frequency[word]) for word in {*_words(item)} if self.frequency[word]}
        lacked = {word for word in weights.keys() - here if self.frequency[word] <= max(_RARE * total, 1)}
        titles = (sorted(title & lacked) for title in self.titles if title <= weights.keys())
        most = _FOREIGN * sum(weights.values())
        return next((words for words in titles if sum(map(weights.__getitem__, words)) > most), ())

    def answered_elsewhere(
        self, client: "DeploymentClient", on_progress: OnProgress
    ) -> tuple[list[Finding], list[str]]:
        """Asks the deployment each item as a question; returns findings about those that another section answers.

        The index has the items of all other sections, too. Also returns the ids of sections whose items it does not
        have yet, which are not asked. An example may come after what it illustrates.
        """
        indexed = client.indexed({one.section.material for one in self.sections if one.items})
        given = {chunk_id(name, one.anchor): one.learns_given for name, chunks in indexed.items() for one in chunks}
        written = [one for one in self.sections if one.items]
        ready = [one for one in written if given.get(one.id) == one.items]
        asked = [(one, item) for one in ready for item in clean_learns(one.items or ())]
        questions = [
            Question(number, item, (one.id, *(chunk_id(one.section.material, concept) for concept in one.illustrates)))
            for number, (one, item) in enumerate(asked)
        ]
        findings: list[Finding] = []
        for answer in ask_all(client, questions, k=1, on_progress=on_progress).answers:
            one, first = asked[answer.question.line][0], next(iter(answer.ranking), "no section")
            if first not in (answer.question.gold or ()):
                said = f"「{answer.question.query}」 of #{one.section.anchor} is answered by {first}"
                findings.append(one.finding("learns-elsewhere", said))
        return findings, [one.id for one in written if one not in ready]


def learns_of_site(uploads: "Uploads", on_progress: OnProgress, *, lock: Mapping[str, str]) -> LearnsOfSite:
    """Reads the pages with the items of their authors."""
    files, findings = learns_files(uploads)
    sections: list[WrittenSection] = []
    for upload in tracked(uploads.pages, "read", on_progress):
        page, material = local_page(upload.path), upload.material or ""
        if isinstance(page, str):
            findings.append(unreadable_page(material, page))
            continue
        items = authored_learns(upload, files)
        sections += written_sections(material, page, items)
        findings += poor_learns(material, page, [IndexedChunk(anchor, (), given) for anchor, given in items.items()])
    return LearnsOfSite(sections, findings, lock)


def written_sections(material: str, page: Page, items: Mapping[str, tuple[str, ...]]) -> Iterator[WrittenSection]:
    """Yields the sections of a page that a `learns.yml` can name."""
    for section, explanation in zip(sections_of(material, page), page.explanations, strict=True):
        if is_anchor(section.anchor):
            yield WrittenSection(section, items.get(section.anchor), explanation.illustrates)


def _said(section: Section) -> str:
    return "\n".join((*section.path, section.title, section.text))


def _is_free(name: Specific, item: str, text: str) -> bool:
    """Returns whether a section has a name beside other signs or words, or it is none: 一度, スマホ, two-level."""
    if name.kind == "number":
        return not name.text.isascii() or f"{name.text}つ" in nfkc(item)
    # The first word is a verb, with a capital. Behind an English verb, left out here, is a space.
    is_verb = re.match(rf"[^\w\s]*{re.escape(name.text)}\b", item)
    word = name.text[0].lower() + name.text[1:] if is_verb else name.text
    if language_of(item).startswith("latin/") and _EVERYDAY.fullmatch(word) and f"`{name.text}" not in item:
        return True
    kinds = {each.kind for line in analyze(name.text).lines for each in line}
    is_common = may_be_german(item) or (KANA.search(name.text) and "固有名詞" not in kinds)
    # click.echo for echo(), and Mac in macOS.
    member = "".join(rf"|(?<=[.:]){last}|{last}(?=\()" for last in _MEMBER.findall(name.text.rstrip("()")))
    form = rf"(?:(?<![A-Za-z0-9_])|(?<=[a-z])(?=[A-Z]))(?i:%s{member})(?![a-z0-9_])"
    is_written = re.search(form % re.escape(name.text.rstrip("()")), nfkc(text))
    return bool(is_written or (name.kind == "name" and is_common))


def _words(text: str) -> Iterator[str]:
    """Yields the terms of the words of a text that say something of its subject."""
    stop = {*stop_words(text), *ACTION_NOUNS}
    for line in analyze(text).lines:
        for morpheme in line:
            if morpheme.part == "名詞" and morpheme.surface.lower() not in stop:
                yield from morpheme.terms


def learns_files(uploads: "Uploads") -> tuple[dict[str, LearnsFile], list[Finding]]:
    """Returns each `learns.yml` by its key, and findings about files that cannot be read."""
    files: dict[str, LearnsFile] = {}
    findings: list[Finding] = []
    for upload in uploads.files:
        if upload.material is None:
            try:
                if upload.key.endswith(LEARNS_FILE):
                    files[upload.key] = parse_learns(read_bytes(upload.path))
                else:
                    parse_synonyms(read_bytes(upload.path))
            except (Invalid, NotFound) as error:
                findings.append(unreadable_file(upload.key, str(error)))
    return files, findings


def authored_learns(upload: "Upload", files: Mapping[str, LearnsFile]) -> dict[str, tuple[str, ...]]:
    """Returns the items by anchor that the `learns.yml` files around a page give it; the nearest file wins."""
    found: dict[str, tuple[str, ...]] = {}
    for key in learns_keys(upload.key, ""):
        if key in files:
            found = {**files[key].for_material(upload.material or ""), **found}
    return found


def lock_of(folder: Path) -> dict[str, str]:
    """Returns the hashes of the texts that items were accepted for, by id; none without the file."""
    file = folder / LOCK_FILE
    if not file.is_file():
        return {}
    try:
        hashes = json.loads(read_text(file))
        return {str(id): str(hash) for id, hash in hashes.items()}
    except (ValueError, AttributeError) as error:
        raise Invalid(f"{file} cannot be read: {error}. Correct or delete it") from error


def id_of(finding: Finding) -> str:
    """Returns the id of the section that a finding is about."""
    return chunk_id(finding.material, finding.anchor or "")


def accept(folder: Path, site: LearnsOfSite, refused_ids: Collection[str]) -> int:
    """Writes that the items of all other sections fit their texts; returns their number."""
    accepted = {one.id: one.hash for one in site.sections if one.items and one.id not in refused_ids}
    kept = {one.id: site.lock[one.id] for one in site.sections if one.id in site.lock}
    lines = json.dumps({**kept, **accepted}, ensure_ascii=False, indent=0, sort_keys=True)
    write_text(folder / LOCK_FILE, f"{lines}\n")
    return len(accepted)


def work_order(site: LearnsOfSite, findings: Iterable[Finding], questions: Sequence[Question]) -> dict[str, object]:
    """Returns the sections to write `learns` for, with the reasons, and questions that no section is known for."""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    covers: defaultdict[str, list[str]] = defaultdict(list)
    for finding in findings:
        reasons[id_of(finding)].append(finding.message)
    for one in site.sections:
        if not one.items:
            reasons[one.id].append("It has no learns")
    for question in questions:
        for id in question.gold or ("",):
            covers[id].append(question.query)
    ordered = [one for one in site.sections if one.id in reasons or one.id in covers]
    ids = {one.id for one in ordered}
    return {
        "sections": [
            {
                "id": one.id,
                "why": reasons[one.id],
                "questions": covers[one.id],
                "items": list(one.items or ()),
                **asdict(one.section),
            }
            for one in ordered
        ],
        "questions": [query for id, queries in covers.items() if id not in ids for query in queries],
    }


def markdown_of(order: Mapping[str, Any], sections: Sequence[WrittenSection], folder: str) -> str:
    """Returns a work order to hand to an agent."""
    shown = {one.id: one.section.shown for one in sections}
    parts = [f"# Write `learns`\n\n{INSTRUCTIONS}\n## Steps\n\n{STEPS.format(folder=folder)}"]
    for one in order["sections"]:
        lines = [f"## {one['id']}\n", *(f"- {why}" for why in one["why"])]
        lines += [f"- Rewrite its items so that they cover it: {query}" for query in one["questions"]]
        lines += ["", "Items now:", *(f"- {item}" for item in one["items"])] if one["items"] else []
        parts.append("\n".join([*lines, "", "~~~~~", shown[one["id"]], "~~~~~", ""]))
    if order["questions"]:
        lines = ["## Questions without a section\n", "Name the section that answers each, or write one.\n"]
        parts.append("\n".join([*lines, *(f"- {query}" for query in order["questions"]), ""]))
    return "\n".join(parts)


def weak_questions(
    client: "DeploymentClient", questions: Sequence[Question], on_progress: OnProgress
) -> list[Question]:
    """Returns the questions whose first result is not their answer, and those without a known answer."""
    run = ask_all(client, [one for one in questions if one.gold], k=1, on_progress=on_progress)
    failed = [answer.question for answer in run.answers if answer.failure(1)]
    return failed + [one for one in questions if one.gold is None]


def asked_questions(client: "DeploymentClient") -> list[Question]:
    """Returns what readers asked in the last 30 days: with the section that agents found right, and without one."""
    gold: dict[str, list[str]] = {}
    for row in client.call("GET", "feedback")["feedback"]:
        if row["query"] and row["explanation"] and row["answered"] > row["unanswered"]:
            gold.setdefault(row["query"], []).append(row["explanation"])
    gaps = client.call("GET", "gaps")["gaps"]
    queries = [query for gap in gaps if gap["tool_id"] is None for query in gap["questions"]]
    return [
        Question(0, query, tuple(gold[query]) if query in gold else None) for query in dict.fromkeys((*gold, *queries))
    ]
