"""The pages for operators: what is indexed, what waits, and what is wrong."""
