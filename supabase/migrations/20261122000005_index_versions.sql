-- Index versions: one for the present settings, and those that answered before, until they are deleted. A version
-- covers pages and Tables together. One version answers, whatever is deployed; each kept version is written to.

create table public.index_version (
  fingerprint text collate "C" primary key,
  parts jsonb not null,
  -- What it is for pages, for Tables, and for the vectors of Tables.
  knowledge text collate "C" not null references public.page_index_version,
  tables text collate "C" not null references public.table_index_version,
  table_space text collate "C" not null,
  live boolean not null default false,
  created_at timestamptz not null default now(),
  live_since timestamptz,
  retired_at timestamptz
);
create unique index index_version_live on public.index_version (live) where live;

-- Tables that have something to index.
create view public.indexed_table with (security_invoker = true) as
  select t.id, t.project_id, t.generation, t.updated_at from context_table t
  where (t.data is not null or t.data_key is not null)
    and exists (select from tool o where o.table_id = t.id and o.enabled);

-- ---------------------------------------------------------------- which versions there are

-- Records the version of a function's settings. The first one is live at once.
--   p_index: {fingerprint, parts, knowledge: a row of page_index_version, tables, table_space}
create function public.record_index_version(p_index jsonb) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if exists (select from index_version s where s.fingerprint = p_index->>'fingerprint') then return; end if;
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  perform record_page_index_version(p_index->'knowledge');
  perform assign_namespace_suffix(p_index->>'tables');
  insert into index_version (fingerprint, parts, knowledge, tables, table_space, live, live_since)
  select p_index->>'fingerprint', p_index->'parts', p_index->'knowledge'->>'fingerprint', p_index->>'tables',
         p_index->>'table_space', first.one, case when first.one then now() end
  from (select not exists (select from index_version s where s.live) as one) first
  on conflict do nothing;
end $$;

-- The versions, oldest first. `answered`: it is or was live.
create function public.index_versions() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'parts', s.parts, 'live', s.live, 'answered', s.live_since is not null, 'tables', s.tables, 'suffix', f.suffix)
    order by s.created_at, s.fingerprint), '[]')
  from index_version s join table_index_version f on f.fingerprint = s.tables
$$;

-- Whether Tables are searched with this fingerprint. True for any while no version is recorded.
create function public.is_live_for_tables(p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select coalesce((select s.tables = p_fingerprint from index_version s where s.live), true)
$$;

create function public.is_kept_for_tables(p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select not exists (select from index_version) or exists (select from index_version s where s.tables = p_fingerprint)
$$;

-- The spaces that a writer's texts have vectors in: those of the versions with the same text_template for the embedded text;
-- its own, while no version is recorded.
create function public.spaces_of_template(p_fingerprint text) returns text[]
language sql stable set search_path = public, extensions as $$
  select case when exists (select from index_version)
    then array(select distinct f.space from index_version s join page_index_version f on f.fingerprint = s.knowledge
               where f.text_template = (select own.text_template from page_index_version own where own.fingerprint = p_fingerprint))
    else array(select f.space from page_index_version f where f.fingerprint = p_fingerprint) end
$$;

-- Ends a comparison of a Table with the store. Each version is compared; the last one is the version that answers.
create function public.finish_comparison(p_table uuid, p_fingerprint text, p_generation bigint) returns void
language sql set search_path = public, extensions as $$
  select store_compared(p_table, p_generation) where is_live_for_tables(p_fingerprint)
$$;

-- ---------------------------------------------------------------- what a version lacks

-- The searchable materials that a version does not cover: last written with settings from before it, or with a chunk
-- that has no vector in it.
create function public.outdated_materials(p_fingerprint text) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(m.material order by m.material), '{}')
  from material m
  left join (select s.knowledge, f.space, min(s.created_at) as since
             from index_version s join page_index_version f on f.fingerprint = s.knowledge
             where s.knowledge = p_fingerprint group by s.knowledge, f.space) asked on true
  where m.indexed_version_id is not null
    and (m.fingerprint is distinct from p_fingerprint and not exists (
           select from index_version later where later.knowledge = m.fingerprint and later.created_at > asked.since)
         or exists (select from knowledge_chunks k
                    where asked.space is not null and k.material = m.material and not exists (
                      select from knowledge_vector v where v.id = k.id and v.space = asked.space)))
$$;

-- The Tables of which a version finds less than the live version does now: not scanned, scanned for an older
-- generation, or with a string that only the live version has stored as wanted. A Table that cannot be read, and of
-- which nothing is stored, does not count. For the live version itself: the Tables that are being indexed.
create function public.incomplete_tables(p_fingerprint text) returns table (table_id uuid, reason text)
language sql stable set search_path = public, extensions as $$
  select t.id, coalesce(p.error, 'is not built yet')
  from indexed_table t
  left join index_version l on l.live
  left join table_scan p on p.table_id = t.id and p.fingerprint = p_fingerprint
  left join table_scan now_live on now_live.table_id = t.id and now_live.fingerprint = l.tables
  where not (p.error is not null and now_live.error is not null and not exists (
      select from node n where n.table_id = t.id and n.fingerprint = l.tables and n.content_hash is not null))
    and (coalesce(p.generation, -1) < case when p_fingerprint = l.tables then t.generation
                                           else coalesce(now_live.generation, -1) end
         or exists (select from node n
                    where n.table_id = t.id and n.fingerprint = p_fingerprint
                      and n.content_hash is distinct from n.wanted_hash and not exists (
                        select from node o where o.table_id = t.id and o.fingerprint = l.tables
                          and o.fingerprint <> p_fingerprint and o.pointer_hash = n.pointer_hash
                          and o.content_hash is distinct from o.wanted_hash)))
$$;

-- A version for the operator. Of what is missing, the first ten are named.
create function public.index_version_state(s public.index_version) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'fingerprint', s.fingerprint, 'parts', s.parts, 'live', s.live, 'created_at', s.created_at,
    'live_since', s.live_since, 'retired_at', s.retired_at,
    'pages', jsonb_build_object(
      'total', (select count(*) from material m where m.indexed_version_id is not null),
      'missing', cardinality(pages.missing), 'named', to_jsonb(pages.missing[:10])),
    'tables', jsonb_build_object(
      'total', (select count(*) from indexed_table),
      'missing', jsonb_array_length(tables.missing),
      'named', (select coalesce(jsonb_agg(e.value order by e.place), '[]')
                from jsonb_array_elements(tables.missing) with ordinality e(value, place) where e.place <= 10)))
  from (select outdated_materials(s.knowledge) as missing) pages
  cross join (select coalesce(jsonb_agg(jsonb_build_object('table_id', b.table_id, 'reason', b.reason)
                                        order by b.table_id), '[]') as missing
              from incomplete_tables(s.tables) b) tables
