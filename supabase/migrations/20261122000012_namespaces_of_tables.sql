-- Which namespaces of the search engine are this deployment's own, for its key may be shared; and a reindex looks
-- whether the engine still has what the records say.

-- Written before the first chunk travels, and no part of its Table, which it outlives: whoever dies on the way, what
-- was written is found again. `gone_at`: since when nobody needs it; it is removed whenever it is found again.
create table public.table_namespace (
  namespace text primary key,
  table_id uuid not null,
  fingerprint text not null,
  gone_at timestamptz
);
create index table_namespace_table on public.table_namespace (table_id);
alter table public.table_namespace enable row level security;
revoke all on public.table_namespace from anon, authenticated;

-- What the chunks name; and what Tables were last indexed in, for all their chunks may have gone since.
insert into public.table_namespace (namespace, table_id, fingerprint)
select distinct c.turbopuffer_namespace, c.table_id, c.fingerprint
from public.chunks c where c.turbopuffer_namespace is not null
union
select 'project_' || t.project_id || '_table_' || t.id || case f.suffix when '' then '' else '_' || f.suffix end,
       t.id, f.fingerprint
from public.context_table t join public.table_fingerprint f on f.fingerprint = t.planned_fingerprint;

-- As before; the namespace that the chunks will be written to is remembered first.
drop function public.chunks_to_store(uuid, text, uuid[]);
create function public.chunks_to_store(p_table uuid, p_fingerprint text, p_namespace text, p_ids uuid[]) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  wanted jsonb;
begin
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'json_pointer', c.json_pointer, 'content_hash', c.content_hash, 'chunk_index', c.chunk_index,
    'chunk_text', c.chunk_text, 'generation', n.wanted_generation) order by c.pointer_hash, c.chunk_index), '[]')
  into wanted
  from chunks c
  join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
    and n.wanted_hash = c.content_hash
  where c.id = any (p_ids) and c.table_id = p_table and c.fingerprint = p_fingerprint
    and (c.turbopuffer_doc_id is null or c.indexed_at is null);
  -- Looked at first: every batch of a Table comes here, and one row that all of them lock would be a queue.
  if wanted <> '[]' and not exists (
    select from table_namespace n where n.namespace = p_namespace and n.gone_at is null) then
    insert into table_namespace (namespace, table_id, fingerprint) values (p_namespace, p_table, p_fingerprint)
    on conflict (namespace) do update set gone_at = null;
  end if;
  return wanted;
end $$;

-- The namespaces that nobody needs any more, of one Table or of all: their Table is gone, or it is whole for this
-- fingerprint and holds no records of theirs.
create function public.abandoned_namespaces(p_fingerprint text, p_table uuid) returns jsonb
language sql set search_path = public, extensions as $$
  with judged as materialized (
    select s.namespace, s.gone_at, t.id is null or s.fingerprint <> p_fingerprint
      and t.planned_fingerprint = p_fingerprint and t.planned_generation = t.generation
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = s.fingerprint)
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint
                      and n.content_hash is distinct from n.wanted_hash) as abandoned
    from table_namespace s left join context_table t on t.id = s.table_id
    where p_table is null or s.table_id = p_table
  ), noted as (
    update table_namespace s set gone_at = case when j.abandoned then now() end
    from judged j where j.namespace = s.namespace and j.abandoned = (s.gone_at is null)
  )
  select coalesce(jsonb_agg(j.namespace order by j.namespace), '[]') from judged j where j.abandoned
$$;

-- Only after so long that no worker which began before can still be at work: what it writes must be found again.
create function public.forget_namespaces(p_namespaces text[], p_seconds integer) returns void
language sql set search_path = public, extensions as $$
  delete from table_namespace s
  where s.namespace = any (p_namespaces) and s.gone_at < now() - make_interval(secs => p_seconds)
$$;

drop function public.existing_tables(uuid[]);

-- ---------------------------------------------------------------- what the store has lost

-- A reindex was asked for: what is recorded as stored has to be compared with the store.
alter table public.context_table add column check_store boolean not null default false;
create index chunks_unstored on public.chunks (table_id, fingerprint) where indexed_at is null;

