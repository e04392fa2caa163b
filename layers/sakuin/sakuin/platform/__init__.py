"""Outside systems and mechanisms that both products use: queues, retries, unfinished work."""
