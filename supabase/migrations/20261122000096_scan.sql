-- A page of a Table's scan takes three or four calls: begin_scan, changed_nodes, plan_nodes, record_scan or finish_scan.

drop function public.walk_wanted(uuid, text, bigint, integer, boolean);
drop function public.table_work(uuid, text);
drop function public.walk_started(uuid, text, bigint);
drop function public.indexing_started(uuid, bigint);
drop function public.want_nodes(uuid, text, bigint, jsonb);
drop function public.unwant_nodes(uuid, text, bigint, text[], jsonb);
drop function public.chunks_removed(uuid, text, bigint);
drop function public.page_walked(uuid, text, bigint, integer);

-- Whether a page has to be scanned. p_for_event: an event asks; whoever asks for a scan by name gets it, from the start.
-- A quarter of an hour later an event begins again what is still not whole: by then messages of the scan may be lost.
create function public.should_scan(t public.context_table, p_fingerprint text, p_skip integer, p_for_event boolean)
returns boolean language plpgsql set search_path = public, extensions as $$
declare
  at timestamptz;
begin
  if p_skip = 0 and not p_for_event then
    update table_plan p set walked_generation = null where p.table_id = t.id and p.fingerprint = p_fingerprint;
    return true;
  end if;
  select p.walked_at into at from table_plan p
  where p.table_id = t.id and p.fingerprint = p_fingerprint and p.walked_generation = t.generation
    and p.walked_nodes > p_skip;
  if at is null or t.check_store then return true; end if;
  return at < now() - interval '15 minutes' and not (
    table_whole(t.id, p_fingerprint) and not has_rows_to_sweep(t.id, p_fingerprint)
    and not exists (select from tool o where o.table_id = t.id and o.enabled and tables_answer(p_fingerprint)
                    and o.metadata->'search_index'->>'state' is distinct from 'ready'));
end $$;

-- Begins, or continues after p_skip nodes, a scan of a Table as it is now: {decision, project_id, generation, check_store,
-- data, data_key, scopes}. `decision`: scan; gone; empty (no document has arrived); superseded (p_generation is not the
-- present one, or this page was scanned already). Tools hear only of the index that answers.
create function public.begin_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_skip integer, p_for_event boolean
) returns jsonb language plpgsql set search_path = public, extensions as $$
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
    if tables_answer(p_fingerprint) then
      perform merge_status(o.id, jsonb_build_object(
        'state', 'indexing', 'started_at', now(), 'heartbeat_at', now(), 'generation', t.generation,
        'attempt', coalesce(number_of(o.metadata->'search_index'->>'attempt'), 0) + 1))
      from tool o where o.table_id = p_table and o.enabled;
    end if;
    perform note_plan(p_table, p_fingerprint, null, null);
  end if;
  return jsonb_build_object(
    'decision', 'scan', 'project_id', t.project_id, 'generation', t.generation, 'check_store', t.check_store,
    -- As text: the client's JSON must not touch what the author wrote.
    'data', to_json(t.data::text), 'data_key', t.data_key,
    'scopes', (select coalesce(jsonb_agg(distinct o.json_path), '[]') from tool o where o.table_id = t.id and o.enabled));
end $$;

-- Of these nodes, by the hashes of their pointers and their texts, the places (from 1) of the first p_limit that do not
-- answer whole with this text.
create function public.changed_nodes(
  p_table uuid, p_fingerprint text, p_pointer_hashes text[], p_content_hashes text[], p_limit integer
) returns integer[] language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(x.place order by x.place), '{}') from (
    select g.place::integer as place
    from unnest(p_pointer_hashes, p_content_hashes) with ordinality as g(pointer_hash, content_hash, place)
    -- Node by node (offset 0 keeps it so): a growing table has no statistics to plan a join by.
    left join lateral (
      select true as whole from node n
      where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = g.pointer_hash
        and n.wanted_hash = g.content_hash and n.content_hash = n.wanted_hash and not n.unswept
        and n.wanted_chunks = (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash
            and c.turbopuffer_doc_id is not null and c.indexed_at is not null)
      offset 0) n on true
    where n.whole is null
    order by g.place limit p_limit) x
$$;

