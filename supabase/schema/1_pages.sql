-- Teaching pages: what is indexed of each page ("material"), and the function that applies one version of a page.
-- Searching pages is in 2_search, index versions are in 5_index_versions.
--
-- Rules of all files:
--   * Text in an index or an order has the collation "C". Hosted Supabase has an ICU collation by default, which
--     orders keys differently than S3, Python and a developer's machine.
--   * Functions return lists as one jsonb value or one array: PostgREST cuts off rows after the first 1,000.
--   * Functions in PL/pgSQL may call what a later file defines; functions in SQL are checked when they are created.
--   * Rights are granted in 8_rights, for all files at once. It also sets the search_path of each function, and makes those
--     of the API run with the rights of their owner.

create schema if not exists extensions;
create extension if not exists vector with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
set search_path = public, extensions;

-- ---------------------------------------------------------------- what pages are indexed with

-- The indexes over pages. `fingerprint` is a hash of all that one is built with, `space` one without the analyzer and the
-- vocabulary: versions that differ in these only share their vectors.
create table public.page_index_version (
  fingerprint text collate "C" primary key,
  space text collate "C" not null,
  text_template text not null
);

-- ---------------------------------------------------------------- tables

-- One row for each material. It stays when the page is deleted: its sequencer rejects late events.
create table public.material (
  material text collate "C" primary key,
  -- Numbers the materials, see posting_block.
  number integer generated always as identity,
  bucket text not null,
  key text collate "C" not null,
  -- Orders the events of one key. Compared as bytes; the writer pads it on the right to a fixed length.
  sequencer text collate "C" not null,
  version_id text,
  status text not null check (status in ('ready', 'failed', 'deleted')),
  error jsonb check (error ? 'code'),
  generation bigint not null default 1,
  -- The searchable version. It differs from the newest one if that could not be read.
  indexed_sequencer text collate "C",
  indexed_version_id text,
  indexed_at timestamptz,
  fingerprint text collate "C" references public.page_index_version,
  -- Of the ETag of the searchable version and all else that its chunks were read with; null: unknown.
  page_hash text collate "C",
  chunks_count integer not null default 0,
  -- The last change of an explanation, also of one that is gone.
  changed_at timestamptz,
  -- The spaces in which each chunk has a vector, so that no count of vectors is needed to find what is missing.
  complete_spaces text[] collate "C" not null default '{}',
  -- The versions of the learns.yml files that the searchable version was written with, by key; null: there was none.
  learns_files jsonb not null default '{}',
  -- The version before an upload that lost much of the page, while the page lacks that (collapse_of).
  collapse jsonb,
  -- What its author can correct in the version that was read last: [{severity, rule, anchor, message}]. A message, and each
  -- other reason in the database, is {code, values}: a code of the catalogue of texts, below `said.`, and its values.
  findings jsonb not null default '[]',
  -- How many words of its main part are searched, only_read, lost, and left out by reason; null: unknown.
  words jsonb,
  -- When the page was last requested to build an index version, to limit repeated requests.
  build_requested_at timestamptz,
  -- Sequencers do not order this material's versions: events are rejected, and the worker asks the bucket instead.
  sequencer_unreliable boolean not null default false,
  -- Messages about it (7_upkeep).
  work jsonb,
  -- A page that was never indexed is shown while it waits.
  is_shown boolean not null generated always as (status <> 'deleted' or coalesce(work ? 'since', false)) stored,
  updated_at timestamptz not null default now(),
  -- What an event says of the page: its status and its newest version; and what the last event said.
  version_state text collate "C" not null generated always as (
    case status when 'deleted' then status else status || ' ' || coalesce(version_id, sequencer) end) stored,
  -- Empty since a change: the bus may have accepted an event whose answer was lost.
  announced text collate "C" not null default 'deleted'
);
-- The pages whose event was not sent are few. Nobody follows the canary's page.
create index material_unannounced on public.material (material)
  where announced <> version_state and not starts_with(material, '_sakuin/');
create index material_waiting on public.material (material) where work ? 'since';
create index material_key on public.material (key);
create index material_last_segment on public.material (regexp_replace(material, '^.*/', ''));
-- Each search needs the number of all chunks.
create index material_chunks on public.material (chunks_count) where chunks_count > 0;
-- For the list of pages that could not be read, which are few.
create index material_findings on public.material (material) where findings <> '[]';
create index material_failed on public.material (updated_at) where status = 'failed';

