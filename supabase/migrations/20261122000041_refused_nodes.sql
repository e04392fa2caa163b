-- A text that the embedding service refuses leaves its node without chunks, and says why; its neighbours go on.

alter table public.node add column refused_reason text;

-- What is wanted anew has not been refused yet.
create function public.forget_refusal() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  new.refused_reason := null;
  return new;
end $$;
create trigger forget_refusal before update of wanted_hash on public.node
  for each row execute function public.forget_refusal();

-- p_refused: [{id, reason}], by chunks. The node of each is finished with nothing to show: older text does not answer
-- for it, and the same text is not asked about again.
create function public.refuse_nodes(p_table uuid, p_fingerprint text, p_refused jsonb) returns void
language plpgsql set search_path = public, extensions as $$
declare
  pointers text[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then return; end if;
  perform lock_words(p_table, p_fingerprint);
  with said as (
    select distinct on (c.pointer_hash) c.pointer_hash, c.content_hash, r->>'reason' as reason
    from jsonb_array_elements(p_refused) r join chunks c on c.id = (r->>'id')::uuid
    where c.table_id = p_table and c.fingerprint = p_fingerprint
    order by c.pointer_hash, c.chunk_index
  ), refused as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation, wanted_chunks = 0,
      unswept = false, refused_reason = s.reason
    from said s
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s.pointer_hash
      and n.wanted_hash = s.content_hash
    returning n.pointer_hash
  )
  select array_agg(r.pointer_hash) into pointers from refused r;
  delete from chunks c
  where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = any (pointers);
end $$;

-- As before; refused nodes are among the skipped, and a Table whose older rows are not swept is not done.
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
    done := not exists (select from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint)
      and not has_rows_to_sweep(p_table, p_fingerprint);
  end if;
  perform merge_status(o.id, counts || jsonb_build_object('heartbeat_at', now(), 'generation', t.generation,
      'skipped_nodes', (select coalesce(jsonb_agg(s), '[]') from (
                          select s from jsonb_array_elements(t.skipped_nodes) s
                          union all
                          select jsonb_build_object('json_pointer', n.json_pointer, 'reason', n.refused_reason)
                          from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                            and n.refused_reason is not null) x(s)
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
    and (done or coalesce(moment_of(o.metadata->'search_index'->>'heartbeat_at'), '-infinity')
                 < now() - interval '2 seconds'
         or o.metadata->'search_index'->'indexed_chunks_count' is null);
  return done;
end $$;

create index node_refused on public.node (table_id, fingerprint) where refused_reason is not null;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
