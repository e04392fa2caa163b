-- A candidate has the cosine of its learns, or the mean of its other passages (sakuin/retrieval/ranking.py).

create or replace function public.candidates_of(
  p_nearest text[], p_matching text[], p_terms jsonb, p_hits public.posting_hits, p_vector extensions.halfvec, p_space text,
  p_expected text, p_type text, p_category text, p_level text, p_material text, p_in text
) returns json language plpgsql stable as $$
declare
  found constant text[] := array(select distinct f from unnest(p_nearest || p_matching) f);
begin
  return (
  with candidate as materialized (
    select * from with_illustrated(found, p_expected, p_type, p_category, p_level, p_material, p_in)
  ), matched as materialized (
    select impacts_in(array(select c.id from candidate c), p_terms, p_hits) as impacts
  )
  select coalesce(json_agg(json_build_object(
    'id', c.id, 'type', c.type, 'language', c.language, 'is_found', c.is_found,
    'nearest_rank', array_position(p_nearest, c.id), 'matching_rank', array_position(p_matching, c.id),
    'illustrates', (select coalesce(json_agg(c.material || '#' || i), '[]') from unnest(c.illustrates) i),
    'impacts', coalesce(m.impacts->c.id, '{}'),
    'cosine', n.cosine, 'whole', n.whole)), '[]')
  from candidate c cross join matched m
  cross join lateral (
    select max(p.cosine) as cosine,
      greatest(max(p.cosine) filter (where p.is_learns), avg(p.cosine) filter (where not p.is_learns)) as whole
    from (select 1 - (v.embedding <=> p_vector) as cosine, e.text_hash like '%/learns' as is_learns
          from embedded_text e join knowledge_vector v using (space, text_hash)
          where e.id = c.id and e.space = p_space) p) n
  -- Without filters nothing above asks where a page is.
  where p_material is not null or not starts_with(c.material, '_sakuin/'));
end $$;

create or replace function public.stored_candidates(
  p_rows text[], p_terms text[], p_space text, p_sample integer, p_expected text default null, p_type text default null,
  p_category text default null, p_level text default null, p_material text default null, p_in text default null
) returns jsonb language sql stable set jit = off set enable_seqscan = off as $$
  with whole as materialized (
    select coalesce(sum(m.chunks_count), 0) as total from material m
  )
  select jsonb_build_object(
    'total', w.total,
    'frequency', (select coalesce(jsonb_object_agg(t.term, least(w.total, (
      select coalesce(sum(p.n), 0) from posting p where p.term = t.term))), '{}') from unnest(p_terms) as t(term)),
    'sample', (
      select coalesce(jsonb_agg(jsonb_build_array(r.row_id, array_position(k.text_hashes, e.text_hash) - 1, k.language)
        order by e.text_hash, r.row_id), '[]')
      from (select t.* from embedded_text t where t.space = p_space order by t.text_hash limit p_sample) e
      join knowledge_chunks k using (id) join stored_row r on r.id = e.id and r.space = p_space),
    'candidates', (
      select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'row', r.row_id, 'type', k.type, 'language', k.language, 'is_found', c.is_found,
        'has_learns', k.text_hashes[1] like '%/learns', 'illustrates', (select coalesce(jsonb_agg(k.material || '#' || i), '[]') from unnest(k.illustrates) i))
        order by k.id), '[]')
      from with_illustrated(
        array(select r.id from stored_row r where r.space = p_space and r.row_id = any (p_rows) and r.id is not null),
        p_expected, p_type, p_category, p_level, p_material, p_in) c
      join knowledge_chunks k on k.id = c.id and passes(k, p_type, p_category, p_level, p_material, p_in)
      left join stored_row r on r.id = c.id and r.space = p_space))
  from whole w
$$;

select public.set_rights();
