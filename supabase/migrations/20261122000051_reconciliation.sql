-- What the records claim is held against what the stores hold: where each such walk stands, and what it compares.

-- ---------------------------------------------------------------- where a walk stands

-- `busy_until`: somebody is at it. `under_way`: it has not come to its end.
create table public.reconciliation (
  walk text primary key,
  after text,
  under_way boolean not null default false,
  busy_until timestamptz,
  begun_at timestamptz,
  ended_at timestamptz
);
alter table public.reconciliation enable row level security;
revoke all on public.reconciliation from anon, authenticated;

-- {after}, or null while somebody else is at it, and when none is under way unless p_begin.
create function public.take_walk(p_walk text, p_seconds integer, p_begin boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  taken jsonb;
begin
  if p_begin then
    insert into reconciliation (walk) values (p_walk) on conflict do nothing;
  end if;
  update reconciliation r set
    busy_until = now() + make_interval(secs => p_seconds),
    begun_at = case when r.under_way then r.begun_at else now() end,
    after = case when r.under_way then r.after end,
    under_way = true
  where r.walk = p_walk and coalesce(r.busy_until, '-infinity') < now() and (r.under_way or p_begin)
  returning jsonb_build_object('after', r.after) into taken;
  return taken;
end $$;

-- How far it came; whoever has it goes on.
create function public.keep_walk(p_walk text, p_after text) returns void
language sql set search_path = public, extensions as $$
  update reconciliation r set after = p_after where r.walk = p_walk
$$;

-- p_after null: it came to the end.
create function public.leave_walk(p_walk text, p_after text) returns void
language sql set search_path = public, extensions as $$
  update reconciliation r set after = p_after, busy_until = null, under_way = p_after is not null,
    ended_at = case when p_after is null then now() else r.ended_at end
  where r.walk = p_walk
$$;

-- ---------------------------------------------------------------- the bucket's keys

create index material_key on public.material (key collate "C");
create index waiting_source_key on public.waiting_source (key collate "C");

-- What is known of the keys after p_after, in the order of their bytes, as the bucket lists them. `young`: it changed
-- in the last p_settling seconds.
create function public.recorded_objects(
  p_after text, p_limit integer, p_analyzer text, p_settling double precision
) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'kind', x.kind, 'version_id', x.version_id,
    'gone', x.gone, 'free', x.free, 'young', x.at > now() - make_interval(secs => p_settling)) order by x.key collate "C"), '[]')
  from (
    select y.* from (
    (select m.key, 'owner' as kind, m.version_id, m.status = 'deleted' as gone, false as free,
            m.updated_at as at
     from material m
     where m.key > p_after collate "C" order by m.key collate "C" limit p_limit)
    union all
    (select w.key, 'waiting', w.version_id, w.deleted, m.status = 'deleted', w.since
     from waiting_source w join material m using (material)
     where w.key > p_after collate "C" order by w.key collate "C" limit p_limit)
    union all
    (select f.key, 'file', f.version_id, f.version_id is null,
            exists (select from site_synonyms s where s.key = f.key and s.analyzer <> p_analyzer), f.at
     from followed_file f where f.key > p_after collate "C" order by f.key collate "C" limit p_limit)
    ) y order by y.key collate "C" limit p_limit) x
$$;

-- How many keys of pages are known that were not deleted.
create function public.recorded_pages() returns bigint
language sql stable set search_path = public, extensions as $$
  select (select count(*) from material m where m.status <> 'deleted')
       + (select count(*) from waiting_source w where not w.deleted)
$$;

-- The rows of work about these materials and keys: [{subject, state, sent_at, key, version_id, looks}]. `looks`: it
-- knows no version, and takes what the bucket holds.
create function public.work_on_pages(p_subjects text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('subject', w.subject, 'state', w.state, 'sent_at', w.sent_at,
    'key', w.source->>'key', 'version_id', w.source->>'version_id',
    'looks', coalesce(w.source->>'sequencer' = '', false)) order by w.subject, w.id), '[]')
  from work w where w.queue = 'material' and w.subject = any (p_subjects)
$$;

-- ---------------------------------------------------------------- pages within the database

