"""Outside systems and mechanisms that both products use: AWS, vendors, queues, retries, keys, telemetry."""
