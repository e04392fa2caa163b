"""The texts of explanations as Markdown: what it adds to them, their code, and a part of them."""
