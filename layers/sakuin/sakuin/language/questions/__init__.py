"""Analysis of questions."""
