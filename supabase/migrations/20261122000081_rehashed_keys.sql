-- A key of an endpoint that was hashed with a pepper of before gets the hash of today's when it is next used.

create function public.rehash_key(p_mcp uuid, p_old text, p_new text) returns boolean
language plpgsql set search_path = public, extensions as $$
begin
  update mcp set
    api_key_hash = case when api_key_hash = p_old then p_new else api_key_hash end,
    previous_key_hash = case when previous_key_hash = p_old then p_new else previous_key_hash end
  where id = p_mcp and p_old in (api_key_hash, previous_key_hash);
  if not found then return false; end if;
  -- The day of its last use goes along.
  insert into key_use as known select p_new, u.last_used_on from key_use u where u.key_hash = p_old
  on conflict (key_hash) do update set last_used_on = greatest(known.last_used_on, excluded.last_used_on);
  delete from key_use where key_hash = p_old;
  return true;
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
