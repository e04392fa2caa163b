"""Whether a question asks for an example."""

import re

_ASKED = re.compile(
    r"例題|具体例|実例"
    r"|(?<![一-鿿])例(?:を|が|で|も)?(?:見|み[せた]|教え|おしえ|知り|しり|欲し|ほし|挙げ|あげ|出し|解[いき])"
    r"|\b(?:worked )?examples?\b"
)


def example_asked_for(text: str) -> str | None:
    """The words of a canonical question that ask for an example; None if there are none."""
    match = _ASKED.search(text)
    return match[0] if match else None