-- One row for each anchored explanation of a page.
create table public.knowledge_chunks (
  id text collate "C" primary key,
  material text collate "C" not null references public.material,
  anchor text collate "C" not null,
  position integer not null,
  title text not null,
  content text not null,
  -- None: a section that only its heading names, whose list neither its author nor a language model wrote.
  learns text[] not null check (cardinality(learns) between 3 and 5 or learns = '{}'),
  learns_source text not null check (learns_source in ('author', 'model', 'provisional', 'rules')),
  learns_given text[],
  -- The text that a language model is asked about: its key in learns_cache; null if it is not asked.
  learns_key text collate "C",
  type text collate "C" not null check (type in ('rule', 'method', 'definition', 'example', 'tip')),
  category text collate "C",
  level text collate "C",
  page_title text not null,
  -- The heading around the element, and the language of the page; null if there is none.
  section text,
  language text collate "C",
  prerequisites text[] not null,
  illustrates text[] not null,
  content_hash text collate "C" not null,
  text_hashes text[] collate "C" not null check (cardinality(text_hashes) > 0),
  fingerprint text collate "C" not null references public.page_index_version,
  generation bigint not null,
  -- The page's own fields, by which searches filter: {name: [texts]}; null without any.
  fields jsonb,
  check (id = material || '#' || anchor)
);
create index knowledge_chunks_material on public.knowledge_chunks (material, position);
-- For the filters of a search.
create index knowledge_chunks_category on public.knowledge_chunks (category) where category is not null;
create index knowledge_chunks_level on public.knowledge_chunks (level) where level is not null;
create index knowledge_chunks_language on public.knowledge_chunks (language) where language is not null;
create index knowledge_chunks_fields on public.knowledge_chunks using gin (fields jsonb_path_ops) where fields is not null;
create index knowledge_chunks_type on public.knowledge_chunks (type);
create index knowledge_chunks_learns_key on public.knowledge_chunks (learns_key) where learns_key is not null;

-- Keys of a material that another key owns (NFC and NFD spellings of one name), each with its own sequencer.
create table public.competing_key (
  key text collate "C" primary key,
  material text collate "C" not null references public.material on delete cascade,
  bucket text not null,
  sequencer text collate "C" not null,
  version_id text,
  deleted boolean not null,
  since timestamptz not null default now()
);
create index competing_key_material on public.competing_key (material);

-- The result of each uploaded version, for the client that waits for it.
create table public.upload_result (
  key text collate "C" not null,
  version_id text collate "C" not null,
  outcome text not null,
  reason jsonb check (reason ? 'code'),
  recorded_at timestamptz not null default now(),
  primary key (key, version_id)
);
create index upload_result_recorded_at on public.upload_result (recorded_at);

-- Answers of the language model by the text of an explanation, so that the same text is paid for once.
-- `learns`: null until it is answered, empty if the model has nothing to say. `attempts`, `asked_at`: recorded before
-- each call, because a worker that dies in a call has paid for it. `used_at`: see delete_unused_texts.
create table public.learns_cache (
  cache_key text collate "C" primary key,
  learns text[],
  attempts integer not null default 0,
  asked_at timestamptz,
  used_at timestamptz not null default now()
);
create index learns_cache_used on public.learns_cache (used_at);

-- Pages with provisional learns: a language model is asked about them after `due_at`. `claimed_until`: a message about
-- the page is under way.
create table public.pending_learns (
  material text collate "C" primary key references public.material on delete cascade,
  due_at timestamptz not null default now(),
  claimed_until timestamptz
);
create index pending_learns_due on public.pending_learns (due_at, material);
create index pending_learns_claimed on public.pending_learns (claimed_until) where claimed_until is not null;

-- The version of each learns.yml and synonyms.yml that was applied last. No version: its deletion; an empty one: pages
-- were written with the file, and it was not applied yet. `folder` and `names`: of a learns.yml that was read, the pages
-- that it may name; null for other files.
create table public.authored_file (
  key text collate "C" primary key,
  version_id text,
  folder text collate "C",
  names text[],
  applied_at timestamptz not null default now(),
  -- Messages about it (7_upkeep).
  work jsonb
);

-- ---------------------------------------------------------------- the fence
-- One version of one page is applied completely or not at all. Two sequencers decide: `sequencer` orders what is known
-- of the key (its status), `indexed_sequencer` what is searchable. They differ after a version that could not be read:
-- an older, readable version that arrives late still counts then.

