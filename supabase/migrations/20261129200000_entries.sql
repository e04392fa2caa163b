-- Entries of Tables, and filters by their fields: what this adds to version 1.0.0.

-- All locks at once, and each within 200 ms: a search that waits for one of them, and has another that this waits for,
-- would be ended as a deadlock after a second.
do $$
begin
  for attempt in 1..100 loop
    begin
      perform set_config('lock_timeout', '200ms', true);
      lock table public.context_table, public.mcp_binding, public.chunks, public.table_object, public.tool
        in access exclusive mode;
      perform set_config('lock_timeout', '0', true);
      return;
    exception when lock_not_available then
      perform pg_sleep(.1 * random());
    end;
  end loop;
  raise lock_not_available using message = 'Searches keep the tables locked. Apply this migration again';
end $$;

alter table public.context_table add column entries jsonb check (entries ? 'pattern');
alter table public.mcp_binding add column filter jsonb;
alter table public.chunks add column attributes jsonb;
create index chunks_attributes on public.chunks using gin (attributes jsonb_path_ops) where attributes is not null;
alter table public.table_object add column attributes jsonb;

-- ---------------------------------------------------------------- functions

drop function public.table_changed(uuid, text, uuid);
drop function public.create_table(uuid, text, text, bigint);
drop function public.change_table(uuid, text, bigint);
drop function public.bind_tool(uuid, uuid, text);
drop function public.begin_scan(uuid, text, bigint, integer, boolean);
drop function public.changed_nodes(uuid, text, text[], text[], text[], integer);
drop function public.chunks_to_store(uuid, text, text, uuid[]);
drop function public.current_chunks(uuid, uuid, text, text[], integer);

-- Starts a new generation, in which all that is indexed of a Table is checked again. Does nothing for a deleted Table.
-- p_state: of its Tools that were ready. Runs as postgres: nobody else writes events.
create function public.table_changed(p_table uuid, p_event text, p_tool uuid, p_state text default 'pending') returns void
language plpgsql security definer as $$
declare
  t context_table;
begin
  update context_table c set generation = c.generation + 1, updated_at = now() where c.id = p_table returning * into t;
  if t.id is null then return; end if;
  perform merge_status(o.id, jsonb_build_object(
    'state', case when o.metadata->'search_index'->>'state' in ('ready', 'updating') then p_state else 'pending' end,
    'generation', t.generation, 'configured_at', now(), 'attempt', 0,
    'waiting_since', now(), 'waiting_reason', jsonb_build_object('code', 'work.scan', 'values', '{}'::jsonb)))
  from tool o where o.table_id = p_table and o.enabled;
  insert into outbox (event, project_id, table_id, tool_id) values (p_event, t.project_id, t.id, p_tool);
end $$;

-- The next three triggers start the indexing of a change, whether a function of the API makes it or a platform that
-- writes the rows itself. A new Table has no Tools, so there is nothing to index.
create or replace function public.start_table_indexing() returns trigger language plpgsql security definer as $$
begin
  -- A platform may write the generation that it read before.
  update context_table set generation = old.generation where id = new.id and generation < old.generation;
  -- Other filters of the same entries: texts and vectors stay, and answer meanwhile.
  perform table_changed(new.id, 'TableUpdated', null, case
    when new.version = old.version and new.chunk_threshold_chars = old.chunk_threshold_chars
      and new.entries - 'filter' = old.entries - 'filter' then 'updating' else 'pending' end);
  return null;
end $$;

-- Says that a Tool has indexed a generation of its Table, or cannot.
create or replace function public.announce_tool() returns trigger language plpgsql security definer as $$
declare
  status constant jsonb := new.metadata->'search_index';
begin
  insert into outbox (event, project_id, table_id, tool_id, generation)
  values (case status->>'state' when 'error' then 'ToolFailed' else 'ToolReady' end, new.project_id, new.table_id, new.id,
          bigint_or_null(status->>'generation'));
  return null;
end $$;

