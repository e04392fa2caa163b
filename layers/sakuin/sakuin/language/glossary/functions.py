"""Functions, calculus, sequences and trigonometry."""

# ruff: noqa: E501 - one concept a line, with all its spellings
FUNCTIONS = """
asymptote: 漸近線 | asymptote
axis: 座標軸 / x軸 / y軸 | coordinate axis / coordinate axes / x-axis / y-axis / x axis / y axis
axis-of-symmetry: 対称軸 / 放物線の軸 / グラフの軸 / 軸の方程式 | axis of symmetry / line of symmetry
base-change: 底の変換公式 / 底の変換 | change of base / change of base formula
closed-interval: 閉区間 / 定義域が決まった / 定義域がある / 定義域に制限 | closed interval / restricted domain / bounded domain
common-logarithm: 常用対数 / 桁数 | common logarithm / number of digits
coordinates: 座標 / 座標平面 | coordinate / coordinate plane / cartesian plane / ordered pair
composite-function: 合成関数 | composite function / composition of functions / function composition
cubic-function: 三次関数 | cubic function
domain: 定義域 / 変域 / xの変域 / xの範囲 | domain
exponential-equation: 指数方程式 / 指数不等式 | exponential equation / exponential inequality
exponential-function: 指数関数 | exponential function / exponential growth
function: 関数 / 函数 | function
gradient: 傾き / 変化の割合 / グラフの傾き / 直線の傾き / 平均変化率 | slope / gradient / rate of change / average rate of change / steepness / rise over run
graph: グラフ | graph
graph-intersection: グラフの交点 / 直線の交点 / 交点 / 交点の座標 / グラフがぶつかる / 共有点 / 共有点の個数 | point of intersection / intersection of lines / intersection point / intersection of two lines / intersection of graphs / common point
graph-translation: 平行移動 / グラフの平行移動 | translation / translating a graph / shifting a graph / graph translation / horizontal shift / vertical shift
graph-reflection: 対称移動 / グラフの対称移動 | reflection / reflecting a graph
intercept: 切片 / y切片 / y軸との交点 | y-intercept / intercept / y intercept
x-intercept: x切片 / x軸との交点 / x軸との共有点 | x-intercept / x intercept / zeros of a function
inverse-function: 逆関数 | inverse function
inverse-proportion: 反比例 | inverse proportion / inverse variation / inversely proportional
line-equation: 直線の式 / 直線の方程式 / 一次関数の式 / 一次関数の式の求め方 / 二点を通る直線 | equation of a line / equation of the line / slope-intercept form / point-slope form / line through two points / equation of a straight line
linear-function: 一次関数 / 1次関数 | linear function
line-drawing: グラフのかき方 / 直線のかき方 / グラフの描き方 / グラフの書き方 / グラフを描く / グラフをかく | drawing a graph / graphing a line / draw a graph / plotting a graph / graphing / sketching a graph / plot
logarithm: 対数 / 対数関数 / log | logarithm / logarithmic function
logarithm-laws: 対数の性質 / 対数の計算 / 対数法則 | laws of logarithms / logarithm rules / properties of logarithms / log rules
logarithmic-equation: 対数方程式 / 対数不等式 | logarithmic equation / logarithmic inequality
max-min: 最大最小 / 最大値と最小値 / 最大と最小 / 最大値 / 最小値 / 最大値最小値 / 最大・最小 | maximum and minimum / maximum or minimum / max and min / maximum value / minimum value / extreme value / maximum / minimum / max / min / extrema
moving-axis: 軸が動く / 動く軸 / 軸に文字 / 軸が文字 / 軸の場合分け | moving axis / axis with a parameter
moving-domain: 定義域が動く / 動く定義域 / 区間が動く / 区間に文字 | moving domain / moving interval
parabola: 放物線 | parabola
parallel-lines-condition: 直線の平行 / 平行な直線 / 平行条件 / 二直線の平行 / 直線が平行 / 平行になる | parallel line / slopes of parallel lines / lines parallel
perpendicular-lines-condition: 垂直条件 / 二直線の垂直 / 垂直な直線 / 直線が垂直 | perpendicular line / slopes of perpendicular lines / perpendicular lines condition
proportion: 比例 / 正比例 | direct proportion / direct variation / proportional / directly proportional
proportional-constant: 比例定数 | constant of proportionality / constant of variation
quadratic-function: 二次関数 | quadratic function
range: 値域 / yの変域 | range of a function
rational-function: 分数関数 | rational function
irrational-function: 無理関数 | square root function / radical function
straight-line: 直線 | straight line / line
vertex: 頂点 / 放物線の頂点 / 頂点の座標 / 頂点の求め方 | vertex / vertex form / vertices / turning point
case-analysis: 場合分け | case analysis / casework / considering cases
function-square: y=ax^2 / 二乗に比例する関数 / 2乗に比例 | proportional to the square
step-function: ガウス記号 / 階段状のグラフ | floor function / step function
"""