-- Records the outcome of an uploaded version. Its page or file no longer waits.
create function public.record_upload_result(p_source jsonb, p_outcome text, p_reason jsonb) returns void
language plpgsql as $$
begin
  -- The reason why a current file cannot be read stays.
  delete from upload_result r where r.recorded_at < now() - interval '30 days' and (r.outcome <> 'failed' or not exists (
    select from authored_file f where (f.key, f.version_id) = (r.key, r.version_id)));
  insert into upload_result as r (key, version_id, outcome, reason)
  select p_source->>'key', p_source->>'version_id', p_outcome, p_reason
  where p_source->>'version_id' is not null
  on conflict (key, version_id) do update set outcome = excluded.outcome, reason = excluded.reason, recorded_at = now();
  update material m set work = null where m.key = p_source->>'key' and m.work is not null;
  update authored_file f set work = null where f.key = p_source->>'key' and f.work is not null;
end $$;

-- Makes p_chunks the searchable chunks of a material: deletes missing ones, and writes new and changed ones. A chunk of
-- which only the words changed keeps its row, its vectors and its generation. One whose place on the page, fingerprint or
-- passages alone changed is the same to readers.
create function public.replace_chunks(
  p_material text, p_chunks jsonb, p_fingerprint text, p_generation bigint
) returns void language plpgsql as $$
begin
  perform remove_texts(p_material, p_chunks, p_fingerprint, p_generation);
  with old as materialized (
    select k.* from knowledge_chunks k where k.material = p_material
  ), gone as (
    delete from knowledge_chunks k
    where k.material = p_material
      and not exists (select from jsonb_array_elements(p_chunks) c where c->>'id' = k.id)
    returning k.id
  ), written as (
    insert into knowledge_chunks as k
    select r.* from jsonb_array_elements(p_chunks) c cross join jsonb_populate_record(null::knowledge_chunks,
      c || jsonb_build_object('material', p_material, 'fingerprint', p_fingerprint, 'generation', p_generation)) r
    on conflict (id) do update set
      title = excluded.title, content = excluded.content, learns = excluded.learns,
      learns_source = excluded.learns_source, learns_given = excluded.learns_given,
      learns_key = excluded.learns_key, type = excluded.type,
      category = excluded.category, level = excluded.level, page_title = excluded.page_title,
      section = excluded.section, language = excluded.language, prerequisites = excluded.prerequisites,
      position = excluded.position, content_hash = excluded.content_hash, text_hashes = excluded.text_hashes,
      illustrates = excluded.illustrates, fields = excluded.fields, fingerprint = excluded.fingerprint, generation = excluded.generation
    where to_jsonb(k) - 'generation' <> to_jsonb(excluded) - 'generation'
    returning k.*
  )
  update material m set changed_at = now()
  where m.material = p_material and (exists (select from gone) or exists (
    select from written w left join old o using (id)
    where (o.title, o.content, o.learns, o.type, o.category, o.level, o.page_title, o.section, o.language,
           o.prerequisites, o.illustrates)
      is distinct from (w.title, w.content, w.learns, w.type, w.category, w.level, w.page_title, w.section, w.language,
                        w.prerequisites, w.illustrates)));

  perform add_texts(p_chunks, p_fingerprint);
  update stored_row r set id = c->>'id' from jsonb_array_elements(p_chunks) c where r.row_id = c->>'row_id' and r.id is null;
  perform replace_words(p_material, p_chunks);
end $$;

-- What a page loses by p_chunks, if that is more than 30 % and at least five of its explanations: {version_id, at, key,
-- count, anchors, lost}; null if it is less. A page that has lost so much is compared with its version before that,
-- for the 90 days that S3 keeps it (template.yaml). docs/decisions/0116.
create function public.collapse_of(r public.material, p_chunks jsonb) returns jsonb language sql stable as $$
  with compared as (
    select 1 as place, r.collapse->>'version_id' as version, r.collapse->>'key' as key, r.collapse->'at' as at,
           array(select jsonb_array_elements_text(r.collapse->'anchors')) as anchors
    where (r.collapse->>'at')::timestamptz > now() - interval '90 days'
    union all
    select 2, r.indexed_version_id, r.key, to_jsonb(now()),
           array(select k.anchor from knowledge_chunks k where k.material = r.material order by k.position)
  )
  select jsonb_build_object('version_id', c.version, 'at', c.at, 'key', c.key, 'count', cardinality(c.anchors),
                            'anchors', c.anchors, 'lost', x.lost)
  from compared c cross join lateral (
    select array(select a.anchor from unnest(c.anchors) with ordinality as a(anchor, place)
                 where not exists (select from jsonb_array_elements(p_chunks) n where n->>'anchor' = a.anchor)
                 order by a.place) as lost) x
  where cardinality(x.lost) >= 5 and cardinality(x.lost) > 0.3 * cardinality(c.anchors)
  order by c.place limit 1