-- p_data null: the document comes through an upload.
create function public.create_table(
  p_project uuid, p_name text, p_data text, p_chunk_threshold bigint default null, p_entries jsonb default null
) returns jsonb language sql as $$
  select check_project(p_project, 'editor');
  select lock_quotas(p_project);
  select check_quota(count(*), 1, 'tables') from context_table t where t.project_id = p_project;
  select check_size(p_project, null, 'bytes', coalesce(octet_length(p_data), 0));
  insert into context_table as t (project_id, name, data, bytes, version, chunk_threshold_chars, entries)
  values (p_project, checked('record.name', p_name), checked('record.document', p_data)::json, coalesce(octet_length(p_data), 0),
          (p_data is not null)::integer,
          coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, 200), nullif(p_entries, '{}'))
  returning table_view(t)
$$;

-- Null leaves a field as it is; p_entries '{}': none any more. Another threshold, other entries have the Table scanned
-- again.
create function public.change_table(
  p_table uuid, p_name text, p_chunk_threshold bigint, p_entries jsonb default null
) returns jsonb language sql as $$
  select table_for(p_table, true);
  update context_table c set name = coalesce(checked('record.name', p_name), c.name),
    chunk_threshold_chars = coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, c.chunk_threshold_chars),
    entries = nullif(coalesce(p_entries, c.entries), '{}')
  where c.id = p_table returning table_view(c)
$$;

-- p_filter null leaves the fixed filter as it is; '{}' removes it.
create function public.bind_tool(p_mcp uuid, p_tool uuid, p_status text, p_filter jsonb default null) returns jsonb
language plpgsql as $$
declare
  m mcp := mcp_for(p_mcp, true);
  o tool := tool_for(p_tool, false);
begin
  -- For this endpoint, Tools of other projects do not exist.
  perform require(o.project_id = m.project_id, 'P0002', 'record.no_tool', jsonb_build_object('id', p_tool));
  perform require(not exists (select from mcp_binding b join tool x on x.id = b.tool_id
                              where b.mcp_id = p_mcp and x.name = o.name and x.id <> p_tool),
                  '23505', 'record.endpoint_has_name', jsonb_build_object('name', o.name));
  perform check_quota((select count(*) from mcp_binding b where b.mcp_id = p_mcp and b.tool_id <> p_tool), 1,
                      'endpoint_tools');
  insert into mcp_binding as b (mcp_id, tool_id, status, filter) values (p_mcp, p_tool, p_status, nullif(p_filter, '{}'))
  on conflict (mcp_id, tool_id) do update set status = excluded.status,
    filter = nullif(coalesce(p_filter, b.filter), '{}');
  return mcp_view(m);
end $$;

-- Whether to scan a page. An explicit request (not p_for_event) restarts the scan. An event restarts a scan that is
-- incomplete after 15 minutes: its messages may be lost.
create or replace function public.should_scan(t public.context_table, p_fingerprint text, p_skip integer, p_for_event boolean)
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
create or replace function public.plan_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb)
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

-- Stores objects: [{pointer_hash, json_pointer, fields (JSON text), fields_hash, attributes}]. Idempotent; does nothing if a newer
-- generation exists.
create or replace function public.store_objects(p_table uuid, p_generation bigint, p_objects jsonb) returns void
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
create or replace function public.record_scan_failure(p_table uuid, p_fingerprint text, p_generation bigint, p_error jsonb)
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

-- Updates the status of a Table's Tools, under the Table's lock, and returns whether the Table is complete. During
-- indexing, chunks are counted every two seconds and not with each batch: counting takes as long as there are nodes.
-- `minutes_left`: by the speed since the scan began; null if that is not known yet.
create or replace function public.update_tool_status(p_table uuid, p_fingerprint text) returns boolean language plpgsql as $$
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

-- What an endpoint's fixed filter of a Tool demands of attributes; {} demands nothing. What does not pass does not exist
-- for the endpoint: not in results, counts, words and values.
create function public.fixed_filter(p_mcp uuid, p_tool uuid) returns jsonb language sql stable as $$
  select coalesce((select b.filter from mcp_binding b where b.mcp_id = p_mcp and b.tool_id = p_tool), '{}')
$$;

