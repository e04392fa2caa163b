"""What Sakuin's reader keeps of built pages, compared with an independent reading of their files.

`python -m benchmarks.books [--worst N] FOLDER …`: a folder is a site. The independent reading takes the text from the
tree of another parser, which parses as browsers do. Words outside of a page's main part, in menus and forms, in lines
that most pages of the site have once, and in lines of links that the reader leaves out, are *left out*. Others are
*searched* or *lost*. *Furniture* are searched words that the independent reading leaves out, *moved* are lines out of
order. A number is wrong if it is nowhere in the file, or not in an explanation with the rest of its line. Code is
changed if it is nowhere as it is.
"""

import argparse
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import regex
from sakuin.errors import UnreadablePage
from sakuin.knowledge.markdown import with_addresses
from sakuin.knowledge.reading.page_reader import read_page
from selectolax.lexbor import LexborHTMLParser, LexborNode

SIGN = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"  # each is a word, wherever a line is broken
WORD = regex.compile(rf"(?V1){SIGN}|[\p{{L}}\p{{M}}\p{{N}}_--{SIGN}]+")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
LIST_NUMBER = re.compile(r"^\W*\d+\. ", re.MULTILINE)
CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
# A line on a greater share of the pages is furniture, if the site has as many pages.
REPEATED, SMALLEST_SITE = 0.6, 5
# Marks in the text of a tree, which no text has: the border of a block, the name of a section, link and code.
BLOCK, NAME, LINK, CODE = "\x1e", "\x1f", "\x02\x03", "\x04\x05"
INLINE = (
    "body, main, a, abbr, b, bdi, bdo, big, cite, code, data, del, dfn, em, font, i, img, ins, kbd, label, mark, nobr, "
    "q, rb, rp, rt, ruby, s, samp, script, small, span, strike, strong, sub, sup, time, tt, u, var, wbr, math, math *"
)
MARKS = (
    (f"*:not({INLINE})", BLOCK, BLOCK),
    ("h1, h2, h3, h4, h5, h6, dt, th, summary, caption", NAME, ""),
    ("a", *LINK),
    ("code:not(pre *), kbd:not(pre *), samp:not(pre *)", *CODE),
    ("sub, sup", " ", " "),
)
# What is no text, no text of a page beside its menus, and no part of the page where it does not name its main part.
SCRIPTS = "script:not([type^='math/tex']), style, template, noscript, svg, iframe, object, canvas, video, audio"
NO_TEXT = (
    "nav, [role=navigation], [role=search], [role=banner], [role=contentinfo], .linenos, .lineno, .gutter, "
    "select, textarea, datalist, "
    "button:not(h1 *, h2 *, h3 *, h4 *, h5 *, h6 *, dt *, summary *), "
    "[aria-hidden=true]:not(:has(p, li, pre, td, h1, h2, h3, h4, h5, h6))"
)
OUTSIDE = "header:not(article *), footer:not(article *)"
COUNTS = ("words", "searched", "left out", "glued", "torn", "moved", "numbers", "blocks", "code", "inline", "unread")


class Line:
    """The text of a block with its marks."""

    def __init__(self, marked: str) -> None:
        self.text = " ".join(re.sub(f"[{NAME}{LINK}{CODE}]", "", marked).split())
        self.words, self.numbers, self.is_name = words_of(self.text), numbers_of(self.text), NAME in marked
        self.is_of_links = not self.is_name and not words_of(re.sub(f"{LINK[0]}[^{LINK[1]}]*{LINK[1]}", " ", marked))
        codes = re.findall(f"{CODE[0]}([^{CODE[1]}]*)", re.sub(f"[{NAME}{LINK}]", "", marked))
        self.code = [" ".join(code.strip(CODE).split()) for code in codes]


@dataclass
class Reading:
    """The independent reading of a file. `beside` are words that are left out, `numbers` stand in attributes."""

    lines: list[Line]
    beside: Counter[str]
    blocks: list[str]
    numbers: Set[str]


def words_of(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(unicodedata.normalize("NFKC", text)))


def numbers_of(text: str) -> list[str]:
    return NUMBER.findall(unicodedata.normalize("NFKC", text))


def independent(html: bytes) -> Reading:
    """Reads a file without any code of Sakuin."""
    charset = CHARSET.search(html[:4096])
    try:
        text = html.decode(charset[1].decode() if charset else "utf-8", "replace")
    except LookupError:
        text = html.decode("utf-8", "replace")
    everything, tree = _tree(text), _tree(text)
    attributes = " ".join(str(value) for node in tree.css("*") for value in node.attributes.values())
    mains = sorted(tree.css("main, [role=main]"), key=lambda node: len(node.text()))
    main = mains[-1] if mains else tree.css("body")[0]
    for node in tree.css(f"{NO_TEXT}, {'nav' if mains else OUTSIDE}"):
        node.decompose()
    for node in main.css("br"):
        node.replace_with("\n")
    blocks = [pre.text().replace("\xa0", " ").strip("\n") for pre in main.css("pre") if words_of(pre.text())]
    lines = _lines(main)
    beside = Counter(_words(_lines(everything.css("body")[0]))) - Counter(_words(lines))
    return Reading(lines, beside, blocks, {*numbers_of(tree.css("head")[0].text()), *numbers_of(attributes)})


def _tree(text: str) -> LexborHTMLParser:
    tree = LexborHTMLParser(text)
    for node in tree.css(SCRIPTS):
        node.decompose()
    for node in tree.css("math:has(annotation[encoding*=tex])"):
        node.replace_with(f" {node.css('annotation')[0].text()} ")
    return tree