$$;

create function public.index_version_states() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(index_version_state(s) order by s.created_at, s.fingerprint), '[]') from index_version s
$$;

-- ---------------------------------------------------------------- activating and deleting

-- Makes the status of Tools true for the version that answers, for p_seconds; returns the number of Tables. `maintain`
-- does the rest. A Table that this version lacks is scanned again.
create function public.refresh_tool_status(p_seconds integer) returns integer
language plpgsql set search_path = public, extensions as $$
declare
  answers constant text := (select s.tables from index_version s where s.live);
  t record;
  done integer := 0;
begin
  for t in
    select c.id from context_table c
    where c.planned_fingerprint <> answers order by c.id for update
  loop
    exit when clock_timestamp() > statement_timestamp() + make_interval(secs => p_seconds);
    update context_table c set planned_fingerprint = answers, planned_generation = coalesce(p.generation, -1),
      skipped_nodes = coalesce(p.skipped_nodes, '[]')
    from (select t.id) one left join table_scan p on p.table_id = one.id and p.fingerprint = answers
    where c.id = one.id;
    update tool o set metadata = jsonb_set(o.metadata, '{search_index,state}', '"indexing"')
    where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready';
    if not update_tool_status(t.id, answers) then
      insert into outbox (event, project_id, table_id)
      select 'TableUpdated', c.project_id, c.id from context_table c
      where c.id = t.id and exists (select from tool o where o.table_id = c.id and o.enabled);
    end if;
    done := done + 1;
  end loop;
  return done;
end $$;