-- An endpoint with its Tools, their entries and fixed filters; null if it is deleted or disabled.
create or replace function public.endpoint(p_mcp uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id,
    'tools', (select coalesce(jsonb_agg(tool_view(o) || jsonb_build_object(
                'entries', t.entries, 'fixed', fixed_filter(m.id, o.id)) order by o.name), '[]')
              from bound_tools(m.id) o join context_table t on t.id = o.table_id))
  from mcp m where m.id = p_mcp and m.status = 'enabled'
$$;

-- The words of the chunks that pass a fixed filter; null for {}: all words of the Table.
create function public.passing_words(p_table uuid, p_fingerprint text, p_filter jsonb) returns bigint[]
language sql stable as $$
  select array_agg(distinct w.word) from chunks c cross join lateral unnest(c.readings) w(word)
  where c.table_id = p_table and c.fingerprint = p_fingerprint and c.attributes @> p_filter and p_filter <> '{}'
  having p_filter <> '{}'
$$;

-- The same as `similar_words` for the words of a Table, those of p_passing alone unless it is null.
create function public.similar_table_words(p_table uuid, p_fingerprint text, p_reading text, p_passing bigint[]) returns jsonb
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
    from (select n.written, n.chunks, a.typos, typo_distance(n.sound, a.sound) as distance from around n, asked a
          where p_passing is null or n.id = any (p_passing)) r
    where r.distance <= r.typos group by r.written
  )
  select to_jsonb((array_agg(f.written order by f.distance, f.n desc, f.written))[:5]) from found f
$$;

-- What is known of a question's words in a Tool's Table, in the form of lexicon_entries; the synonyms are the groups of the
-- project with a phrase in p_query, all of them if another analyzer stored them. Empty for a Tool that this endpoint does
-- not reach.
create or replace function public.table_lexicon_entries(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_readings text[], p_words jsonb, p_query text, p_analyzer text
) returns jsonb language plpgsql stable set jit = off set enable_seqscan = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  fixed constant jsonb := fixed_filter(p_mcp, p_tool);
  passing constant bigint[] := case when fixed <> '{}' then coalesce(passing_words(asked, p_fingerprint, fixed), '{}') end;
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where exists (
      select from table_reading t
      where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = coalesce(nullif(e.value, ''), e.key)
        and t.written = e.key and (passing is null or t.id = any (passing))));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select t.reading, array_agg(t.written order by t.chunks desc, t.written) as forms from table_reading t
        where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = any (p_readings)
          and (passing is null or t.id = any (passing))
        group by t.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_table_words(asked, p_fingerprint, u.reading, passing) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and not exists (
            select from table_reading t
            where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = e.value
              and (passing is null or t.id = any (passing)))
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
create or replace function public.table_term_frequencies(
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
    select w.written, count(*) from chunks c join words w on w.id = any (c.readings)
    where c.table_id = asked and c.fingerprint = p_fingerprint and c.attributes @> fixed and fixed <> '{}'
    group by w.written) w;
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
create or replace function public.objects_in_scope(p_mcp uuid, p_tool uuid, p_pointer_hashes text[]) returns jsonb
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

-- Makes Tools show the status of the live version, for p_seconds; returns the number of Tables. `maintain` does the
-- rest. Tables that this version lacks are scanned again.
create or replace function public.refresh_tool_status(p_seconds integer) returns integer language plpgsql as $$
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

-- What a worker knows of a page before it changes it: {page, null if there is none, index_versions, language: of its
-- explanations}. `words`: the rows of the words of its explanations that the page's index version wrote: {anchor: [number,
-- content_hash, text_hash]}. Version 1.0.0 reads no more members of the page, and no longer rows, than it knows.
create or replace function public.page_record(p_material text) returns jsonb language plpgsql stable as $$
begin
  return jsonb_build_object('index_versions', index_versions(), 'language', (
    select k.language from knowledge_chunks k where k.material = p_material limit 1), 'page', (
    select jsonb_build_object(
      'generation', m.generation, 'status', m.status, 'key', m.key, 'indexed_version_id', m.indexed_version_id,
      'fingerprint', m.fingerprint, 'page_hash', m.page_hash, 'words', (
        select coalesce(jsonb_object_agg(k.anchor, jsonb_build_array(w.number, k.content_hash, k.text_hashes[1])), '{}')
        from knowledge_chunks k join chunk_words w on w.id = k.id and w.is_current
        where k.material = m.material and k.fingerprint = m.fingerprint))
    from material m where m.material = p_material));