def _lines(root: LexborNode) -> list[Line]:
    for selector, before, after in MARKS:
        for node in root.css(selector):
            node.insert_before(before)
            node.insert_after(after)
    return [line for line in map(Line, root.text().split(BLOCK)) if line.words]


def _words(lines: Iterable[Line]) -> list[str]:
    return [word for line in lines for word in line.words]


def kept(html: bytes) -> str:
    """Returns what a search of Sakuin finds of a page."""
    try:
        page = read_page(html)
    except UnreadablePage:
        return ""
    text = "\n".join(with_addresses(each.content) for each in page.explanations)
    names = (name for each in page.explanations for name in (page.title, *each.headings, each.title))
    missing = (name for name in dict.fromkeys(names) if name not in text)
    return "\n".join([*missing, text])


def compared(reading: Reading, text: str, repeated: Set[tuple[str, ...]]) -> tuple[Counter[str], list[str]]:
    """Counts what became of a page's words, and returns its lost lines. `repeated` are lines of furniture."""
    main = [line for line in reading.lines if line.is_name or line.words not in repeated]
    words, searched, written = _words(main), words_of(text), [words_of(line) for line in text.split("\n")]
    missing, surplus = Counter(words) - Counter(searched), Counter(searched) - Counter(words)
    counts = Counter(searched=len(searched), unread=not text, blocks=len(reading.blocks))
    for name, wholes, parts, order in (("glued", surplus, missing, words), ("torn", missing, surplus, searched)):
        for first, second, number in _joined(wholes, parts, order):
            counts[name] += number
            missing.subtract({first: number, second: number} if name == "glued" else {first + second: number})
    links = {
        line
        for line in main
        if (line.is_of_links or line.words in repeated) and all(missing[word] > 0 for word in line.words)
    }
    missing.subtract(_words(links))
    shares = {line: sum(missing[word] > 0 for word in line.words) / len(line.words) for line in main}
    whole = [line for line in main if line not in links and shares[line] < 0.2]
    beside = reading.beside + Counter(_words(reading.lines)) - Counter(words) + Counter(_words(links))
    counts.update({"words": len(words) - len(_words(links)), "left out": beside.total(), "lost": (+missing).total()})
    once = {line for line, number in Counter(written).items() if number == 1 and len(line) > 3}
    order = {line: place for place, line in enumerate(written) if line in once}
    places = pairwise(order[line.words] for line in main if line.words in order)
    counts.update({"furniture": (surplus & beside).total(), "moved": sum(after < before for before, after in places)})
    everywhere = {*reading.numbers, *reading.beside, *(number for line in reading.lines for number in line.numbers)}
    counts["numbers"] = sum(number not in everywhere for number in numbers_of(LIST_NUMBER.sub("", text)))
    right = Counter(number for line in whole if not line.is_name for number in line.numbers)
    counts["numbers"] += (right - Counter(numbers_of(text))).total()
    counts["code"] = sum(not _has_block(text, block) for block in reading.blocks)
    flat = " ".join(text.split())
    counts["inline"] = sum(code not in flat for line in whole for code in line.code)
    return counts, [line.text for line in main if line not in links and shares[line] >= 0.8]


def _joined(wholes: Counter[str], parts: Counter[str], order: Iterable[str]) -> list[tuple[str, str, int]]:
    pairs = dict.fromkeys((first, second) for first, second in pairwise(order) if not first.isdecimal())
    counts = [(first, second, min(wholes[first + second], parts[first], parts[second])) for first, second in pairs]
    return [count for count in counts if count[2] > 0]


def _has_block(text: str, block: str) -> bool:
    """Returns whether the lines of a block follow each other, each after the same marks of a list or a quotation."""
    first, *lines = (re.escape(line.rstrip()) for line in block.split("\n"))
    following = (rf"(?P=marks){line}" if line else "[ >]*" for line in lines)
    pattern = r"[ \t]*\n".join([rf"^(?P<marks>.*){first}", *following])
    return re.search(pattern + r"[ \t]*$", text, re.MULTILINE) is not None


def rows(folder: Path, worst: int) -> Iterator[str]:
    """Yields a row for all pages of a site, and for its worst pages with the first lost lines."""
    htmls = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.html"))}
    readings = {name: independent(html) for name, html in htmls.items()}
    lines = [Counter(line.words for line in reading.lines) for reading in readings.values()]
    times = Counter(words for page in lines for words, number in page.items() if number == 1)
    repeated = {words for words, number in times.items() if number > REPEATED * max(SMALLEST_SITE, len(htmls))}
    pages = {name: compared(readings[name], kept(html), repeated) for name, html in htmls.items()}
    yield _row(f"**{folder.name}**, {len(pages)} pages", sum((counts for counts, _ in pages.values()), Counter()))
    for name in sorted(pages, key=lambda name: -pages[name][0]["lost"] / max(1, pages[name][0]["words"]))[:worst]:
        yield _row(name, pages[name][0])
        yield from (f"> {line[:160]}" for line in pages[name][1][:3])


def _row(name: str, counts: Counter[str]) -> str:
    lost, furniture = (
        counts[part] / max(1, counts[whole]) for part, whole in (("lost", "words"), ("furniture", "searched"))
    )
    return f"| {name} | {lost:.1%} | {furniture:.1%} | {' | '.join(f'{counts[each]:,}' for each in COUNTS)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--worst", type=int, default=5, help="pages to print of each site")
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    print(f"|  | lost | furniture | {' | '.join(COUNTS)} |\n|{' --- |' * (len(COUNTS) + 3)}")
    for each in given.folders:
        print("\n".join(rows(each, given.worst)), flush=True)
