"""The tools of the library: what each answers, and what an agent reads of them."""
