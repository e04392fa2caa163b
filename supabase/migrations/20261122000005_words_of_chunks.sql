-- The words of chunks as postings: BM25 in SQL, where a frequent term costs no more than a rare one.
--
-- An impact is a term's part of BM25F in one text without its rarity: 1 to 32767 stand for (0, 1]. It depends on no
-- other text, so that a page writes nothing but its own words.

set local statement_timeout = 0;

-- The words of each chunk, as its page brought them: what a search judges its few candidates by, and what has to go
-- when the chunk changes.
create table public.chunk_words (
  number integer generated always as identity primary key,
  id text not null unique,
  material text collate "C" not null references public.material,
  terms text[] not null,
  impacts smallint[] not null,
  check (cardinality(terms) = cardinality(impacts))
);
create index chunk_words_material on public.chunk_words (material);

alter table public.material add column number integer generated always as identity;

-- Which chunks have a term, by blocks of up to 32 pages: a block is small enough to be written again for one rule,
-- and a term has few enough of them that counting its chunks (`n`) reads a few index pages.
create table public.posting (
  term text collate "C" not null,
  block integer not null,
  chunks integer[] not null,
  impacts smallint[] not null,
  n integer not null generated always as (cardinality(chunks)) stored,
  primary key (term, block) include (n)
);

-- Pages that come one after the other are in different blocks: their writers do not wait for each other.
create function public.block_of(p_number integer) returns integer
language sql immutable set search_path = public, extensions as $$
  select p_number % 64 + 64 * (p_number / 2048)
$$;

-- What was indexed before has terms without impacts: in the middle for all, higher in title and `learns`. Applying a
-- page again puts its own in their place.
insert into public.chunk_words (id, material, terms, impacts)
select k.id, k.material, k.terms,
       array(select case when t = any (k.title_terms) then 26214 else 16384 end from unnest(k.terms) t)::smallint[]
from public.knowledge_chunks k order by k.material, k.position;

insert into public.posting (term, block, chunks, impacts)
select u.term, b.block, array_agg(w.number order by w.number), array_agg(u.impact order by w.number)
from public.chunk_words w join public.material m using (material)
cross join lateral public.block_of(m.number) as b(block)
cross join lateral unnest(w.terms, w.impacts) as u(term, impact)
group by u.term, b.block;

alter table public.knowledge_chunks drop column terms, drop column title_terms;

alter table public.chunk_words enable row level security;
alter table public.posting enable row level security;

-- The words of a material become those of p_chunks. Writers of one block wait for each other here and nowhere else:
-- each holds the lock of one block, so that none can wait in a circle.
create function public.replace_words(p_material text, p_chunks jsonb) returns void
language plpgsql set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  here constant integer := block_of((select m.number from material m where m.material = p_material));
  stale integer[];  -- numbers of the chunks whose words are no longer what they were
  stale_terms text[];
  fresh integer[];
begin
  select array_agg(w.number) into stale
  from chunk_words w
  left join jsonb_to_recordset(p_chunks) as c(id text, terms text[], impacts smallint[]) using (id)
  where w.material = p_material and (c.id is null or (w.terms, w.impacts) is distinct from (c.terms, c.impacts));
  stale_terms := array(select distinct t from chunk_words w, unnest(w.terms) t where w.number = any (stale));

  delete from chunk_words w
  where w.number = any (stale) and not exists (select from jsonb_array_elements(p_chunks) c where c->>'id' = w.id);
  with written as (
    insert into chunk_words as w (id, material, terms, impacts)
    select c.id, p_material, c.terms, c.impacts
    from jsonb_to_recordset(p_chunks) as c(id text, terms text[], impacts smallint[])
    left join chunk_words old using (id)
    where old.id is null or old.number = any (stale)
    on conflict (id) do update set terms = excluded.terms, impacts = excluded.impacts
    returning w.number
  )
  select array_agg(number) into fresh from written;
  if stale is null and fresh is null then
    return;
  end if;

  perform pg_advisory_xact_lock(hashtext('sakuin.posting'), here);
  with brought as materialized (
    select u.term, array_agg(w.number) as chunks, array_agg(u.impact) as impacts
    from chunk_words w, unnest(w.terms, w.impacts) as u(term, impact)
    where w.number = any (fresh) group by u.term
  ), changed as (
    insert into posting (term, block, chunks, impacts)
    select s.term, here, kept.chunks || b.chunks, kept.impacts || b.impacts
    from unnest(stale_terms) as s(term) left join brought b using (term)
    cross join lateral (
      select coalesce(array_agg(u.chunk), '{}') as chunks, coalesce(array_agg(u.impact), '{}') as impacts
      from posting own, unnest(own.chunks, own.impacts) as u(chunk, impact)
      where own.term = s.term and own.block = here and u.chunk <> all (stale)) as kept
    on conflict (term, block) do update set chunks = excluded.chunks, impacts = excluded.impacts
  )
  insert into posting as p (term, block, chunks, impacts)
  select b.term, here, b.chunks, b.impacts
  from brought b left join unnest(stale_terms) as s(term) using (term) where s.term is null
  on conflict (term, block) do update set
    chunks = p.chunks || excluded.chunks, impacts = p.impacts || excluded.impacts;
  delete from posting p where p.block = here and p.term = any (stale_terms) and p.n = 0;
end $$;

