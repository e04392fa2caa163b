"""Sets and logic."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
condition-necessary: 必要条件 / 十分条件 / 必要十分条件 / 必要条件と十分条件 / 同値 | necessary condition / sufficient condition / necessary and sufficient condition / if and only if
contradiction: 背理法 | proof by contradiction / contradiction / reductio ad absurdum
contraposition: 対偶 / 対偶を使った証明 | contrapositive / contraposition
converse: 命題の逆 / 逆と裏 / 逆・裏・対偶 / 逆裏対偶 | converse / inverse and contrapositive / converse of a statement
counterexample: 反例 | counterexample
de-morgan: ド・モルガンの法則 / ドモルガンの法則 / ドモルガン | de morgan's law / de morgan law
element: 要素の個数 / 集合の要素の個数 / 集合の要素 | number of elements / element of a set / cardinality
inclusion-exclusion: 包除原理 / 和集合の要素の個数 | inclusion-exclusion / inclusion-exclusion principle
intersection-set: 共通部分 / 積集合 / ∩ / かつ | intersection of sets / intersection of two sets
negation: 命題の否定 / 否定 | negation
proposition: 命題 / 命題の真偽 / 真偽 | proposition / logical statement
set: 集合 | set theory / sets
set-complement: 補集合 | complement of a set
universal-set: 全体集合 | universal set
subset: 部分集合 | subset
empty-set: 空集合 | empty set
union-set: 和集合 / ∪ | union / union of sets
venn: ベン図 | venn diagram
"""
