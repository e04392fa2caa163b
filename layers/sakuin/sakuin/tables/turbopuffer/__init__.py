"""The search engine of Tables, on turbopuffer."""
