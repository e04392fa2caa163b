-- What people and the indexer ask of the index. Lists come as one JSON value or array: PostgREST cuts
-- answers at 1,000 rows without a word.

create function public.missing_vectors(p_fingerprint text, p_text_hashes text[]) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(h), '{}') from unnest(p_text_hashes) h
  where not exists (select from embedding_cache e where e.fingerprint = p_fingerprint and e.text_hash = h)
$$;

create function public.material_counts() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_object_agg(status, n), '{}')
         || jsonb_build_object('chunks', (select count(*) from knowledge_chunks))
  from (select status, count(*) as n from material where status <> 'deleted' group by status) s
$$;

create function public.waiting_sources() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('material', w.material, 'key', w.key, 'owner', m.key) order by w.key), '[]')
  from waiting_source w join material m using (material) where not w.deleted
$$;

-- p_versions: [{key, version_id}].
create function public.receipts_of(p_versions jsonb) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'key', r.key, 'version_id', r.version_id, 'outcome', r.outcome, 'reason', r.reason)), '[]')
  from jsonb_to_recordset(p_versions) as v(key text, version_id text)
  join receipt r using (key, version_id)
$$;

create function public.indexed_anchors(p_materials text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_object_agg(m.material, (
    select coalesce(jsonb_agg(jsonb_build_object(
      'anchor', k.anchor, 'learns', k.learns, 'learns_given', k.learns_given) order by k.position), '[]')
    from knowledge_chunks k where k.material = m.material)), '{}')
  from material m where m.material = any (p_materials) and m.status <> 'deleted'
$$;

create function public.materials_spoken_of(p_folder text, p_names text[]) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(m.material), '{}') from material m
  where starts_with(m.material, p_folder) and m.indexed_version_id is not null
    and (m.material = any (p_names) or regexp_replace(m.material, '^.*/', '') = any (p_names)
         or exists (select from knowledge_chunks k where k.material = m.material and k.learns_source = 'author'))
$$;

create function public.materials_built_otherwise(p_fingerprint text) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(m.material), '{}') from material m
  where m.indexed_version_id is not null and m.fingerprint is distinct from p_fingerprint
$$;

-- Chunks by material and anchor, after the id named: it need not exist any more, so no page edit breaks a cursor.
create function public.list_concepts(
  p_limit integer, p_after text default null, p_type text default null, p_category text default null,
  p_level text default null, p_material text default null
) returns table (id text, title text, type text, material text, anchor text)
language sql stable set search_path = public, extensions as $$
  select k.id, k.title, k.type, k.material, k.anchor
  from knowledge_chunks k
  where (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
    and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
    and (p_after is null
         or (k.material, k.anchor) > (regexp_replace(p_after, '#[^#]*$', '') collate "C", regexp_replace(p_after, '^.*#', '') collate "C"))
  order by k.material, k.anchor
  limit p_limit
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