create or replace function public.reindex_tool(p_tool uuid, p_user uuid) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  o tool := tool_for(p_tool, p_user);
begin
  perform table_changed(o.table_id, 'ToolUpdated', p_tool);
  update context_table set check_store = true where id = o.table_id;
  return tool_view((select x from tool x where x.id = p_tool));
end $$;

-- As before, with whether the store is to be compared.
create or replace function public.table_work(p_table uuid, p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'project_id', t.project_id, 'generation', t.generation, 'version', t.version, 'check_store', t.check_store,
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

-- Of all chunks that are recorded as stored, the id by doc id.
create function public.recorded_chunks(p_table uuid, p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_object_agg(c.turbopuffer_doc_id, c.id), '{}') from chunks c
  where c.table_id = p_table and c.fingerprint = p_fingerprint
    and c.turbopuffer_doc_id is not null and c.indexed_at is not null
$$;

-- These are to be stored again. They keep their doc ids: what the store finds of them answers all the while.
create function public.chunks_lost(p_table uuid, p_fingerprint text, p_ids uuid[]) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table for update;
  perform lock_words(p_table, p_fingerprint);
  -- By their key alone: a cached plan that looks at all of the Table's chunks compares each with each id.
  update chunks c set indexed_at = null where c.id = any (p_ids);
end $$;

-- A reindex that came meanwhile moved the generation, and is still to be compared.
create function public.store_compared(p_table uuid, p_generation bigint) returns void
language sql set search_path = public, extensions as $$
  update context_table set check_store = false where id = p_table and generation = p_generation
$$;

-- As before, and chunks that are to be stored again are missing too.
create or replace function public.want_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb)
returns jsonb language plpgsql set search_path = public, extensions as $$
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
      and c.content_hash = n->>'content_hash' and (c.turbopuffer_doc_id is null or c.indexed_at is null)
    offset 0) x;
  return missing;
end $$;

-- Chunks of wanted versions that are not stored.
create view public.unstored_chunks with (security_invoker = true) as
  select c.table_id, c.fingerprint, c.json_pointer from chunks c
  where c.indexed_at is null and c.content_hash = (
    select n.wanted_hash from node n where n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash);
revoke all on public.unstored_chunks from anon, authenticated;

-- As before; a Table whose nodes all answer is not done while chunks of theirs are to be stored again.
create or replace function public.settle_table(p_table uuid, p_fingerprint text) returns boolean
language plpgsql set search_path = public, extensions as $$
declare
  t context_table;
  answers boolean;
  done boolean;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return false; end if;
  answers := t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint and not exists (
    select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
      and n.content_hash is distinct from n.wanted_hash);
  done := answers;
  -- Asked only then: while a Table is indexed for the first time, most of its chunks are not stored.
  if answers then
    done := not exists (select from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint);
  end if;
  perform merge_status(o.id, counts || jsonb_build_object('heartbeat_at', now(), 'generation', t.generation,
      'skipped_nodes', (select coalesce(jsonb_agg(s), '[]') from jsonb_array_elements(t.skipped_nodes) s
                        where within(s->>'json_pointer', o.json_path)))
    || case when done then jsonb_build_object('state', 'ready', 'indexed_at', now(), 'last_error', null, 'attempt', 0)
            else '{}' end)
  from tool o
  cross join lateral (
    -- A node that answers with what is wanted is stored whole, but for what the store lost; only of the others are
    -- chunks looked at, one node at a time: as a join this is at the mercy of statistics that a growing table does
    -- not have yet.
    select jsonb_build_object('nodes_count', count(*), 'chunks_count', coalesce(sum(n.wanted_chunks), 0),
      'indexed_chunks_count', coalesce(sum(case when n.content_hash is not distinct from n.wanted_hash
        then n.wanted_chunks
        else (select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
              and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
        end), 0) - case when answers and not done then (
          select count(*) from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
            and within(c.json_pointer, o.json_path)) else 0 end) as counts
    from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and within(n.json_pointer, o.json_path)
  ) x
  where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' is distinct from 'ready'
    and (done or coalesce((o.metadata->'search_index'->>'heartbeat_at')::timestamptz, '-infinity')
                 < now() - interval '2 seconds'
         or o.metadata->'search_index'->'indexed_chunks_count' is null);
  return done;
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
