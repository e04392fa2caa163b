-- A chunk has a vector in each index that is kept: its text, title, `learns` and words are the page's own, and the same
-- whichever answers. See docs/decisions/0031.

set local statement_timeout = 0;

create table public.knowledge_vector (
  id text not null references public.knowledge_chunks on delete cascade,
  space text not null references public.vector_space,
  text_hash text not null,
  embedding extensions.vector(1536) not null,
  primary key (id, space)
);
insert into public.knowledge_vector (id, space, text_hash, embedding)
select k.id, f.space, k.text_hash, k.embedding
from public.knowledge_chunks k join public.index_fingerprint f using (fingerprint);
create index knowledge_vector_embedding on public.knowledge_vector using hnsw (embedding extensions.vector_cosine_ops);
-- A sample of texts that is the same for every question: hashes are as good as chance.
create index knowledge_vector_sample on public.knowledge_vector (space, text_hash);
alter table public.knowledge_vector enable row level security;
revoke all on public.knowledge_vector from anon, authenticated;

drop index public.knowledge_chunks_sample;
alter table public.knowledge_chunks drop column embedding;

-- The spaces that a writer's texts have vectors in: of the kept indexes that embed the same part of an explanation; of
-- its own, while none is recorded.
create function public.spaces_of_writer(p_fingerprint text) returns text[]
language sql stable set search_path = public, extensions as $$
  select case when exists (select from search_index)
    then array(select distinct f.space from search_index s join index_fingerprint f on f.fingerprint = s.knowledge
               where f.recipe = (select own.recipe from index_fingerprint own where own.fingerprint = p_fingerprint))
    else array(select f.space from index_fingerprint f where f.fingerprint = p_fingerprint) end
$$;

-- The vectors of a material's chunks become those of p_chunks in every kept index. Where a text has none yet, the chunk
-- has none in that index, but for the one that answers: there each text must have been embedded before.
create function public.replace_vectors(p_material text, p_chunks jsonb, p_fingerprint text) returns void
language plpgsql set search_path = public, extensions set enable_seqscan = off as $$
declare
  spaces constant text[] := spaces_of_writer(p_fingerprint);
  answers constant text := case when exists (select from search_index)
    then (select f.space from search_index s join index_fingerprint f on f.fingerprint = s.knowledge where s.live)
    else spaces[1] end;
begin
  insert into knowledge_vector as v (id, space, text_hash, embedding)
  select c.id, s.space, c.text_hash, e.embedding
  from jsonb_to_recordset(p_chunks) as c(id text, text_hash text) cross join unnest(spaces) as s(space)
  left join embedding_cache e on e.space = s.space and e.text_hash = c.text_hash
  where (e.text_hash is not null or s.space = answers)
    and not exists (select from knowledge_vector old
                    where old.id = c.id and old.space = s.space and old.text_hash = c.text_hash)
  on conflict (id, space) do update set text_hash = excluded.text_hash, embedding = excluded.embedding;
  delete from knowledge_vector v using jsonb_to_recordset(p_chunks) as c(id text, text_hash text)
  where v.id = c.id and v.space = any (spaces) and v.text_hash <> c.text_hash;
end $$;

-- As before, but vectors are apart. Those of an index whose texts this writer cannot make stay while a chunk says what
-- it said, and go when it says something else: it is found by its words there.
create or replace function public.replace_chunks(
  p_material text, p_chunks jsonb, p_fingerprint text, p_generation bigint
) returns void language plpgsql set search_path = public, extensions as $$
begin
  delete from knowledge_chunks k
  where k.material = p_material
    and not exists (select from jsonb_array_elements(p_chunks) c where c->>'id' = k.id);

  delete from knowledge_vector v
  using knowledge_chunks k, jsonb_to_recordset(p_chunks) as c(
    id text, title text, content_hash text, text_hash text, learns text[])
  where k.material = p_material and c.id = k.id and v.id = k.id and v.space <> all (spaces_of_writer(p_fingerprint))
    and ((k.title, k.content_hash, k.learns) is distinct from (c.title, c.content_hash, c.learns)
         or k.fingerprint = p_fingerprint and k.text_hash <> c.text_hash);

  insert into knowledge_chunks as k (
    id, material, anchor, title, content, learns, learns_source, learns_given, type, category, level,
    prerequisites, position, content_hash, text_hash, illustrates, fingerprint, generation)
  select c.id, p_material, c.anchor, c.title, c.content, c.learns, c.learns_source, c.learns_given, c.type,
         c.category, c.level, c.prerequisites, c.position, c.content_hash, c.text_hash, c.illustrates,
         p_fingerprint, p_generation
  from jsonb_to_recordset(p_chunks) as c(
    id text, anchor text, title text, content text, learns text[], learns_source text, learns_given text[],
    type text, category text, level text, prerequisites text[], position integer, content_hash text,
    text_hash text, illustrates text[])
  on conflict (id) do update set
    title = excluded.title, content = excluded.content, learns = excluded.learns,
    learns_source = excluded.learns_source, learns_given = excluded.learns_given, type = excluded.type,
    category = excluded.category, level = excluded.level,
    prerequisites = excluded.prerequisites, position = excluded.position, content_hash = excluded.content_hash,
    text_hash = excluded.text_hash, illustrates = excluded.illustrates, fingerprint = excluded.fingerprint,
    generation = excluded.generation
  where (k.title, k.content_hash, k.learns, k.learns_source, k.learns_given, k.type, k.category, k.level,
         k.prerequisites, k.position, k.text_hash, k.illustrates, k.fingerprint)
    is distinct from
        (excluded.title, excluded.content_hash, excluded.learns, excluded.learns_source, excluded.learns_given,
         excluded.type, excluded.category, excluded.level, excluded.prerequisites, excluded.position,
         excluded.text_hash, excluded.illustrates, excluded.fingerprint);

  perform replace_vectors(p_material, p_chunks, p_fingerprint);
  perform replace_words(p_material, p_chunks);
