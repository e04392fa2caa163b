"""School mathematics, field by field: what one thing is called in Japanese and in English.

A line is one concept: `name: Japanese spellings | English spellings`, separated by `/`. Spellings are compared folded,
in the canonical form of notation, kanji numbers as digits, English words without their plural. Data only; how it is
read stands in `sakuin.language.concepts`.
"""

from sakuin.language.glossary import (
    algebra,
    calculus,
    data,
    functions,
    geometry,
    numbers,
    sequences,
    sets,
    trigonometry,
    vectors,
)

FIELDS = {
    "algebra": algebra.CONCEPTS,
    "calculus": calculus.CONCEPTS,
    "data": data.CONCEPTS,
    "functions": functions.CONCEPTS,
    "geometry": geometry.CONCEPTS,
    "numbers": numbers.CONCEPTS,
    "sequences": sequences.CONCEPTS,
    "sets": sets.CONCEPTS,
    "trigonometry": trigonometry.CONCEPTS,
    "vectors": vectors.CONCEPTS,
}
