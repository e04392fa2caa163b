"""Settings, clients and handlers of each function; the only place that imports everything."""
