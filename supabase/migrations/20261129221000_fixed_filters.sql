-- What passes a fixed filter is counted word by word, by one index; and an endpoint is created with its filters.
set search_path = public, extensions;

drop index public.chunks_attributes;
create index chunks_attributes on public.chunks using gin (attributes jsonb_path_ops, readings) where attributes is not null;

drop function public.create_mcp(uuid, text, text, uuid[]);

-- p_filters: fixed filters by the id of their Tool.
create function public.create_mcp(
  p_project uuid, p_name text, p_key_hash text, p_tools uuid[], p_filters jsonb default '{}'
) returns jsonb language plpgsql as $$
declare
  m mcp;
begin
  perform check_project(p_project, 'editor');
  perform lock_quotas(p_project);
  perform check_quota((select count(*) from mcp e where e.project_id = p_project), 1, 'endpoints');
  perform check_quota(0, cardinality(p_tools), 'endpoint_tools');
  insert into mcp (project_id, name, api_key_hash)
  values (p_project, checked('record.name', p_name), p_key_hash) returning * into m;
  perform bind_tool(m.id, t.id, 'enabled', p_filters->t.id::text) from unnest(p_tools) t (id);
  return mcp_view(m);
end $$;

-- Whether a Table has a word for an endpoint: chunks that pass its fixed filter do; {}: every word.
create function public.has_word(p_table uuid, p_fingerprint text, p_filter jsonb, p_word bigint) returns boolean
language sql stable as $$
  select p_filter = '{}' or exists (
    select from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.attributes @> p_filter and c.readings @> array[p_word])
$$;

-- The same as `similar_words` for the words that a Table has for an endpoint with this fixed filter.
create function public.similar_table_words(p_table uuid, p_fingerprint text, p_reading text, p_filter jsonb) returns jsonb
language sql stable set jit = off set enable_seqscan = off as $$
  with asked as materialized (
    select sound_of(p_reading) as sound, length(sound_of(p_reading)) as width, typo_limit(p_reading) as typos
  ), around as (
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and r.reading <> ''
      and left(r.sound, 1) = left(a.sound, 1) and length(r.sound) between a.width - a.typos and a.width + a.typos
    union
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and r.reading <> ''
      and right(r.sound, 1) = right(a.sound, 1) and length(r.sound) between a.width - a.typos and a.width + a.typos
  ), found as (
    select r.written, min(r.distance) as distance, max(r.chunks) as n
    from (select n.id, n.written, n.chunks, a.typos, typo_distance(n.sound, a.sound) as distance
          from around n, asked a offset 0) r
    where r.distance <= r.typos and has_word(p_table, p_fingerprint, p_filter, r.id) group by r.written
  )
  select to_jsonb((array_agg(f.written order by f.distance, f.n desc, f.written))[:5]) from found f
$$;

-- What is known of a question's words in a Tool's Table, in the form of lexicon_entries; the synonyms are the groups of the
-- project with a phrase in p_query, all of them if another analyzer stored them. Empty for a Tool that this endpoint does
-- not reach.
create or replace function public.table_lexicon_entries(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_readings text[], p_words jsonb, p_query text, p_analyzer text
) returns jsonb language plpgsql stable set jit = off set enable_seqscan = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  fixed constant jsonb := fixed_filter(p_mcp, p_tool);
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where exists (
      select from table_reading t
      where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = coalesce(nullif(e.value, ''), e.key)
        and t.written = e.key and has_word(asked, p_fingerprint, fixed, t.id)));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select t.reading, array_agg(t.written order by t.chunks desc, t.written) as forms from table_reading t
        where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = any (p_readings)
          and has_word(asked, p_fingerprint, fixed, t.id)
        group by t.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_table_words(asked, p_fingerprint, u.reading, fixed) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and not exists (
            select from table_reading t
            where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = e.value
              and has_word(asked, p_fingerprint, fixed, t.id))
          order by e.key collate "C" limit 8) u) w
      where w.forms is not null),
    'synonyms', (
      select coalesce(jsonb_agg(jsonb_build_object('folder', '', 'phrases', g.value->'phrases')), '[]')
      from bound_tools(p_mcp) o join project_synonyms s on s.project_id = o.project_id
      cross join lateral jsonb_array_elements(s.groups) as g(value)
      where o.id = p_tool and (s.analyzer <> p_analyzer
        or exists (select from jsonb_array_elements_text(g.value->'plain') as p(phrase)
                   where strpos(p_query, p.phrase) > 0))));
end $$;

-- What the ranking has to know of a Tool's Table: {total: the chunks whose terms are counted, chunks: {term of p_terms: in
-- how many of them it is}, sample: the doc ids of p_sample chunks, the same for every question}. Null for a Tool that this
-- endpoint does not reach.
create or replace function public.table_term_frequencies(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_terms text[], p_sample integer
) returns jsonb language plpgsql stable set jit = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  fixed constant jsonb := fixed_filter(p_mcp, p_tool);
  counts jsonb;
begin
  if asked is null then return null; end if;
  with words as materialized (
    select r.id, r.written, r.chunks from table_reading r
    where r.table_id = asked and r.fingerprint = p_fingerprint and r.reading = '' and r.written = any (p_terms || ''::text)
  )
  select coalesce(jsonb_object_agg(w.written, w.chunks), '{}') into counts from (
    select w.written, w.chunks from words w where fixed = '{}'
    union all
    select w.written, n.chunks from words w cross join lateral (
      select count(*) as chunks from chunks c
      where c.table_id = asked and c.fingerprint = p_fingerprint and c.attributes @> fixed and c.readings @> array[w.id]) n
    where fixed <> '{}' and n.chunks > 0) w;
  return jsonb_build_object('total', coalesce(counts->'', '0'), 'chunks', counts - '', 'sample', (
    -- Hashes order pointers at random.
    select coalesce(jsonb_agg(s.turbopuffer_doc_id), '[]') from (
      select c.turbopuffer_doc_id from chunks c
      where c.table_id = asked and c.fingerprint = p_fingerprint and c.indexed_at is not null
        and (fixed = '{}' or c.attributes @> fixed)
      order by c.pointer_hash, c.content_hash, c.chunk_index limit p_sample) s));
end $$;

select public.set_rights();
reset search_path;
