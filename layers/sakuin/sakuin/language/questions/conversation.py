"""Conversational phrases in a question: filler without content, and requests for an example."""

import re
from collections.abc import Iterator

_FILLERS = (
    # openings
    r"^(?:えっと|あの[うー]?|すみません|すいません|ねえ|ところで|先生|質問です|お願いします|こんにちは)[、,。!\s]*",
    # not understood, forgotten, please explain
    r"(?:の?意味|の?こと|って|とか|が|は|を|も|の)?(?:が|は|も)?(?:よく|いまいち|全然|ぜんぜん|まったく|全く|どうしても|すぐ|いつも)*"
    r"(?:わから|分から|解ら|できな|出来な|覚えられ|おぼえられ|思い出せ|理解できな)(?:な|ま)?(?:い|く|かっ|せん|くて)*(?:んだけど|のですが|んですが|ので|けど|です|よ|ー)*",
    r"(?:を|って|が|の)?(?:忘れ|わすれ)(?:ちゃっ|てしまっ|まし)?(?:た|て)(?:んだけど|のですが|んですが|けど)?",
    r"(?:を|について|に関して|が)?(?:詳しく|くわしく|簡単に|かんたんに|わかりやすく|分かりやすく|もう一度)?"
    r"(?:教えて|おしえて|説明して|せつめいして|解説して)(?:ください|下さい|ほしい(?:です)?|くれ(?:る|ますか|ない)?|もらえ(?:る|ますか))?",
    r"(?:を|が|は)?(?:知り|しり)たい(?:です|んだけど|のですが)?",
    r"(?:したい|やりたい)(?:です|んだけど|んですけど|のですが|とき)?",
    # question words: how, what, why
    r"(?:の|するの|のやり方)?(?:って|は|には|とき|場合)?(?:どうやって|どのように(?:して)?|どうすれば(?:いい|よい|良い)?|どうしたら(?:いい|よい|良い)?|どうやる|どうやれば(?:いい)?|どうする|どうなる)"
    r"(?:の|ん|もの)?(?:ですか|でしょうか|だろう|かな|か)?",
    r"(?:という|って)?(?:の)?(?:は|って)?(?:なんだっけ|何だっけ|なんですか|何ですか|なんでしょう|何でしょう|なに|何)(?:ですか|の|か)?$",
    r"(?:という|って)(?:の|ん|こと|もの|やつ)?(?:です|でしょう|だろう)?(?:か|は|が|を|って)?$",
    r"(?:これって|それって)?どういうこと(?:ですか|なの)?|どんな(?:もの|こと|やつ)(?:ですか)?",
    r"(?:(?<!こ)とは|について|に関して|に関する)(?:何(?:ですか)?|なに|なん(?:ですか)?)?",
    r"(?:のは|は|って)?(?:どうして|なぜ|なんで|何で)(?:なの|なん|です|でしょう)*か?",
    r"(?:する|の)?コツ(?:は|が|って|を)?(?:ある|あります|知りたい|教えて)?(?:か|の)?",
    # endings
    r"(?:んだけど|んですけど|のですが|んですが|ですけど|だけど|なんだけど|のだけれど)",
    r"(?:ちゃった|ちゃって|てしまった|てしまって)",
    r"(?:です|ます|でしょう|だろう|ません|(?<!さ)かな|だっけ|ですよね|なの|たり(?:する|できる)?)(?:か|ね|よ)?$",
    r"(?:ください|下さい|お願いします|おねがいします|よろしく|たすけて|助けて)$",
)
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in _FILLERS))
_MARKS = re.compile(r"[?!。、…]+")
LONGEST_SENTENCE = 400  # characters; a longer question is not searched for filler


def filler_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of the phrases without content in a canonical question, from left to right."""
    if len(text) > LONGEST_SENTENCE or text.isascii():
        return
    at = 0
    for part in _MARKS.split(text):
        start = text.index(part, at)
        for match in _PATTERN.finditer(part):
            if match[0]:
                yield start + match.start(), start + match.end()
        at = start + len(part)


_ASKED = re.compile(
    r"例題|具体例|実例"
    r"|(?<![一-鿿])例(?:を|が|で|も)?(?:見|み[せた]|教え|おしえ|知り|しり|欲し|ほし|挙げ|あげ|出し|解[いき])"
    r"|\b(?:worked )?examples?\b"
)


def example_request(text: str) -> str | None:
    """Returns the words of a canonical question that ask for an example; None if there are none."""
    match = _ASKED.search(text)
    return match[0] if match else None
