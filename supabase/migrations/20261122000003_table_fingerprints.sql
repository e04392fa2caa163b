-- An index over a Table for another model, chunker or analyzer is built beside the old one, in a namespace of its own.

-- The first fingerprint has the plain namespace, each other one a suffix.
create table public.table_fingerprint (
  fingerprint text primary key,
  suffix text not null unique,
  created_at timestamptz not null default now()
);
alter table public.table_fingerprint enable row level security;
revoke all on public.table_fingerprint from anon, authenticated;

create function public.namespace_suffix(p_fingerprint text) returns text
language plpgsql set search_path = public, extensions as $$
begin
  if not exists (select from table_fingerprint f where f.fingerprint = p_fingerprint) then
    perform pg_advisory_xact_lock(hashtext('table_fingerprint'));
    insert into table_fingerprint (fingerprint, suffix)
    select p_fingerprint, case when exists (select from table_fingerprint) then p_fingerprint else '' end
    on conflict do nothing;
  end if;
  return (select f.suffix from table_fingerprint f where f.fingerprint = p_fingerprint);
end $$;

-- Tables whose index is whole, but for another fingerprint, are wanted anew; says how many. Once a Table: its
-- generation has moved then.
create function public.want_outdated_tables(p_fingerprint text) returns integer
language sql set search_path = public, extensions as $$
  with outdated as materialized (
    select t.id from context_table t
    where t.planned_fingerprint <> p_fingerprint and t.planned_generation = t.generation
      and exists (select from tool o where o.table_id = t.id and o.enabled)
    for update
  ), asked as materialized (
    select table_changed(o.id, 'TableUpdated', null) from outdated o
  )
  select count(*)::integer from asked
$$;

-- Tables that are whole for this fingerprint and still hold rows of others:
-- [{project_id, table_id, fingerprints: [{fingerprint, suffix}]}].
create function public.leftover_fingerprints(p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id, 'fingerprints', l.others)), '[]')
  from context_table t
  cross join lateral (
    select jsonb_agg(distinct jsonb_build_object('fingerprint', f.fingerprint, 'suffix', f.suffix)) as others
    from node n join table_fingerprint f on f.fingerprint = n.fingerprint
    where n.table_id = t.id and n.fingerprint <> p_fingerprint
  ) l
  where l.others is not null and t.planned_fingerprint = p_fingerprint and t.planned_generation = t.generation
    and not exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint
                    and n.content_hash is distinct from n.wanted_hash)
$$;

create function public.forget_fingerprint(p_table uuid, p_fingerprint text) returns void
language sql set search_path = public, extensions as $$
  delete from chunks where table_id = p_table and fingerprint = p_fingerprint;
  delete from node where table_id = p_table and fingerprint = p_fingerprint;
$$;

-- A platform that writes the records itself moves the generation by writing them.
create function public.count_table_change() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  if (new.data::text, new.data_key) is distinct from (old.data::text, old.data_key) then
    new.generation := greatest(new.generation, old.generation + 1);
  end if;
  return new;
end $$;
create trigger count_table_change before update of data, data_key on public.context_table
  for each row execute function public.count_table_change();

create function public.count_tool_change() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  update context_table set generation = generation + 1
  where id = case when tg_op = 'DELETE' then old.table_id else new.table_id end;
  return null;
end $$;
create trigger count_tool_change after insert or delete or update of json_path, enabled, table_id on public.tool
  for each row execute function public.count_tool_change();

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
