-- The index over Tables: the strings of a document, their chunks in the search engine ("the store", turbopuffer), and
-- what a search may return. Rows belong to the fingerprint of an index version; Tools show the state of the live one.
--
-- Tables with many rows for one Table have no foreign key to it: their rows are deleted in portions, later
-- (delete_portion). A writer of one locks the Table's row, so nobody writes one for a deleted Table.
--
-- Locks are taken in one order: the Table's row, the lock of its words, its nodes by pointer_hash, its scan.

-- ---------------------------------------------------------------- tables

-- One row for each large string of a document. `content_hash` is the searchable version (null: none yet), `wanted_hash`
-- that of the document; they differ until its chunks are stored. Empty: the document no longer has the string, and the
-- row stays until its rows are deleted from the store.
create table public.node (
  table_id uuid not null,
  fingerprint text collate "C" not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  content_hash text collate "C",
  generation bigint not null default 0,
  wanted_hash text collate "C" not null,
  wanted_generation bigint not null,
  wanted_chunks integer not null,
  -- The store may still have rows of an older version.
  needs_sweep boolean not null default false,
  -- Why the embedding service refused the text. The node then has no chunks.
  refused_reason jsonb check (refused_reason ? 'code'),
  primary key (table_id, fingerprint, pointer_hash)
);
create index node_unfinished on public.node (table_id, fingerprint) where content_hash is distinct from wanted_hash;
create index node_needs_sweep on public.node (table_id, fingerprint) where needs_sweep;
create index node_refused on public.node (table_id, fingerprint) where refused_reason is not null;

create table public.chunks (
  id uuid primary key default gen_random_uuid(),
  table_id uuid not null,
  fingerprint text collate "C" not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  content_hash text collate "C" not null,
  chunk_index integer not null,
  total_chunks integer not null,
  chunk_text text not null,
  -- What its object says of it (see title_of in sakuin/tables/objects.py): it is found by that, too.
  title text not null,
  char_start integer not null,
  char_end integer not null,
  turbopuffer_namespace text,
  turbopuffer_doc_id text collate "C",
  -- Null: has to be stored, for the first time or again.
  indexed_at timestamptz,
  -- The chunk's words in table_reading. Null: not stored yet, so not counted.
  readings bigint[],
  -- Of the first chunk of a batch: how many attempts to store it began and did not end by themselves.
  attempts integer not null default 0,
  -- The values by which its entry is filtered, lists by field; null outside of entries.
  attributes jsonb,
  unique (table_id, fingerprint, pointer_hash, content_hash, chunk_index)
);
-- One index for both: what passes a fixed filter is counted word by word.
create index chunks_attributes on public.chunks using gin (attributes jsonb_path_ops, readings) where attributes is not null;
create index chunks_doc_id on public.chunks (turbopuffer_doc_id);
-- The beginning of the hash by which the vector of a text is found.
create function public.text_key(p_title text, p_text text) returns text language sql immutable as $$
  select left(encode(sha256(convert_to(concat_ws(chr(10), nullif(p_title, ''), p_text), 'UTF8')), 'hex'), 16)
$$;
create index chunks_text on public.chunks (public.text_key(title, chunk_text) collate "C");
create index chunks_unstored on public.chunks (table_id, fingerprint) where indexed_at is null;

-- Chunks of wanted versions that are not stored.
create view public.unstored_chunks with (security_invoker = true) as
  select c.id, c.table_id, c.fingerprint, c.json_pointer from chunks c
  where c.indexed_at is null and c.content_hash = (
    select n.wanted_hash from node n where n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash);

-- Vectors by the hash of their text, separate for each project: the store does not give its own back. Those of texts that
-- no chunk has are deleted after 30 days (delete_unused_texts).
create table public.chunk_vector (
  project_id uuid not null references public.project,
  space text collate "C" not null,
  text_hash text collate "C" not null,
  embedding extensions.halfvec(1536) not null,
  used_at timestamptz not null default now(),
  primary key (project_id, space, text_hash)
);
create index chunk_vector_used on public.chunk_vector (used_at);

-- The scan of a Table for one fingerprint.
create table public.table_scan (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text collate "C" not null,
  -- The generation that was scanned completely.
  generation bigint not null default -1,
  -- The generation in which the Table was found complete: others need to be looked at (is_table_complete).
  complete_generation bigint,
  skipped_nodes jsonb not null default '[]',
  -- What it found for the status of Tools, by their json_path.
  found jsonb not null default '{}',
  -- The scan under way: its generation, how many strings were scanned, and when.
  current_generation bigint,
  current_nodes integer not null default 0,
  current_at timestamptz,
  -- Why indexing makes no progress, and the generation for which it was given up.
  error jsonb check (error ? 'code'),
  failed_generation bigint,
  heartbeat_at timestamptz not null default now(),
  -- When chunks were last stored; null once the store has indexed them (see unindexed_tables).
  stored_at timestamptz,
  -- How many chunks were stored since the scan began, at scanned_at: the speed of indexing.
  stored_chunks integer not null default 0,
  scanned_at timestamptz not null default now(),
  -- How often maintenance started the scan (record_table_start).
  started_generation bigint,
  starts integer,
  started_at timestamptz,
  primary key (table_id, fingerprint)
);
create index table_scan_fingerprint on public.table_scan (fingerprint);
create index table_scan_stored on public.table_scan (stored_at) where stored_at is not null;

-- How the words of a Table are read and written, as `reading` for pages. `chunks` counts the chunks with the word; rows
-- without any are deleted. Written in the transactions that store and delete chunks.
--
-- An empty reading marks a term of the search. Terms are counted in a sample of the chunks (see chunks_to_store), and the
-- empty term counts the chunks of that sample: docs/decisions/0051.
create table public.table_reading (
  id bigint generated always as identity primary key,
  table_id uuid not null,
  fingerprint text collate "C" not null,
  reading text collate "C" not null,
  written text collate "C" not null,
  sound text collate "C" not null generated always as (public.sound_of(reading)) stored,
  chunks integer not null,
  unique (table_id, fingerprint, reading, written)
-- Free space on each page: a changed count needs no change of an index.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = .02);
-- Without terms, for which a growing table without statistics would use them.
create index table_reading_begins on public.table_reading (table_id, fingerprint, left(sound, 1), length(sound))
  where reading <> '';
create index table_reading_ends on public.table_reading (table_id, fingerprint, right(sound, 1), length(sound))
  where reading <> '';

