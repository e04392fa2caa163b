"""Limits, derivatives and integrals."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
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
