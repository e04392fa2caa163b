"""The search playground, and the questions that were refused."""
