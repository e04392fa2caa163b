"""A stand-in for Supabase Auth: users who sign in with a password, and the OAuth 2.1 server for agents."""
