-- Sequencers say which version of a key is newest while they rise. They begin anew with another bucket, or an emulator
-- that lost its memory; and a removed delete marker, or a lost event, brings a version without any. Then what the
-- bucket holds now is what counts, and whoever has seen it applies it if the row is as it was before he looked.

-- `unordered`: events no longer order this material's versions. Each is refused, and asks the bucket.
alter table public.material add column unordered boolean not null default false;

-- As before, but who is refused leaves no receipt: the bucket may say that he is right after all.
create or replace function public.apply_material(
  p_material text, p_source jsonb, p_deleted boolean, p_error text, p_chunks jsonb, p_fingerprint text,
  p_expected_generation bigint
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  r material;
  seq text := p_source->>'sequencer';
  generation_now bigint;
  newest boolean;
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
  elsif r.unordered or seq < r.sequencer collate "C"
        and (p_error is not null or seq <= coalesce(r.indexed_sequencer, '') collate "C") then
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

-- As before, without the receipt of who is refused.
create or replace function public.apply_other_key(
  r public.material, p_source jsonb, p_deleted boolean, p_error text, p_chunks jsonb, p_fingerprint text
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  fence text collate "C";
begin
  select w.sequencer into fence from waiting_source w where w.key = p_source->>'key' for update;
  if fence > (p_source->>'sequencer') collate "C" then
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
  update material m set bucket = p_source->>'bucket', key = p_source->>'key', sequencer = '', version_id = null,
    indexed_sequencer = null
  where m.material = r.material;
  return public.apply_material(r.material, p_source, p_deleted, p_error, p_chunks, p_fingerprint, null);
end $$;

-- The bucket holds this version now (or, p_deleted, nothing): it is applied whatever its sequencer says, if the row
-- still has p_expected_generation (null: there was none). An empty sequencer: none is known, the fence stays.
create function public.apply_current(
  p_material text, p_source jsonb, p_deleted boolean, p_error text, p_chunks jsonb, p_fingerprint text,
  p_expected_generation bigint
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  r material;
  fence text;
  done jsonb;
begin
  insert into material (material, bucket, key, sequencer, status, generation)
  select p_material, p_source->>'bucket', p_source->>'key', '', 'deleted', 0
  where not exists (select from material m where m.material = p_material)
  on conflict do nothing;
  select * into r from material m where m.material = p_material for update;
  if r.generation <> coalesce(p_expected_generation, 0) then
    return jsonb_build_object('outcome', 'conflict', 'generation', r.generation);
  end if;

  -- With the fences down, what comes now is the newest.
  if r.key = p_source->>'key' then
    fence := r.sequencer;
    update material m set bucket = p_source->>'bucket', sequencer = '', indexed_sequencer = null, unordered = false
    where m.material = p_material;
  else
    select w.sequencer into fence from waiting_source w where w.key = p_source->>'key' for update;
    update waiting_source w set bucket = p_source->>'bucket', sequencer = '' where w.key = p_source->>'key';
    update material m set unordered = false where m.material = p_material;
  end if;
  -- No sequencer is before '0'.
  fence := coalesce(nullif(p_source->>'sequencer', ''), nullif(fence, ''), '0');
  done := apply_material(p_material, p_source || jsonb_build_object('sequencer', fence), p_deleted, p_error, p_chunks,
                         p_fingerprint, r.generation);
  update material m set unordered = r.unordered or m.key = p_source->>'key',
    generation = greatest(m.generation, r.generation + 1)
  where m.material = p_material
  returning * into r;
  return done || jsonb_build_object('generation', r.generation);
end $$;

-- ---------------------------------------------------------------- files beside the pages

-- The list of synonyms has the same two ways. `analyzer`: what its phrases were made plain by.
alter table public.site_synonyms
  add column generation bigint not null default 1,
  add column unordered boolean not null default false,
  add column analyzer text not null default '';

drop function public.keep_synonyms(jsonb, jsonb);
create function public.keep_synonyms(
  p_source jsonb, p_groups jsonb, p_analyzer text, p_current boolean, p_expected_generation bigint
) returns text language plpgsql set search_path = public, extensions as $$
declare
  kept site_synonyms;
begin
  insert into site_synonyms (key, bucket, sequencer, groups, generation)
  values (p_source->>'key', p_source->>'bucket', '', '[]', 0) on conflict do nothing;
  select * into kept from site_synonyms s where s.key = p_source->>'key' for update;
  if p_current and kept.generation <> coalesce(p_expected_generation, 0) then
    return 'conflict';
  elsif not p_current and (kept.unordered or kept.sequencer > p_source->>'sequencer' collate "C") then
    return 'superseded';
  end if;
  update site_synonyms s set
    bucket = p_source->>'bucket', version_id = p_source->>'version_id', groups = p_groups, analyzer = p_analyzer,
    sequencer = coalesce(nullif(p_source->>'sequencer', ''), s.sequencer),
    generation = s.generation + 1, unordered = s.unordered or p_current, updated_at = now()
  where s.key = kept.key;
  return 'applied';
end $$;

-- Which version of each learns.yml the pages were last asked again for; no version: for its removal.
create table public.followed_file (
  key text collate "C" primary key,
  version_id text,
  at timestamptz not null default now()
);
alter table public.followed_file enable row level security;
revoke all on public.followed_file from anon, authenticated;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
