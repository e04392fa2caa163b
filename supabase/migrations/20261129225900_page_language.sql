-- The language of a page beside the rows of its words, which version 1.0.0 compares whole.
set search_path = public, extensions;

-- What a worker knows of a page before it changes it: {page, null if there is none, index_versions, language: of its
-- explanations}. `words`: the rows of the words of its explanations that the page's index version wrote: {anchor: [number,
-- content_hash, text_hash]}. Version 1.0.0 reads no more members of the page, and no longer rows, than it knows.
create or replace function public.page_record(p_material text) returns jsonb language plpgsql stable as $$
begin
  return jsonb_build_object('index_versions', index_versions(), 'language', (
    select k.language from knowledge_chunks k where k.material = p_material limit 1), 'page', (
    select jsonb_build_object(
      'generation', m.generation, 'status', m.status, 'key', m.key, 'indexed_version_id', m.indexed_version_id,
      'fingerprint', m.fingerprint, 'page_hash', m.page_hash, 'words', (
        select coalesce(jsonb_object_agg(k.anchor, jsonb_build_array(w.number, k.content_hash, k.text_hashes[1])), '{}')
        from knowledge_chunks k join chunk_words w on w.id = k.id and w.is_current
        where k.material = m.material and k.fingerprint = m.fingerprint))
    from material m where m.material = p_material));
end $$;

select public.set_rights();
reset search_path;