-- The short fields of the objects around strings, or the fields of entries, for answers. They belong to the document, not
-- to an index version.
create table public.table_object (
  table_id uuid not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  -- json, not jsonb: it keeps their order.
  fields json not null,
  fields_hash text collate "C" not null,
  -- Of an entry, as those of its chunks.
  attributes jsonb,
  primary key (table_id, pointer_hash)
);

-- The fingerprints of this deployment. The first one has the plain namespace, the others have a suffix.
create table public.table_index_version (
  fingerprint text collate "C" primary key,
  suffix text collate "C" not null unique
);

-- The namespaces that this deployment has written to; other deployments may share its account. A row is written before
-- the first chunk is sent and stays after its Table is deleted, so that late writes of a killed worker are found.
-- `unneeded_since`: a namespace that is not needed is deleted whenever it is found again.
create table public.table_namespace (
  namespace text collate "C" primary key,
  table_id uuid not null,
  fingerprint text collate "C" not null,
  unneeded_since timestamptz
);
create index table_namespace_table on public.table_namespace (table_id);

-- ---------------------------------------------------------------- namespaces

-- Deletes the records of namespaces that were not needed for p_seconds. Workers that started before have ended.
create function public.delete_namespace_records(p_namespaces text[], p_seconds integer) returns void language sql as $$
  delete from table_namespace s
  where s.namespace = any (p_namespaces) and s.unneeded_since < now() - make_interval(secs => p_seconds)
$$;

-- ---------------------------------------------------------------- scanning a document

-- Whether a JSON Pointer is in a scope (another pointer).
create function public.is_within(p_pointer text, p_scope text) returns boolean language sql immutable as $$
  select p_scope = '' or p_pointer = p_scope or starts_with(p_pointer, p_scope || '/')
$$;

create function public.record_scan_state(p_table uuid, p_fingerprint text, p_error jsonb, p_failed bigint) returns void
language sql as $$
  insert into table_scan as p (table_id, fingerprint, error, failed_generation)
  values (p_table, p_fingerprint, p_error, p_failed)
  on conflict (table_id, fingerprint) do update set heartbeat_at = now(), error = excluded.error,
    failed_generation = excluded.failed_generation, complete_generation = null
$$;

-- A page of a scan takes three or four calls: begin_scan, changed_nodes, plan_nodes, record_scan or finish_scan.

-- Whether to scan a page. An explicit request (not p_for_event) restarts the scan. An event restarts a scan that is
-- incomplete after 15 minutes: its messages may be lost.
create function public.should_scan(t public.context_table, p_fingerprint text, p_skip integer, p_for_event boolean)
returns boolean language plpgsql as $$
declare
  at timestamptz;
begin
  if p_skip = 0 and not p_for_event then
    update table_scan p set current_generation = null where p.table_id = t.id and p.fingerprint = p_fingerprint;
    return true;
  end if;
  select p.current_at into at from table_scan p
  where p.table_id = t.id and p.fingerprint = p_fingerprint and p.current_generation = t.generation
    and p.current_nodes > p_skip;
  if at is null or t.check_store then return true; end if;
  return at < now() - interval '15 minutes' and not (
    is_table_complete(t.id, p_fingerprint)
    and not exists (select from tool o where o.table_id = t.id and o.enabled and is_live_for_tables(p_fingerprint)
                    and coalesce(o.metadata->'search_index'->>'state', '') not in ('ready', 'empty', 'error')));
end $$;

-- Begins a scan of a Table, or continues it after p_skip nodes: {decision, project_id, generation, check_store, data,
-- data_key, scopes, chunk_threshold}, and entries if they are asked for. `decision`: scan; gone; empty (no document has arrived); superseded (p_generation is not the
-- present one, or this page was scanned already). Tools show the progress of the live version only.
create function public.begin_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_skip integer, p_for_event boolean,
  p_with_entries boolean default false
) returns jsonb language plpgsql as $$
declare
  t context_table;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return jsonb_build_object('decision', 'gone'); end if;
  if p_generation <> t.generation or not should_scan(t, p_fingerprint, p_skip, p_for_event) then
    return jsonb_build_object('decision', 'superseded');
  end if;
  if t.data is null and t.data_key is null then return jsonb_build_object('decision', 'empty'); end if;
  if p_skip = 0 then
    if is_live_for_tables(p_fingerprint) then
      perform merge_status(o.id, jsonb_build_object(
        'state', case o.metadata->'search_index'->>'state' when 'updating' then 'updating' else 'indexing' end, 'started_at', now(), 'heartbeat_at', now(), 'generation', t.generation,
        'waiting_since', null, 'waiting_reason', null,
        'attempt', coalesce(bigint_or_null(o.metadata->'search_index'->>'attempt'), 0) + 1))
      from tool o where o.table_id = p_table and o.enabled;
    end if;
    perform record_scan_state(p_table, p_fingerprint, null, null);
    update table_scan s set stored_chunks = 0, scanned_at = now()
    where s.table_id = p_table and s.fingerprint = p_fingerprint;
  end if;
  return jsonb_build_object(
    'decision', 'scan', 'project_id', t.project_id, 'generation', t.generation, 'check_store', t.check_store,
    -- As text, so that no JSON library changes the document.
    'data', to_json(t.data::text), 'data_key', t.data_key, 'chunk_threshold', t.chunk_threshold_chars,
    'chunks_count', t.chunks_count,
    'scopes', (select coalesce(jsonb_agg(distinct o.json_path), '[]')
               from tool o where o.table_id = t.id and o.enabled))
    || case when p_with_entries then jsonb_build_object('entries', t.entries) else '{}' end;
end $$;

-- The places (from 1) of the first p_limit of these nodes that are not stored completely with this text, this title, and
-- these of p_attributes (a list; null: none has any).
create function public.changed_nodes(
  p_table uuid, p_fingerprint text, p_pointer_hashes text[], p_content_hashes text[], p_titles text[], p_limit integer,
  p_attributes jsonb default null
) returns integer[] language sql stable as $$
  select coalesce(array_agg(x.place order by x.place), '{}') from (
    select g.place::integer as place
    from unnest(p_pointer_hashes, p_content_hashes, p_titles) with ordinality as g(pointer_hash, content_hash, title, place)
    -- Node by node (because of offset 0): a growing table has no statistics for a join.
    left join lateral (
      select true as complete from node n
      where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = g.pointer_hash
        and n.wanted_hash = g.content_hash and n.content_hash = n.wanted_hash and not n.needs_sweep
        and n.wanted_chunks = (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.title = g.title
            and c.attributes is not distinct from nullif(p_attributes->(g.place::integer - 1), 'null')
            and c.turbopuffer_doc_id is not null and c.indexed_at is not null)
      offset 0) n on true
    where n.complete is null
    order by g.place limit p_limit) x
