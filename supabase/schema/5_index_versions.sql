-- Index versions: one for the present settings, and earlier ones until they are deleted. A version covers pages and
-- Tables. One version is live: searches use it, whatever is deployed. Every recorded version is written to.

create table public.index_version (
  fingerprint text collate "C" primary key,
  parts jsonb not null,
  -- Its parts: for pages, for Tables, and the space of the Tables' vectors.
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

-- Records a version. The first one is live at once.
--   p_index: {fingerprint, parts, knowledge: a row of page_index_version, tables, table_space}
create function public.record_index_version(p_index jsonb) returns void language plpgsql as $$
begin
  if exists (select from index_version s where s.fingerprint = p_index->>'fingerprint') then return; end if;
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  insert into page_index_version select * from jsonb_populate_record(null::page_index_version, p_index->'knowledge')
  on conflict do nothing;
  insert into table_index_version (fingerprint, suffix)
  select p_index->>'tables', case when exists (select from table_index_version) then p_index->>'tables' else '' end
  on conflict do nothing;
  insert into index_version (fingerprint, parts, knowledge, tables, table_space, live, live_since)
  select p_index->>'fingerprint', p_index->'parts', p_index->'knowledge'->>'fingerprint', p_index->>'tables',
         p_index->>'table_space', first.one, case when first.one then now() end
  from (select not exists (select from index_version s where s.live) as one) first
  on conflict do nothing;
end $$;

-- The versions, oldest first. `answered`: it is or was live.
create function public.index_versions() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'parts', s.parts, 'live', s.live, 'answered', s.live_since is not null, 'tables', s.tables, 'suffix', f.suffix)
    order by s.created_at, s.fingerprint), '[]')
  from index_version s join table_index_version f on f.fingerprint = s.tables
$$;

-- Whether Tables are searched with this fingerprint.
create function public.is_live_for_tables(p_fingerprint text) returns boolean language sql stable as $$
  select exists (select from index_version s where s.live and s.tables = p_fingerprint)
$$;

-- The spaces of the versions with the same text template as p_fingerprint.
create function public.spaces_of_template(p_fingerprint text) returns text[] language sql stable as $$
  select array(select distinct f.space from index_version v join page_index_version f on f.fingerprint = v.knowledge
               join page_index_version own on own.text_template = f.text_template
               where own.fingerprint = p_fingerprint)
$$;

-- Ends a comparison of a Table with the store. The live version is compared last. A reindex that was requested
-- meanwhile changed the generation and is still due.
create function public.finish_comparison(p_table uuid, p_fingerprint text, p_generation bigint) returns void
language sql as $$
  update context_table set check_store = false
  where id = p_table and generation = p_generation and is_live_for_tables(p_fingerprint)
$$;

-- ---------------------------------------------------------------- what a version lacks

-- The searchable materials that a version does not cover: last written with older settings, or with a chunk that has no
-- vector in it. With p_before the first p_limit of those that were not requested since, and about which no message is under way.
create function public.outdated_materials(
  p_fingerprint text, p_before timestamptz default null, p_limit integer default null
) returns text[] language plpgsql stable as $$
begin
  return array(
    -- First all that are outdated (because of offset 0).
    select o.material from (
    select m.* from material m
    left join (select s.knowledge, f.space, min(s.created_at) as since
               from index_version s join page_index_version f on f.fingerprint = s.knowledge
               where s.knowledge = p_fingerprint group by s.knowledge, f.space) asked on true
    where m.indexed_version_id is not null
      and (m.fingerprint is distinct from p_fingerprint and not exists (
             select from index_version later where later.knowledge = m.fingerprint and later.created_at > asked.since)
           or m.chunks_count > 0 and asked.space <> all (m.complete_spaces))
    order by m.material offset 0) o
    where p_before is null or coalesce(o.build_requested_at, '-infinity') < p_before
                              and not awaits_message(o.work)
    order by o.material limit p_limit);