-- Plans these versions of nodes with their chunks; twice is once. Gives {missing: ids of the chunks that the store does
-- not have, published: nodes that answer already, whose older rows are still to be swept}; null if a newer generation has
-- come.
create function public.plan_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb)
returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  missing jsonb;
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
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
  order by n->>'pointer_hash'
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
  return jsonb_build_object('missing', missing, 'published', flip_nodes(p_table, p_fingerprint, array(
    select n->>'pointer_hash' from jsonb_array_elements(p_nodes) n)));
end $$;

-- Records that everything that the first p_nodes strings of this generation ask for has been sent, or is done.
create function public.record_scan(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes integer) returns void
language sql set search_path = public, extensions as $$
  update table_plan p set walked_generation = p_generation, walked_at = now(),
    walked_nodes = case when p.walked_generation = p_generation then greatest(p.walked_nodes, p_nodes) else p_nodes end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    and p_generation >= coalesce(p.walked_generation, p_generation)
$$;

-- Ends a scan of p_nodes strings: nodes that are not among p_kept (hashes of pointers) go. Gives the doc ids that have to
-- leave the store, by the generation up to which they are; null if a newer generation has come. Where none has to leave,
-- the scan is recorded and the Table is ready if nothing else is missing; else record_removed does that.
create function public.finish_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_skipped jsonb, p_nodes integer
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  removed jsonb;
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  with gone as (
    delete from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
      and not exists (select from unnest(p_kept) kept where kept = n.pointer_hash) returning n.pointer_hash
  ), rows as (
    delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.pointer_hash = any (array(select r.pointer_hash from gone r)) returning c.turbopuffer_doc_id
  )
  insert into removed_chunk (table_id, fingerprint, turbopuffer_doc_id, generation)
  select p_table, p_fingerprint, r.turbopuffer_doc_id, p_generation from rows r where r.turbopuffer_doc_id is not null
  on conflict (table_id, fingerprint, turbopuffer_doc_id) do update set generation = excluded.generation;
  insert into table_plan (table_id, fingerprint, generation, skipped_nodes)
  values (p_table, p_fingerprint, p_generation, p_skipped)
  on conflict (table_id, fingerprint) do update set
    generation = excluded.generation, skipped_nodes = excluded.skipped_nodes, error = null, failed_generation = null,
    heartbeat_at = now();
  if tables_answer(p_fingerprint) then
    update context_table set planned_generation = p_generation, planned_fingerprint = p_fingerprint,
      skipped_nodes = p_skipped
    where id = p_table;
  end if;
  select coalesce(jsonb_object_agg(x.generation, x.ids), '{}') into removed from (
    select r.generation, jsonb_agg(r.turbopuffer_doc_id) as ids from removed_chunk r
    where r.table_id = p_table and r.fingerprint = p_fingerprint group by r.generation) x;
  if removed = '{}' then
    perform settle_index(p_table, p_fingerprint);
    perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
  end if;
  return removed;
end $$;

-- What finish_scan gave for these generations has left the store; the scan is recorded.
create function public.record_removed(
  p_table uuid, p_fingerprint text, p_removed bigint[], p_generation bigint, p_nodes integer
) returns void language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table for update;
  delete from removed_chunk r
  where r.table_id = p_table and r.fingerprint = p_fingerprint and r.generation = any (p_removed);
  perform settle_index(p_table, p_fingerprint);
  perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
end $$;

-- Records why a Table cannot be indexed in this generation (null: the present one).
create or replace function public.walk_failed(p_table uuid, p_fingerprint text, p_generation bigint, p_error text) returns void
language plpgsql set search_path = public, extensions as $$
declare
  present bigint;
begin
  select t.generation into present from context_table t where t.id = p_table for update;
  if present is null or p_generation <> present then return; end if;
  perform note_plan(p_table, p_fingerprint, p_error, present);
  if tables_answer(p_fingerprint) then
    perform indexing_failed(p_table, present, p_error);
  end if;
end $$;

revoke execute on function public.should_scan(context_table, text, integer, boolean),
  public.begin_scan(uuid, text, bigint, integer, boolean), public.changed_nodes(uuid, text, text[], text[], integer),
  public.plan_nodes(uuid, text, bigint, jsonb), public.record_scan(uuid, text, bigint, integer),
  public.finish_scan(uuid, text, bigint, text[], jsonb, integer), public.record_removed(uuid, text, bigint[], bigint, integer)
  from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