$$;

-- Records the wanted versions of nodes and their chunks. Idempotent. A chunk with another title or other attributes than
-- before is stored again; until then it is found as before. Returns {missing: ids of the chunks to store,
-- published: see publish_nodes}; null if a newer generation exists.
create function public.plan_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb)
returns jsonb language plpgsql as $$
declare
  missing jsonb;
  words bigint[];
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation
    and exists (select from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint) for share;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  select array_agg(x.word) into words from jsonb_array_elements(p_nodes) n cross join lateral (
    select unnest(c.readings) as word from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = n->>'pointer_hash'
      and c.content_hash = n->>'content_hash'
      and (c.title, c.attributes) is distinct from (n->>'title', nullif(n->'attributes', 'null')) offset 0) x;
  perform discount_words(words);
  insert into chunks (table_id, pointer_hash, json_pointer, content_hash, chunk_index, fingerprint, total_chunks,
                      chunk_text, title, char_start, char_end, attributes)
  select p_table, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', (c->>'index')::integer, p_fingerprint,
         (c->>'total')::integer, c->>'text', n->>'title', (c->>'char_start')::integer, (c->>'char_end')::integer,
         nullif(n->'attributes', 'null')
  from jsonb_array_elements(p_nodes) n, jsonb_array_elements(n->'chunks') c
  on conflict (table_id, fingerprint, pointer_hash, content_hash, chunk_index) do update set
    title = excluded.title, attributes = excluded.attributes, indexed_at = null, readings = null
  where (chunks.title, chunks.attributes) is distinct from (excluded.title, excluded.attributes);
  insert into node (table_id, fingerprint, pointer_hash, json_pointer, wanted_hash, wanted_generation, wanted_chunks)
  select p_table, p_fingerprint, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', p_generation,
         jsonb_array_length(n->'chunks')
  from jsonb_array_elements(p_nodes) n
  order by n->>'pointer_hash'
  on conflict (table_id, fingerprint, pointer_hash) do update set
    wanted_hash = excluded.wanted_hash, wanted_generation = excluded.wanted_generation,
    wanted_chunks = excluded.wanted_chunks, refused_reason = null;
  -- Node by node (because of offset 0): a growing table has no statistics for a join.
  select coalesce(jsonb_agg(x.id), '[]') into missing
  from jsonb_array_elements(p_nodes) n cross join lateral (
    select c.id from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = n->>'pointer_hash'
      and c.content_hash = n->>'content_hash' and (c.turbopuffer_doc_id is null or c.indexed_at is null)
    offset 0) x;
  return jsonb_build_object('missing', missing, 'published', publish_nodes(p_table, p_fingerprint, array(
    select n->>'pointer_hash' from jsonb_array_elements(p_nodes) n)));
end $$;

-- Records that the messages for the first p_nodes strings of this generation are sent, or not needed.
create function public.record_scan(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes integer) returns void
language sql as $$
  update table_scan p set current_generation = p_generation, current_at = now(), current_nodes = greatest(
    p_nodes, case when p.current_generation = p_generation then p.current_nodes end)
  where p.table_id = p_table and p.fingerprint = p_fingerprint and p_nodes > 0
    and p_generation >= coalesce(p.current_generation, p_generation)
$$;

-- Ends a scan of p_nodes strings: removes nodes in portions of p_limit, the first call those that are not among p_kept
-- (hashes of pointers), later calls (p_kept is null) those in p_gone, with p_more if yet another call follows. Returns
-- {removed: nodes_to_sweep, gone: the nodes to give to later calls, after mark_swept, unindexed: see
-- mark_ready_if_complete}; null if a newer generation exists. With the last portion the scan is recorded and, if there is
-- nothing to sweep, the Table is ready if nothing is missing; otherwise mark_swept does that.
create function public.finish_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_gone text[], p_more boolean, p_skipped jsonb,
  p_found jsonb, p_nodes integer, p_limit integer
) returns jsonb language plpgsql as $$
declare
  gone text[] := p_gone;
  removed jsonb;
  is_last boolean;
  unindexed jsonb := '[]';
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  if p_kept is not null then
    gone := array(
      select x.pointer_hash from node x
      where x.table_id = p_table and x.fingerprint = p_fingerprint and x.wanted_hash <> ''
        and not exists (select from unnest(p_kept) kept where kept = x.pointer_hash));
  end if;
  is_last := not p_more and cardinality(gone) <= p_limit;
  with rows as (
    delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.pointer_hash = any (gone[:p_limit]) returning c.pointer_hash, c.turbopuffer_doc_id
  ), stored as (
    update node n set content_hash = null, wanted_hash = '', wanted_chunks = 0, refused_reason = null,
      needs_sweep = true, generation = p_generation, wanted_generation = p_generation
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = any (gone[:p_limit])
      and (n.needs_sweep
           or n.pointer_hash in (select r.pointer_hash from rows r where r.turbopuffer_doc_id is not null))
    returning n.pointer_hash
  )
  delete from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
    and n.pointer_hash = any (gone[:p_limit]) and n.pointer_hash not in (select s.pointer_hash from stored s);
  insert into table_scan (table_id, fingerprint, generation, skipped_nodes, found)
  select p_table, p_fingerprint, p_generation, p_skipped, p_found where is_last
  on conflict (table_id, fingerprint) do update set
    generation = excluded.generation, skipped_nodes = excluded.skipped_nodes, found = excluded.found, error = null,
    failed_generation = null, heartbeat_at = now();
  update context_table set shown_fingerprint = p_fingerprint where id = p_table and is_live_for_tables(p_fingerprint);
  removed := nodes_to_sweep(p_table, p_fingerprint);
  if is_last and removed = '[]' then
    unindexed := mark_ready_if_complete(p_table, p_fingerprint)->'unindexed';
    perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
  end if;
  return jsonb_build_object('removed', removed, 'gone', to_jsonb(gone[p_limit + 1:]), 'unindexed', unindexed);
end $$;

