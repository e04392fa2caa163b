-- How the words of a Table are read: for questions written in kana, and for slips of the keyboard. It is kept with
-- the chunks, in the transactions that store and forget them, and is never shared between Tables.

-- `chunks`: how many of the Table's chunks have this word; a row without any is gone.
create table public.table_reading (
  id bigint generated always as identity primary key,
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text not null,
  reading text collate "C" not null,
  written text collate "C" not null,
  sound text collate "C" not null generated always as (sound_of(reading)) stored,
  chunks integer not null,
  unique (table_id, fingerprint, reading, written)
-- Room on each page: a count that changes in place touches no index.
) with (fillfactor = 70);
alter table public.table_reading enable row level security;
create index table_reading_begins on public.table_reading (table_id, fingerprint, left(sound, 1), length(sound));
create index table_reading_ends on public.table_reading (table_id, fingerprint, right(sound, 1), length(sound));
revoke all on public.table_reading from anon, authenticated;

-- Null: not stored yet, so not counted.
alter table public.chunks add column readings bigint[];

-- One transaction at a time counts the words of a Table. It is taken after the Table's row and before any node's.
create function public.lock_words(p_table uuid, p_fingerprint text) returns void
language sql set search_path = public, extensions as $$
  select pg_advisory_xact_lock(hashtextextended('words ' || p_table || p_fingerprint, 0))
$$;

-- p_stored: [{id, namespace, doc_id, readings: [place]}], the places (from 0) in p_readings: [[reading, written]].
-- Gives the numbers of the words by place. A chunk counts once, however often it is stored: before it has numbers.
create function public.count_readings(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb) returns bigint[]
language sql set search_path = public, extensions as $$
  with used as (
    select u.place::integer as place, count(*)::integer as chunks
    from jsonb_array_elements(p_stored) s
    -- Chunk by chunk (offset 0 keeps it so): a growing table has no statistics to plan a join by.
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

-- Whichever function deletes chunks, their words are counted no more. With a whole Table its words go too.
create function public.discount_readings() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  perform lock_words(g.table_id, g.fingerprint) from (
    select distinct d.table_id, d.fingerprint from gone d
    where d.readings is not null and exists (select from context_table t where t.id = d.table_id)) g;
  if not found then return null; end if;
  with fewer as materialized (
    select u.id, count(*)::integer as chunks from gone d cross join unnest(d.readings) u(id) group by u.id
  ), counted as (
    update table_reading r set chunks = r.chunks - f.chunks from fewer f where r.id = f.id and r.chunks > f.chunks
  )
  delete from table_reading r using fewer f where r.id = f.id and r.chunks <= f.chunks;
  return null;
end $$;
create trigger discount_readings after delete on public.chunks
  referencing old table as gone for each statement execute function public.discount_readings();

-- ---------------------------------------------------------------- vectors outlive an analyzer

-- Kept by what makes vectors comparable, not by the whole fingerprint: another analyzer or chunk size embeds only
-- the texts that are new. Nothing finds the vectors that were kept before.
delete from public.chunk_vector;
alter table public.chunk_vector rename column fingerprint to space;

drop function public.known_vectors(uuid, text, text[]);
create function public.known_vectors(p_project uuid, p_space text, p_text_hashes text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_object_agg(v.text_hash, v.embedding::text), '{}') from chunk_vector v
  where v.project_id = p_project and v.space = p_space and v.text_hash = any (p_text_hashes)
$$;

-- ---------------------------------------------------------------- the functions that store and forget chunks

-- As before; the stored chunks' words are counted. p_stored has `readings`, places in p_readings.
drop function public.chunks_stored(uuid, text, jsonb);
create function public.chunks_stored(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb)
returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  unwanted jsonb;
  numbers bigint[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then
    return jsonb_build_object('alive', false, 'unwanted', '[]'::jsonb, 'flipped', '[]'::jsonb);
  end if;
  perform lock_words(p_table, p_fingerprint);
  numbers := count_readings(p_table, p_fingerprint, p_stored, p_readings);
  update chunks c set turbopuffer_namespace = s->>'namespace', turbopuffer_doc_id = s->>'doc_id', indexed_at = now(),
    readings = coalesce(c.readings, array(
      select numbers[u.place::integer + 1] from jsonb_array_elements_text(s->'readings') u(place)))
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

-- As before, behind the words' lock.
create or replace function public.flip_nodes(p_table uuid, p_fingerprint text, p_pointer_hashes text[]) returns jsonb
language plpgsql set search_path = public, extensions as $$
begin
  perform lock_words(p_table, p_fingerprint);
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

-- As before, behind the words' lock.
create or replace function public.unwant_nodes(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_skipped jsonb
) returns jsonb language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
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

-- As before, and the words go with the chunks: without their numbers there is nothing to count.
create or replace function public.forget_fingerprint(p_table uuid, p_fingerprint text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform lock_words(p_table, p_fingerprint);
  delete from chunks where table_id = p_table and fingerprint = p_fingerprint;
  delete from node where table_id = p_table and fingerprint = p_fingerprint;
  delete from table_reading where table_id = p_table and fingerprint = p_fingerprint;
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
