"""The names of materials and chunks, and their links."""

import unicodedata

from sakuin.errors import Invalid
from sakuin.language.unicode_text import nfc

SUFFIX = ".html"

# What reads it needs the dictionary, which a bucket's keys do not.
SYNONYMS_FILE = "synonyms.yml"

# What a URL's path or fragment may not hold as it is; Japanese stays readable.
ENCODED = frozenset(' #?%"<>\\`^{|}')


def material_of_key(key: str, *, prefix: str = "") -> str | None:
    """The material of a page's key: NFC, without the prefix and `.html`; None if the key is no page under the prefix.

    `key` is already URL-decoded, once: `junior/二次方程式の解き方_教材.html` → `junior/二次方程式の解き方_教材`.
    """
    path = nfc(key)
    folder = _folder(prefix)
    if not path.startswith(folder) or not path.endswith(SUFFIX):
        return None
    material = path[len(folder) : -len(SUFFIX)]
    return material if material.rpartition("/")[2] else None


def synonyms_key(material_prefix: str) -> str:
    """Where the site's list of synonyms lies: at the top of the library, and nowhere else."""
    return f"{material_prefix}{SYNONYMS_FILE}"


def link(material: str, anchor: str, base_url: str = "") -> str:
    """`{base_url}/{material}.html#{anchor}`: Japanese stays as it is, space and `# ? %` are percent-encoded."""
    path = "".join(map(_encoded, nfc(material)))
    if path.startswith("/"):
        path = "%2F" + path[1:]  # "//host" would leave the site
    fragment = "".join(map(_encoded, nfc(anchor)))
    return f"{base_url.rstrip('/')}/{path}{SUFFIX}#{fragment}"


def chunk_id(material: str, anchor: str) -> str:
    """`material#anchor`, NFC."""
    return nfc(f"{material}#{anchor}")


def split_chunk_id(chunk: str) -> tuple[str, str]:
    """Material and anchor of a chunk's id, NFC, split at the last `#`. Raises `Invalid` if it has not both."""
    material, mark, anchor = nfc(chunk).rpartition("#")
    if not (material and mark and anchor):
        raise Invalid(f"{chunk!r} is no chunk id. Give it as material#anchor, as search results do.")
    return material, anchor


def _folder(prefix: str) -> str:
    path = nfc(prefix).strip("/")
    return f"{path}/" if path else ""


def _encoded(character: str) -> str:
    """Percent-encoded if it is reserved, blank, a control or invisible (a lone surrogate becomes U+FFFD)."""
    if character in ENCODED or unicodedata.category(character)[0] in "CZ":
        written = character.encode("utf-8", "surrogatepass")
        return "%EF%BF%BD" if "\ud800" <= character <= "\udfff" else "".join(f"%{byte:02X}" for byte in written)
    return character
