"""Vectors, the complex plane and conics."""

CONCEPTS = """
complex-plane: 複素数平面 / 複素平面 / ガウス平面 | complex plane / argand diagram / gaussian plane
component: ベクトルの成分 / 成分表示 | vector component / component form / components of a vector
de-moivre: ド・モアブルの定理 / ドモアブルの定理 / ドモアブル | de moivre's theorem / de moivre
ellipse: 楕円 | ellipse
focus: 焦点 | focus / foci
directrix: 準線 | directrix
hyperbola: 双曲線 | hyperbola
inner-product: 内積 / ベクトルの内積 | dot product / inner product / scalar product
linear-independence: 一次独立 / 線形独立 | linear independence / linearly independent
parametric: 媒介変数 / 媒介変数表示 / パラメータ表示 | parametric equation / parameter / parametrization
polar-coordinates: 極座標 / 極方程式 | polar coordinate / polar equation
polar-form: 極形式 / 偏角 | polar form / argument of a complex number
position-vector: 位置ベクトル | position vector
space-coordinates: 空間座標 / 空間の座標 | three-dimensional coordinates / coordinates in space
unit-vector: 単位ベクトル | unit vector
zero-vector: 零ベクトル | zero vector
vector: ベクトル | vector
vector-equation: ベクトル方程式 | vector equation
vector-magnitude: ベクトルの大きさ | magnitude of a vector / length of a vector
vector-space: 空間ベクトル | vectors in space / 3d vector / three-dimensional vector
matrix: 行列 | matrix / matrices
"""
