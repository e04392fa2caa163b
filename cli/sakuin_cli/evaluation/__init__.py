"""Evaluation of answers with labelled questions."""