-- Of p_limit materials after p_after those whose chunks, words and postings do not fit each other:
-- {broken: [{material, why}], next}.
create function public.broken_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
  with page as materialized (
    select m.* from material m where m.material > p_after order by m.material limit p_limit
  ), judged as (
    select p.material, case
      when p.status = 'deleted' and c.n > 0 then 'chunks of a deleted page'
      when p.chunks_count <> c.n then 'a wrong number of chunks'
      when exists (select from knowledge_chunks k where k.material = p.material
                   and not exists (select from chunk_words w where w.id = k.id))
        or exists (select from chunk_words w where w.material = p.material
                   and not exists (select from knowledge_chunks k where k.id = w.id)) then 'chunks without words'
      when exists (
        select from chunk_words w cross join lateral unnest(w.terms) as t(term)
        where w.material = p.material and not exists (
          select from posting o
          where o.term = t.term and o.block = block_of(p.number) and w.number = any (o.chunks)))
        then 'words without postings' end as why
    from page p cross join lateral (select count(*) as n from knowledge_chunks k where k.material = p.material) c
  )
  select jsonb_build_object(
    'broken', (select coalesce(jsonb_agg(jsonb_build_object('material', j.material, 'why', j.why) order by j.material), '[]')
               from judged j where j.why is not null),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- Of p_limit materials after p_after those whose learns wait for a language model, and that nobody works on:
-- {materials, next}.
create function public.provisional_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with page as materialized (
    select m.material from material m where m.material > p_after order by m.material limit p_limit
  )
  select jsonb_build_object(
    'materials', (select coalesce(jsonb_agg(p.material order by p.material), '[]') from page p
      where exists (select from knowledge_chunks k where k.material = p.material and k.learns_source = 'provisional')
        and not exists (select from work w where w.queue = 'material' and w.subject = p.material)),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- The postings of a material are written again from its words, and a deleted page keeps no chunk. What else is wrong
-- is put right by applying the page again.
create function public.mend_material(p_material text) returns void
language plpgsql set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  r material;
  here integer;
  words jsonb;
begin
  select * into r from material m where m.material = p_material for update;
  here := block_of(r.number);
  -- Numbers that no words have: nothing else would take them out again.
  perform pg_advisory_xact_lock(hashtext('sakuin.posting'), here);
  update posting p set chunks = kept.chunks, impacts = kept.impacts
  from posting o cross join lateral (
    select coalesce(array_agg(u.chunk), '{}') as chunks, coalesce(array_agg(u.impact), '{}') as impacts
    from unnest(o.chunks, o.impacts) as u(chunk, impact)
    where exists (select from chunk_words w where w.number = u.chunk)) kept
  where o.block = here and p.term = o.term and p.block = o.block and cardinality(kept.chunks) < o.n;
  delete from posting p where p.block = here and p.n = 0;

  if r.status = 'deleted' then
    delete from knowledge_chunks k where k.material = p_material;
    update material m set chunks_count = 0 where m.material = p_material;
    perform replace_postings(p_material, '[]');
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'terms', w.terms, 'impacts', w.impacts)), '[]') into words
  from chunk_words w where w.material = p_material;
  perform replace_postings(p_material, '[]');
  perform replace_postings(p_material, words);
end $$;

-- Readings that no chunk has any more, of p_limit after p_after (reading and word, a tab between): {unused, next}.
create function public.sweep_readings(p_after text, p_limit integer, p_dry_run boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  page reading[];
  unused reading[];
begin
  if not p_dry_run then
    -- Whoever brings words back inserts here last: he waits now, and then sees what is gone.
    lock table reading in share row exclusive mode;
  end if;
  select array_agg(x order by x.reading, x.written) into page from (
    select r.* from reading r
    where (r.reading, r.written) > (split_part(p_after, chr(9), 1) collate "C", split_part(p_after, chr(9), 2) collate "C")
    order by r.reading, r.written limit p_limit) x;
  select coalesce(array_agg(r), '{}') into unused from unnest(page) r where chunks_written(r) = 0;
  if not p_dry_run then
    delete from reading r using unnest(unused) u where r.reading = u.reading and r.written = u.written;
  end if;
  return jsonb_build_object('unused', cardinality(unused), 'next', case when cardinality(page) = p_limit
    then page[p_limit].reading || chr(9) || page[p_limit].written end);
end $$;

-- ---------------------------------------------------------------- Tables

alter table public.context_table add column checked_at timestamptz;
create index context_table_checked on public.context_table (checked_at nulls first, id);

-- p_limit Tables: by id after p_after, or without p_whole those that were checked least recently.
create function public.tables_in_turn(p_after uuid, p_whole boolean, p_limit integer) returns uuid[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(x.id order by x.place), '{}') from (
    (select t.id, row_number() over (order by t.id) as place from context_table t
     where p_whole and t.id > coalesce(p_after, '00000000-0000-0000-0000-000000000000') order by t.id limit p_limit)
    union all
    (select t.id, row_number() over (order by t.checked_at nulls first, t.id) from context_table t
     where not p_whole order by t.checked_at nulls first, t.id limit p_limit)) x
$$;

-- What is claimed of these Tables.
-- `settled`: nobody has anything to do for it. `unbuilt`: a tool says ready, and what it says is not there.
create function public.tables_claimed(p_fingerprint text, p_tables uuid[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  with picked as materialized (
    select t.id, t.project_id, t.generation, t.planned_generation, t.planned_fingerprint from context_table t
    where t.id = any (p_tables)
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id, 'stored', x.stored,
    'settled', x.settled, 'unbuilt', x.unbuilt or x.settled and x.untrue) order by t.id), '[]')
  from picked t cross join lateral (
    select
      (select count(*) from chunks c where c.table_id = t.id and c.fingerprint = p_fingerprint
         and c.turbopuffer_doc_id is not null and c.indexed_at is not null) as stored,
      t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint
        and not exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint
                        and (n.content_hash is distinct from n.wanted_hash or n.unswept))
        and not exists (select from unstored_chunks u where u.table_id = t.id and u.fingerprint = p_fingerprint)
        and not exists (select from removed_chunk r where r.table_id = t.id and r.fingerprint = p_fingerprint)
        as settled,
      (t.planned_generation <> t.generation or t.planned_fingerprint is distinct from p_fingerprint)
        and exists (select from tool o where o.table_id = t.id and o.enabled)
        and not exists (select from tool o where o.table_id = t.id and o.enabled
                        and o.metadata->'search_index'->>'state' is distinct from 'ready') as unbuilt,
      exists (
        select from tool o where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready'
          and number_of(o.metadata->'search_index'->>'chunks_count') is distinct from (
            select coalesce(sum(n.wanted_chunks), 0) from node n
            where n.table_id = t.id and n.fingerprint = p_fingerprint and within(n.json_pointer, o.json_path)))
        or exists (
        select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint and n.wanted_chunks <> (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash)) as untrue
  ) x
