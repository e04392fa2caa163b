"""Numbers, calculation, and the properties of integers."""

# ruff: noqa: E501 - one concept a line, with all its spellings
CONCEPTS = """
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