-- Deletes the objects of a Table that are not among these (hashes of pointers and of fields), and returns the places
-- (from 1) of those that are missing; null if a newer generation exists.
create function public.changed_objects(
  p_table uuid, p_generation bigint, p_pointer_hashes text[], p_fields_hashes text[]
) returns integer[] language plpgsql as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return null; end if;
  delete from table_object x where x.table_id = p_table and not exists (
    select from unnest(p_pointer_hashes, p_fields_hashes) as g(pointer_hash, fields_hash)
    where g.pointer_hash = x.pointer_hash and g.fields_hash = x.fields_hash);
  return array(
    select g.place::integer
    from unnest(p_pointer_hashes) with ordinality as g(pointer_hash, place)
    where not exists (select from table_object x where x.table_id = p_table and x.pointer_hash = g.pointer_hash)
    order by g.place);
end $$;

-- Stores objects: [{pointer_hash, json_pointer, fields (JSON text), fields_hash, attributes}]. Idempotent; does nothing if a newer
-- generation exists.
create function public.store_objects(p_table uuid, p_generation bigint, p_objects jsonb) returns void
language plpgsql as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return; end if;
  insert into table_object (table_id, pointer_hash, json_pointer, fields, fields_hash, attributes)
  select p_table, o.pointer_hash, o.json_pointer, o.fields::json, o.fields_hash, nullif(o.attributes, 'null')
  from jsonb_to_recordset(p_objects)
    as o(pointer_hash text, json_pointer text, fields text, fields_hash text, attributes jsonb)
  order by o.pointer_hash
  on conflict (table_id, pointer_hash) do update set fields = excluded.fields, fields_hash = excluded.fields_hash,
    attributes = excluded.attributes;
end $$;

-- Records why a Table cannot be indexed in this generation (null: the present one).
create function public.record_scan_failure(p_table uuid, p_fingerprint text, p_generation bigint, p_error jsonb)
returns void language plpgsql as $$
declare
  present bigint;
begin
  select t.generation into present from context_table t where t.id = p_table for update;
  if present is null or p_generation <> present then return; end if;
  perform record_scan_state(p_table, p_fingerprint, p_error, present);
  perform merge_status(o.id, jsonb_build_object('state', 'error', 'last_error', p_error, 'heartbeat_at', now()))
  from tool o
  where is_live_for_tables(p_fingerprint) and o.table_id = p_table and o.enabled
    and coalesce(o.metadata->'search_index'->>'state', '') not in ('ready', 'empty');
end $$;

-- ---------------------------------------------------------------- storing chunks

-- One transaction at a time counts the words of a Table.
create function public.lock_words(p_table uuid, p_fingerprint text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('words ' || p_table || p_fingerprint, 0))
$$;

-- Counts the words of newly stored chunks.
--   p_stored: [{id, namespace, doc_id, readings: [place]}], places in p_readings: [[reading, written]], from 0
-- Returns the ids of the words by place. A chunk that is stored again is not counted again: it has its readings.
create function public.count_readings(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb)
returns bigint[] language sql as $$
  with used as (
    select u.place::integer as place, count(*)::integer as chunks
    from jsonb_array_elements(p_stored) s
    -- Chunk by chunk (because of offset 0): a growing table has no statistics for a join.
    cross join lateral (select from chunks c where c.id = (s->>'id')::uuid and c.readings is null offset 0) fresh
    cross join jsonb_array_elements_text(s->'readings') u(place) group by 1
  ), asked as materialized (
    select e.word->>0 as reading, e.word->>1 as written, u.place, u.chunks
    from jsonb_array_elements(p_readings) with ordinality e(word, place) join used u on u.place = e.place - 1
  ), counted as (
    insert into table_reading as r (table_id, fingerprint, reading, written, chunks)
    select p_table, p_fingerprint, a.reading, a.written, a.chunks from asked a
    on conflict (table_id, fingerprint, reading, written) do update set chunks = r.chunks + excluded.chunks
    returning r.id, r.reading, r.written
  ), numbered as (
    select a.place, r.id from asked a join counted r on r.reading = a.reading and r.written = a.written
  )
  select coalesce(array_agg(coalesce(n.id, 0) order by place), '{}')
  from generate_series(0, jsonb_array_length(p_readings) - 1) place left join numbered n using (place)
$$;

-- Subtracts words of chunks that no longer have them, by their ids.
create function public.discount_words(p_words bigint[]) returns void language sql as $$
  with fewer as materialized (
    select u.id, count(*)::integer as chunks from unnest(p_words) u(id) group by u.id
  ), counted as (
    update table_reading r set chunks = r.chunks - f.chunks from fewer f where r.id = f.id and r.chunks > f.chunks
  )
  delete from table_reading r using fewer f where r.id = f.id and r.chunks <= f.chunks
$$;

-- Subtracts the words of deleted chunks, whichever function deleted them. Those of a deleted Table are deleted with it.
create function public.discount_readings() returns trigger language plpgsql security definer as $$
begin
  perform lock_words(g.table_id, g.fingerprint) from (
    select distinct d.table_id, d.fingerprint from gone d
    where d.readings is not null and exists (select from context_table t where t.id = d.table_id)) g;
  if not found then return null; end if;
  perform discount_words(array(select unnest(d.readings) from gone d));
  return null;
end $$;
create trigger discount_readings after delete on public.chunks
  referencing old table as gone for each statement execute function public.discount_readings();

-- Chunks of p_ids that have to be embedded and stored, without those that are no longer wanted. `counts_terms`: whether
-- the terms of a chunk are to be counted. Those of the first 2,000 chunks are, and of the next ones those of every second,
-- until there are 2,000 more, then of every fourth, and so on: of 100,000 chunks about 11,000, chosen by a hash.
create function public.chunks_to_store(
  p_table uuid, p_fingerprint text, p_namespace text, p_ids uuid[], p_with_attributes boolean default false
) returns jsonb language plpgsql as $$
declare
  wanted jsonb;
  counted constant integer := (select r.chunks from table_reading r where r.table_id = p_table
                               and r.fingerprint = p_fingerprint and r.reading = '' and r.written = '');
  every constant bigint := 1::bigint << coalesce(counted, 0) / 2000;
