"""What Sakuin is compared with; these modules run in the environment of requirements/bench.txt."""
