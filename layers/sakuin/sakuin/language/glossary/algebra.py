"""Algebra, numbers and sets."""

# ruff: noqa: E501 - one concept a line, with all its spellings
ALGEBRA = """
addition-method: 加減法 / 消去法 | elimination method / method of elimination / solve by elimination / solving by elimination / by elimination / elimination
algebraic-expression: 文字式 / 文字を使った式 / 文字の式 | algebraic expression
algebraic-fraction: 分数式 | rational expression / algebraic fraction
binomial-theorem: 二項定理 | binomial theorem / binomial expansion
coefficient: 係数 | coefficient
coefficient-comparison: 係数比較法 / 係数比較 | comparing coefficients / equating coefficients
collecting-terms: 同類項 / 同類項をまとめる | like terms / collecting like terms / combining like terms
common-factor: 共通因数 / 共通因数でくくる / くくり出す / 共通因数をくくる | common factor / factoring out / factor out / taking out a common factor / greatest common factor
complex-number: 複素数 | complex number
completing-the-square: 平方完成 / 完全平方 / 完全平方式 / 平方の形 | completing the square / complete the square / completed square / perfect square / perfect square trinomial
conjugate: 共役複素数 / 共役な複素数 | complex conjugate / conjugate
constant-term: 定数項 | constant term
cross-multiplication: たすきがけ / たすき掛け / タスキガケ / 襷掛け / 襷がけ | cross-multiplication factoring / cross multiplication / cross method / crisscross method / cross factoring / tasukigake / ac method
cubic-equation: 三次方程式 | cubic equation
cubic-formula: 三次式の展開 / 三次式の因数分解 / 三乗の公式 / 立方の公式 | sum of cubes / difference of cubes
degree: 次数 | degree of a polynomial
difference-of-squares: 平方の差 / 二乗の差 / 和と差の積 / 2乗ひく2乗 | difference of squares / difference of two squares
discriminant: 判別式 / 解の個数の判別 / b^2-4ac / d=b^2-4ac / d/4 / d>0 / d=0 / d<0 | discriminant
distributive-law: 分配法則 | distributive law / distributive property
double-root: 重解 / 重根 | double root / repeated root / equal roots
double-inequality: 連立不等式 | system of inequalities / simultaneous inequalities
equality-properties: 等式の性質 | properties of equality / balancing an equation
equation: 方程式 | equation
expansion: 展開 / 式の展開 / 展開公式 / 乗法公式 / 乗法の公式 | expanding / expand / expansion / expanding brackets / foil / special products / multiplication formulas / binomial product
expression-value: 式の値 / 代入する | value of an expression / evaluating an expression
factor-theorem: 因数定理 | factor theorem
factoring: 因数分解 / 因数に分ける | factoring / factorization / factorisation / factorise / factorize / factor / factorising / factorizing
identity: 恒等式 | identity
imaginary-number: 虚数 / 虚数単位 / 虚数解 | imaginary number / imaginary unit / imaginary root
inequality: 不等式 | inequality
linear-equation: 一次方程式 | linear equation / first-degree equation / simple equation
linear-inequality: 一次不等式 | linear inequality
monomial: 単項式 | monomial
number-of-solutions: 解の個数 / 解がいくつ / 実数解の個数 / 解の数 | number of solutions / number of roots / number of real roots / how many solutions
parentheses: かっこをはずす / かっこを外す / 括弧をはずす / かっこのある式 | removing parentheses / removing brackets / opening brackets
polynomial: 多項式 / 整式 | polynomial
polynomial-division: 整式の割り算 / 多項式の割り算 / 整式の除法 / 組立除法 | polynomial division / synthetic division / long division of polynomials
proof-of-equality: 等式の証明 | proving an equality / proof of an identity
proof-of-inequality: 不等式の証明 | proving an inequality / proof of an inequality
proportion-equation: 比例式 / 内項の積と外項の積 | proportion / cross product of a proportion
quadratic-equation: 二次方程式 / 一元二次方程 / 이차방정식 / 一元二次方程式 | quadratic equation / quadratic / second-degree equation
quadratic-formula: 解の公式 / 二次方程式の公式 / 二次方程式の解の公式 / 求根公式 / 근의 공식 | quadratic formula
quadratic-inequality: 二次不等式 | quadratic inequality
rationalizing: 有理化 / 分母の有理化 / 分母を有理化 | rationalizing the denominator / rationalising the denominator / rationalize the denominator / rationalise / rationalize
real-root: 実数解 | real root / real solution
rearranging: 等式の変形 / 式の変形 / 文字について解く | rearranging a formula / changing the subject / rearranging an equation / literal equation
remainder-theorem: 剰余の定理 / 剰余定理 / あまりの定理 | remainder theorem
roots-and-coefficients: 解と係数の関係 / ビエトの公式 / ヴィエタの公式 | vieta's formulas / vieta formula / relationship between roots and coefficients / relation between roots and coefficients / sum and product of roots
simultaneous-equations: 連立方程式 / 連立一次方程式 / 連立二元一次方程式 | simultaneous equation / system of equations / system of linear equations / systems of equations
solution: 解 / 方程式の解 / 根 | solution of an equation / roots of an equation / root of an equation
square-root-method: 平方根の考え / 平方根を使った解き方 / 平方根による解き方 | square root method / taking square roots
substitution-method: 代入法 | substitution method / method of substitution / solve by substitution / solving by substitution / by substitution / substitution
sum-and-product: 和と積 / 和と積の公式 / 足してかけて / 和が積が | sum and product / sum-product
symmetric-expression: 対称式 / 基本対称式 | symmetric polynomial / symmetric expression
transposition: 移項 / 反対側に移す / 右辺に移す / 左辺に移す | transposition / transposing / transpose / moving terms / moving a term
word-problem: 文章題 / 文章問題 / 方程式の利用 / 方程式の文章題 | word problem / story problem / setting up an equation / set up an equation
zero-product: 零積 / 積がゼロ / 積が0 / かけて0 / かけ算の答えが0 / ゼロ積 | zero product property / zero product / zero factor property / null factor law
absolute-value-equation: 絶対値を含む方程式 / 絶対値のある方程式 | absolute value equation
arithmetic-geometric-mean: 相加平均と相乗平均 / 相加相乗平均 / 相加平均と相乗平均の関係 | am-gm inequality / am-gm / inequality of arithmetic and geometric means
common-solution: 共通解 | common root / common solution
"""