-- The searchable chunks of a material become those of p_chunks: gone ones out, new and changed ones in,
-- unchanged ones untouched. A chunk whose words alone changed keeps its row, its vector and its generation.
create or replace function public.replace_chunks(
  p_material text, p_chunks jsonb, p_fingerprint text, p_generation bigint
) returns void language plpgsql set search_path = public, extensions as $$
begin
  delete from knowledge_chunks k
  where k.material = p_material
    and not exists (select from jsonb_array_elements(p_chunks) c where c->>'id' = k.id);

  insert into knowledge_chunks as k (
    id, material, anchor, title, content, learns, learns_source, learns_given, type, embedding, category, level,
    prerequisites, position, content_hash, text_hash, illustrates, fingerprint, generation)
  select c.id, p_material, c.anchor, c.title, c.content, c.learns, c.learns_source, c.learns_given, c.type,
         e.embedding, c.category, c.level, c.prerequisites, c.position, c.content_hash, c.text_hash, c.illustrates,
         p_fingerprint, p_generation
  from jsonb_to_recordset(p_chunks) as c(
    id text, anchor text, title text, content text, learns text[], learns_source text, learns_given text[],
    type text, category text, level text, prerequisites text[], position integer, content_hash text,
    text_hash text, illustrates text[])
  left join index_fingerprint f on f.fingerprint = p_fingerprint
  left join embedding_cache e on e.space = f.space and e.text_hash = c.text_hash
  on conflict (id) do update set
    title = excluded.title, content = excluded.content, learns = excluded.learns,
    learns_source = excluded.learns_source, learns_given = excluded.learns_given, type = excluded.type,
    embedding = excluded.embedding, category = excluded.category, level = excluded.level,
    prerequisites = excluded.prerequisites, position = excluded.position, content_hash = excluded.content_hash,
    text_hash = excluded.text_hash, illustrates = excluded.illustrates, fingerprint = excluded.fingerprint,
    generation = excluded.generation
  where (k.title, k.content_hash, k.learns, k.learns_source, k.learns_given, k.type, k.category, k.level,
         k.prerequisites, k.position, k.text_hash, k.illustrates, k.fingerprint)
    is distinct from
        (excluded.title, excluded.content_hash, excluded.learns, excluded.learns_source, excluded.learns_given,
         excluded.type, excluded.category, excluded.level, excluded.prerequisites, excluded.position,
         excluded.text_hash, excluded.illustrates, excluded.fingerprint);

  perform replace_words(p_material, p_chunks);
end $$;

-- As before, but the words of a deleted page go with its chunks, and no number of a page is used up in vain.
create or replace function public.apply_material(
  p_material text, p_source jsonb, p_deleted boolean, p_error text, p_chunks jsonb, p_fingerprint text,
  p_expected_generation bigint
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  r material;
  seq text := p_source->>'sequencer';
  generation_now bigint;
  newest boolean;
  next_source jsonb;
begin
  if seq is not null then
    insert into material (material, bucket, key, sequencer, status, generation)
    select p_material, p_source->>'bucket', p_source->>'key', '', 'deleted', 0
    -- A conflict would use up a number all the same, and blocks would not fill.
    where not exists (select from material m where m.material = p_material)
    on conflict do nothing;
  end if;
  select * into r from material m where m.material = p_material for update;
  if not found then
    return jsonb_build_object('outcome', 'conflict', 'generation', 0);
  end if;

  if seq is null then
    if r.generation is distinct from p_expected_generation or r.status = 'deleted' then
      return jsonb_build_object('outcome', 'conflict', 'generation', r.generation);
    end if;
    seq := r.indexed_sequencer;
    newest := false;
  elsif r.key <> p_source->>'key' then
    return public.apply_other_key(r, p_source, p_deleted, p_error, p_chunks, p_fingerprint);
  elsif seq < r.sequencer collate "C"
        and (p_error is not null or seq <= coalesce(r.indexed_sequencer, '') collate "C") then
    perform write_receipt(p_source, 'superseded', null);
    return jsonb_build_object('outcome', 'superseded', 'generation', r.generation,
                              'successor', public.successor_of(r));
  elsif seq = r.sequencer collate "C" and r.generation is distinct from p_expected_generation
        and not p_deleted and p_error is null then
    return jsonb_build_object('outcome', 'conflict', 'generation', r.generation);
  else
    newest := seq >= r.sequencer collate "C";
  end if;

  generation_now := r.generation + 1;
  if p_error is not null then
    update material m set
      sequencer = seq, version_id = p_source->>'version_id', status = 'failed', error = p_error,
      generation = generation_now, updated_at = now()
    where m.material = p_material;
    perform write_receipt(p_source, 'failed', p_error);
    return jsonb_build_object('outcome', 'failed', 'generation', generation_now);
  end if;

  perform replace_chunks(p_material, case when p_deleted then '[]' else p_chunks end, p_fingerprint, generation_now);
  update material m set
    sequencer = case when newest then seq else m.sequencer end,
    version_id = case when newest then p_source->>'version_id' else m.version_id end,
    status = case when newest then case when p_deleted then 'deleted' else 'ready' end else m.status end,
    error = case when newest then null else m.error end,
    generation = generation_now,
    indexed_sequencer = seq,
    indexed_version_id = case when p_deleted then null when p_source is null then m.indexed_version_id
                              else p_source->>'version_id' end,
    fingerprint = case when p_deleted then null else p_fingerprint end,
    chunks_count = case when p_deleted then 0 else jsonb_array_length(p_chunks) end,
    indexed_at = case when p_deleted then null else now() end,
    updated_at = now()
  where m.material = p_material
  returning * into r;
  perform write_receipt(p_source, 'applied', null);
  return jsonb_build_object('outcome', 'applied', 'generation', generation_now,
                            'successor', public.successor_of(r));
end $$;

revoke all on all tables in schema public from anon, authenticated;
revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
