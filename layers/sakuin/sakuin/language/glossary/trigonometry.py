"""Trigonometric ratios and functions."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
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
