-- Search by meaning and by words in one function, with one calibrated similarity over both.
--
-- evidence = z + word_weight * coverage
--   z         how far the cosine stands above what the question has with texts at random, in spreads: an e5 model
--             gives 0.8 to unrelated texts, another model 0.2; the distance above them means the same in both.
--   coverage  the share of the question's terms that the chunk has, weighed by how rare they are; the greater of
--             its words and its kana readings, each term counting less where it is not in the title or in learns.
-- similarity = 1 / (1 + exp(-steepness * (evidence - threshold)))
-- Constants and how they were measured: sakuin/domain/similarity.py, docs/decisions.

-- A sample of chunks that is the same for every question: hashes are as good as chance.
create index knowledge_chunks_sample on public.knowledge_chunks (fingerprint, text_hash);

create function public.search_knowledge(
  p_embedding extensions.vector(1536), p_terms text[], p_fingerprint text, p_limit integer, p_calibration jsonb,
  p_type text default null, p_category text default null, p_level text default null, p_material text default null
) returns table (
  id text, material text, anchor text, title text, content text, learns text[], type text, similarity double precision
)
language plpgsql set search_path = public, extensions as $$
#variable_conflict use_column
declare
  depth constant integer := greatest(4 * p_limit, 50);
  body_weight constant double precision := p_calibration->>'body_weight';
  word_weight constant double precision := p_calibration->>'word_weight';
  example_handicap constant double precision := p_calibration->>'example_handicap';
  steepness constant double precision := p_calibration->>'steepness';
  threshold constant double precision := p_calibration->>'threshold';
  prior_size constant double precision := p_calibration->>'prior_size';
  nearest text[] := '{}';
  total bigint;
  background_mean double precision;
  background_spread double precision;
begin
  -- Filters must never starve the result: the scan goes on until there is enough.
  perform set_config('hnsw.iterative_scan', 'strict_order', true);
  perform set_config('hnsw.ef_search', least(1000, 2 * depth)::text, true);
  -- The planner takes a term for as common as any and reads every chunk for each of them.
  perform set_config('enable_seqscan', 'off', true);

  select count(*) into total from knowledge_chunks;
  if p_embedding is not null then
    if p_material is null then
      -- The graph gives chunks in order; without this the planner reads and sorts them all.
      perform set_config('enable_sort', 'off', true);
      nearest := array(
        select k.id from knowledge_chunks k
        where k.fingerprint = p_fingerprint
          and (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
          and (p_level is null or k.level = p_level)
        order by k.embedding <=> p_embedding limit depth);
      perform set_config('enable_sort', 'on', true);
    end if;
    if cardinality(nearest) < least(depth, total) then
      -- One page, or the graph gave up early, or there is no more: look at every row that the filters leave.
      nearest := array(
        select k.id from knowledge_chunks k
        where k.fingerprint = p_fingerprint
          and (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
          and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
        order by (k.embedding <=> p_embedding) + 0, k.id limit depth);
    end if;

    -- The few chunks of a young library say little about chance: what is known of the model counts as `prior_size`.
    select (count(*) * coalesce(avg(s.cosine), 0) + prior_size * (p_calibration->>'prior_mean')::float8)
             / (count(*) + prior_size),
           sqrt((count(*) * coalesce(var_pop(s.cosine), 0) + prior_size * (p_calibration->>'prior_spread')::float8 ^ 2)
             / (count(*) + prior_size))
    into background_mean, background_spread
    from (select 1 - (k.embedding <=> p_embedding) as cosine from knowledge_chunks k
          where k.fingerprint = p_fingerprint order by k.text_hash limit 200) s;
  end if;

  return query
  -- One look into the index a term gives its chunks and how rare it is.
  with hits as materialized (
    select t.term, k.id from unnest(p_terms) as t(term) join knowledge_chunks k on k.terms @> array[t.term]
  ),
  asked as materialized (
    select t.term, starts_with(t.term, '~') as is_reading,
           ln(1 + (total - count(h.id) + 0.5) / (count(h.id) + 0.5)) as weight
    from unnest(p_terms) as t(term) left join hits h using (term)
    group by t.term
  ),
  weights as (
    select greatest(sum(a.weight) filter (where not a.is_reading), 1e-9) as words,
           greatest(sum(a.weight) filter (where a.is_reading), 1e-9) as readings
    from asked a
  ),
  allowed as not materialized (
    select k.* from knowledge_chunks k
    where (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
      and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
  ),
  matching as (
    select k.id from allowed k
    join (select h.id, sum(a.weight) as weight from hits h join asked a using (term) group by h.id) w using (id)
    order by w.weight desc, k.id limit depth
  ),
  found as (
    select unnest(nearest) as id union select m.id from matching m
  ),
  -- The concepts that a found example shows come along, so that it can stand below them.
  candidates as (
    select f.id from found f
    union
    select k.material || '#' || i.anchor from allowed k join found f using (id), unnest(k.illustrates) as i(anchor)
    where k.type = 'example' and p_type is null
  ),
  coverage as materialized (
    select k.id,
           greatest(coalesce(sum(s.share) filter (where not a.is_reading), 0) / w.words,
                    coalesce(sum(s.share) filter (where a.is_reading), 0) / w.readings) as share
    from candidates c
    join knowledge_chunks k using (id)
    cross join lateral unnest(k.terms) as u(term)
    join asked a using (term)
    cross join weights w
    cross join lateral (
      select a.weight * case when a.term = any (k.title_terms) then 1 else body_weight end as share) s
    group by k.id, w.words, w.readings
  ),
  judged as (
    select k.id, k.material, k.anchor, k.title, k.content, k.learns, k.type, k.illustrates,
      case when p_embedding is null or k.fingerprint <> p_fingerprint then 0
           else (1 - (k.embedding <=> p_embedding) - background_mean) / nullif(background_spread, 0) end
      + word_weight * coalesce(c.share, 0)
      - case when k.type = 'example' and p_type is null then example_handicap else 0 end as evidence
    from allowed k
    join candidates using (id)
    left join coverage c using (id)
  ),
  -- An example ranks below its concept.
  placed as (
    select j.*, least(j.evidence, (
      select max(concept.evidence) - 0.01 from judged concept
      where j.type = 'example' and p_type is null and concept.material = j.material
        and concept.anchor = any (j.illustrates))) as place
    from judged j
  )
  select p.id, p.material, p.anchor, p.title, p.content, p.learns, p.type,
         round((1 / (1 + exp(-steepness * (p.place - threshold))))::numeric, 4)::float8
  from placed p
  order by p.place desc, p.id
  limit p_limit;
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