$$;

-- The oldest competing key of a material whose owner is deleted: {bucket, key, version_id, sequencer}.
create function public.next_owner_of(r public.material) returns jsonb language sql stable as $$
  select jsonb_build_object('bucket', w.bucket, 'key', w.key, 'version_id', w.version_id, 'sequencer', w.sequencer)
  from competing_key w
  where w.material = r.material and not w.deleted and r.status = 'deleted'
  order by w.since, w.key limit 1
$$;

-- What the next event says of a page; null if the last one said it. It has no text of the page.
create function public.announcement_of(r public.material) returns jsonb language sql immutable as $$
  select jsonb_build_object(
    'material', r.material, 'state', r.version_state, 'status', r.status, 'version_id', r.version_id,
    'generation', r.generation, 'explanations', r.chunks_count, 'searchable_version_id', r.indexed_version_id,
    'error', r.error)
  where r.announced <> r.version_state and not starts_with(r.material, '_sakuin/')
$$;

-- At most p_limit pages after p_after, by name, that changed p_seconds ago or before and whose event was not sent.
create function public.unannounced_pages(p_after text, p_seconds integer, p_limit integer) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(announcement_of(u) order by u.material), '[]') from (
    select m.* from material m
    where m.announced <> m.version_state and not starts_with(m.material, '_sakuin/')
      and m.material > p_after and m.updated_at <= now() - make_interval(secs => p_seconds)
    order by m.material limit p_limit) u
$$;

-- Records what events said of pages: {material: state}. A page that changed meanwhile gets another event.
create function public.mark_announced(p_states jsonb) returns void language sql as $$
  update material m set announced = s.value from jsonb_each_text(p_states) s where m.material = s.key
$$;

-- What a worker knows of a page before it changes it: {page, null if there is none, index_versions, language: of its
-- explanations}. `words`: the rows of the words of its explanations that the page's index version wrote: {anchor: [number,
-- content_hash, text_hash]}. Version 1.0.0 reads no more members of the page, and no longer rows, than it knows.
create function public.page_record(p_material text) returns jsonb language plpgsql stable as $$
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

-- Adds the row of a material, without a version. A change without a source adds none.
create function public.add_material(p_material text, p_source jsonb) returns void language sql as $$
  insert into material (material, bucket, key, sequencer, status, generation)
  select p_material, s.bucket, s.key, '', 'deleted', 0 from jsonb_populate_record(null::material, p_source) s
  -- An insert that conflicts uses up a number, and blocks would not be filled.
  where p_source is not null and not exists (select from material m where m.material = p_material)
  on conflict do nothing
$$;

-- A change of a page.
--   source: {bucket, key, version_id, sequencer, uploaded_at}, or null for a change without an upload.
--   chunks: the chunks of the page with their words, or the rows of staged ones (rows_of_words); null for a version that
--     cannot be read (error), a deletion (deleted), or the same page as the searchable one, whose chunks stay. With
--     `staged_at`, the generation from stage_rows, they apply only if the row still has it.
--   learns_files: the versions of the learns.yml files that the chunks were written with, by key.
--   page_hash, findings, words: see material.
create type public.page_change as (
  material text, source jsonb, deleted boolean, error jsonb, chunks jsonb, fingerprint text, learns_files jsonb,
  page_hash text, findings jsonb, words jsonb
);

-- Whether it has the same page as the searchable one.
create function public.is_same(c public.page_change) returns boolean language sql immutable
return c.chunks is null and not c.deleted and c.error is null;

-- Applies a change of a page.
--   p_expected_generation: the generation of the row when it was read. The same version again, and a change without a
--     source, apply only if the row still has it. The same page applies only if the row has its page_hash.
--   p_vectors: {space, vectors: {text_hash: vector}}, new ones of the chunks; they are stored whatever the outcome is.
--   p_bucket: {version_id} that the bucket had after p_expected_generation was read; null if it has no object. The
--     sequencer does not count then (apply_current). Without it, the sequencer decides.
-- Returns {outcome, generation, next_owner, uploaded_at, announcement}; uploaded_at only if this upload is searchable now
-- and was not before. Superseded by its sequencer, a version has no upload_result: it may be the bucket's current one, and
-- the caller compares it (p_bucket).
create function public.apply_material(
  p_change jsonb, p_expected_generation bigint, p_vectors jsonb default null, p_bucket jsonb default null
) returns jsonb language plpgsql as $$
declare
  c constant page_change := jsonb_populate_record(null::page_change, p_change);
  r material;
