-- Which index answers is one row. It changes only to what is whole, unless it is forced; what answered before is kept,
-- and written to, until it is dropped.

-- Pages that were asked for to build an index, and when: they are not asked for again each minute.
create table public.material_asked (
  material text collate "C" primary key references public.material on delete cascade,
  asked_at timestamptz not null
);
alter table public.material_asked enable row level security;
revoke all on public.material_asked from anon, authenticated;

-- Pages that indexes of this recipe are not whole for, noted as asked for.
create function public.pages_to_build(p_recipe text, p_seconds integer, p_limit integer) returns text[]
language sql set search_path = public, extensions as $$
  with unbuilt as materialized (
    select distinct m.material
    from search_index s join index_fingerprint f on f.fingerprint = s.knowledge
    cross join lateral unnest(materials_built_otherwise(s.knowledge)) as m(material)
    left join material_asked a on a.material = m.material
    where f.recipe = p_recipe
      -- What was asked for before an index was there was asked for another.
      and coalesce(a.asked_at, '-infinity') < greatest(now() - make_interval(secs => p_seconds), s.created_at)
      and not exists (select from work w where w.subject = m.material and w.state <> 'dead')
    order by 1 limit p_limit
  ), noted as (
    insert into material_asked (material, asked_at) select u.material, now() from unbuilt u
    on conflict (material) do update set asked_at = now()
  )
  select coalesce(array_agg(u.material order by u.material), '{}') from unbuilt u
$$;

-- The Tables that an index answers less of than the one that is live does now: not walked, walked for an older
-- generation, or with a string that only the live one has as it is wanted. A Table that cannot be read, and of which
-- nothing answers, is none. Of the live index itself: those that are being worked at.
create function public.tables_behind(p_fingerprint text) returns table (table_id uuid, reason text)
language sql stable set search_path = public, extensions as $$
  select t.id, coalesce(p.error, 'is not built yet')
  from indexed_table t
  left join search_index l on l.live
  left join table_plan p on p.table_id = t.id and p.fingerprint = p_fingerprint
  left join table_plan now_live on now_live.table_id = t.id and now_live.fingerprint = l.tables
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

-- An index as its keepers read it; of what is missing the first ten.
create function public.index_state(s public.search_index) returns jsonb
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
  from (select materials_built_otherwise(s.knowledge) as missing) pages
  cross join (select coalesce(jsonb_agg(jsonb_build_object('table_id', b.table_id, 'reason', b.reason)
                                        order by b.table_id), '[]') as missing
              from tables_behind(s.tables) b) tables
$$;

create function public.index_states() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(index_state(s) order by s.created_at, s.fingerprint), '[]') from search_index s
$$;

-- What tools say of their Table becomes true of the index that answers, for some seconds' worth of Tables; says how
-- many there were. The rest is for `maintain`. A Table that this index lacks is walked again.
create function public.refresh_tools(p_seconds integer) returns integer
language plpgsql set search_path = public, extensions as $$
declare
  answers constant text := (select s.tables from search_index s where s.live);
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
    from (select t.id) one left join table_plan p on p.table_id = one.id and p.fingerprint = answers
    where c.id = one.id;
    update tool o set metadata = jsonb_set(o.metadata, '{search_index,state}', '"indexing"')
    where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready';
    if not settle_table(t.id, answers) then
      insert into outbox (event, project_id, table_id)
      select 'TableUpdated', c.project_id, c.id from context_table c
      where c.id = t.id and exists (select from tool o where o.table_id = c.id and o.enabled);
    end if;
    done := done + 1;
  end loop;
  return done;
end $$;

-- Lets an index answer, for pages and Tables at once.
create function public.flip_index(p_fingerprint text, p_force boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  s search_index;
  said jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.search_index'));
  select * into s from search_index i where i.fingerprint = p_fingerprint;
  if s.fingerprint is null then
    raise exception 'There is no index %', p_fingerprint using errcode = 'P0002';
  end if;
  said := index_state(s);
  if not s.live then
    if not p_force and (said->'pages'->'missing', said->'tables'->'missing') is distinct from ('0'::jsonb, '0'::jsonb) then
      raise exception 'The index % is not whole: % of % pages and % of % Tables are missing', s.fingerprint,
        said->'pages'->'missing', said->'pages'->'total', said->'tables'->'missing', said->'tables'->'total'
        using errcode = '23505';
    end if;
    update search_index set live = false, retired_at = now() where live;
    update search_index set live = true, live_since = now(), retired_at = null where fingerprint = s.fingerprint;
    perform refresh_tools(3);
  end if;
  return (select index_state(i) from search_index i where i.fingerprint = s.fingerprint);
end $$;

-- Nothing is written to it any more; `maintain` removes what it held. A search that began before a flip may ask it
-- for a moment longer.
create function public.drop_index(p_fingerprint text, p_seconds integer) returns void
language plpgsql set search_path = public, extensions as $$
declare
  s search_index;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.search_index'));
  select * into s from search_index i where i.fingerprint = p_fingerprint;
  if s.fingerprint is null then
    raise exception 'There is no index %', p_fingerprint using errcode = 'P0002';
  elsif s.live then
    raise exception 'The index % answers. Flip to another one first', p_fingerprint using errcode = '23505';
  elsif s.retired_at > now() - make_interval(secs => p_seconds) then
    raise exception 'The index % answered until just now. Try again in a minute', p_fingerprint using errcode = '23505';
  end if;
  delete from search_index where fingerprint = p_fingerprint;
end $$;

-- Vectors that no kept index compares, some at a time; says how many went.
create function public.sweep_vectors(p_limit integer) returns integer
language plpgsql set search_path = public, extensions as $$
declare
  unkept constant text[] := array(select v.space from vector_space v where not exists (
    select from search_index s join index_fingerprint f on f.fingerprint = s.knowledge where f.space = v.space));
  kept_of_tables constant text[] := array(select s.table_space from search_index s);
  gone integer;
  more integer;
begin
  if not exists (select from search_index s where s.live) then return 0; end if;
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

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
