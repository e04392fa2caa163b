"""Supabase on this machine: Postgres with the migrations, PostgREST, and their keys."""