begin
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'json_pointer', c.json_pointer, 'content_hash', c.content_hash, 'chunk_index', c.chunk_index,
    'chunk_text', c.chunk_text, 'title', c.title, 'generation', n.wanted_generation,
    'counts_terms', hashtextextended(c.content_hash, c.chunk_index) % every = 0)
    || case when p_with_attributes then jsonb_build_object('attributes', c.attributes) else '{}' end
    order by c.pointer_hash, c.chunk_index), '[]')
  into wanted
  from chunks c
  join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
    and n.wanted_hash = c.content_hash
  where c.id = any (p_ids) and c.table_id = p_table and c.fingerprint = p_fingerprint
    and (c.turbopuffer_doc_id is null or c.indexed_at is null)
    and exists (select from context_table t where t.id = p_table);
  -- A worker with a wrong project id writes nothing.
  perform require(wanted = '[]' or starts_with(p_namespace, 'project_' || t.project_id || '_table_' || t.id), 'PT422',
                  'record.other_project') from context_table t where t.id = p_table;
  -- Read first: a row that every batch of a Table locks would make them wait.
  if wanted <> '[]' and not exists (
    select from table_namespace n where n.namespace = p_namespace and n.unneeded_since is null) then
    insert into table_namespace (namespace, table_id, fingerprint) values (p_namespace, p_table, p_fingerprint)
    on conflict (namespace) do update set unneeded_since = null;
  end if;
  return wanted;
end $$;

create function public.known_vectors(p_project uuid, p_space text, p_text_hashes text[]) returns jsonb
language sql as $$
  update chunk_vector v set used_at = now()
  where v.project_id = p_project and v.space = p_space and v.text_hash = any (p_text_hashes)
    and v.used_at < now() - interval '1 day';
  select coalesce(jsonb_object_agg(v.text_hash, v.embedding::text), '{}') from chunk_vector v
  where v.project_id = p_project and v.space = p_space and v.text_hash = any (p_text_hashes)
$$;

-- Publishes the wanted version of each node whose chunks are all stored. Deletes the chunks of its other versions: if
-- such a version returns, it is stored again in its own generation. Returns nodes_to_sweep.
create function public.publish_nodes(p_table uuid, p_fingerprint text, p_pointer_hashes text[]) returns jsonb
language plpgsql as $$
begin
  perform lock_words(p_table, p_fingerprint);
  -- In one order everywhere, so that two workers that finish one node cannot deadlock.
  perform from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
    and n.pointer_hash = any (p_pointer_hashes) order by n.pointer_hash for update;
  with done as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation,
      -- A version that was never published may have left rows, too.
      needs_sweep = n.needs_sweep or (n.content_hash is not null and n.content_hash <> n.wanted_hash) or exists (
        select from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
          and c.pointer_hash = n.pointer_hash and c.content_hash <> n.wanted_hash)
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = any (p_pointer_hashes)
      and (n.content_hash, n.generation) is distinct from (n.wanted_hash, n.wanted_generation)
      and n.wanted_chunks = (
        select count(*) from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
          and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
    returning n.pointer_hash, n.content_hash
  )
  delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
    and c.pointer_hash = any (array(select d.pointer_hash from done d))
    and c.content_hash <> (select d.content_hash from done d where d.pointer_hash = c.pointer_hash);
  return nodes_to_sweep(p_table, p_fingerprint, p_pointer_hashes);
end $$;

-- Records that the store has confirmed these chunks (p_stored, p_readings: see count_readings). Returns {alive: whether
-- the Table still exists, unwanted: [doc_id] of rows that came too late and have to be deleted from the store,
-- published: see publish_nodes}.
create function public.record_stored(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb)
returns jsonb language plpgsql as $$
declare
  unwanted jsonb;
  numbers bigint[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then
    return jsonb_build_object('alive', false, 'unwanted', '[]'::jsonb, 'published', '[]'::jsonb);
  end if;
  perform lock_words(p_table, p_fingerprint);
  numbers := count_readings(p_table, p_fingerprint, p_stored, p_readings);
  update chunks c set turbopuffer_namespace = s->>'namespace', turbopuffer_doc_id = s->>'doc_id', indexed_at = now(), attempts = 0,
    readings = coalesce(c.readings, array(
      select numbers[u.place::integer + 1] from jsonb_array_elements_text(s->'readings') u(place)))
  from jsonb_array_elements(p_stored) s where c.id = (s->>'id')::uuid;
  update table_scan s set stored_at = clock_timestamp(), complete_generation = null,
    stored_chunks = s.stored_chunks + jsonb_array_length(p_stored)
  where s.table_id = p_table and s.fingerprint = p_fingerprint;
  select coalesce(jsonb_agg(s->>'doc_id'), '[]') into unwanted
  from jsonb_array_elements(p_stored) s
  where not exists (
    select from chunks c join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash
    where c.id = (s->>'id')::uuid and c.content_hash in (n.wanted_hash, n.content_hash));
  return jsonb_build_object('alive', true, 'unwanted', unwanted,
    'published', publish_nodes(p_table, p_fingerprint, array(
      select distinct c.pointer_hash from jsonb_array_elements(p_stored) s join chunks c on c.id = (s->>'id')::uuid)));
end $$;

-- Finishes the nodes of chunks whose text the embedding service refuses: nothing is found for them, and the same text
-- is not sent again. p_refused: [{id, reason}], ids of chunks.
create function public.mark_refused(p_table uuid, p_fingerprint text, p_refused jsonb) returns void
language plpgsql as $$
declare
  pointers text[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then return; end if;
  perform lock_words(p_table, p_fingerprint);
  with refusal as (
    select distinct on (c.pointer_hash) c.pointer_hash, c.content_hash, r->'reason' as reason
    from jsonb_array_elements(p_refused) r join chunks c on c.id = (r->>'id')::uuid
    where c.table_id = p_table and c.fingerprint = p_fingerprint
    order by c.pointer_hash, c.chunk_index
  ), refused as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation, wanted_chunks = 0,
      needs_sweep = false, refused_reason = s.reason
    from refusal s
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s.pointer_hash
      and n.wanted_hash = s.content_hash
    returning n.pointer_hash
  )
  select array_agg(r.pointer_hash) into pointers from refused r;
  delete from chunks c
  where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = any (pointers);
end $$;

-- Records that the older rows of these nodes are deleted from the store, and of those that the document no longer has all.
-- After finish_scan, with its generation and p_nodes (0: it has more nodes), it ends the scan, and returns the Table if it
-- is unindexed: see mark_ready_if_complete.
create function public.mark_swept(
  p_table uuid, p_fingerprint text, p_swept jsonb, p_generation bigint default null, p_nodes integer default 0
) returns jsonb language plpgsql as $$
declare
  done jsonb := '{"unindexed": []}';
begin
  if p_generation is not null then perform from context_table t where t.id = p_table for update; end if;
  -- Two transactions that update the same nodes in different orders would wait for each other.
  perform lock_words(p_table, p_fingerprint);
  update node n set needs_sweep = false from jsonb_array_elements(p_swept) s
  where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s->>'pointer_hash'
    and n.generation = (s->>'generation')::bigint;
  delete from node n using jsonb_array_elements(p_swept) s
  where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s->>'pointer_hash'
    and n.wanted_hash = '' and not n.needs_sweep;
  if p_generation is not null then
    done := mark_ready_if_complete(p_table, p_fingerprint);
    perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
  end if;
  return done->'unindexed';
end $$;

-- The published and removed nodes, all or those of p_pointer_hashes, whose older rows have to be deleted from the store:
-- [{pointer_hash, content_hash, generation}].
create function public.nodes_to_sweep(p_table uuid, p_fingerprint text, p_pointer_hashes text[] default null)
returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'pointer_hash', n.pointer_hash, 'content_hash', n.content_hash, 'generation', n.generation)
    order by n.pointer_hash), '[]')
  from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.needs_sweep
    and n.content_hash is not distinct from nullif(n.wanted_hash, '')
    and (p_pointer_hashes is null or n.pointer_hash = any (p_pointer_hashes))
