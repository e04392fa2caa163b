"""Words of questions of any subject that carry little or no content."""

# English function words: the list of the Snowball project (https://snowballstem.org, BSD), with question words,
# contractions, courtesies, and what follows an apostrophe.
_STOP_WORDS_LIST = """
a an the of in on at to for from by with without and or as is are was were be been am do does did done
how what which when where why who whose whom can could should would will shall may might must i i'm i've
you your we our us me my it its it's this that these those there here if then than so just only also not
no yes please about into onto up down out over under between while any some all each every one's have has
had s t re ve ll don't doesn't can't let lets very more most
"""
STOP_WORDS = frozenset(_STOP_WORDS_LIST.split())

# Words of nearly every question, whatever its subject: a chunk without them loses little. Collected by hand from the
# development half of the labelled questions (tests/labels).
_LOW_CONTENT_LIST = """
方 方法 使う 遣る 為る 出来る 有る 居る 成る 何 言う 事 物 者 時 教える 知る 分かる 覚える 考える
見る どう 何故 なぜ どんな 良い 無い 場合 意味 仕方 説明 理由 違い こつ そう こう 其れ 此れ 其の 此の
的 つ 様 為 所 欲しい 下さい 呉れる 貰う 御 何れ 何方 何処 幾つ 何時
tell explain help teach show give need want know learn understand using use used get got getting make makes
making mean meaning way ways work works working given example examples called thing things
"""
LOW_CONTENT_WORDS = frozenset(_LOW_CONTENT_LIST.split())