NUMBERS = """
absolute-value: 絶対値 | absolute value / modulus
addition: 足し算 / たし算 / 加法 / 足す | addition / add / adding
approximation: 近似値 / 有効数字 / 概数 / 四捨五入 | approximation / significant figure / rounding / rounding off / approximate value
average-rate: 割合 / 百分率 / 歩合 | percentage / percent / ratio to a whole
base-n: 記数法 / n進法 / 二進法 / 進数 | number base / binary number / base n / positional notation
calculation-order: 計算の順序 / 計算の順番 / 四則計算 / 四則混合 | order of operations / pemdas / bodmas / four operations
chinese-remainder-theorem: 中国剰余定理 / 中国の剰余定理 | chinese remainder theorem
modular-congruence: 合同式 / mod | modular arithmetic / congruence modulo / congruences
common-denominator: 通分 | common denominator
composite-number: 合成数 | composite number
consecutive-integers: 連続する整数 / 連続した整数 / 連続する三つの整数 | consecutive integers / consecutive numbers
cube-root: 立方根 / 三乗根 | cube root
decimal: 小数 | decimal
diophantine: 不定方程式 / 一次不定方程式 | diophantine equation / linear diophantine equation / indeterminate equation
distance-speed-time: 速さ / 道のり / みはじ / はじき / 速さの公式 / 速さと時間と道のり | speed / velocity / distance speed time / distance rate time / speed formula
divided: 割り算 / わり算 / 除法 / 割る | division / divide / dividing
divisor: 約数 / 因数 | divisor / factors of a number
euclid: ユークリッドの互除法 / 互除法 | euclidean algorithm / euclid's algorithm
even-odd: 偶数と奇数 / 偶数 / 奇数 | even number / odd number / even and odd / parity
exponent: 指数 / 累乗 | exponent / power / powers
exponent-laws: 指数法則 / 指数の法則 | laws of exponents / exponent rules / exponent laws / index laws / laws of indices / rules of exponents
fraction: 分数 | fraction
fraction-division: 分数の割り算 / 逆数をかける | dividing fractions / division of fractions
greatest-common-divisor: 最大公約数 / 公約数 | greatest common divisor / highest common factor / gcd / hcf
integer: 整数 | integer / whole number
irrational-number: 無理数 | irrational number
least-common-multiple: 最小公倍数 / 公倍数 | least common multiple / lowest common multiple / lcm
multiple: 倍数 / 倍数の判定 | multiple / divisibility rule / divisibility
multiplication: 掛け算 / かけ算 / 乗法 / 掛ける | multiplication / multiply / multiplying
natural-number: 自然数 | natural number / counting number
negative-number: 負の数 / マイナスの数 / 正負の数 / 正の数と負の数 / 正の数 | negative number / positive and negative numbers / signed number / directed number
nth-root: 累乗根 / n乗根 | nth root
number-line: 数直線 | number line
prime-factorization: 素因数分解 | prime factorization / prime factorisation / prime decomposition
prime-number: 素数 / 素因数 | prime number / prime factor / prime
ratio: 比 / 比の値 | ratio
rational-number: 有理数 | rational number
real-number: 実数 | real number
reciprocal: 逆数 | reciprocal / multiplicative inverse
recurring-decimal: 循環小数 | recurring decimal / repeating decimal
reduction: 約分 | reducing a fraction / simplifying a fraction / simplifying fractions / lowest terms
remainder: 余り / あまり / 剰余 | remainder
salt-water: 食塩水 / 濃度 | salt solution / concentration / mixture problem
scientific-notation: 指数表記 | scientific notation / standard form of a number
sign: 符号 | sign / plus or minus sign
square-number: 平方数 | square number
square-root: 平方根 / ルート / √ / 根号 / 二乗根 | square root / radical / surd
square-root-calculation: 平方根の計算 / ルートの計算 / 根号を含む式の計算 | simplifying radicals / simplify radicals / simplifying surds / operations with radicals / adding radicals
squared: 二乗 / 自乗 / 2乗 | squared / square of a number
subtraction: 引き算 / ひき算 / 減法 / 引く | subtraction / subtract / subtracting
unit-conversion: 単位換算 / 単位の変換 / 単位 | unit conversion / converting units / units of measure
work-problem: 仕事算 | work problem / work rate problem
"""

SETS = """
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