$$;

-- ---------------------------------------------------------------- is a Table ready?

-- Whether a Table is stored for a fingerprint: scanned in its present generation, each string stored in its wanted
-- version, nothing left to delete.
create function public.is_table_stored(p_table uuid, p_fingerprint text) returns boolean language sql stable as $$
  select exists (select from table_scan s join context_table t on t.id = s.table_id and t.generation = s.generation
                 where s.table_id = p_table and s.fingerprint = p_fingerprint)
    and not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                    and n.content_hash is distinct from n.wanted_hash)
    and not exists (select from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint)
    and not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.needs_sweep)
$$;

-- Whether a Table is complete: stored, and indexed by the store, so that searches see all of it.
create function public.is_table_complete(p_table uuid, p_fingerprint text) returns boolean language sql stable as $$
  select is_table_stored(p_table, p_fingerprint) and not exists (
    select from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint and s.stored_at is not null)
$$;

-- The Tables that are stored, and only wait until the store has indexed them: [{table_id, fingerprint, namespace,
-- stored_at}], those that wait longest first; all, or p_table for p_fingerprint.
create function public.unindexed_tables(p_table uuid default null, p_fingerprint text default null) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'table_id', s.table_id, 'fingerprint', s.fingerprint, 'namespace', n.namespace, 'stored_at', s.stored_at)
    order by s.stored_at), '[]')
  from table_scan s join table_namespace n on n.table_id = s.table_id and n.fingerprint = s.fingerprint
  where s.stored_at is not null and (p_table is null or (s.table_id, s.fingerprint) = (p_table, p_fingerprint))
    and is_table_stored(s.table_id, s.fingerprint)
$$;

