"""Sequences and induction."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
arithmetic-mean: 等差中項 / 相加平均 | arithmetic mean
arithmetic-sequence: 等差数列 | arithmetic sequence / arithmetic progression
arithmetic-sum: 等差数列の和 / 等差数列の合計 / 等差級数 | sum of an arithmetic sequence / arithmetic series / sum of arithmetic series / sum of an arithmetic progression
common-difference: 公差 | common difference
common-ratio: 公比 | common ratio
first-term: 初項 | first term / initial term
last-term: 末項 | last term
general-term: 一般項 / 第n項 / n番目の項 | general term / nth term / nth term formula / n-th term / explicit formula / term formula
geometric-mean: 等比中項 / 相乗平均 | geometric mean
geometric-sequence: 等比数列 / 同じ数をかけ続ける | geometric sequence / geometric progression
geometric-sum: 等比数列の和 / 等比数列の合計 / 等比級数 | sum of a geometric sequence / geometric series / sum of geometric series / sum of a geometric progression
group-sequence: 群数列 | grouped sequence
induction: 数学的帰納法 / 帰納法 | mathematical induction / induction / proof by induction
infinite-series: 無限級数 / 無限等比級数 / 級数 | infinite series / infinite geometric series / series
partial-sums: 和と一般項 / 和から一般項 / 数列の和と一般項 | partial sum / general term from the sum
recurrence: 漸化式 / 隣接二項間漸化式 | recurrence relation / recursive formula / recurrence / recursion formula
sequence: 数列 | sequence / progression / number pattern
sequence-difference: 階差数列 / 階差 | difference sequence / sequence of differences
sequence-limit: 数列の極限 / 収束と発散 / 収束 / 発散 | limit of a sequence / convergence / divergence / convergent
sequence-sum: 数列の和 / 和の公式 | sum of a sequence / sum of a series
sigma: シグマ / シグマ記号 / シグマの計算 / Σ / 総和記号 / σの計算 / 和の記号 | sigma notation / summation notation / summation
shift-and-subtract: ずらして引く / ずらして引き算 / 等差×等比 | shift and subtract / subtracting the shifted series
telescoping: 部分分数分解 / 部分分数 | telescoping sum / partial fraction / partial fraction decomposition
"""