begin
  if p_vectors is not null then
    insert into knowledge_vector (space, text_hash, embedding)
    select p_vectors->>'space', v.key, v.value::halfvec from jsonb_each_text(p_vectors->'vectors') v
    -- In one order, so that two workers cannot deadlock.
    order by v.key collate "C" on conflict do nothing;
  end if;
  if not is_same(c) then perform add_material(c.material, c.source); end if;
  select * into r from material m where m.material = c.material for update;
  if not found or (c.chunks->0->>'staged_at')::bigint <> r.generation
     or p_bucket is not null and r.generation <> coalesce(p_expected_generation, 0)
     or is_same(c) and (r.status, r.key, r.fingerprint, r.page_hash)
                       is distinct from ('ready', c.source->>'key', c.fingerprint, c.page_hash) then
    return jsonb_build_object('outcome', 'conflict', 'generation', coalesce(r.generation, 0));
  end if;
  return case when p_bucket is not null then apply_current(r, c, p_bucket->>'version_id')
              else apply_in_order(r, c, p_expected_generation) end;
end $$;

-- Applies a change if its sequencer allows that.
create function public.apply_in_order(r public.material, c public.page_change, p_expected_generation bigint)
returns jsonb language plpgsql as $$
declare
  seq constant text := c.source->>'sequencer';
begin
  if seq is null then
    if r.generation is distinct from p_expected_generation or r.status = 'deleted' then
      return jsonb_build_object('outcome', 'conflict', 'generation', r.generation);
    end if;
    return apply_version(r, c, r.indexed_sequencer, false);
  elsif r.key <> c.source->>'key' then
    return apply_other_key(r, c);
  elsif r.sequencer_unreliable or seq < r.sequencer collate "C"
        and (c.error is not null or seq <= coalesce(r.indexed_sequencer, '') collate "C") then
    return jsonb_build_object('outcome', 'superseded', 'generation', r.generation, 'next_owner', next_owner_of(r));
  elsif seq = r.sequencer collate "C" and r.generation is distinct from p_expected_generation
        and not c.deleted and c.error is null and not is_same(c) then
    return jsonb_build_object('outcome', 'conflict', 'generation', r.generation);
  end if;
  return apply_version(r, c, seq, seq >= r.sequencer collate "C");
end $$;

-- Applies a change of a key that does not own the material: it waits, or it replaces a deleted owner.
create function public.apply_other_key(r public.material, c public.page_change) returns jsonb language plpgsql as $$
declare
  fence text collate "C";
  outcome text;
begin
  select w.sequencer into fence from competing_key w where w.key = c.source->>'key' for update;
  if fence > (c.source->>'sequencer') collate "C" then
    return jsonb_build_object('outcome', 'superseded', 'generation', r.generation);
  end if;

  if c.deleted or r.status <> 'deleted' then
    insert into competing_key as w (key, material, bucket, sequencer, version_id, deleted)
    select s.key, r.material, s.bucket, s.sequencer, s.version_id, c.deleted
    from jsonb_populate_record(null::competing_key, c.source) s
    on conflict (key) do update set
      sequencer = excluded.sequencer, version_id = excluded.version_id, deleted = excluded.deleted,
      since = case when w.deleted then now() else w.since end;
    outcome := case when c.deleted then 'applied' else 'waiting' end;
    perform record_upload_result(c.source, outcome, case when not c.deleted then
      jsonb_build_object('code', 'page.other_key', 'values', jsonb_build_object('key', r.key)) end);
    return jsonb_build_object('outcome', outcome, 'generation', r.generation);
  end if;

  -- The former owner becomes a competing key, the new owner stops being one.
  insert into competing_key (key, material, bucket, sequencer, version_id, deleted)
  values (r.key, r.material, r.bucket, r.sequencer, r.version_id, true)
  on conflict (key) do update set sequencer = excluded.sequencer, version_id = excluded.version_id, deleted = true;
  delete from competing_key w where w.key = c.source->>'key';
  update material m set bucket = c.source->>'bucket', key = c.source->>'key', sequencer = '', version_id = null,
    indexed_sequencer = null
  where m.material = r.material returning * into r;
  return apply_in_order(r, c, null);
end $$;