-- Updates the status of a Table's Tools, under the Table's lock, and returns whether the Table is complete. During
-- indexing, chunks are counted every two seconds and not with each batch: counting takes as long as there are nodes.
-- `minutes_left`: by the speed since the scan began; null if that is not known yet.
create function public.update_tool_status(p_table uuid, p_fingerprint text) returns boolean language plpgsql as $$
declare
  t context_table;
  done boolean;
  stored boolean;
  -- Whether missing chunks are counted: while a Table is indexed for the first time, most of them are missing.
  published boolean;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return false; end if;
  done := is_table_complete(p_table, p_fingerprint);
  stored := done or is_table_stored(p_table, p_fingerprint);
  published := not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                           and n.content_hash is distinct from n.wanted_hash);
  perform merge_status(o.id, counts || jsonb_build_object('heartbeat_at', now(), 'generation', t.generation,
      'waiting_since', null, 'waiting_reason', null,
      'minutes_left', case when not done then ceil(
        ((counts->>'chunks_count')::bigint - (counts->>'indexed_chunks_count')::bigint)
        * extract(epoch from now() - s.scanned_at) / 60 / nullif(s.stored_chunks, 0)) end,
      'skipped_nodes', (
        select coalesce(jsonb_agg(x.skipped), '[]') from (
          select e as skipped from jsonb_array_elements(s.skipped_nodes) e
          union all
          select jsonb_build_object('json_pointer', n.json_pointer, 'reason', n.refused_reason) from node n
          where n.table_id = p_table and n.fingerprint = p_fingerprint and n.refused_reason is not null) x
        where is_within(x.skipped->>'json_pointer', o.json_path)))
    || (f.status - 'missing')
    || case when not done then '{}'
            when f.status->>'missing' is not null
            then jsonb_build_object('state', 'error', 'last_error', f.status->'missing', 'attempt', 0)
            else jsonb_build_object('state', case when counts->>'chunks_count' = '0' then 'empty' else 'ready' end,
                                    'indexed_at', now(), 'last_error', null, 'attempt', 0) end)
  from tool o
  left join table_scan s on s.table_id = p_table and s.fingerprint = p_fingerprint
  -- `missing` is why the document has no part for the Tool.
  cross join lateral (select coalesce(s.found->o.json_path, '{}') as status) f
  cross join lateral (
    -- A published node is stored completely, except for what the store has lost. The chunks of other nodes are counted
    -- one node at a time: a growing table has no statistics for a join.
    select jsonb_build_object('nodes_count', count(*), 'chunks_count', coalesce(sum(n.wanted_chunks), 0),
      'indexed_chunks_count', coalesce(sum(case when n.content_hash is not distinct from n.wanted_hash
        then n.wanted_chunks
        else (select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
              and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
        end), 0) - case when published and not done then (
          select count(*) from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
            and is_within(c.json_pointer, o.json_path)) else 0 end) as counts
    from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.wanted_hash <> ''
      and is_within(n.json_pointer, o.json_path)
  ) x
  where o.table_id = p_table and o.enabled
    and coalesce(o.metadata->'search_index'->>'state', '') not in ('ready', 'empty')
    and (stored or coalesce(timestamp_or_null(o.metadata->'search_index'->>'heartbeat_at'), '-infinity')
                 < now() - interval '2 seconds'
         or o.metadata->'search_index'->'indexed_chunks_count' is null);
  return done;
end $$;

-- Returns {ready: whether a Table is complete, unindexed: unindexed_tables of it}. If it is complete, its Tools are ready
-- (empty without chunks, an error where the document has no part for them) and nothing waits any more. Any other error
-- stays until then: another batch of the same Table may still come.
create function public.mark_ready_if_complete(p_table uuid, p_fingerprint text) returns jsonb language plpgsql as $$
declare
  done boolean;
begin
  done := case when is_live_for_tables(p_fingerprint) then update_tool_status(p_table, p_fingerprint)
               else is_table_complete(p_table, p_fingerprint) end;
  if done then
    update context_table t set work = null where t.id = p_table and t.work is not null;
  end if;
  update table_scan p set heartbeat_at = now(), error = case when not done then p.error end,
    failed_generation = case when not done then p.failed_generation end,
    complete_generation = case when done then p.generation end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    -- Every batch of a Table comes here.
    and (p.heartbeat_at < now() - interval '2 seconds'
         or done and (p.error is not null or p.complete_generation is distinct from p.generation));
  return jsonb_build_object('ready', done, 'unindexed',
                            case when done then '[]' else unindexed_tables(p_table, p_fingerprint) end);
end $$;

-- Records that the store has indexed what was stored until p_stored_at, and returns whether the Table is complete.
create function public.mark_indexed(p_table uuid, p_fingerprint text, p_stored_at timestamptz) returns boolean
language plpgsql as $$
begin
  perform from context_table t where t.id = p_table for update;
  update table_scan s set stored_at = null
  where s.table_id = p_table and s.fingerprint = p_fingerprint and s.stored_at = p_stored_at;
  return mark_ready_if_complete(p_table, p_fingerprint)->'ready';
end $$;

-- ---------------------------------------------------------------- what the store has lost

-- Marks chunks to be stored again. They keep their doc ids: while the store still finds them, they are results.
create function public.mark_missing(p_table uuid, p_fingerprint text, p_ids uuid[]) returns void language sql as $$
  select from context_table t where t.id = p_table for update;
  select lock_words(p_table, p_fingerprint);
  update table_scan s set complete_generation = null where s.table_id = p_table and s.fingerprint = p_fingerprint;
  -- By primary key alone: a cached plan that reads all chunks of the Table would compare each with each id.
  update chunks c set indexed_at = null where c.id = any (p_ids)
$$;

-- ---------------------------------------------------------------- searching

-- The Tools that agents reach through an endpoint.
create function public.bound_tools(p_mcp uuid) returns setof public.tool language sql stable rows 10 as $$
  select o.* from mcp m
  join mcp_binding b on b.mcp_id = m.id and b.status = 'enabled'
  join tool o on o.id = b.tool_id and o.enabled and o.project_id = m.project_id
  where m.id = p_mcp and m.status = 'enabled'
$$;

-- What an endpoint's fixed filter of a Tool demands of attributes; {} demands nothing. What does not pass does not exist
-- for the endpoint: not in results, counts, words and values.
create function public.fixed_filter(p_mcp uuid, p_tool uuid) returns jsonb language sql stable as $$
  select coalesce((select b.filter from mcp_binding b where b.mcp_id = p_mcp and b.tool_id = p_tool), '{}')
$$;

-- An endpoint with its Tools, their entries and fixed filters; null if it is deleted or disabled.
create function public.endpoint(p_mcp uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id,
    'tools', (select coalesce(jsonb_agg(tool_view(o) || jsonb_build_object(
                'entries', t.entries, 'fixed', fixed_filter(m.id, o.id)) order by o.name), '[]')
              from bound_tools(m.id) o join context_table t on t.id = o.table_id))
  from mcp m where m.id = p_mcp and m.status = 'enabled'
$$;

-- An endpoint for the hash of one of its keys: {key_hashes, endpoint}. A wrong key gets two hashes and no endpoint,
-- after the same work, whether or not there is such an endpoint; a hash of zeros stands for a key that does not exist.
create function public.endpoint_of_key(p_mcp uuid, p_key_hash text) returns jsonb language sql stable as $$
  select jsonb_build_object('key_hashes', to_jsonb(k.hashes),
    'endpoint', case when p_key_hash = any (k.hashes) then endpoint(p_mcp) end)
  from (
    select array[
      coalesce(m.api_key_hash, repeat('0', 64)),
      coalesce(case when m.previous_key_until > now() then m.previous_key_hash end, repeat('0', 64))] as hashes
    from (select p_mcp as id) asked left join mcp m on m.id = asked.id and m.status = 'enabled') k
$$;

-- An endpoint for a user, in an agent's hands or his own: null unless the user has a role in its project, of which each
-- may search. The function `mcp` has verified the token; nobody else may call this.
create function public.endpoint_of_user(p_mcp uuid, p_user uuid) returns jsonb language sql stable as $$
  select endpoint(m.id) from mcp m
  join project p on p.id = m.project_id and p.deleted_at is null
  join project_member u on u.project_id = m.project_id and u.user_id = p_user and u.role >= 'viewer'
  where m.id = p_mcp
$$;

-- Whether a Table has a word for an endpoint: chunks that pass its fixed filter do; {}: every word.
create function public.has_word(p_table uuid, p_fingerprint text, p_filter jsonb, p_word bigint) returns boolean
language sql stable as $$
  select p_filter = '{}' or exists (
    select from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.attributes @> p_filter and c.readings @> array[p_word])
$$;

-- The same as `similar_words` for the words that a Table has for an endpoint with this fixed filter.
create function public.similar_table_words(p_table uuid, p_fingerprint text, p_reading text, p_filter jsonb) returns jsonb
language sql stable set jit = off set enable_seqscan = off as $$
  with asked as materialized (
    select sound_of(p_reading) as sound, length(sound_of(p_reading)) as width, typo_limit(p_reading) as typos
  ), around as (
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and r.reading <> ''
      and left(r.sound, 1) = left(a.sound, 1) and length(r.sound) between a.width - a.typos and a.width + a.typos
    union
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and r.reading <> ''
      and right(r.sound, 1) = right(a.sound, 1) and length(r.sound) between a.width - a.typos and a.width + a.typos
  ), found as (
    select r.written, min(r.distance) as distance, max(r.chunks) as n
    from (select n.id, n.written, n.chunks, a.typos, typo_distance(n.sound, a.sound) as distance
          from around n, asked a offset 0) r
    where r.distance <= r.typos and has_word(p_table, p_fingerprint, p_filter, r.id) group by r.written
  )
  select to_jsonb((array_agg(f.written order by f.distance, f.n desc, f.written))[:5]) from found f
$$;

-- What is known of a question's words in a Tool's Table, in the form of lexicon_entries; the synonyms are the groups of the
-- project with a phrase in p_query, all of them if another analyzer stored them. Empty for a Tool that this endpoint does
-- not reach.
create function public.table_lexicon_entries(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_readings text[], p_words jsonb, p_query text, p_analyzer text
) returns jsonb language plpgsql stable set jit = off set enable_seqscan = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  fixed constant jsonb := fixed_filter(p_mcp, p_tool);
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where exists (
      select from table_reading t
      where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = coalesce(nullif(e.value, ''), e.key)
        and t.written = e.key and has_word(asked, p_fingerprint, fixed, t.id)));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select t.reading, array_agg(t.written order by t.chunks desc, t.written) as forms from table_reading t
        where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = any (p_readings)
          and has_word(asked, p_fingerprint, fixed, t.id)
        group by t.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_table_words(asked, p_fingerprint, u.reading, fixed) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and not exists (
            select from table_reading t
            where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = e.value
              and has_word(asked, p_fingerprint, fixed, t.id))
          order by e.key collate "C" limit 8) u) w
      where w.forms is not null),
    'synonyms', (
      select coalesce(jsonb_agg(jsonb_build_object('folder', '', 'phrases', g.value->'phrases')), '[]')
      from bound_tools(p_mcp) o join project_synonyms s on s.project_id = o.project_id
      cross join lateral jsonb_array_elements(s.groups) as g(value)
      where o.id = p_tool and (s.analyzer <> p_analyzer
        or exists (select from jsonb_array_elements_text(g.value->'plain') as p(phrase)
                   where strpos(p_query, p.phrase) > 0))));
