"""The names of materials and chunks, and links to them."""

import re
import unicodedata
from urllib.parse import unquote, urljoin, urlsplit

from sakuin.errors import Invalid
from sakuin.knowledge.markdown import plain_text, with_addresses, without_code
from sakuin.language.unicode_text import nfc, visible

SUFFIX = ".html"

# Below the prefix of keys; reserved for pages of the product itself, which searches of agents exclude (in SQL, too).
OWN_FOLDER = "_sakuin/"

# The files of authors, named here because those who parse them need a YAML parser.
LEARNS_FILE, SYNONYMS_FILE = "learns.yml", "synonyms.yml"

# Unicode's characters that change the direction of the text after them, as a range of a regular expression.
TURNS_TEXT = "\u202a-\u202e\u2066-\u2069"

# Separates the anchor that a link leads to from the name of a part of the page that has no anchor of its own. Browsers
# take what follows for a directive (https://wicg.github.io/scroll-to-text-fragment/), so that no id contains it.
UNREACHABLE = ":~:"

LONGEST_ANCHOR = 200  # characters: a chunk id is a key in an index of the database

# Characters to percent-encode in the path or fragment of a URL; Japanese stays readable.
ENCODED = frozenset(' #?%"<>\\`^{|}')

# The beginning of a text that a browser looks for. A part of a longer line ends before a sign or a space, because
# browsers find whole words only. The line after a shorter one belongs to it: its words may stand elsewhere, too.
BEGINNING, _LONGEST_LINE, _CLEAR_LINE = 300, 80, 20  # characters
_PART_OF_LINE = re.compile(rf".{{{_CLEAR_LINE},{_LONGEST_LINE}}}(?=[\s。、．，！？!?,;:])")
_LIST_MARK = re.compile(r"^(?:[-*]|-?\d+\.|[A-Za-z]{1,4}\.)\s+(?:\[[ x]\] )?")
# The end of the path of a page, with or without a suffix.
_PAGE = re.compile(r"(?:^|/)(?:[^/.]*|[^/]*\.x?html?)$", re.IGNORECASE)
_MARKDOWN = re.compile(r"\.(?:md|mdx|markdown)$", re.IGNORECASE)
_SEPARATORS = {",": "%2C", "-": "%2D", "&": "%26"}


def is_in_folder(name: str, folder: str) -> bool:
    """Returns whether a material, or the id of a chunk, is in a folder; the empty folder is the whole library."""
    return not folder or name.startswith(f"{folder}/")


def folder_name(text: str) -> str:
    """Returns the name of a folder: NFC, without slashes around it; empty for the top. Raises `Invalid` for `..`."""
    segments = nfc(text).split("/")
    if ".." in segments:
        raise Invalid(f"The folder {text!r} cannot have the segment `..`")
    return "/".join(segment for segment in segments if segment not in ("", "."))


def reads_as_another(key: str) -> bool:
    """Returns whether browsers or people read the key as another one: it has a segment `..`, or turns text around."""
    return ".." in key.split("/") or re.search(f"[{TURNS_TEXT}]", key) is not None


def material_of_key(key: str, *, prefix: str = "") -> str | None:
    """Returns the material of a page's key: NFC, without prefix and `.html`; None if the key is not a page below it.

    `key` is URL-decoded: `junior/二次方程式の解き方_教材.html` → `junior/二次方程式の解き方_教材`.
    """
    path = nfc(key)
    folder = _folder(prefix)
    if not path.startswith(folder) or not path.endswith(SUFFIX) or reads_as_another(path):
        return None
    material = path[len(folder) : -len(SUFFIX)]
    return material if material.rpartition("/")[2] else None


def authored_file(key: str, *, prefix: str = "") -> tuple[str, str] | None:
    """Returns the name of a `learns.yml` or a `synonyms.yml`, and the folder to whose pages it applies, NFC.

    The folder ends with a slash; it is empty for the file directly below the prefix, which applies to all pages. None
    for any other key.
    """
    path = nfc(key)
    folder, slash, name = path.removeprefix(_folder(prefix)).rpartition("/")
    is_authored = path.startswith(_folder(prefix)) and name in (LEARNS_FILE, SYNONYMS_FILE)
    return (name, folder + slash) if is_authored else None


def link(material: str, anchor: str, base_url: str = "", *, text: str = "") -> str:
    """Returns `{base_url}/{material}.html#{anchor}`. Japanese stays readable; space and `# ? %` are percent-encoded.

    The link to a part of the page without an anchor leads to the beginning of its `text` (a text fragment), and to the
    anchor before it, or to the page, in browsers that do not find the text.
    """
    path = "".join(map(encoded, nfc(material)))
    if path.startswith("/"):
        path = "%2F" + path[1:]  # "//host" would leave the site
    near, mark, _ = nfc(anchor).partition(UNREACHABLE)
    fragment = "".join(map(encoded, near))
    if mark and (directive := _text_directive(text)):
        fragment += f"{UNREACHABLE}text={directive}"
    page = f"{base_url.rstrip('/')}/{path}{SUFFIX}"
    return f"{page}#{fragment}" if fragment else page


def has_host(base_url: str) -> bool:
    """Returns whether links that begin with `base_url` are complete: they can be opened from anywhere."""
    return base_url.startswith(("http://", "https://"))


def page_link(material: str, base_url: str = "") -> str:
    """Returns `{base_url}/{material}.html`."""
    return link(material, "", base_url)