-- Applies a version (or a deletion) whatever its sequencer is, if it is the bucket's current one (p_bucket; null: no object)
-- and the row has another. Sequencers start again in a new bucket and in an emulator that lost its data; a lost event or a
-- removed delete marker has none. An empty sequencer is unknown: that of the row stays.
create function public.apply_current(r public.material, c public.page_change, p_bucket text) returns jsonb
language plpgsql as $$
declare
  owns constant boolean := r.key = c.source->>'key';
  generation_before constant bigint := r.generation;
  was_unreliable constant boolean := r.sequencer_unreliable;
  fence text;
  done jsonb;
begin
  if c.deleted <> (p_bucket is null) or c.source->>'version_id' <> p_bucket
     or owns and (case r.status when 'deleted' then c.deleted else r.version_id = p_bucket end) then
    perform record_upload_result(c.source, 'superseded', null);
    return jsonb_build_object('outcome', 'superseded', 'generation', r.generation, 'next_owner', next_owner_of(r));
  end if;

  -- Without a sequencer in the row, this version is the newest.
  if owns then
    fence := r.sequencer;
    update material m set bucket = c.source->>'bucket', sequencer = '', indexed_sequencer = null,
      sequencer_unreliable = false
    where m.material = r.material returning * into r;
  else
    select w.sequencer into fence from competing_key w where w.key = c.source->>'key' for update;
    update competing_key w set bucket = c.source->>'bucket', sequencer = '' where w.key = c.source->>'key';
    update material m set sequencer_unreliable = false where m.material = r.material returning * into r;
  end if;
  -- No sequencer sorts before '0'.
  fence := coalesce(nullif(c.source->>'sequencer', ''), nullif(fence, ''), '0');
  c.source := c.source || jsonb_build_object('sequencer', fence);
  done := apply_in_order(r, c, r.generation);
  update material m set sequencer_unreliable = was_unreliable or m.key = c.source->>'key',
    generation = greatest(m.generation, generation_before + 1)
  where m.material = r.material
  returning * into r;
  return done || jsonb_build_object('generation', r.generation);
end $$;

-- Writes a version; p_newest: its status counts, too.
create function public.apply_version(r public.material, c public.page_change, p_sequencer text, p_newest boolean)
returns jsonb language plpgsql as $$
declare
  version constant text := c.source->>'version_id';
  searchable constant text := r.indexed_version_id;
  same constant boolean := is_same(c);
  state constant text collate "C" := case
    when not p_newest then r.version_state when c.deleted then 'deleted' else 'ready ' || coalesce(version, p_sequencer) end;
  lost jsonb;
begin
  if c.error is not null then
    update material m set
      sequencer = p_sequencer, version_id = version, status = 'failed', error = c.error, findings = c.findings,
      announced = case when m.version_state = 'failed ' || coalesce(version, p_sequencer) then m.announced else '' end,
      generation = m.generation + 1, updated_at = now()
    where m.material = r.material returning * into r;
    perform record_upload_result(c.source, 'failed', c.error);
    return jsonb_build_object('outcome', 'failed', 'generation', r.generation, 'announcement', announcement_of(r));
  end if;
  -- The same version or page again has lost nothing more.
  lost := case when same or c.source is null or searchable = version then r.collapse
               when not c.deleted then collapse_of(r, c.chunks) end;
  if not same then
    perform replace_chunks(r.material, case when c.deleted then '[]' else c.chunks end, c.fingerprint, r.generation + 1);
  end if;
  -- Also for the same page: its pending row is gone if the version before was deleted from the bucket.
  perform record_pending_learns(r.material, c.source is not null and not same);
  update material m set
    sequencer = case when p_newest then p_sequencer else m.sequencer end,
    version_id = case when p_newest then version else m.version_id end,
    status = case when p_newest then case when c.deleted then 'deleted' else 'ready' end else m.status end,
    error = case when p_newest then null else m.error end,
    generation = m.generation + 1,
    indexed_sequencer = p_sequencer,
    indexed_version_id = case when c.deleted then null when c.source is null then m.indexed_version_id else version end,
    fingerprint = case when c.deleted then null else c.fingerprint end,
    page_hash = case when not c.deleted then c.page_hash end,
    learns_files = case when same then m.learns_files else c.learns_files end,
    collapse = lost,
    findings = case when c.deleted then '[]' when same then m.findings else c.findings end,
    words = case when same then m.words else c.words end,
    chunks_count = case when c.deleted then 0 when same then m.chunks_count else jsonb_array_length(c.chunks) end,
    complete_spaces = case when same then m.complete_spaces else spaces_with_all_vectors(m.material) end,
    indexed_at = case when c.deleted then null else now() end,
    -- An upload of the same page is no news.
    announced = case when same and p_newest and m.announced = m.version_state then state
                     when state <> m.version_state then '' else m.announced end,
    work = null, updated_at = now()
  where m.material = r.material returning * into r;
  -- Reconciliation compares the files that have a row: this one may be removed, and all its events lost.
  insert into authored_file (key, version_id)
  select f.key, '' from jsonb_each_text(c.learns_files) f where f.value is not null on conflict do nothing;
  perform record_upload_result(c.source, 'applied', null);
  return jsonb_build_object(
    'outcome', 'applied', 'generation', r.generation, 'next_owner', next_owner_of(r), 'announcement', announcement_of(r),
    'uploaded_at', case when not c.deleted and searchable is distinct from version then c.source->>'uploaded_at' end);
