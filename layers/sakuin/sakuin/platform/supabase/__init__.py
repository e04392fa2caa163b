"""The connection to Supabase."""