def with_links(text: str, material: str, base_url: str = "", *, to_pages: bool = True) -> str:
    """Returns a text of a page with the whole addresses of its links.

    Without `to_pages` only those that leave the site or lead to a file have one.
    """
    page = page_link(material, base_url)
    site = urlsplit(page)[:2]

    def shown(address: str) -> str:
        try:
            whole = urljoin(page, address)
            parts = urlsplit(whole)
        except ValueError:  # the text of an author, which looks like a link
            return address
        is_page = parts[:2] == site and _PAGE.search(parts.path) is not None
        return whole if to_pages or not is_page else ""

    return with_addresses(text, shown)


def place_in_languages(material: str, anchor: str, language: str | None) -> tuple[str, str] | None:
    """Returns the name of a section that its translations have, too: the page without the folder of its `language`.

    `de/guide/keys` in German is `guide/keys`, as generators of sites name it. None without language, or if the anchor
    may be one of another section: without a letter, it only counts headings.
    """
    if not language or UNREACHABLE in anchor or not re.search(r"[^\W\d_]", anchor):
        return None
    names = {language.lower(), language.lower().partition("-")[0]}
    folders = material.split("/")
    of_language = [each for each in folders[:-1] if each.lower().replace("_", "-") in names]
    for each in of_language[:1]:
        folders.remove(each)
    return "/".join(folders), anchor


def chunk_of_link(url: str, base_url: str = "") -> str | None:
    """Returns the chunk id that `link` was made of, also for the form that a browser shows; None if it is no link.

    A link to a text leads to the anchor before it: its own id is not in it.
    """
    material, fragment = place_of_link(url, base_url) or ("", "")
    return chunk_id(material, fragment) if fragment else None


def place_of_link(url: str, base_url: str = "") -> tuple[str, str] | None:
    """Returns the material and the anchor, or "", that a link leads to; None if it is no link to a page.

    The host is not compared: a link may be relative, or lead to a copy of the site.
    """
    try:
        parts = urlsplit(url)
        folder = urlsplit(base_url).path.rstrip("/")
    except ValueError:
        return None
    path = parts.path.removeprefix(folder) if parts.path.startswith(f"{folder}/") else parts.path
    # A web server answers a folder with its index, and a name with its page.
    path += "index.html" if path.endswith("/") else ""
    path += SUFFIX if parts.scheme in ("http", "https") and not path.endswith(SUFFIX) else ""
    material = material_of_key(unquote(path.removeprefix("/")))
    return (material, unquote(parts.fragment.partition(UNREACHABLE)[0])) if material else None


def plain_name(text: str) -> str:
    """Returns the name of a page, an explanation or a folder, or a link, as an agent may have written it.

    It has no spaces around it, no percent-encoding and no segment `.`; Markdown is the page that is made of it.
    """
    path, mark, anchor = unquote(text.strip()).partition("#")
    path = "/".join(segment for segment in path.split("/") if segment != ".")
    return _MARKDOWN.sub(SUFFIX, path) + mark + anchor


def folder_of_name(name: str, base_url: str = "") -> str:
    """Returns the folder that a name means: as `folder_name` gives it, its address, or that of its index."""
    text = plain_name(name)
    is_link = has_host(text) or text.endswith(SUFFIX)
    place = place_of_link(text if text.endswith(SUFFIX) else f"{text}/", base_url) if is_link else None
    return place[0].rpartition("/")[0] if place else folder_name(text)


def is_anchor(text: str) -> bool:
    """Returns whether a text can be part of a chunk id: without white space and `#`, and not too long."""
    return 0 < len(text) <= LONGEST_ANCHOR and "#" not in text and text.split() == [text]


def chunk_id(material: str, anchor: str) -> str:
    """Returns `material#anchor`, NFC."""
    return nfc(f"{material}#{anchor}")


def split_chunk_id(chunk: str) -> tuple[str, str]:
    """Returns material and anchor of a chunk id, NFC, split at the last `#`. Raises `Invalid` if one is missing."""
    material, mark, anchor = nfc(chunk).rpartition("#")
    if not (material and mark and anchor):
        raise Invalid(
            f"{chunk!r} is not a chunk id. Use material#anchor or a link, as in search results. read_page reads whole "
            "pages."
        )
    return material, anchor


def _text_directive(text: str) -> str:
    """Returns the encoded beginning of a text, and what follows a short one; "" if a browser could not find it."""
    shown_text = visible(without_code(plain_text(with_addresses(text)[:BEGINNING])))
    lines = [_LIST_MARK.sub("", line.strip()) for line in shown_text.split("\n")]
    first, second, *_ = [*filter(None, lines), "", ""]
    shown = [_part(first)]
    if shown[0] and len(first) < _CLEAR_LINE and _part(second):
        shown.append(_part(second))
    return ",-".join("".join(_SEPARATORS.get(each) or encoded(each) for each in part) for part in shown)


def _part(line: str) -> str:
    """Returns a line, or a part of a long one that ends with a word; "" if it has none."""
    if len(line) <= _LONGEST_LINE:
        return line
    part = _PART_OF_LINE.match(line)
    return part[0].rstrip() if part else ""


def _folder(prefix: str) -> str:
    path = nfc(prefix).strip("/")
    return f"{path}/" if path else ""


def encoded(character: str) -> str:
    """Percent-encodes reserved, blank, control and invisible characters. A lone surrogate becomes U+FFFD."""
    if character in ENCODED or unicodedata.category(character)[0] in "CZ":
        written = character.encode("utf-8", "surrogatepass")
        return "%EF%BF%BD" if "\ud800" <= character <= "\udfff" else "".join(f"%{byte:02X}" for byte in written)
    return character
