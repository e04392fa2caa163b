"""How a question was understood and ranked."""