end $$;

-- ---------------------------------------------------------------- learns of a language model
-- docs/decisions/0053. A page is applied with provisional learns, and its row in pending_learns in the same
-- transaction. Messages only say that a page has such a row, so one may come twice, late, or never.

-- Records whether a language model is to be asked about a page. p_changed: at once, because it has a new version.
create function public.record_pending_learns(p_material text, p_changed boolean) returns void language plpgsql as $$
begin
  if exists (select from knowledge_chunks k where k.material = p_material and k.learns_source = 'provisional') then
    insert into pending_learns as p (material) values (p_material)
    on conflict (material) do update set due_at = case when p_changed then now() else p.due_at end;
  else
    delete from pending_learns p where p.material = p_material;
  end if;
end $$;

-- When the next call about a text may be made: at once, after five minutes, after an hour, then each day; null after
-- eight calls.
create function public.next_learns_call(c public.learns_cache) returns timestamptz language sql stable as $$
  select case when c.attempts = 0 then '-infinity'::timestamptz when c.attempts < 8 then c.asked_at + (
    array['5 minutes', '1 hour', '1 day'])[least(c.attempts, 3)]::interval end
$$;

-- The answers for these texts: {key: [items]}; empty also for a text whose calls are used up.
create function public.cached_learns(p_keys text[]) returns jsonb language sql as $$
  update learns_cache c set used_at = now() where c.cache_key = any (p_keys) and c.used_at < now() - interval '1 day';
  select coalesce(jsonb_object_agg(c.cache_key, coalesce(c.learns, '{}')), '{}') from learns_cache c
  where c.cache_key = any (p_keys) and (c.learns is not null or next_learns_call(c) is null)
$$;

-- Claims due pages for p_seconds, so that at most p_slots are under way.
create function public.claim_learns(p_slots integer, p_seconds integer) returns text[]
language plpgsql set enable_seqscan = off set enable_sort = off as $$
declare
  claimed text[];
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.pending_learns'));
  with due as (
    select p.material from pending_learns p
    where p.due_at <= now() and (p.claimed_until < now()) is not false
    order by p.due_at, p.material
    limit greatest(p_slots - (select count(*) from pending_learns x where x.claimed_until >= now()), 0)
    for update skip locked
  ), taken as (
    update pending_learns p set claimed_until = now() + make_interval(secs => p_seconds)
    from due d where p.material = d.material returning p.material
  )
  select coalesce(array_agg(t.material order by t.material), '{}') into claimed from taken t;
  return claimed;
end $$;

-- Begins a call about a page whose texts are p_keys, in their order: {ask, more}. `ask`: up to six of them without an
-- answer, whose attempt is recorded; `more`: others are due. Null if the page is not pending. A text that failed three
-- times is asked about alone, so that it cannot keep its neighbours from an answer.
create function public.begin_learns(p_material text, p_keys text[], p_seconds integer) returns jsonb
language plpgsql as $$
declare
  due text[];
  tried integer;
  n integer;
  asked text[];
