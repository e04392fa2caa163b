"""Functions and their graphs."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
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