-- Makes a version live, for pages and Tables at once. A version that lacks something is refused, unless p_force. The
-- former one is kept, and written to, until it is deleted.
create function public.activate_index_version(p_fingerprint text, p_force boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  s index_version;
  said jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into s from index_version i where i.fingerprint = p_fingerprint;
  if s.fingerprint is null then
    raise exception 'There is no index %', p_fingerprint using errcode = 'P0002';
  end if;
  said := index_version_state(s);
  if not s.live then
    if not p_force
       and (said->'pages'->'missing', said->'tables'->'missing') is distinct from ('0'::jsonb, '0'::jsonb) then
      raise exception 'The index % is not whole: % of % pages and % of % Tables are missing', s.fingerprint,
        said->'pages'->'missing', said->'pages'->'total', said->'tables'->'missing', said->'tables'->'total'
        using errcode = '23505';
    end if;
    update index_version set live = false, retired_at = now() where live;
    update index_version set live = true, live_since = now(), retired_at = null where fingerprint = s.fingerprint;
    perform refresh_tool_status(3);
  end if;
  return (select index_version_state(i) from index_version i where i.fingerprint = s.fingerprint);
end $$;

-- Deletes a version: it is no longer written to, and `maintain` removes what it stored. A search that began before the
-- activation of another version may use the old one for p_seconds more.
create function public.delete_index_version(p_fingerprint text, p_seconds integer) returns void
language plpgsql set search_path = public, extensions as $$
declare
  s index_version;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into s from index_version i where i.fingerprint = p_fingerprint;
  if s.fingerprint is null then
    raise exception 'There is no index %', p_fingerprint using errcode = 'P0002';
  elsif s.live then
    raise exception 'The index % answers. Flip to another one first', p_fingerprint using errcode = '23505';
  elsif s.retired_at > now() - make_interval(secs => p_seconds) then
    raise exception 'The index % answered until just now. Try again in a minute', p_fingerprint using errcode = '23505';
  end if;
  delete from index_version where fingerprint = p_fingerprint;
end $$;

-- Deletes some vectors that no version compares, and returns how many.
create function public.sweep_vectors(p_limit integer) returns integer
language plpgsql set search_path = public, extensions as $$
declare
  unkept constant text[] := array(
    select v.space from page_index_version v
    except select v.space from index_version i join page_index_version v on v.fingerprint = i.knowledge);
  kept_of_tables constant text[] := array(select s.table_space from index_version s);
  gone integer;
  more integer;
begin
  if not exists (select from index_version s where s.live) then return 0; end if;
  delete from knowledge_vector v where v.ctid = any (array(
    select x.ctid from knowledge_vector x where x.space = any (unkept) limit p_limit));
  get diagnostics gone = row_count;
  delete from embedding_cache e where e.ctid = any (array(
    select x.ctid from embedding_cache x where x.space = any (unkept) limit p_limit));
  get diagnostics more = row_count;
  gone := gone + more;
  delete from chunk_vector v where v.ctid = any (array(
    select x.ctid from chunk_vector x where x.space <> all (kept_of_tables) limit p_limit));
  get diagnostics more = row_count;
  return gone + more;
end $$;

-- What Tables still store for deleted versions: [{project_id, table_id, fingerprints: [{fingerprint, suffix}]}].
create function public.orphaned_table_indexes(p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(
    jsonb_build_object('project_id', l.project_id, 'table_id', l.id, 'fingerprints', l.others)), '[]')
  from (
    select t.project_id, t.id, jsonb_agg(jsonb_build_object('fingerprint', f.fingerprint, 'suffix', f.suffix)) as others
    from context_table t cross join table_index_version f
    where f.fingerprint <> p_fingerprint and not is_kept_for_tables(f.fingerprint)
      and (exists (select from node n where n.table_id = t.id and n.fingerprint = f.fingerprint)
           or exists (select from table_scan p where p.table_id = t.id and p.fingerprint = f.fingerprint))
    group by t.id
  ) l
$$;

-- Deletes what a Table stores for a fingerprint. Words go with their chunks: without ids nothing is counted.
create function public.delete_table_index(p_table uuid, p_fingerprint text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform lock_words(p_table, p_fingerprint);
  delete from chunks where table_id = p_table and fingerprint = p_fingerprint;
  delete from node where table_id = p_table and fingerprint = p_fingerprint;
  delete from table_reading where table_id = p_table and fingerprint = p_fingerprint;
  delete from table_scan where table_id = p_table and fingerprint = p_fingerprint;
end $$;

-- The namespaces that nobody needs any more, of one Table or of all: the Table is deleted, or the version is, and the
-- Table has no nodes for it.
create function public.mark_abandoned_namespaces(p_fingerprint text, p_table uuid) returns jsonb
language sql set search_path = public, extensions as $$
  with judged as materialized (
    select s.namespace, s.unneeded_since, t.id is null or s.fingerprint <> p_fingerprint and not is_kept_for_tables(s.fingerprint)
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = s.fingerprint) as abandoned
    from table_namespace s left join context_table t on t.id = s.table_id
    where p_table is null or s.table_id = p_table
  ), noted as (
    update table_namespace s set unneeded_since = case when j.abandoned then now() end
    from judged j where j.namespace = s.namespace and j.abandoned = (s.unneeded_since is null)
  )
  select coalesce(jsonb_agg(j.namespace order by j.namespace), '[]') from judged j where j.abandoned
$$;
