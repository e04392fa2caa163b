-- The index over Tables: which node versions are wanted, which are searchable, and their chunks.

-- A row a large string. `content_hash` is the version that answers (null: none yet), `wanted_hash` the one that
-- shall; they differ while its chunks are on their way.
create table public.node (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text not null,
  pointer_hash text not null,
  json_pointer text not null,
  content_hash text,
  generation bigint not null default 0,
  wanted_hash text not null,
  wanted_generation bigint not null,
  wanted_chunks integer not null,
  -- Rows of an older version may still be in the store.
  unswept boolean not null default false,
  primary key (table_id, fingerprint, pointer_hash)
);
create index node_unfinished on public.node (table_id, fingerprint) where content_hash is distinct from wanted_hash;

create table public.chunks (
  id uuid primary key default gen_random_uuid(),
  table_id uuid not null references public.context_table on delete cascade,
  pointer_hash text not null,
  json_pointer text not null,
  content_hash text not null,
  chunk_index integer not null,
  fingerprint text not null,
  total_chunks integer not null,
  chunk_text text not null,
  char_start integer not null,
  char_end integer not null,
  turbopuffer_namespace text,
  turbopuffer_doc_id text,
  indexed_at timestamptz,
  unique (table_id, fingerprint, pointer_hash, content_hash, chunk_index)
);

-- Rows that are to leave the store, up to a generation; remembered until it is done.
create table public.removed_chunk (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text not null,
  turbopuffer_doc_id text not null,
  generation bigint not null,
  primary key (table_id, fingerprint, turbopuffer_doc_id)
);

-- Learned things never cross projects: a text is embedded once a project.
create table public.chunk_vector (
  project_id uuid not null references public.project on delete cascade,
  fingerprint text not null,
  text_hash text not null,
  embedding extensions.vector(1536) not null,
  created_at timestamptz not null default now(),
  primary key (project_id, fingerprint, text_hash)
);

alter table public.node enable row level security;
alter table public.chunks enable row level security;
alter table public.chunk_vector enable row level security;
alter table public.removed_chunk enable row level security;
revoke all on public.node, public.chunks, public.chunk_vector, public.removed_chunk from anon, authenticated;

create function public.within(p_pointer text, p_scope text) returns boolean
language sql immutable set search_path = public, extensions as $$
  select p_scope = '' or p_pointer = p_scope or starts_with(p_pointer, p_scope || '/')
$$;

-- What a worker needs to index a Table; null when it is gone. `whole`: the nodes that answer with what is wanted,
-- stored whole and swept; a walk that finds them unchanged has nothing to do there.
create function public.table_work(p_table uuid, p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'project_id', t.project_id, 'generation', t.generation, 'version', t.version,
    'data', to_json(t.data::text), 'data_key', t.data_key,
    'scopes', (select coalesce(jsonb_agg(distinct o.json_path), '[]') from tool o where o.table_id = t.id and o.enabled),
    'whole', (select coalesce(jsonb_object_agg(n.pointer_hash, n.wanted_hash), '{}')
              from node n where n.table_id = t.id and n.fingerprint = p_fingerprint
                 and n.content_hash = n.wanted_hash and not n.unswept
                 and n.wanted_chunks = (
                   select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
                     and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash
                     and c.turbopuffer_doc_id is not null and c.indexed_at is not null)))
  from context_table t where t.id = p_table
$$;

create function public.merge_status(p_tool uuid, p_status jsonb) returns void
language sql set search_path = public, extensions as $$
  update tool set metadata = jsonb_set(metadata, '{search_index}', coalesce(metadata->'search_index', '{}') || p_status)
  where id = p_tool
$$;

-- A worker begins with a generation: false if a newer one has come.
create function public.indexing_started(p_table uuid, p_generation bigint) returns boolean
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return false; end if;
  perform merge_status(o.id, jsonb_build_object(
    'state', 'indexing', 'started_at', now(), 'heartbeat_at', now(), 'generation', p_generation,
    'attempt', coalesce((o.metadata->'search_index'->>'attempt')::integer, 0) + 1))
  from tool o where o.table_id = p_table and o.enabled;
  return true;
