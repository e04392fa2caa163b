"""How right the answers are, by labelled questions."""