end $$;

-- What the ranking has to know of a Tool's Table: {total: the chunks whose terms are counted, chunks: {term of p_terms: in
-- how many of them it is}, sample: the doc ids of p_sample chunks, the same for every question}. Null for a Tool that this
-- endpoint does not reach.
create function public.table_term_frequencies(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_terms text[], p_sample integer
) returns jsonb language plpgsql stable set jit = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  fixed constant jsonb := fixed_filter(p_mcp, p_tool);
  counts jsonb;
begin
  if asked is null then return null; end if;
  with words as materialized (
    select r.id, r.written, r.chunks from table_reading r
    where r.table_id = asked and r.fingerprint = p_fingerprint and r.reading = '' and r.written = any (p_terms || ''::text)
  )
  select coalesce(jsonb_object_agg(w.written, w.chunks), '{}') into counts from (
    select w.written, w.chunks from words w where fixed = '{}'
    union all
    select w.written, n.chunks from words w cross join lateral (
      select count(*) as chunks from chunks c
      where c.table_id = asked and c.fingerprint = p_fingerprint and c.attributes @> fixed and c.readings @> array[w.id]) n
    where fixed <> '{}' and n.chunks > 0) w;
  return jsonb_build_object('total', coalesce(counts->'', '0'), 'chunks', counts - '', 'sample', (
    -- Hashes order pointers at random.
    select coalesce(jsonb_agg(s.turbopuffer_doc_id), '[]') from (
      select c.turbopuffer_doc_id from chunks c
      where c.table_id = asked and c.fingerprint = p_fingerprint and c.indexed_at is not null
        and (fixed = '{}' or c.attributes @> fixed)
      order by c.pointer_hash, c.content_hash, c.chunk_index limit p_sample) s));
end $$;

-- Of the found rows (doc ids, best first) the first p_limit that are current, in the Tool's scope, and reachable through
-- this endpoint, if asked for with the attributes by which they are filtered.
create function public.current_chunks(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_doc_ids text[], p_limit integer,
  p_with_attributes boolean default false
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', x.id, 'table_id', x.table_id, 'json_pointer', x.json_pointer, 'content_hash', x.content_hash,
    'chunk_index', x.chunk_index, 'total_chunks', x.total_chunks, 'chunk_text', x.chunk_text,
    'char_start', x.char_start, 'char_end', x.char_end, 'turbopuffer_namespace', x.turbopuffer_namespace,
    'turbopuffer_doc_id', x.turbopuffer_doc_id)
    || case when p_with_attributes then jsonb_build_object('attributes', x.attributes) else '{}' end), '[]')
  from (
    select c.* from bound_tools(p_mcp) o
    join chunks c on c.table_id = o.table_id and c.fingerprint = p_fingerprint
    join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
      and n.content_hash = c.content_hash
    where o.id = p_tool and c.turbopuffer_doc_id = any (p_doc_ids)
      and is_within(c.json_pointer, o.json_path) and coalesce(c.attributes, '{}') @> (select fixed_filter(p_mcp, p_tool))
    order by array_position(p_doc_ids, c.turbopuffer_doc_id) limit p_limit) x
$$;

-- The objects at these places (hashes of pointers) that are in the Tool's scope: [{json_pointer, fields, attributes}].
create function public.objects_in_scope(p_mcp uuid, p_tool uuid, p_pointer_hashes text[]) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'json_pointer', x.json_pointer, 'fields', x.fields::text, 'attributes', x.attributes)), '[]')
  from bound_tools(p_mcp) o
  join table_object x on x.table_id = o.table_id and x.pointer_hash = any (p_pointer_hashes)
  where o.id = p_tool and is_within(x.json_pointer, o.json_path)
    and coalesce(x.attributes, '{}') @> (select fixed_filter(p_mcp, p_tool))
$$;

-- The values of filters among the entries that a Tool has at an endpoint: {field: {values: the 51 most frequent, min, max}}.
create function public.entry_values(p_mcp uuid, p_tool uuid) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(f.field, jsonb_build_object(
    'values', to_jsonb(f.frequent[:51]), 'min', f.ascending[1], 'max', f.ascending[cardinality(f.ascending)])), '{}')
  from (
    select v.field, array_agg(v.value order by v.entries desc, v.value) as frequent,
      array_agg(v.value order by v.value) as ascending
    from (
      select e.key as field, a.value, count(*) as entries
      from bound_tools(p_mcp) o
      join table_object x on x.table_id = o.table_id and x.attributes is not null
      cross join lateral jsonb_each(x.attributes) e cross join lateral jsonb_array_elements(e.value) a
      where o.id = p_tool and is_within(x.json_pointer, o.json_path)
        and x.attributes @> (select fixed_filter(p_mcp, p_tool))
      group by 1, 2) v
    group by v.field) f
$$;