end $$;

-- Sets what each table and function needs, whatever they had. Each migration ends with it: a function that is created
-- again has lost its settings.
create or replace function public.set_rights() returns void language plpgsql as $$
declare
  t regclass;
  f regprocedure;
  name regproc;
begin
  -- A table that has it is not locked.
  for t in
    select c.oid from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relrowsecurity
  loop
    execute format('alter table %s enable row level security', t);
  end loop;
  -- All functions find the same tables, whoever calls them. A table in a caller's pg_temp is found last.
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosqlbody is null loop
    execute format('alter function %s set search_path = public, extensions, pg_temp', f);
  end loop;
  execute format('revoke temporary on database %I from public', current_database());
  revoke all on all tables in schema public from public, anon, authenticated, service_role;
  revoke all on all sequences in schema public from public, anon, authenticated, service_role;
  revoke all on all functions in schema public from public, anon, authenticated, service_role;

  -- Functions run with the rights of their caller, so the caller needs the tables that they use. Sequences need no
  -- grant: all of them belong to identity columns.
  grant select, insert, update, delete on all tables in schema public to service_role;
  grant execute on all functions in schema public to service_role;

  grant select on public.project, public.key_use, public.quota to sakuin_member;
  grant select, insert, update (role), delete on public.project_member to sakuin_member;
  grant select, insert, update, delete on public.context_table, public.tool, public.mcp, public.mcp_binding,
    public.project_synonyms to sakuin_member;
  grant execute on all functions in schema public to sakuin_member;

  -- The functions of the API. create_project runs with the rights of postgres (3_projects.sql). A role needs CREATE on
  -- the schema to become the owner of a function.
  grant create on schema public to sakuin_member;
  foreach name in array array[
    'list_projects', 'delete_project', 'add_member', 'list_members', 'remove_member',
    'read_synonyms', 'replace_synonyms',
    'create_table', 'read_table', 'read_document', 'list_tables', 'replace_table', 'change_table', 'delete_table', 'begin_upload',
    'check_node', 'create_tool', 'read_tool', 'list_tools', 'change_tool', 'reindex_tool', 'delete_tool',
    'create_mcp', 'read_mcp', 'list_mcps', 'bind_tool', 'unbind_tool', 'rotate_mcp', 'change_mcp', 'delete_mcp'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('alter function %s owner to sakuin_member', name::regprocedure);
  end loop;
  revoke create on schema public from sakuin_member;

  -- What a search needs. These functions run with the rights of postgres: sakuin_search reads no table.
  foreach name in array array[
    'search_candidates', 'stored_candidates', 'chunks_to_show', 'has_terms', 'read_chunks', 'list_concepts', 'list_materials', 'filter_values', 'lexicon_entries',
    'library_places', 'read_page', 'find_text',
    'endpoint', 'endpoint_of_key', 'endpoint_of_user', 'table_lexicon_entries', 'table_term_frequencies', 'current_chunks',
    'objects_in_scope', 'entry_values',
    'index_versions', 'has_second_factor', 'search_keys', 'record_key_use', 'consume_quota', 'record_refused_question',
    'record_feedback', 'add_tokens', 'add_daily_counts'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('grant execute on function %s to sakuin_search', name::regprocedure);
  end loop;
end $$;

drop trigger start_table_indexing on public.context_table;
create trigger start_table_indexing after update of data, data_key, version, chunk_threshold_chars, entries
  on public.context_table for each row
  when (new.version <> old.version or new.data_key is distinct from old.data_key
        or new.chunk_threshold_chars <> old.chunk_threshold_chars or new.data::text is distinct from old.data::text
        or new.entries is distinct from old.entries)
  execute function public.start_table_indexing();

drop trigger announce_tool on public.tool;
create trigger announce_tool after update of metadata on public.tool for each row
  when (new.metadata->'search_index'->>'state' in ('ready', 'empty', 'error')
        and new.metadata->'search_index'->'state' is distinct from old.metadata->'search_index'->'state')
  execute function public.announce_tool();

select public.set_rights();
