"""How texts and questions are read: words, notation, typos, synonyms."""
