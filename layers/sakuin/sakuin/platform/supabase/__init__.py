"""Supabase: its database API and its tokens."""