$$;

-- How many chunks of a Table are recorded as stored; null while its present generation is not walked to the end.
create function public.stored_rows(p_table uuid, p_fingerprint text) returns bigint
language sql stable set search_path = public, extensions as $$
  select (select count(*) from chunks c where c.table_id = t.id and c.fingerprint = p_fingerprint
            and c.turbopuffer_doc_id is not null and c.indexed_at is not null)
  from context_table t
  where t.id = p_table and t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint
$$;

create function public.tables_checked(p_tables uuid[]) returns void
language sql set search_path = public, extensions as $$
  update context_table set checked_at = now() where id = any (p_tables)
$$;

-- What was stored last does not fit: the next minute looks at this Table first.
create function public.doubt_table(p_table uuid) returns void
language sql set search_path = public, extensions as $$
  update context_table set checked_at = null where id = p_table
$$;

-- `recorded_rows` says the same and more.
drop function public.recorded_chunks(uuid, text);

-- Of p_limit chunks after p_after ([pointer's hash, content's hash, place], null at the beginning): {generation,
-- planned, stored: {doc id: id}, coming: [doc id], next}, null when the Table is gone. `coming` are recorded chunks that
-- are not stored, by the doc id that they will have (see sakuin.domain.search_index_names).
create function public.recorded_rows(p_table uuid, p_fingerprint text, p_after jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with page as materialized (
    select c.id, c.pointer_hash, c.content_hash, c.chunk_index,
           c.turbopuffer_doc_id is not null and c.indexed_at is not null as stored,
           coalesce(c.turbopuffer_doc_id, left(c.table_id::text, 8) || '_' || c.pointer_hash || '_'
                    || left(c.content_hash, 16) || '_' || c.chunk_index) as doc_id
    from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint
      and (c.pointer_hash, c.content_hash, c.chunk_index)
        > (coalesce(p_after->>0, ''), coalesce(p_after->>1, ''), coalesce((p_after->>2)::integer, -1))
    order by c.pointer_hash, c.content_hash, c.chunk_index limit p_limit
  )
  select jsonb_build_object(
    'generation', t.generation,
    'planned', t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint,
    'stored', (select coalesce(jsonb_object_agg(x.doc_id, x.id) filter (where x.stored), '{}') from page x),
    'coming', (select coalesce(jsonb_agg(x.doc_id) filter (where not x.stored), '[]') from page x),
    'next', (select jsonb_build_array(x.pointer_hash, x.content_hash, x.chunk_index) from page x
             order by x.pointer_hash, x.content_hash, x.chunk_index offset p_limit - 1))
  from context_table t where t.id = p_table
$$;

-- The store has rows of a later generation: the records are from a backup. They count on from there.
create function public.catch_up_table(p_table uuid, p_generation bigint) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation < p_generation for update;
  if not found then return; end if;
  update context_table set generation = p_generation where id = p_table;
  perform table_changed(p_table, 'TableUpdated', null);
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