end $$;

-- p_nodes: [{pointer_hash, json_pointer, content_hash, chunks: [{chunk_index, chunk_text, char_start, char_end}]}].
-- Gives the ids of chunks that are not in the store yet, or null if a newer generation has come.
-- A node whose chunks are all stored already (it was so before, or shares them) flips at once.
create function public.want_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  missing jsonb;
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return null; end if;
  insert into chunks (table_id, pointer_hash, json_pointer, content_hash, chunk_index, fingerprint, total_chunks,
                      chunk_text, char_start, char_end)
  select p_table, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', (c->>'chunk_index')::integer,
         p_fingerprint, jsonb_array_length(n->'chunks'), c->>'chunk_text', (c->>'char_start')::integer,
         (c->>'char_end')::integer
  from jsonb_array_elements(p_nodes) n, jsonb_array_elements(n->'chunks') c
  on conflict do nothing;
  insert into node as old (table_id, fingerprint, pointer_hash, json_pointer, wanted_hash, wanted_generation, wanted_chunks)
  select p_table, p_fingerprint, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', p_generation,
         jsonb_array_length(n->'chunks')
  from jsonb_array_elements(p_nodes) n
  on conflict (table_id, fingerprint, pointer_hash) do update set
    wanted_hash = excluded.wanted_hash, wanted_generation = excluded.wanted_generation,
    wanted_chunks = excluded.wanted_chunks;
  -- Node by node (offset 0 keeps it so): a growing table has no statistics to plan a join by.
  select coalesce(jsonb_agg(x.id), '[]') into missing
  from jsonb_array_elements(p_nodes) n cross join lateral (
    select c.id from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = n->>'pointer_hash'
      and c.content_hash = n->>'content_hash' and c.turbopuffer_doc_id is null
    offset 0) x;
  return missing;
end $$;

-- The walk is over: nodes that no scope wants any more go. Gives what is still to leave the store for that, now or
-- since a walk that died, as doc ids by generation; or null if a newer generation has come.
create function public.unwant_nodes(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_skipped jsonb
) returns jsonb language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  with removed as (
    delete from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
      and not exists (select from unnest(p_kept) kept where kept = n.pointer_hash) returning n.pointer_hash
  ), rows as (
    delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.pointer_hash = any (array(select r.pointer_hash from removed r)) returning c.turbopuffer_doc_id
  )
  insert into removed_chunk (table_id, fingerprint, turbopuffer_doc_id, generation)
  select p_table, p_fingerprint, r.turbopuffer_doc_id, p_generation from rows r where r.turbopuffer_doc_id is not null
  on conflict (table_id, fingerprint, turbopuffer_doc_id) do update set generation = excluded.generation;
  update context_table set planned_generation = p_generation, planned_fingerprint = p_fingerprint,
    skipped_nodes = p_skipped
  where id = p_table;
  return (select coalesce(jsonb_object_agg(x.generation, x.ids), '{}') from (
            select r.generation, jsonb_agg(r.turbopuffer_doc_id) as ids from removed_chunk r
            where r.table_id = p_table and r.fingerprint = p_fingerprint group by r.generation) x);
end $$;

create function public.chunks_removed(p_table uuid, p_fingerprint text, p_generation bigint) returns void
language sql set search_path = public, extensions as $$
  delete from removed_chunk r
  where r.table_id = p_table and r.fingerprint = p_fingerprint and r.generation = p_generation
$$;

-- Chunks that still have to be embedded, of those asked for, with what is needed for it. Chunks that nobody wants
-- any more, and chunks of a Table that is gone, are left out.
create function public.chunks_to_store(p_table uuid, p_fingerprint text, p_ids uuid[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'json_pointer', c.json_pointer, 'content_hash', c.content_hash, 'chunk_index', c.chunk_index,
    'chunk_text', c.chunk_text, 'generation', n.wanted_generation) order by c.pointer_hash, c.chunk_index), '[]')
  from chunks c
  join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
    and n.wanted_hash = c.content_hash
  where c.id = any (p_ids) and c.table_id = p_table and c.fingerprint = p_fingerprint
    and (c.turbopuffer_doc_id is null or c.indexed_at is null)
