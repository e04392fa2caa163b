"""Scheduled work: the outbox, unfinished work, reconciliation, index versions, the canary."""
