-- The fence: one version of one page is applied whole, or not at all.

create function public.write_receipt(p_source jsonb, p_outcome text, p_reason text) returns void
language sql set search_path = public, extensions as $$
  delete from receipt where at < now() - interval '30 days';
  insert into receipt as r (key, version_id, outcome, reason)
  select p_source->>'key', p_source->>'version_id', p_outcome, p_reason
  where p_source->>'version_id' is not null
  on conflict (key, version_id) do update set outcome = excluded.outcome, reason = excluded.reason, at = now()
$$;

-- The searchable chunks of a material become those of p_chunks: gone ones out, new and changed ones in,
-- unchanged ones untouched.
create function public.replace_chunks(p_material text, p_chunks jsonb, p_fingerprint text, p_generation bigint)
returns void language plpgsql set search_path = public, extensions as $$
begin
  delete from knowledge_chunks k
  where k.material = p_material
    and not exists (select from jsonb_array_elements(p_chunks) c where c->>'id' = k.id);

  insert into knowledge_chunks as k (
    id, material, anchor, title, content, learns, learns_source, learns_given, type, embedding, category, level,
    prerequisites, position, content_hash, text_hash, illustrates, terms, title_terms, fingerprint, generation)
  select c.id, p_material, c.anchor, c.title, c.content, c.learns, c.learns_source, c.learns_given, c.type,
         e.embedding, c.category, c.level, c.prerequisites, c.position, c.content_hash, c.text_hash, c.illustrates,
         c.terms, c.title_terms, p_fingerprint, p_generation
  from jsonb_to_recordset(p_chunks) as c(
    id text, anchor text, title text, content text, learns text[], learns_source text, learns_given text[],
    type text, category text, level text, prerequisites text[], position integer, content_hash text,
    text_hash text, illustrates text[], terms text[], title_terms text[])
  left join embedding_cache e on e.fingerprint = p_fingerprint and e.text_hash = c.text_hash
  on conflict (id) do update set
    title = excluded.title, content = excluded.content, learns = excluded.learns,
    learns_source = excluded.learns_source, learns_given = excluded.learns_given, type = excluded.type,
    embedding = excluded.embedding, category = excluded.category, level = excluded.level,
    prerequisites = excluded.prerequisites, position = excluded.position, content_hash = excluded.content_hash,
    text_hash = excluded.text_hash, illustrates = excluded.illustrates, terms = excluded.terms,
    title_terms = excluded.title_terms, fingerprint = excluded.fingerprint, generation = excluded.generation
  where (k.title, k.content_hash, k.learns, k.learns_source, k.learns_given, k.type, k.category, k.level,
         k.prerequisites, k.position, k.text_hash, k.illustrates, k.terms, k.title_terms, k.fingerprint)
    is distinct from
        (excluded.title, excluded.content_hash, excluded.learns, excluded.learns_source, excluded.learns_given,
         excluded.type, excluded.category, excluded.level, excluded.prerequisites, excluded.position,
         excluded.text_hash, excluded.illustrates, excluded.terms, excluded.title_terms, excluded.fingerprint);
end $$;

-- p_source: {bucket, key, version_id, sequencer}, or null for a change that no upload caused.
-- p_chunks: the page's chunks, or null when the version cannot be read (p_error says why) or p_deleted.
-- p_expected_generation: the row's generation when it was read; the same version again and changes without a
-- source apply only if it still stands.
-- Gives {outcome, generation, successor}; see sakuin.domain.material_version for the outcomes.
--
-- Two fences: `sequencer` orders what is known of the key (its status), `indexed_sequencer` what is searchable.
-- They differ after a version that could not be read: then an older, readable one that comes late still counts.
create function public.apply_material(
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
    values (p_material, p_source->>'bucket', p_source->>'key', '', 'deleted', 0)
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

  if p_deleted then
    delete from knowledge_chunks k where k.material = p_material;
  else
    perform replace_chunks(p_material, p_chunks, p_fingerprint, generation_now);
  end if;
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

-- The key that waited longest for a material whose owner is gone, as {bucket, key, version_id, sequencer}.
create function public.successor_of(r public.material) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object('bucket', w.bucket, 'key', w.key, 'version_id', w.version_id, 'sequencer', w.sequencer)
  from waiting_source w
  where w.material = r.material and not w.deleted and r.status = 'deleted'
  order by w.since, w.key limit 1
$$;

-- A version of a key that is not the material's owner: it waits, or takes over from an owner that is gone.
create function public.apply_other_key(
  r public.material, p_source jsonb, p_deleted boolean, p_error text, p_chunks jsonb, p_fingerprint text
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  fence text collate "C";
begin
  select w.sequencer into fence from waiting_source w where w.key = p_source->>'key' for update;
  if fence > (p_source->>'sequencer') collate "C" then
    perform write_receipt(p_source, 'superseded', null);
    return jsonb_build_object('outcome', 'superseded', 'generation', r.generation);
  end if;

  if p_deleted or r.status <> 'deleted' then
    insert into waiting_source as w (key, material, bucket, sequencer, version_id, deleted)
    values (p_source->>'key', r.material, p_source->>'bucket', p_source->>'sequencer', p_source->>'version_id',
            p_deleted)
    on conflict (key) do update set
      sequencer = excluded.sequencer, version_id = excluded.version_id, deleted = excluded.deleted,
      since = case when w.deleted then now() else w.since end;
    perform write_receipt(p_source, case when p_deleted then 'applied' else 'waiting' end,
                          case when not p_deleted then 'the material belongs to the key ' || r.key end);
    return jsonb_build_object('outcome', case when p_deleted then 'applied' else 'waiting' end,
                              'generation', r.generation);
  end if;

  -- The old owner's fence moves to the waiting room, the new one's out of it.
  insert into waiting_source (key, material, bucket, sequencer, version_id, deleted)
  values (r.key, r.material, r.bucket, r.sequencer, r.version_id, true)
  on conflict (key) do update set sequencer = excluded.sequencer, version_id = excluded.version_id, deleted = true;
  delete from waiting_source w where w.key = p_source->>'key';
  update material m set bucket = p_source->>'bucket', key = p_source->>'key', sequencer = '', indexed_sequencer = null
  where m.material = r.material;
  return public.apply_material(r.material, p_source, p_deleted, p_error, p_chunks, p_fingerprint, null);
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
