"""Figures in the plane and in space, and vectors."""

# ruff: noqa: E501 - one concept a line, with all its spellings
GEOMETRY = """
aa-similarity: 二組の角がそれぞれ等しい / 二つの角が等しい / 二角相等 | aa similarity / angle-angle similarity / angle angle
alternate-angles: 錯角 | alternate angle / alternate interior angle
angle: 角 / 角度 / ∠ | angle
angle-bisector: 角の二等分線 / 角の二等分線と比 | angle bisector / bisecting an angle / angle bisector theorem
apollonius: 中線定理 / パップスの定理 | apollonius theorem / median theorem / parallelogram law
arc: 弧 / 弧の長さ / おうぎ形の弧 | arc / arc length
area: 面積 | area
area-ratio: 面積比 / 面積の比 / 相似な図形の面積比 | area of similar triangle / area of similar figure / areas of similar figures / area ratio / ratio of areas / ratio of area
bisector-perpendicular: 垂直二等分線 | perpendicular bisector
center-of-gravity: 重心 | centroid / center of gravity / centre of gravity
central-angle: 中心角 | central angle
ceva: チェバの定理 | ceva's theorem / ceva theorem
chord: 弦 / 弦の長さ | chord / length of a chord
circle: 円 | circle
circle-area: 円の面積 | area of a circle
circumference: 円周 / 円周の長さ | circumference
pi: 円周率 | ratio of circumference to diameter / circle constant
circle-equation: 円の方程式 | equation of a circle
circumcenter: 外心 / 外接円 | circumcenter / circumcentre / circumcircle / circumscribed circle
concyclic: 円に内接する四角形 / 内接四角形 / 円に内接 | cyclic quadrilateral / inscribed quadrilateral / concyclic
cone: 円錐 / 円すい | cone
congruence: 合同 / 合同な図形 / ≡ | congruent / congruence / congruent figures
congruence-conditions: 合同条件 / 三角形の合同条件 | congruence condition / congruent triangles / triangle congruence / sss sas asa
construction: 作図 | construction / compass and straightedge / geometric construction
converse-pythagorean: 三平方の定理の逆 / ピタゴラスの定理の逆 / 直角三角形か / 直角三角形かどうか / 直角三角形の判定 | converse of the pythagorean theorem / converse of pythagorean theorem / converse of pythagoras / check for a right triangle
corresponding-angles: 同位角 | corresponding angle
corresponding-sides: 対応する辺 / 対応する角 / 対応順 / 対応する順 | corresponding side / corresponding vertices
cuboid: 直方体 | cuboid / rectangular prism / rectangular box / rectangular solid
cylinder: 円柱 | cylinder
diagonal: 対角線 | diagonal
diagonal-space: 直方体の対角線 / 立方体の対角線 / 空間の対角線 | space diagonal / diagonal of a box / diagonal of a cuboid / diagonal of a rectangular prism / body diagonal
dividing-point: 内分点 / 外分点 / 内分 / 外分 | internal division / external division / section formula / dividing point
distance-formula: 二点間の距離 / 2点間の距離の公式 / 距離の公式 | distance formula / distance between two points
distance-point-line: 点と直線の距離 / 点と直線の距離の公式 | distance from a point to a line / point-line distance / distance between a point and a line
equilateral-triangle: 正三角形 | equilateral triangle
equilateral-triangle-area: 正三角形の面積 / 正三角形の高さ | area of an equilateral triangle / height of an equilateral triangle
euler-line: オイラー線 | euler line
orthocenter: 垂心 | orthocenter / orthocentre
excenter: 傍心 / 傍接円 | excenter / excircle
exterior-angle: 外角 / 三角形の外角 | exterior angle
figure: 図形 | figure / shape / geometric figure
height-measurement: 高さを測る / 影の長さ / 影で高さ / 影から高さ / 測量 | measuring height / indirect measurement / shadow / height from shadow / shadow problem
hypotenuse: 斜辺 | hypotenuse
incenter: 内心 / 内接円 / 内接円の半径 | incenter / incentre / incircle / inscribed circle / inradius
inscribed-angle: 円周角 / 円周角の定理 | inscribed angle / inscribed angle theorem / angle at the circumference
interior-angle-sum: 内角の和 / 多角形の内角の和 / 内角 | interior angle / sum of interior angles / angle sum of a triangle / angle sum of a polygon
isosceles-triangle: 二等辺三角形 | isosceles triangle
kite: たこ形 | kite
locus: 軌跡 | locus / loci
medial-segment: 中点連結定理 / 中点を結ぶ / 真ん中の点どうしを結ぶ | midpoint theorem / midsegment theorem / midsegment / mid-segment / triangle midsegment / midline / midline theorem / midpoint connector
median-line: 中線 | median of a triangle
menelaus: メネラウスの定理 | menelaus's theorem / menelaus theorem
midpoint: 中点 / 中点の座標 / 線分の中点 | midpoint / midpoint formula
net: 展開図 | net of a solid / net of a cube / nets
parallel: 平行 / 平行線 / ∥ | parallel
parallel-line-ratio: 平行線と線分の比 / 平行線と比 / 三角形と比 / 線分の比 | parallel lines and ratio / basic proportionality theorem / side splitter theorem / thales's theorem / intercept theorem / triangle proportionality theorem / ratio of segments
parallelogram: 平行四辺形 | parallelogram
perimeter: 周の長さ / 周りの長さ | perimeter
perpendicular: 垂直 / 垂線 / ⊥ | perpendicular / perpendicularity
plane-region: 領域 / 不等式の表す領域 | region / region of an inequality / feasible region / linear programming
polygon: 多角形 / 正多角形 | polygon / regular polygon
polyhedron: 多面体 / 正多面体 | polyhedron / regular polyhedron / platonic solid
power-of-a-point: 方べきの定理 / 方冪の定理 / 方べき | power of a point / intersecting chords theorem / secant-tangent theorem
prism: 角柱 / 三角柱 | prism
proof: 証明 | proof / prove / proving
pyramid: 角錐 / 角すい / 三角錐 / 四角錐 | pyramid / tetrahedron
pythagorean-theorem: 三平方の定理 / ピタゴラスの定理 / 三平方 / ピタゴラス / 勾股定理 / a^2+b^2=c^2 | pythagorean theorem / pythagoras' theorem / pythagoras theorem / pythagoras / theorem of pythagoras
pythagorean-triple: ピタゴラス数 / ピタゴラスの三つ組 / 3:4:5 / 5:12:13 / 整数の組 | pythagorean triple
quadrilateral: 四角形 | quadrilateral
radius: 半径 | radius / radii
diameter: 直径 | diameter
rectangle: 長方形 | rectangle
rhombus: ひし形 / 菱形 | rhombus
right-triangle: 直角三角形 | right triangle / right-angled triangle / right angled triangle
rotation: 回転移動 / 回転 | rotation / rotating
point-symmetry: 点対称 | point symmetry
sector: おうぎ形 / 扇形 / 扇形の面積 | sector / circular sector
similar-figures: 相似 / 相似な図形 / ∽ / 形が同じ / 同じ形 | similar / similarity / similar figure / similar polygon
similar-triangles: 相似な三角形 / 三角形の相似 / 相似の証明 / 相似を証明 | similar triangle / similarity proof / proving triangles similar / proving similar triangles
similarity-conditions: 相似条件 / 三角形の相似条件 | similarity condition / similarity criteria / similarity criterion / conditions for similarity / conditions for similar triangles / criteria for similar triangles
similarity-ratio: 相似比 / 拡大図と縮図 / 縮尺 | similarity ratio / scale factor / ratio of similitude / ratio of similarity / linear scale factor
skew-lines: ねじれの位置 | skew lines
solid: 立体 / 空間図形 | solid / solid figure / three-dimensional figure / 3d shape
special-right-triangles: 特別な直角三角形 / 三角定規 / 三角定規の比 / 三角定規の辺の比 / 1:2:√3 / 1:1:√2 / 30-60-90 / 45-45-90 | special right triangle / 30-60-90 triangle / 45-45-90 triangle / set square
sphere: 球 / 球の体積 / 球の表面積 | sphere
square: 正方形 | square shape / unit square / area of a square
surface-area: 表面積 | surface area
lateral-area: 側面積 | lateral area
symmetry: 線対称 / 対称 | symmetry / line symmetry / symmetric
tangent-chord: 接弦定理 | tangent-chord theorem / alternate segment theorem / tangent chord angle
tangent-circle: 円の接線 / 接点 / 接線の長さ | tangent to a circle / tangent of a circle / point of tangency
trapezoid: 台形 | trapezoid / trapezium
triangle: 三角形 / △ | triangle
triangle-area: 三角形の面積 / ヘロンの公式 | area of a triangle / heron's formula / triangle area
triangle-side-relation: 三角形の成立条件 / 三角形の辺と角の関係 | triangle inequality / side-angle relationship
vertical-angles: 対頂角 | vertical angle / vertically opposite angle / opposite angle
volume: 体積 | volume
volume-ratio: 体積比 / 体積の比 | volume ratio / ratio of volumes
"""

VECTORS = """
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
