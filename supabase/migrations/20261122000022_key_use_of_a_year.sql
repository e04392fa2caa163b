-- Rows of keys that were taken away or replaced would stay for ever: what a year did not use is as good as unused.
create or replace function public.note_key_use(p_key_hash text) returns void
language sql set search_path = public, extensions as $$
  delete from key_use where last_used_on < (now() at time zone 'utc')::date - 365;
  insert into key_use as known values (p_key_hash, (now() at time zone 'utc')::date)
  on conflict (key_hash) do update set last_used_on = excluded.last_used_on
    where known.last_used_on < excluded.last_used_on
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
