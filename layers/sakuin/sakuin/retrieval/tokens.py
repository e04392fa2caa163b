"""The estimated number of tokens of a text: no tokenizer is loaded."""

import re

# From here on the scripts of China, Japan and Korea, and pictographs.
_WIDE = re.compile("[\u2e80-\U0010ffff]")


def estimated_tokens(text: str) -> int:
    """Returns a quarter for each ASCII character, one for each wide character and a half for each other one.

    Of OpenAI's o200k_base, 0.9 to 1.3 times its tokens for Latin scripts, Chinese and Japanese, up to 1.7 for others
    (docs/decisions/0115).
    """
    ascii_ones, wide_ones = len(text.encode("ascii", "ignore")), len(_WIDE.findall(text))
    return -(-(2 * len(text) - ascii_ones + 2 * wide_ones) // 4)
