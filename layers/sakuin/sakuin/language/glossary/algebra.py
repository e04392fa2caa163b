"""Expressions, equations and inequalities."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
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