CALCULUS = """
antiderivative: 不定積分 / 原始関数 | indefinite integral / antiderivative / primitive function
area-integral: 定積分と面積 / 面積と積分 / 積分で面積 / 1/6公式 / 六分の一公式 | area under a curve / area between curves / area by integration
chain-rule: 合成関数の微分 / 合成関数の微分法 | chain rule
concavity: 凹凸 / 変曲点 / 第二次導関数 | concavity / inflection point / point of inflection / second derivative
continuity: 連続 / 連続性 / 連続関数 | continuity / continuous function
definite-integral: 定積分 | definite integral
derivative: 導関数 / f'(x) / 導関数の定義 | derivative / derivative function
derivative-number-of-roots: 微分と解の個数 / 三次方程式の解の個数 / 定数分離 | number of roots by derivative / roots of a cubic
differential-coefficient: 微分係数 / 瞬間の変化率 | derivative at a point / instantaneous rate of change / differential coefficient
differential-equation: 微分方程式 | differential equation
differentiation: 微分 / 微分法 / 微分する | differentiation / differentiate / differentiating
extremum: 極値 / 極大 / 極小 / 極大値 / 極小値 / 極大と極小 / 極大・極小 / 極大極小 | local maximum / local minimum / local extrema / relative maximum / relative minimum / local maxima / local minima / extremum / local maximum and minimum / local max and min / relative extrema / critical point / stationary point
implicit-differentiation: 陰関数の微分 / 陰関数 | implicit differentiation
increase-decrease: 増減 / 関数の増減 / 増加と減少 / 単調増加 / 単調減少 | increasing and decreasing / increasing function / monotonic / increasing and decreasing function / intervals of increase
integration: 積分 / 積分法 / 積分する / ∫ / インテグラル | integration / integral / integrate
integration-by-parts: 部分積分 / 部分積分法 | integration by parts
integration-by-substitution: 置換積分 / 置換積分法 | integration by substitution / u-substitution
limit: 極限 / 極限値 / lim / リミット | limit / limit value
mean-value-theorem: 平均値の定理 | mean value theorem
intermediate-value-theorem: 中間値の定理 | intermediate value theorem
normal-line: 法線 / 法線の方程式 | normal line / equation of the normal
power-rule: べき乗の微分 / x^nの微分 / x^nを微分 / n乗の微分 / nx^(n-1) / 累乗の微分 | power rule / derivative of x^n
product-rule: 積の微分 / 積の微分法 | product rule
quotient-rule: 商の微分 / 商の微分法 | quotient rule
sign-table: 増減表 / 符号の表 / 増減の表 | sign chart / sign table / table of variation / variation table / table of increase and decrease / increase-decrease table
squeeze-theorem: はさみうちの原理 / 挟み撃ちの原理 | squeeze theorem / sandwich theorem
tangent-line: 接線 / 接線の方程式 / 接線の式 / 接線の傾き / 接線の求め方 | tangent line / equation of a tangent / equation of the tangent / tangent to a curve / tangent of a curve / tangent
volume-of-revolution: 回転体の体積 / 回転体 | volume of revolution / solid of revolution
velocity-acceleration: 速度と加速度 / 加速度 | velocity and acceleration / acceleration
"""

SEQUENCES = """
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

TRIGONOMETRY = """
addition-theorem: 加法定理 | angle addition formula / addition formula / sum and difference formulas / angle sum identities / compound angle formula / addition theorem
complementary-angle: 余角の公式 / 余角 / 90°-θ | complementary angle / cofunction identities
supplementary-angle: 補角の公式 / 補角 / 180°-θ | supplementary angle
cosine: 余弦 / コサイン / cos | cosine
cosine-law: 余弦定理 | law of cosines / cosine rule / cosine law / cosine formula / laws of cosines
double-angle: 倍角の公式 / 二倍角の公式 / 2倍角 | double angle formula / double-angle formula
half-angle: 半角の公式 | half-angle formula / half angle formula
triple-angle: 三倍角の公式 | triple angle formula / triple-angle formula
elevation-angle: 仰角 / 仰角と高さ | angle of elevation / elevation angle
depression-angle: 俯角 | angle of depression
product-to-sum: 積和の公式 / 和積の公式 / 積を和に / 和積 | product-to-sum formula / sum-to-product formula / product to sum
quadrantal: 鈍角の三角比 / 鈍角 / 三角比の拡張 | obtuse angle / trigonometric ratios of obtuse angles
radian: 弧度法 / ラジアン | radian / radian measure
sine: 正弦 / サイン / sin | sine
sine-law: 正弦定理 | law of sines / sine rule / sine law / laws of sines
sine-area: 三角比と面積 / 三角形の面積と三角比 / 1/2bcsina / s=1/2bcsina / 二辺とその間の角から面積 | area of a triangle using sine / area using sine / sine area formula / triangle area by sine
special-angles: 特別な角の三角比 / 有名角 / 30°45°60° / 30°,45°,60° / 三角比の値 / 三角比の表 / 代表的な角 | special angle / trigonometric values of special angles / exact trig values / trig values of special angles / values of special angles
tangent-ratio: 正接 / タンジェント / tan | tangent ratio
trigonometric-equation: 三角方程式 / 三角不等式 | trigonometric equation / trig equation / trigonometric inequality
trigonometric-function: 三角関数 / 三角関数のグラフ | trigonometric function / trig function
trigonometric-identities: 三角比の相互関係 / 相互関係 / 三角関数の相互関係 / sin^2θ+cos^2θ=1 / sin^2θ+cos^2θ / sin^2a+cos^2a=1 | trigonometric identity / trig identity / pythagorean identity / relationships among trigonometric ratios / trigonometric identities
trigonometric-ratio: 三角比 / 三角比の定義 / サインコサインタンジェント / sincostan | trigonometric ratio / trig ratio / trigonometry / trig / soh cah toa / sohcahtoa / sine cosine tangent / sine and cosine
trigonometric-synthesis: 三角関数の合成 | harmonic form / combining sine and cosine / r sin form
unit-circle: 単位円 | unit circle
"""
