"""The configuration files of agents: where they are, and how an entry gets in and out again."""
