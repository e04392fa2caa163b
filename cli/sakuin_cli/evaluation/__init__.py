"""Answer quality, measured with labelled questions."""