begin
  perform from pending_learns p where p.material = p_material for update;
  if not found then return null; end if;
  insert into learns_cache (cache_key) select distinct k from unnest(p_keys) k order by k on conflict do nothing;
  select coalesce(array_agg(x.cache_key order by x.attempts, x.place), '{}'), min(x.attempts) into due, tried
  from (
    select c.cache_key, c.attempts, k.place from learns_cache c
    join (select u.key, min(u.place) as place from unnest(p_keys) with ordinality as u(key, place) group by u.key) k
      on k.key = c.cache_key
    where c.learns is null and next_learns_call(c) <= now()
    order by c.cache_key for update of c skip locked) x;
  n := cardinality(due);
  -- Equal groups: 14 texts are 5, 5 and 4.
  asked := due[1:case when tried >= 3 then 1 else ceil(n / greatest(ceil(n / 6.0), 1)) end::integer];
  update learns_cache c set attempts = c.attempts + 1, asked_at = now() where c.cache_key = any (asked);
  update pending_learns p set
    claimed_until = now() + make_interval(secs => p_seconds),
    due_at = greatest(now(), (select min(next_learns_call(c)) from learns_cache c
                              where c.cache_key = any (p_keys) and c.learns is null))
  where p.material = p_material;
  return jsonb_build_object('ask', asked, 'more', n > cardinality(asked));
end $$;

-- Ends the work on a page for now; it is due after p_seconds at the earliest. p_not_asked: texts whose recorded call
-- was not made.
create function public.release_learns(p_material text, p_not_asked text[], p_seconds integer) returns void
language sql as $$
  update learns_cache c set attempts = c.attempts - 1
  where c.cache_key = any (p_not_asked) and c.attempts > 0 and c.learns is null;
  update pending_learns p set claimed_until = null,
    due_at = case when p_seconds > 0 then now() + make_interval(secs => p_seconds) else p.due_at end
  where p.material = p_material
$$;

-- Gives up on a page whose searchable version cannot be read any more, if it still has p_generation. Its next version
-- is asked about again.
create function public.drop_learns(p_material text, p_generation bigint) returns void language plpgsql as $$
begin
  perform from material m where m.material = p_material and m.generation = p_generation for update;
  if found then delete from pending_learns p where p.material = p_material; end if;
end $$;

-- ---------------------------------------------------------------- queries

-- {materials: {status: number}, chunks, words: the sums of the pages}.
create function public.material_counts() returns jsonb language sql stable as $$
  select jsonb_build_object('materials', coalesce(jsonb_object_agg(s.status, s.n), '{}'),
    'chunks', coalesce(sum(s.chunks), 0), 'words', (
      select coalesce(jsonb_object_agg(w.key, w.n), '{}') from (
        select e.key, sum(e.value::bigint) as n from material m cross join jsonb_each_text(m.words) e group by 1) w))
  from (select m.status, count(*) as n, sum(m.chunks_count) as chunks from material m
        where m.status <> 'deleted' group by m.status) s
$$;

-- The findings about pages whose names begin with p_prefix, by rule: [{rule, severity, findings, pages}].
create function public.finding_counts(p_prefix text) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(c)
    order by array_position(array['error', 'warning', 'info'], c.severity), c.pages desc, c.rule), '[]')
  from (select f->>'rule' as rule, f->>'severity' as severity, count(*) as findings,
               count(distinct m.material) as pages
        from material m cross join jsonb_array_elements(m.findings) f
        where m.findings <> '[]' and starts_with(m.material, p_prefix) and not starts_with(m.material, '_sakuin/') group by 1, 2) c
$$;

-- p_versions: [{key, version_id}].
create function public.upload_results(p_versions jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'key', r.key, 'version_id', r.version_id, 'outcome', r.outcome, 'reason', r.reason)), '[]')
  from jsonb_to_recordset(p_versions) as v(key text, version_id text)
  join upload_result r using (key, version_id)
$$;

create function public.indexed_anchors(p_materials text[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(m.material, (
    select coalesce(jsonb_agg(jsonb_build_object(
      'anchor', k.anchor, 'learns', k.learns, 'learns_given', k.learns_given) order by k.position), '[]')
    from knowledge_chunks k where k.material = m.material)), '{}')
  from material m where m.material = any (p_materials) and m.status <> 'deleted'
$$;

-- The materials of a folder that a learns.yml names, or named when they were last indexed, but for those that were
-- written with this version of it. A name without a folder matches pages of that name in every subfolder.
create function public.materials_named_in(p_key text, p_version text, p_folder text, p_names text[]) returns text[]
language sql stable as $$
  select coalesce(array_agg(m.material), '{}') from material m
  -- The last code point ends the range of all names in the folder.
  where m.material >= p_folder and m.material < p_folder || U&'\+10FFFF' and m.indexed_version_id is not null
    and not m.learns_files @> jsonb_build_object(p_key, p_version)
    and (m.material in (select unnest(p_names)) or regexp_replace(m.material, '^.*/', '') in (select unnest(p_names))
         or exists (select from knowledge_chunks k where k.material = m.material and k.learns_source = 'author'))
$$;
