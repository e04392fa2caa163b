-- What a deployment keeps an index for: its present settings, and those that answered before until they are dropped.
-- One index is of pages and Tables together; one of them answers, whatever is deployed.

create table public.search_index (
  fingerprint text primary key,
  parts jsonb not null,
  knowledge text not null references public.index_fingerprint,
  tables text not null references public.table_fingerprint,
  -- What the vectors of Tables are kept by; that of pages is the fingerprint's own.
  table_space text not null,
  live boolean not null default false,
  created_at timestamptz not null default now(),
  live_since timestamptz,
  retired_at timestamptz
);
create unique index search_index_live on public.search_index (live) where live;
alter table public.search_index enable row level security;
revoke all on public.search_index from anon, authenticated;

-- p_index: {fingerprint, parts, knowledge: a row of index_fingerprint, tables, table_space}. The first answers at once.
create function public.keep_index(p_index jsonb) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if exists (select from search_index s where s.fingerprint = p_index->>'fingerprint') then return; end if;
  perform pg_advisory_xact_lock(hashtext('sakuin.search_index'));
  perform remember_fingerprint(p_index->'knowledge');
  perform namespace_suffix(p_index->>'tables');
  insert into search_index (fingerprint, parts, knowledge, tables, table_space, live, live_since)
  select p_index->>'fingerprint', p_index->'parts', p_index->'knowledge'->>'fingerprint', p_index->>'tables',
         p_index->>'table_space', first.one, case when first.one then now() end
  from (select not exists (select from search_index s where s.live) as one) first
  on conflict do nothing;
end $$;

-- The oldest first; `answered`: it has been live.
create function public.kept_indexes() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'parts', s.parts, 'live', s.live, 'answered', s.live_since is not null, 'tables', s.tables, 'suffix', f.suffix)
    order by s.created_at, s.fingerprint), '[]')
  from search_index s join table_fingerprint f on f.fingerprint = s.tables
$$;

-- Whether Tables are answered for with this fingerprint. Before an index is recorded, whichever is asked about.
create function public.tables_answer(p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select coalesce((select s.tables = p_fingerprint from search_index s where s.live), true)
$$;

create function public.tables_kept(p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select not exists (select from search_index) or exists (select from search_index s where s.tables = p_fingerprint)
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