$$;

create function public.known_vectors(p_project uuid, p_fingerprint text, p_text_hashes text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_object_agg(v.text_hash, v.embedding::text), '{}') from chunk_vector v
  where v.project_id = p_project and v.fingerprint = p_fingerprint and v.text_hash = any (p_text_hashes)
$$;

-- The store has acknowledged these: [{id, namespace, doc_id, generation}]. Gives {alive, unwanted: [doc_id],
-- flipped: [{pointer_hash, content_hash, generation}]}: whether the Table is still there, which rows came too late
-- and must go again, and which nodes now answer with a new version, whose older rows must go.
create function public.chunks_stored(p_table uuid, p_fingerprint text, p_stored jsonb) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  unwanted jsonb;
begin
  perform from context_table t where t.id = p_table for share;
  if not found then
    return jsonb_build_object('alive', false, 'unwanted', '[]'::jsonb, 'flipped', '[]'::jsonb);
  end if;
  update chunks c set turbopuffer_namespace = s->>'namespace', turbopuffer_doc_id = s->>'doc_id', indexed_at = now()
  from jsonb_array_elements(p_stored) s where c.id = (s->>'id')::uuid;
  select coalesce(jsonb_agg(s->>'doc_id'), '[]') into unwanted
  from jsonb_array_elements(p_stored) s
  where not exists (
    select from chunks c join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash
    where c.id = (s->>'id')::uuid and c.content_hash in (n.wanted_hash, n.content_hash));
  return jsonb_build_object('alive', true, 'unwanted', unwanted,
    'flipped', flip_nodes(p_table, p_fingerprint, array(
      select distinct c.pointer_hash from jsonb_array_elements(p_stored) s join chunks c on c.id = (s->>'id')::uuid)));
end $$;

