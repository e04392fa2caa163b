"""The concepts of school mathematics by field, with their Japanese and English spellings.

One line is one concept: `name: Japanese spellings | English spellings`, with `/` between spellings. Spellings are
compared in canonical notation, with digits for kanji numbers and without English plurals. This package is data only;
`sakuin.language.concepts` parses it.
"""

from sakuin.language.glossary.algebra import ALGEBRA, NUMBERS, SETS
from sakuin.language.glossary.data import DATA
from sakuin.language.glossary.functions import CALCULUS, FUNCTIONS, SEQUENCES, TRIGONOMETRY
from sakuin.language.glossary.geometry import GEOMETRY, VECTORS

# The order decides which concept owns a spelling or a reading that several have.
FIELDS = {
    "algebra": ALGEBRA,
    "calculus": CALCULUS,
    "data": DATA,
    "functions": FUNCTIONS,
    "geometry": GEOMETRY,
    "numbers": NUMBERS,
    "sequences": SEQUENCES,
    "sets": SETS,
    "trigonometry": TRIGONOMETRY,
    "vectors": VECTORS,
}
