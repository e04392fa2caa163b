"""How texts and questions are read: words, readings, notation, synonyms."""