-- Nodes whose wanted version is stored whole answer with it from now on; the chunks of other versions are forgotten
-- first, so that a version that comes back is stored anew, under its own generation. Gives those of the nodes whose
-- older rows are still to be swept from the store.
create function public.flip_nodes(p_table uuid, p_fingerprint text, p_pointer_hashes text[]) returns jsonb
language plpgsql set search_path = public, extensions as $$
begin
  -- In one order everywhere: two workers that finish one node together must not wait for each other.
  perform from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
    and n.pointer_hash = any (p_pointer_hashes) order by n.pointer_hash for update;
  with done as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation,
      -- Also a version that never came to answer may have left rows.
      unswept = n.unswept or (n.content_hash is not null and n.content_hash <> n.wanted_hash) or exists (
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
  return (select coalesce(jsonb_agg(jsonb_build_object(
            'pointer_hash', n.pointer_hash, 'content_hash', n.content_hash, 'generation', n.generation)), '[]')
          from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.unswept
            and n.pointer_hash = any (p_pointer_hashes) and n.content_hash = n.wanted_hash);
end $$;

create function public.nodes_swept(p_table uuid, p_fingerprint text, p_swept jsonb) returns void
language sql set search_path = public, extensions as $$
  update node n set unswept = false from jsonb_array_elements(p_swept) s
  where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s->>'pointer_hash'
    and n.generation = (s->>'generation')::bigint
$$;

-- Whether each tool of the Table is ready, from what the rows say, under the Table's lock: only for its present
-- generation, and only once that generation has been walked to the end. What is under way is counted every two
-- seconds, not with each batch: counting costs as much as there are nodes.
create function public.settle_table(p_table uuid, p_fingerprint text) returns boolean
language plpgsql set search_path = public, extensions as $$
declare
  t context_table;
  done boolean;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return false; end if;
  done := t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint and not exists (
    select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
      and n.content_hash is distinct from n.wanted_hash);
  perform merge_status(o.id, counts || jsonb_build_object('heartbeat_at', now(), 'generation', t.generation,
      'skipped_nodes', (select coalesce(jsonb_agg(s), '[]') from jsonb_array_elements(t.skipped_nodes) s
                        where within(s->>'json_pointer', o.json_path)))
    || case when done then jsonb_build_object('state', 'ready', 'indexed_at', now(), 'last_error', null, 'attempt', 0)
            else '{}' end)
  from tool o
  cross join lateral (
    -- A node that answers with what is wanted is stored whole; only of the others are chunks looked at, one node at
    -- a time: as a join this is at the mercy of statistics that a growing table does not have yet.
    select jsonb_build_object('nodes_count', count(*), 'chunks_count', coalesce(sum(n.wanted_chunks), 0),
      'indexed_chunks_count', coalesce(sum(case when n.content_hash is not distinct from n.wanted_hash
        then n.wanted_chunks
        else (select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
              and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
        end), 0)) as counts
    from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and within(n.json_pointer, o.json_path)
  ) x
  where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' is distinct from 'ready'
    and (done or coalesce((o.metadata->'search_index'->>'heartbeat_at')::timestamptz, '-infinity')
                 < now() - interval '2 seconds'
         or o.metadata->'search_index'->'indexed_chunks_count' is null);
  return done;
end $$;

create function public.indexing_failed(p_table uuid, p_generation bigint, p_error text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return; end if;
  perform merge_status(o.id, jsonb_build_object('state', 'error', 'last_error', p_error, 'heartbeat_at', now()))
  from tool o where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' is distinct from 'ready';
end $$;

-- ---------------------------------------------------------------- searching

-- An endpoint with its enabled tools, for authentication and `tools/list`; null when it is not there or disabled.
create function public.endpoint_of(p_mcp uuid) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id,
    'key_hashes', array_remove(array[m.api_key_hash,
                                     case when m.previous_key_until > now() then m.previous_key_hash end], null),
    'tools', (select coalesce(jsonb_agg(tool_view(o) order by o.name), '[]')
              from mcp_binding b join tool o on o.id = b.tool_id
              where b.mcp_id = m.id and b.status = 'enabled' and o.enabled and o.project_id = m.project_id))
  from mcp m where m.id = p_mcp and m.status = 'enabled'
$$;

-- The found rows that are current and within the tool's scope, asked for through an endpoint it is bound to.
create function public.current_chunks(p_mcp uuid, p_tool uuid, p_fingerprint text, p_doc_ids text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'table_id', c.table_id, 'json_pointer', c.json_pointer, 'chunk_index', c.chunk_index,
    'total_chunks', c.total_chunks, 'chunk_text', c.chunk_text, 'char_start', c.char_start, 'char_end', c.char_end,
    'content_hash', c.content_hash, 'turbopuffer_namespace', c.turbopuffer_namespace,
    'turbopuffer_doc_id', c.turbopuffer_doc_id)), '[]')
  from mcp m
  join mcp_binding b on b.mcp_id = m.id and b.status = 'enabled'
  join tool o on o.id = b.tool_id and o.enabled and o.project_id = m.project_id
  join chunks c on c.table_id = o.table_id and c.fingerprint = p_fingerprint
  join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
    and n.content_hash = c.content_hash
  where m.id = p_mcp and m.status = 'enabled' and o.id = p_tool and c.turbopuffer_doc_id = any (p_doc_ids)
    and within(c.json_pointer, o.json_path)
$$;
create index chunks_doc_id on public.chunks (turbopuffer_doc_id);

-- ---------------------------------------------------------------- maintaining

-- Tables whose work stopped: pending or indexing without a sign of life.
create function public.stuck_tables(p_seconds integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(distinct jsonb_build_object('project_id', o.project_id, 'table_id', o.table_id)), '[]')
  from tool o
  where o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
    and coalesce((o.metadata->'search_index'->>'heartbeat_at')::timestamptz,
                 (o.metadata->'search_index'->>'configured_at')::timestamptz) < now() - make_interval(secs => p_seconds)
$$;

create function public.existing_tables(p_tables uuid[]) returns uuid[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(t.id), '{}') from context_table t where t.id = any (p_tables)
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
