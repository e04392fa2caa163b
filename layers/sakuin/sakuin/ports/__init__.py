"""What we ask of the outside. Docstrings are promises that every adapter keeps.

Every method may raise `Unavailable` when the outside system does not answer.
"""