end $$;

-- The Tables of which a version finds less than the live version: not scanned, scanned for an older generation, or with
-- a string that only the live version has stored. Tables that cannot be read and have nothing stored do not count. For
-- the live version itself: the Tables that are being indexed.
create function public.incomplete_tables(p_fingerprint text) returns table (table_id uuid, reason jsonb)
language sql stable as $$
  select t.id, coalesce(p.error, jsonb_build_object('code', 'index.not_built', 'values', '{}'::jsonb))
  from indexed_table t
  left join index_version l on l.live
  left join table_scan p on p.table_id = t.id and p.fingerprint = p_fingerprint
  left join table_scan now_live on now_live.table_id = t.id and now_live.fingerprint = l.tables
  where p.complete_generation is distinct from t.generation
    and not (p.error is not null and now_live.error is not null and not exists (
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

-- A version for the operator. Of missing parts, the first ten are named.
create function public.index_version_state(v public.index_version) returns jsonb language sql stable as $$
  select to_jsonb(v) - array['knowledge', 'tables', 'table_space'] || jsonb_build_object(
    'pages', jsonb_build_object(
      'total', (select count(*) from material m where m.indexed_version_id is not null),
      'missing', cardinality(pages.missing), 'named', to_jsonb(pages.missing[:10])),
    'tables', jsonb_build_object(
      'total', (select count(*) from indexed_table),
      'missing', cardinality(tables.missing), 'named', to_jsonb(tables.missing[:10])))
  from (select outdated_materials(v.knowledge) as missing offset 0) pages
  cross join (select coalesce(array_agg(jsonb_build_object('table_id', i.table_id, 'reason', i.reason)
                                        order by i.table_id), '{}') as missing
              from incomplete_tables(v.tables) i) tables
$$;

create function public.index_version_states() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(index_version_state(v) order by v.created_at, v.fingerprint), '[]') from index_version v
$$;

-- ---------------------------------------------------------------- activating and deleting

-- Makes Tools show the status of the live version, for p_seconds; returns the number of Tables. `maintain` does the
-- rest. Tables that this version lacks are scanned again.
create function public.refresh_tool_status(p_seconds integer) returns integer language plpgsql as $$
declare
  live constant text := (select v.tables from index_version v where v.live);
  t context_table;
  done integer := 0;
begin
  for t in select * from context_table c where c.shown_fingerprint <> live order by c.id for update loop
    exit when clock_timestamp() > statement_timestamp() + make_interval(secs => p_seconds);
    update context_table c set shown_fingerprint = live where c.id = t.id;
    update tool o set metadata = jsonb_set(o.metadata, '{search_index,state}', '"indexing"')
    where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' in ('ready', 'empty');
    if not update_tool_status(t.id, live) then
      insert into outbox (event, project_id, table_id)
      select 'TableUpdated', t.project_id, t.id
      where exists (select from tool o where o.table_id = t.id and o.enabled);
    end if;
    done := done + 1;
  end loop;
  return done;
end $$;

-- Makes a version live, for pages and Tables at once. An incomplete version is an error, unless p_force. The former
-- version is written to until it is deleted.
create function public.activate_index_version(p_fingerprint text, p_force boolean) returns jsonb language plpgsql as $$
declare
  v index_version;
  state jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into v from index_version i where i.fingerprint = p_fingerprint;
  perform require(v.fingerprint is not null, 'P0002', 'index.none', jsonb_build_object('id', p_fingerprint));
  state := index_version_state(v);
  if not v.live then
    perform require(
      p_force or (state->'pages'->'missing', state->'tables'->'missing') = ('0'::jsonb, '0'::jsonb), '23505',
      'index.incomplete', jsonb_build_object(
        'id', v.fingerprint, 'pages', state->'pages'->'missing', 'all_pages', state->'pages'->'total',
        'tables', state->'tables'->'missing', 'all_tables', state->'tables'->'total'));
    update index_version set live = false, retired_at = now() where live;
    update index_version set live = true, live_since = now(), retired_at = null where fingerprint = v.fingerprint;
    perform refresh_tool_status(3);
  end if;
  return (select index_version_state(i) from index_version i where i.fingerprint = v.fingerprint);
end $$;

-- Deletes a version: it is no longer written to, and `maintain` removes what it stored. Searches that began before the
-- activation of another version may use it for p_seconds more.
create function public.delete_index_version(p_fingerprint text, p_seconds integer) returns void language plpgsql as $$
declare
  v index_version;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into v from index_version i where i.fingerprint = p_fingerprint;
  perform require(v.fingerprint is not null, 'P0002', 'index.none', jsonb_build_object('id', p_fingerprint));
  perform require(not v.live, '23505', 'index.live', jsonb_build_object('id', p_fingerprint));
  perform require(v.retired_at > now() - make_interval(secs => p_seconds) is not true, '23505',
                  'index.lately', jsonb_build_object('id', p_fingerprint));
  delete from index_version where fingerprint = p_fingerprint;
end $$;

-- Deletes some vectors of pages that no version uses, and returns how many rows changed. First all materials forget that
-- they are complete: a version that returns meanwhile must not believe it.
create function public.sweep_vectors(p_limit integer) returns bigint language plpgsql as $$
declare
  unused constant text[] := array(
    select f.space from page_index_version f
    except select f.space from index_version v join page_index_version f on f.fingerprint = v.knowledge);
  of_them constant text := format('x.space = any (%L)', unused);
  n bigint;
begin
  update material m set complete_spaces = array(select unnest(m.complete_spaces) except select unnest(unused))
  where m.material = any (array(select x.material from material x where x.complete_spaces && unused limit p_limit));
  get diagnostics n = row_count;
  if n = 0 then n := delete_some('embedded_text', of_them, p_limit); end if;
  if n = 0 then
    n := delete_some('knowledge_vector', of_them || ' and not exists (
      select from embedded_text t where (t.space, t.text_hash) = (x.space, x.text_hash))', p_limit);
  end if;
  return n + delete_some('stored_row', of_them, p_limit);
end $$;

-- Deletes a portion of what a Table stores for a deleted version, and returns how many rows; 0: nothing is left, or the
-- version is recorded again. Clears the scan first and deletes its row last, because plan_nodes needs the row.
create function public.delete_table_index(p_table uuid, p_fingerprint text, p_limit integer) returns bigint
language plpgsql as $$
declare
  n bigint;
begin
  perform from context_table t where t.id = p_table for update;
  if exists (select from index_version v where v.tables = p_fingerprint) then return 0; end if;
  update table_scan s set generation = -1, current_generation = null, complete_generation = null
  where s.table_id = p_table and s.fingerprint = p_fingerprint and s.generation >= 0;
  perform lock_words(p_table, p_fingerprint);
  n := delete_table_rows(p_table, p_fingerprint, p_limit);
  delete from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint and n = 0;
  return n;
end $$;

-- Marks and returns the namespaces that are not needed, of one Table or of all: the Table is deleted, or the version
-- is, and the Table has no nodes for it.
create function public.mark_abandoned_namespaces(p_table uuid) returns jsonb language sql as $$
  with checked as materialized (
    select s.namespace, t.id is null or not exists (select from index_version v where v.tables = s.fingerprint)
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = s.fingerprint) as abandoned
    from table_namespace s left join context_table t on t.id = s.table_id
    where p_table is null or s.table_id = p_table
  ), noted as (
    update table_namespace s set unneeded_since = case when j.abandoned then now() end
    from checked j where j.namespace = s.namespace and j.abandoned = (s.unneeded_since is null)
  )
  select coalesce(jsonb_agg(j.namespace order by j.namespace), '[]') from checked j where j.abandoned
$$;
