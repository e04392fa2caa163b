-- On which day a key was last used, by the keyed hash that stands for it everywhere.
create table public.key_use (
  key_hash text primary key,
  last_used_on date not null
);
alter table public.key_use enable row level security;
revoke all on public.key_use from anon, authenticated;

create function public.note_key_use(p_key_hash text) returns void
language sql set search_path = public, extensions as $$
  insert into key_use as known values (p_key_hash, (now() at time zone 'utc')::date)
  on conflict (key_hash) do update set last_used_on = excluded.last_used_on
    where known.last_used_on < excluded.last_used_on
$$;

-- Both keys while they overlap: the old one can go when its day stands still.
create or replace function public.mcp_view(m public.mcp) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id, 'name', m.name, 'status', m.status,
    'key_last_used_on', (select last_used_on from key_use where key_hash = m.api_key_hash),
    'previous_key_last_used_on', (select last_used_on from key_use
                                  where key_hash = m.previous_key_hash and m.previous_key_until > now()),
    'tools', (select coalesce(jsonb_agg(jsonb_build_object('tool_id', o.id, 'name', o.name, 'status', b.status)
                                        order by o.name), '[]')
              from mcp_binding b join tool o on o.id = b.tool_id where b.mcp_id = m.id))
$$;

create function public.forget_key_use() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  delete from key_use where key_hash in (old.api_key_hash, old.previous_key_hash);
  return null;
end $$;
create trigger forget_key_use after delete on public.mcp
  for each row execute function public.forget_key_use();

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
