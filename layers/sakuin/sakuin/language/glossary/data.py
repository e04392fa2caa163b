"""Counting, probability and statistics."""

# ruff: noqa: E501 - one concept a line, with all its spellings
DATA = """
at-least-one: 少なくとも / 少なくとも一つ / 少なくとも1回 | at least one / at least once
bar-chart: 棒グラフ | bar graph / bar chart
line-graph: 折れ線グラフ | line graph
pie-chart: 円グラフ | pie chart
band-graph: 帯グラフ | band graph / percentage bar graph
bayes: ベイズの定理 / 原因の確率 | bayes' theorem / bayes theorem / bayes
binomial-distribution: 二項分布 | binomial distribution
boxplot: 箱ひげ図 / 箱髭図 | box plot / box-and-whisker plot / boxplot / box and whisker plot / box and whisker
circular-permutation: 円順列 / じゅず順列 | circular permutation / circular arrangement
class: 階級 / 階級値 / 階級の幅 | class interval / class mark / class width
combination: 組合せ / 組み合わせ / 組合わせ / コンビネーション / 組合せの公式 / ncr | combination / n choose r / binomial coefficient
combination-repetition: 重複組合せ / 重複組み合わせ / 重複を許す組合せ | combination with repetition / combinations with replacement / stars and bars / multiset
complement-event: 余事象 / 余事象の確率 / 起こらない確率 | complementary event / complement rule / complement event / complement of an event / complement / probability of not
conditional-probability: 条件付き確率 / 条件つき確率 / 乗法定理 | conditional probability / multiplication theorem
confidence-interval: 信頼区間 / 区間推定 / 推定 | confidence interval / interval estimation
correlation: 相関 / 相関係数 / 正の相関 | correlation / correlation coefficient
counting: 場合の数 / 数え上げ / 何通り | counting / number of ways / number of outcomes / counting principle / how many ways
covariance: 共分散 | covariance
cumulative-frequency: 累積度数 / 累積相対度数 | cumulative frequency / cumulative relative frequency
data-analysis: データの分析 / データの活用 / 統計 | data analysis / statistics / analyzing data
deviation: 偏差 | deviation
standard-score: 偏差値 | standard score / deviation score
deviation-standard: 標準偏差 | standard deviation
dice: さいころ / サイコロ / さいころ二つ | dice / die / rolling a die / rolling two dice / rolling dice
coin: コイン / 硬貨 | coin / coin toss / tossing a coin / flipping a coin
equally-likely: 同様に確からしい | equally likely
event: 事象 | event
exclusive-events: 排反 / 排反事象 / 互いに排反 | mutually exclusive / disjoint events / mutually exclusive events
expected-value: 期待値 | expected value / expectation
experimental-probability: 統計的確率 / 相対度数と確率 | experimental probability / relative frequency probability
factorial: 階乗 / n! | factorial
frequency: 度数 / 頻度 | frequency
frequency-table: 度数分布表 / 度数分布 | frequency table / frequency distribution / frequency distribution table
histogram: ヒストグラム / 柱状グラフ / 度数折れ線 | histogram
hypothesis-test: 仮説検定 / 検定 | hypothesis test / hypothesis testing
independent-events: 独立 / 独立な試行 / 独立事象 / 独立な試行の確率 | independent event / independent trial / independence / independent
interquartile-range: 四分位範囲 / 四分位偏差 | interquartile range / iqr / quartile deviation
lottery: くじ / くじ引き | lottery / drawing lots / drawing lot
mean: 平均 / 平均値 | mean / average
median: 中央値 / メジアン | median
mode: 最頻値 / モード | mode
multiplication-principle: 積の法則 / 和の法則 | multiplication principle / addition principle / rule of product / rule of sum / fundamental counting principle
normal-distribution: 正規分布 | normal distribution / bell curve
outlier: 外れ値 / はずれ値 | outlier
pascal-triangle: パスカルの三角形 | pascal's triangle / pascal triangle
permutation: 順列 / 並べ方 / npr | permutation / arrangement
permutation-repeated: 重複順列 | permutation with repetition / repeated permutation
permutation-same: 同じものを含む順列 / 同じものを含む並べ方 / 同じ文字を含む順列 | permutation of multisets / permutation with identical objects / permutations with identical objects / permutations of identical objects
playing-cards: トランプ | playing card / deck of cards
population: 母集団 / 標本 / 標本調査 / 全数調査 / 無作為抽出 | population / sample survey / random sampling / sampling / sample
probability: 確率 / 確率の求め方 | probability / chance
probability-addition: 加法定理(確率) / 確率の加法定理 / 和事象の確率 | addition rule / probability addition rule / addition theorem of probability / addition law of probability
probability-distribution: 確率分布 / 確率変数 | probability distribution / random variable
quartile: 四分位数 / 第一四分位数 / 第三四分位数 / 第二四分位数 | quartile / first quartile / third quartile
range-of-data: データの範囲 / 分布の範囲 | range of data / data range
relative-frequency: 相対度数 | relative frequency
repeated-trials: 反復試行 / 反復試行の確率 / 繰り返し試行 | repeated trial / bernoulli trial / repeated independent trial
representative-value: 代表値 | measure of central tendency / central tendency / averages
scatter-plot: 散布図 | scatter plot / scatter diagram / scatterplot
shortest-path: 最短経路 / 道順 / 最短の道順 | shortest path / lattice path / grid path
stem-and-leaf: 幹葉図 | stem-and-leaf plot / stem and leaf
total-probability: 全確率 / 全確率の定理 | law of total probability / total probability
tree-diagram: 樹形図 / 枝分かれの図 | tree diagram / probability tree / probability tree diagram
trial: 試行 | trial
variance: 分散 | variance
"""