end $$;

-- As before, with the vectors of the index that is asked.
create or replace function public.search_knowledge(
  p_embedding extensions.vector(1536), p_slots jsonb, p_space text, p_limit integer, p_calibration jsonb,
  p_expected text default null, p_type text default null, p_category text default null, p_level text default null,
  p_material text default null
) returns table (
  id text, material text, anchor text, title text, content text, learns text[], type text,
  similarity double precision, cosine double precision, z double precision, words double precision,
  readings double precision, evidence double precision, nearest_rank integer, matching_rank integer, matched text[]
)
language plpgsql set search_path = public, extensions set jit = off set max_parallel_workers_per_gather = 0
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  depth constant integer := greatest(4 * p_limit, 50);
  word_weight constant double precision := p_calibration->>'word_weight';
  reading_weight constant double precision := p_calibration->>'reading_weight';
  presence constant double precision := p_calibration->>'presence';
  missing_handicap constant double precision := p_calibration->>'missing_handicap';
  example_handicap constant double precision := p_calibration->>'example_handicap';
  steepness constant double precision := p_calibration->>'steepness';
  threshold constant double precision := p_calibration->>'threshold';
  prior_size constant double precision := p_calibration->>'prior_size';
  posting_budget constant double precision := p_calibration->>'posting_budget';
  is_filtered constant boolean := coalesce(p_type, p_category, p_level) is not null;
  only_block constant integer := block_of((select m.number from material m where m.material = p_material));
  nearest text[] := '{}';
  total bigint;
  expected_rank integer;
  background_mean double precision;
  background_spread double precision;
