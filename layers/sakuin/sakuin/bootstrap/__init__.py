"""Where settings become adapters and adapters become services: the only place where ports meet adapters."""