begin
  -- Filters must never starve the result: the scan goes on until there is enough.
  perform set_config('hnsw.iterative_scan', 'strict_order', true);
  perform set_config('hnsw.ef_search', least(1000, 2 * depth)::text, true);
  -- The planner takes a term for as common as any and reads every chunk for each of them.
  perform set_config('enable_seqscan', 'off', true);

  select coalesce(sum(m.chunks_count), 0) into total from material m;
  if p_embedding is not null then
    if p_material is null then
      -- The graph gives chunks in order; without this the planner reads and sorts them all.
      perform set_config('enable_sort', 'off', true);
      if is_filtered then
        nearest := array(
          select v.id from knowledge_vector v
          where v.space = p_space and exists (
            select from knowledge_chunks k
            where k.id = v.id and (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
              and (p_level is null or k.level = p_level) offset 0)
          order by v.embedding <=> p_embedding limit depth);
      else
        nearest := array(
          select v.id from knowledge_vector v where v.space = p_space order by v.embedding <=> p_embedding limit depth);
      end if;
      perform set_config('enable_sort', 'on', true);
    end if;
    if cardinality(nearest) < least(depth, total) then
      -- One page, or the graph gave up early, or there is no more: look at every row that the filters leave.
      nearest := array(
        select k.id from knowledge_chunks k join knowledge_vector v on v.id = k.id and v.space = p_space
        where (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
          and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
        order by (v.embedding <=> p_embedding) + 0, k.id limit depth);
    end if;
    if p_expected <> all (nearest) then
      select count(*) filter (where (v.embedding <=> p_embedding) + 0 < e.distance) + 1 into expected_rank
      from knowledge_chunks k join knowledge_vector v on v.id = k.id and v.space = p_space,
           (select (x.embedding <=> p_embedding) + 0 as distance from knowledge_vector x
            where x.id = p_expected and x.space = p_space) e
      where (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
        and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
      group by e.distance;
    end if;

    -- The few chunks of a young library say little about chance: what is known of the model counts as `prior_size`.
    select (count(*) * coalesce(avg(s.cosine), 0) + prior_size * (p_calibration->>'prior_mean')::float8)
             / (count(*) + prior_size),
           sqrt((count(*) * coalesce(var_pop(s.cosine), 0) + prior_size * (p_calibration->>'prior_spread')::float8 ^ 2)
             / (count(*) + prior_size))
    into background_mean, background_spread
    from (select 1 - (v.embedding <=> p_embedding) as cosine from knowledge_vector v
          where v.space = p_space order by v.text_hash limit 200) s;
  end if;

  return query
  with said as materialized (
    select s.slot, s.value->>'kind' = 'reading' as is_reading, t.term, t.weight
    from jsonb_array_elements(p_slots) with ordinality as s(value, slot)
    cross join lateral jsonb_to_recordset(s.value->'terms') as t(term text, weight float8)
  ),
  counted as materialized (
    select t.term, (select coalesce(sum(p.n), 0) from posting p where p.term = t.term)::float8 as n
    from (select distinct s.term from said s) t
  ),
  asked as materialized (
    select s.slot, s.is_reading, s.term, c.n, s.weight * ln(1 + (total - c.n + 0.5) / (c.n + 0.5)) as gain
    from said s join counted c using (term)
  ),
  slots as materialized (
    select a.slot, a.is_reading, max(a.gain) as ceiling, count(*) = 1 as is_plain, sum(a.n) as n,
           sum(sum(a.n)) over rarest as followed, bool_or(sum(a.n) > 0) over earlier as is_later
    from asked a
    group by a.slot, a.is_reading
    window rarest as (partition by a.is_reading order by sum(a.n), a.slot rows unbounded preceding),
           earlier as (partition by a.is_reading order by sum(a.n), a.slot rows between unbounded preceding and 1 preceding)
  ),
  whole as materialized (
    select nullif(sum(s.ceiling) filter (where not s.is_reading), 0) as words,
           nullif(sum(s.ceiling) filter (where s.is_reading), 0) as readings,
           coalesce(sum(s.ceiling) filter (where not s.is_reading and s.n = 0)
                    / nullif(sum(s.ceiling) filter (where not s.is_reading), 0), 0) as missing
    from slots s
  ),
  hits as (
    select h.chunk, a.slot, a.is_reading, s.is_plain, a.gain * (presence + (1 - presence) * h.impact / 32767) as value
    from slots s join asked a using (slot)
    cross join lateral (
      select p.chunks, p.impacts from posting p
      where p.term = a.term and (only_block is null or p.block = only_block) offset 0) p
    cross join lateral unnest(p.chunks, p.impacts) as h(chunk, impact)
    where s.followed <= posting_budget or not coalesce(s.is_later, false)
  ),
  summed as (
    select v.chunk, sum(v.value) filter (where not v.is_reading) as words,
           sum(v.value) filter (where v.is_reading) as readings
    from (select h.chunk, h.is_reading, h.value from hits h where h.is_plain
          union all
          select h.chunk, h.is_reading, max(h.value) from hits h where not h.is_plain
          group by h.chunk, h.slot, h.is_reading) v
    group by v.chunk
  ),
  scored as (
    select s.chunk, greatest(coalesce(s.words / w.words, 0), reading_weight * coalesce(s.readings / w.readings, 0)) as score
    from summed s cross join whole w
  ),
  matching as materialized (
    select m.id, row_number() over (order by m.score desc, m.chunk)::integer as place from (
      -- In order, one by one, until there are enough that the filters let through.
      select s.chunk, s.score, k.id
      from (select * from scored order by score desc, chunk
            limit case when coalesce(p_type, p_category, p_level, p_material) is null then depth end) s
      cross join lateral (
        select k.id from knowledge_chunks k
        where k.id = (select w.id from chunk_words w where w.number = s.chunk)
          and (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
          and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
        offset 0) k
      order by s.score desc, s.chunk limit depth) m
  ),
  found as materialized (
    select u.id, min(u.nearest) as nearest, min(u.matching) as matching from (
      select n.id, n.place::integer as nearest, null::integer as matching
      from unnest(nearest) with ordinality as n(id, place)
      union all select m.id, null, m.place from matching m) u
    group by u.id
  ),
  -- The concepts that a found example shows come along, so that it can stand below them.
  candidates as materialized (
    select c.id, min(c.nearest) as nearest, min(c.matching) as matching, bool_or(c.counts) as counts
    from (
      select f.id, f.nearest, f.matching, true as counts from found f
      -- In the collation of ids: in a material's own no index would serve.
      union all select (k.material || '#' || i.anchor) collate "default", null, null, true
      from found f join knowledge_chunks k using (id), unnest(k.illustrates) as i(anchor)
      where k.type = 'example' and p_type is null
      -- It is judged, but takes no one's place.
      union all select p_expected, null, null, false where p_expected is not null) c
    group by c.id
  ),
  shares as materialized (
    select c.id, a.slot, a.is_reading, max(a.gain * u.share) as share,
           (array_agg(a.term order by a.gain * u.share desc, a.term))[1] as term
    from candidates c
    cross join lateral (select w.terms, w.impacts from chunk_words w where w.id = c.id offset 0) w
    cross join lateral (
      select t.term, presence + (1 - presence) * t.impact / 32767 as share
      from unnest(w.terms, w.impacts) as t(term, impact)) u
    join asked a on a.term = u.term
    group by c.id, a.slot, a.is_reading
  ),
  coverage as materialized (
    select s.id,
           coalesce(sum(s.share) filter (where not s.is_reading) / w.words, 0) as words,
           coalesce(sum(s.share) filter (where s.is_reading) / w.readings, 0) as readings,
           array_agg(s.term order by s.share desc, s.term) filter (where not s.is_reading) as matched
    from shares s cross join whole w group by s.id, w.words, w.readings
  ),
  compared as materialized (
    select k.id, c.nearest, c.matching, c.counts,
           (select 1 - (v.embedding <=> p_embedding) from knowledge_vector v
            where v.id = c.id and v.space = p_space) as cosine,
           k.material, k.anchor, k.title, k.content, k.learns, k.type, k.illustrates
    from candidates c
    -- One by one through the primary key: the planner cannot know how few they are.
    cross join lateral (select k.* from knowledge_chunks k where k.id = c.id offset 0) k
    where (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
      and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
  ),
  judged as materialized (
    select c.*, coalesce((c.cosine - background_mean) / nullif(background_spread, 0), 0) as z,
           coalesce(v.words, 0) as words, coalesce(v.readings, 0) as readings, coalesce(v.matched, '{}') as matched
    from compared c left join coverage v using (id)
  ),
  weighed as materialized (
    select j.*, j.z + word_weight * greatest(j.words, reading_weight * j.readings) - missing_handicap * w.missing
                - case when j.type = 'example' and p_type is null then example_handicap else 0 end as evidence
    from judged j cross join whole w
  ),
  -- An example ranks below its concept: where it alone is what was asked for, the strongest of its concepts rises.
  shown as (
    select distinct on (e.id) c.id, e.evidence
    from weighed e join weighed c on c.material = e.material and c.anchor = any (e.illustrates)
    where e.type = 'example' and p_type is null and e.counts
    order by e.id, c.evidence desc, c.id
  ),
  placed as (
    select w.*, greatest(w.evidence, (select max(s.evidence) + 0.01 from shown s where s.id = w.id)) as place
    from weighed w
  ),
  ordered as (
    select p.*, row_number() over (order by not p.counts, p.place desc, p.id) as rank from placed p
  )
  select o.id, o.material, o.anchor, o.title, o.content, o.learns, o.type,
         round((1 / (1 + exp(-steepness * (o.place - threshold))))::numeric, 4)::float8,
         o.cosine, o.z, o.words, o.readings, o.evidence,
         coalesce(o.nearest, case when o.id = p_expected then expected_rank end), o.matching, o.matched
  from ordered o
  where o.counts and o.rank <= p_limit or o.id = p_expected
  order by o.rank;
end $$;

-- The searchable materials that an index is not whole for: last written with settings from before it, or with a chunk
-- that has no vector there.
create or replace function public.materials_built_otherwise(p_fingerprint text) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(m.material order by m.material), '{}')
  from material m
  left join (select s.knowledge, f.space, min(s.created_at) as since
             from search_index s join index_fingerprint f on f.fingerprint = s.knowledge
             where s.knowledge = p_fingerprint group by s.knowledge, f.space) asked on true
  where m.indexed_version_id is not null
    and (m.fingerprint is distinct from p_fingerprint and not exists (
           select from search_index later where later.knowledge = m.fingerprint and later.created_at > asked.since)
         or exists (select from knowledge_chunks k
                    where asked.space is not null and k.material = m.material and not exists (
                      select from knowledge_vector v where v.id = k.id and v.space = asked.space)))
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
