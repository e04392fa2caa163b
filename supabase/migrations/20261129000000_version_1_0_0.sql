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
  check (id = material || '#' || anchor)
);
create index knowledge_chunks_material on public.knowledge_chunks (material, position);
-- For the filters of a search.
create index knowledge_chunks_category on public.knowledge_chunks (category) where category is not null;
create index knowledge_chunks_level on public.knowledge_chunks (level) where level is not null;
create index knowledge_chunks_language on public.knowledge_chunks (language) where language is not null;
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
      illustrates = excluded.illustrates, fingerprint = excluded.fingerprint, generation = excluded.generation
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

-- What a worker knows of a page before it changes it: {page, null if there is none, index_versions}. `words`: the rows of
-- the words of its explanations that the page's index version wrote: {anchor: [number, content_hash, text_hash]}.
create function public.page_record(p_material text) returns jsonb language plpgsql stable as $$
begin
  return jsonb_build_object('index_versions', index_versions(), 'page', (
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
-- Searching the pages: vectors, words, readings, synonyms, and the search itself.

-- ---------------------------------------------------------------- vectors

-- The vector of each passage by its name, the hash of the text that it is part of and its number there
-- (sakuin/retrieval/passages.py). The writer of a page stores its vectors in portions, all but the last before the
-- transaction that applies the page: adding one to the graph takes milliseconds. No search sees a text that no chunk has.
create table public.knowledge_vector (
  space text collate "C" not null,
  text_hash text collate "C" not null,
  embedding extensions.halfvec(1536) not null,
  primary key (space, text_hash)
);
-- Vectors of a space that turbopuffer searches are only kept here, so that no text is embedded twice.
create index knowledge_vector_embedding on public.knowledge_vector using hnsw (embedding extensions.halfvec_cosine_ops)
  where not starts_with(space, 'turbopuffer-');

-- The passages that a chunk is embedded as, in each space. The other columns of a chunk are the same in all versions
-- (docs/decisions/0590).
create table public.embedded_text (
  id text collate "C" not null references public.knowledge_chunks on delete cascade,
  space text collate "C" not null,
  text_hash text collate "C" not null,
  primary key (id, space, text_hash),
  foreign key (space, text_hash) references public.knowledge_vector
);
-- Finds the chunks of a vector, and the same sample for every question: hashes order texts at random.
create index embedded_text_vector on public.embedded_text (space, text_hash, id);

-- The vectors of texts that no chunk has. They are deleted after 30 days (delete_unused_texts), those of the canary at once
-- (remove_texts). An update of a vector's own row would add it to the graph again.
create table public.unused_vector (
  space text collate "C" not null,
  text_hash text collate "C" not null,
  unused_since timestamptz not null default now(),
  primary key (space, text_hash),
  foreign key (space, text_hash) references public.knowledge_vector on delete cascade
);
create index unused_vector_since on public.unused_vector (unused_since);

create function public.record_unused_vectors() returns trigger language plpgsql as $$
begin
  -- In one order, so that writers cannot deadlock.
  insert into unused_vector (space, text_hash) select distinct c.space, c.text_hash from changed c order by 1, 2
  on conflict (space, text_hash) do update set unused_since = now();
  return null;
end $$;
create trigger new_vectors after insert on public.knowledge_vector referencing new table as changed
  for each statement execute function public.record_unused_vectors();
create trigger removed_texts after delete on public.embedded_text referencing old table as changed
  for each statement execute function public.record_unused_vectors();

create function public.missing_vectors(p_space text, p_text_hashes text[]) returns text[]
language sql set enable_seqscan = off as $$
  -- They are needed soon.
  update unused_vector u set unused_since = now()
  where u.space = p_space and u.text_hash = any (p_text_hashes) and u.unused_since < now() - interval '1 day';
  select coalesce(array_agg(h), '{}') from unnest(p_text_hashes) h
  where not exists (select from knowledge_vector v where v.space = p_space and v.text_hash = h)
$$;

-- The vectors of a space by their names: base64 of two 16-bit numbers, then 16-bit floats, the highest byte first.
create function public.vectors_by_name(p_space text, p_text_hashes text[]) returns jsonb
language sql stable set enable_seqscan = off as $$
  select coalesce(jsonb_object_agg(v.text_hash, translate(encode(halfvec_send(v.embedding), 'base64'), chr(10), '')), '{}')
  from knowledge_vector v where v.space = p_space and v.text_hash = any (p_text_hashes)
$$;

-- Makes p_chunks the texts of a material, in every index version of the writer's text template, after the chunks. A text
-- without a vector is left out, except in the live version: there it is an error, because each text must have been
-- embedded before. A version of another template keeps the text of a chunk while title, content and learns are the same
-- (see remove_texts).
create function public.add_texts(p_chunks jsonb, p_fingerprint text) returns void
language plpgsql set enable_seqscan = off as $$
declare
  spaces constant text[] := spaces_of_template(p_fingerprint);
  answers constant text := (
    select f.space from index_version s join page_index_version f on f.fingerprint = s.knowledge where s.live);
begin
  with added as (
    insert into embedded_text (id, space, text_hash)
    select c.id, s.space, h.text_hash
    from jsonb_to_recordset(p_chunks) as c(id text, text_hashes text[], row_id text) cross join unnest(spaces) as s(space)
    cross join unnest(c.text_hashes) as h(text_hash)
    where (s.space = answers
           or exists (select from knowledge_vector v where v.space = s.space and v.text_hash = h.text_hash))
      -- A text in turbopuffer has a row there. The live version lacks a vector if it has not.
      and (not starts_with(s.space, 'turbopuffer-') or c.row_id is not null and (s.space = answers
           or exists (select from stored_row r where r.space = s.space and r.row_id = c.row_id)))
    on conflict do nothing
    returning space, text_hash
  )
  -- Without waiting for another page of the same text: a row that stays is deleted as an old one.
  delete from unused_vector u where u.ctid = any (array(
    select x.ctid from unused_vector x where (x.space, x.text_hash) in (select a.space, a.text_hash from added a)
    for update skip locked));
end $$;

-- Removes the texts and the rows that a material will not have with p_chunks, before its chunks change.
create function public.remove_texts(p_material text, p_chunks jsonb, p_fingerprint text, p_generation bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  spaces constant text[] := spaces_of_template(p_fingerprint);
begin
  delete from embedded_text t
  using knowledge_chunks k
  left join jsonb_to_recordset(p_chunks) as c(
    id text, title text, content_hash text, text_hashes text[], learns text[], row_id text) on c.id = k.id
  where k.material = p_material and t.id = k.id
    and (c.id is null or case when t.space = any (spaces)
         then t.text_hash <> all (c.text_hashes) or starts_with(t.space, 'turbopuffer-') and c.row_id is null
         else (k.title, k.content_hash, k.learns) is distinct from (c.title, c.content_hash, c.learns)
              or k.fingerprint = p_fingerprint and k.text_hashes <> c.text_hashes end);
  update stored_row r set id = null, generation = p_generation, changed_at = '-infinity'
  from knowledge_chunks k
  left join jsonb_to_recordset(p_chunks) as c(id text, row_id text) on c.id = k.id
  where k.material = p_material and r.id = k.id and case when r.space = any (spaces) then r.row_id is distinct from c.row_id
    else not exists (select from embedded_text t where t.id = k.id and t.space = r.space) end;
  -- The text of the canary is another one in each run.
  if starts_with(p_material, '_sakuin/') then
    delete from knowledge_vector v using knowledge_chunks k
    where k.material = p_material and v.space = any (spaces_of_template(k.fingerprint)) and v.text_hash = any (k.text_hashes)
      and not exists (select from embedded_text t where (t.space, t.text_hash) = (v.space, v.text_hash))
      and not exists (select from jsonb_array_elements(p_chunks) c where c->'text_hashes' ? v.text_hash);
  end if;
end $$;

-- The spaces in which each chunk of a material has a vector.
create function public.spaces_with_all_vectors(p_material text) returns text[] language sql stable as $$
  select coalesce(array_agg(s.space order by s.space), '{}')
  from (select t.space from knowledge_chunks k join embedded_text t on t.id = k.id where k.material = p_material
        group by t.space
        having count(*) = (select sum(cardinality(k.text_hashes)) from knowledge_chunks k where k.material = p_material)) s
$$;

-- ---------------------------------------------------------------- rows in turbopuffer
-- docs/decisions/0148. A row of an explanation never changes: other passages, words or filters are another row, which is
-- stored before the transaction that makes it current.

-- The rows that turbopuffer may have in each space. Those without an explanation are staged for a version that is not
-- applied yet, or were replaced by one (`changed_at`: -infinity). They are deleted there up to their generation.
create table public.stored_row (
  space text collate "C" not null,
  row_id text collate "C" not null,
  id text collate "C" references public.knowledge_chunks on delete set null,
  generation bigint not null,
  changed_at timestamptz not null default now(),
  primary key (space, row_id)
);
create unique index stored_row_id on public.stored_row (id, space) where id is not null;
create index stored_row_other on public.stored_row (changed_at) where id is null;

-- Stages those of p_rows ([{row_id, text_hashes}]) that are not current in a space, and of which it has all vectors. Returns
-- {generation, spaces: {space: {row_id: [vectors]}}}: the generation of the material, and vectors as vectors_by_name has them.
create function public.stage_rows(p_material text, p_source jsonb, p_fingerprint text, p_rows jsonb) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  generation_now bigint;
  staged jsonb;
begin
  perform add_material(p_material, p_source);
  -- A change without a source of a page that there is not becomes a conflict.
  generation_now := coalesce((select m.generation from material m where m.material = p_material), 0);
  with complete as materialized (
    select s.space, r.row_id,
      jsonb_agg(translate(encode(halfvec_send(v.embedding), 'base64'), chr(10), '') order by h.place) as vectors
    from unnest(spaces_of_template(p_fingerprint)) as s(space)
    cross join jsonb_to_recordset(p_rows) as r(row_id text, text_hashes text[])
    cross join unnest(r.text_hashes) with ordinality as h(text_hash, place)
    join knowledge_vector v on v.space = s.space and v.text_hash = h.text_hash
    where starts_with(s.space, 'turbopuffer-')
      and not exists (select from stored_row x where x.space = s.space and x.row_id = r.row_id and x.id is not null)
    group by s.space, r.row_id, r.text_hashes having count(*) = cardinality(r.text_hashes)
  ), added as (
    insert into stored_row as x (space, row_id, generation)
    select c.space, c.row_id, generation_now + 1 from complete c order by 1, 2
    on conflict (space, row_id) do update set
      generation = greatest(x.generation, excluded.generation), changed_at = excluded.changed_at
  )
  select jsonb_object_agg(s.space, s.vectors) into staged
  from (select c.space, jsonb_object_agg(c.row_id, c.vectors) as vectors from complete c group by c.space) s;
  return jsonb_build_object('generation', generation_now, 'spaces', coalesce(staged, '{}'));
end $$;

-- Forgets rows that are deleted in turbopuffer, but for those that were staged again.
create function public.forget_rows(p_space text, p_generation bigint, p_rows text[]) returns void language sql as $$
  delete from stored_row r
  where r.space = p_space and r.generation = p_generation and r.row_id = any (p_rows) and r.id is null
$$;

-- ---------------------------------------------------------------- words
-- BM25 in SQL. A posting list in blocks makes a frequent term as cheap as a rare one.
--
-- An impact is the part of BM25F that does not depend on how rare the term is: 1 to 32767 stand for (0, 1]. It depends
-- on no other text, so that a page writes only its own words.

-- The words of each chunk. A search scores its candidates by them, and they name the postings to remove with it. Rows
-- that are not current are staged for a version that is not applied yet, or were replaced by one (`changed_at`:
-- -infinity). No search finds a chunk by them; sweep_words deletes them.
create table public.chunk_words (
  number integer generated always as identity primary key,
  id text collate "C" not null,
  material text collate "C" not null references public.material,
  terms text[] collate "C" not null,
  impacts smallint[] not null,
  is_current boolean not null default false,
  changed_at timestamptz not null default now(),
  check (cardinality(terms) = cardinality(impacts))
);
create index chunk_words_id on public.chunk_words (id);
create unique index chunk_words_current on public.chunk_words (id) where is_current;
create index chunk_words_other on public.chunk_words (changed_at) where not is_current;
create index chunk_words_material on public.chunk_words (material);

-- The chunks of each term, in blocks of up to 32 pages. A block is small enough to be rewritten for one chunk, and a
-- term has so few blocks that counting its chunks (`n`) reads a few index pages.
create table public.posting (
  term text collate "C" not null,
  block integer not null,
  chunks integer[] not null,
  impacts smallint[] not null,
  n integer not null generated always as (cardinality(chunks)) stored,
  primary key (term, block) include (n)
-- Room on each page for the rows of the next import.
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = .02);

-- Consecutive pages get different blocks, so that their writers do not wait for each other.
create function public.posting_block(p_number integer) returns integer language sql immutable as $$
  select p_number % 64 + 64 * (p_number / 2048)
$$;

create function public.block_of(p_material text) returns integer language sql stable as $$
  select posting_block(m.number) from material m where m.material = p_material
$$;

-- Adds the rows p_fresh of chunk_words to the postings of a block, and removes p_stale. Each writer locks one block only,
-- and locks it last: writers of one block wait for each other here and nowhere else, and cannot deadlock.
create function public.change_postings(p_block integer, p_fresh integer[], p_stale integer[]) returns void
language plpgsql set jit = off set enable_seqscan = off
-- The array of a generic plan is not hashed.
set plan_cache_mode = force_custom_plan as $$
declare
  stale_terms constant text[] := array(
    select distinct t from chunk_words w, unnest(w.terms) t where w.number = any (p_stale));
begin
  if cardinality(p_fresh || p_stale) = 0 then return; end if;
  perform pg_advisory_xact_lock(hashtext('sakuin.posting'), p_block);
  with brought as materialized (
    select u.term, array_agg(w.number) as chunks, array_agg(u.impact) as impacts
    from chunk_words w, unnest(w.terms, w.impacts) as u(term, impact)
    where w.number = any (p_fresh) group by u.term
  ), changed as (
    insert into posting (term, block, chunks, impacts)
    select s.term, p_block, kept.chunks || b.chunks, kept.impacts || b.impacts
    from unnest(stale_terms) as s(term) left join brought b using (term)
    cross join lateral (
      select coalesce(array_agg(u.chunk), '{}') as chunks, coalesce(array_agg(u.impact), '{}') as impacts
      from posting own, unnest(own.chunks, own.impacts) as u(chunk, impact)
      where own.term = s.term and own.block = p_block and u.chunk <> all (p_stale)) as kept
    on conflict (term, block) do update set chunks = excluded.chunks, impacts = excluded.impacts
  )
  insert into posting as p (term, block, chunks, impacts)
  select b.term, p_block, b.chunks, b.impacts
  from brought b left join unnest(stale_terms) as s(term) using (term) where s.term is null
  on conflict (term, block) do update set
    chunks = p.chunks || excluded.chunks, impacts = p.impacts || excluded.impacts;
  delete from posting p where p.block = p_block and p.term = any (stale_terms) and p.n = 0;
end $$;

-- Adds the words of those p_chunks that have no such row yet, and returns the numbers of the new rows.
create function public.add_words(p_material text, p_chunks jsonb) returns integer[]
language sql set enable_seqscan = off as $$
  with added as (
    insert into chunk_words (id, material, terms, impacts)
    select c.id, p_material, c.terms, c.impacts
    from jsonb_to_recordset(p_chunks) as c(id text, terms text[], impacts smallint[])
    where c.terms is not null and not exists (
      select from chunk_words w where w.id = c.id and (w.terms, w.impacts) = (c.terms, c.impacts))
    returning number
  )
  select coalesce(array_agg(a.number), '{}') from added a
$$;

-- The rows of the words of p_chunks: {id: number}. A chunk has its words (`terms`, `impacts`) or their row (`words`).
create function public.rows_of_words(p_chunks jsonb) returns jsonb language sql stable set enable_seqscan = off as $$
  select coalesce(jsonb_object_agg(r.id, r.number), '{}') from (
    select distinct on (w.id) w.id, w.number
    from jsonb_to_recordset(p_chunks) as c(id text, words integer, terms text[], impacts smallint[])
    join chunk_words w on w.id = c.id and (w.number = c.words or (w.terms, w.impacts) = (c.terms, c.impacts))
    order by w.id, w.is_current desc, w.number) r
$$;

-- Writes words for a version of a page that is not applied yet, and returns their rows as rows_of_words does. A page with
-- many words takes several calls: one statement could not write them all within its time limit.
create function public.stage_words(p_material text, p_source jsonb, p_chunks jsonb) returns jsonb language plpgsql as $$
declare
  fresh integer[];
  staged jsonb;
begin
  perform add_material(p_material, p_source);
  fresh := add_words(p_material, p_chunks);
  staged := rows_of_words(p_chunks);
  update chunk_words w set changed_at = now()
  where not w.is_current and w.number <> all (fresh)
    and w.number = any (array(select n.value::integer from jsonb_each_text(staged) n));
  perform change_postings(block_of(p_material), fresh, '{}');
  perform add_readings(p_chunks);
  return staged;
end $$;

-- Makes p_chunks the words of a material. The words of a large page are removed by sweep_words, in portions.
create function public.replace_words(p_material text, p_chunks jsonb) returns void language plpgsql as $$
declare
  fresh constant integer[] := add_words(p_material, p_chunks);
  words constant integer[] := array(select r.value::integer from jsonb_each_text(rows_of_words(p_chunks)) r);
  stale integer[] := array(
    select w.number from chunk_words w where w.material = p_material and w.is_current and w.number <> all (words));
begin
  perform require(cardinality(words) = jsonb_array_length(p_chunks), '23505', 'record.words');
  if (select sum(cardinality(w.terms)) from chunk_words w where w.number = any (stale)) > 60000 then
    update chunk_words w set is_current = false, changed_at = '-infinity' where w.number = any (stale);
    stale := '{}';
  end if;
  perform change_postings(block_of(p_material), fresh, stale);
  delete from chunk_words w where w.number = any (stale);
  update chunk_words w set is_current = true where w.number = any (words) and not w.is_current;
  perform add_readings(p_chunks);
end $$;

-- Deletes about p_terms words of one page that are not current: replaced ones, and those that were staged more than
-- p_seconds ago. Returns the number of rows; 0: nothing is left.
create function public.sweep_words(p_seconds integer, p_terms integer) returns integer
language plpgsql set enable_seqscan = off as $$
declare
  due constant timestamptz := now() - make_interval(secs => p_seconds);
  page constant text := (select w.material from chunk_words w where not w.is_current and w.changed_at < due
                         order by w.changed_at limit 1);
  stale constant integer[] := array(
    select x.number from (
      select w.number, sum(cardinality(w.terms)) over (order by w.number) - cardinality(w.terms) as terms_before
      from (select s.* from chunk_words s where s.material = page and not s.is_current and s.changed_at < due
            for update skip locked) w) x
    where x.terms_before < p_terms);
begin
  perform change_postings(block_of(page), '{}', stale);
  delete from chunk_words w where w.number = any (stale);
  return cardinality(stale);
end $$;

-- ---------------------------------------------------------------- readings
-- How words are read and written in the indexed texts: for questions in kana, and for typing errors.

-- This table has each reading with its spelling once, so that words are found by their sound. A word of a script with
-- spaces is its own reading. The postings of `term` say in how many chunks the word is: for kana, a reading, a tab and
-- its spelling; else the word's own term, so that such words need no postings beside those of the search. Applying a
-- page never deletes a row: rows without chunks are ignored, and `delete_unused_readings` removes them.
create table public.reading (
  reading text collate "C" not null,
  written text collate "C" not null,
  term text collate "C" not null,
  sound text collate "C" not null,
  primary key (reading, written, term)
);
create index reading_begins on public.reading (left(sound, 2), length(sound));
create index reading_ends on public.reading (right(sound, 2), length(sound));

-- Voiced and small kana become plain ones, and repeated kana become one.
create function public.sound_of(p_reading text) returns text language sql immutable as $$
  select regexp_replace(
    translate(p_reading, 'ガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴァィゥェォッャュョヮ',
                         'カキクケコサシスセソタチツテトハヒフヘホハヒフヘホウアイウエオツヤユヨワ'),
    '(.)\1+', '\1', 'g')
$$;

-- Writes the readings of words, after their postings: two writers of one new row wait for each other. `spelled` of a
-- chunk has the words of scripts with spaces with their terms.
create function public.add_readings(p_chunks jsonb) returns void language sql as $$
  -- In one order, so that writers cannot deadlock.
  insert into reading (reading, written, term, sound)
  select p.reading, p.written, p.term, sound_of(p.reading)
  from (select split_part(t, chr(9), 1) as reading, split_part(t, chr(9), 2) as written, t as term
        from jsonb_array_elements(p_chunks) c, jsonb_array_elements_text(c->'terms') t
        where strpos(t, chr(9)) > 0
        union
        select s.key, s.key, s.value from jsonb_array_elements(p_chunks) c, jsonb_each_text(c->'spelled') s) p
  where not exists (
    select from reading r where r.reading = p.reading and r.written = p.written and r.term = p.term)
  order by p.reading collate "C", p.written collate "C", p.term collate "C"
  on conflict do nothing
$$;

-- The number of typing errors between two sounds: a kana that is added, missing, replaced, or swapped with its
-- neighbour. More than two count as three.
create function public.typo_distance(p_one text, p_other text) returns integer language sql immutable as $$
  select case
    when d.edits = 2 and length(p_one) = length(p_other) and exists (
      select from generate_series(1, length(p_one) - 1) i
      where overlay(p_one placing substr(p_one, i + 1, 1) || substr(p_one, i, 1) from i for 2) = p_other) then 1
    else greatest(1, d.edits) end
  from (select levenshtein_less_equal(p_one, p_other, 2) as edits) d
$$;

-- How many typing errors are allowed in a reading.
create function public.typo_limit(p_reading text) returns integer language sql immutable as $$
  select case when length(p_reading) >= 7 then 2 else 1 end
$$;

-- The words of a similar sound, best first. Only readings that begin or end with the same two kana are compared: errors
-- at both ends are not found.
create function public.similar_words(p_reading text) returns jsonb
language sql stable set jit = off set enable_seqscan = off as $$
  with asked as materialized (
    select sound_of(p_reading) as sound, length(sound_of(p_reading)) as width, typo_limit(p_reading) as typos
  ), around as (
    select r.* from asked a, reading r
    where left(r.sound, 2) = left(a.sound, 2) and length(r.sound) between a.width - a.typos and a.width + a.typos
    union
    select r.* from asked a, reading r
    where right(r.sound, 2) = right(a.sound, 2) and length(r.sound) between a.width - a.typos and a.width + a.typos
  ), measured as materialized (
    -- The function is slow: most sounds are too far for it.
    select r.written, r.term, r.typos, typo_distance(r.sound, r.asked) as distance
    from (select r.*, a.typos, a.sound as asked from around r, asked a
          where levenshtein_less_equal(r.sound, a.sound, 2) <= 2 offset 0) r
  ), found as (
    select w.written, min(w.distance) as distance, max(w.n) as n
    from (select m.written, m.distance, (select sum(p.n) from posting p where p.term = m.term) as n
          from measured m where m.distance <= m.typos) w
    where w.n > 0 group by w.written
  )
  select to_jsonb((array_agg(f.written order by f.distance, f.n desc, f.written))[:5]) from found f
$$;

-- ---------------------------------------------------------------- synonyms

-- The synonyms of each synonyms.yml, for the pages whose names begin with `folder`: [{"phrases", "plain"}]. `plain` is
-- normalised like a question, by the analyzer named here. Empty: the file is deleted. `generation` counts the
-- changes.
create table public.site_synonyms (
  key text collate "C" primary key,
  folder text collate "C" not null default '',
  groups jsonb not null,
  analyzer text not null default '',
  generation bigint not null default 1,
  updated_at timestamptz not null default now()
);

-- p_version: the version that has these groups; null without a file. Returns false, and changes nothing, unless the
-- synonyms of the file were stored p_expected_generation times: another worker has read a later version.
create function public.store_synonyms(
  p_key text, p_version text, p_folder text, p_groups jsonb, p_analyzer text, p_expected_generation bigint
) returns boolean language plpgsql as $$
begin
  insert into site_synonyms (key, groups, generation) values (p_key, '[]', 0) on conflict do nothing;
  update site_synonyms s set
    folder = p_folder, groups = p_groups, analyzer = p_analyzer, generation = s.generation + 1, updated_at = now()
  where s.key = p_key and s.generation = p_expected_generation;
  if not found then return false; end if;
  insert into authored_file (key, version_id) values (p_key, p_version)
  on conflict (key) do update set version_id = excluded.version_id, applied_at = now();
  return true;
end $$;

-- What is known of a question's words, in one round trip:
--   written   for each of p_readings, its spellings in the index
--   known     those of p_words ({word or term: reading, or empty}) that the index has
--   near      for each other word of p_words, words of a similar reading
--   synonyms  the groups with a phrase that occurs in p_query: [{folder, phrases}]; with p_material those for that page,
--             with p_in those for pages whose names begin with it
--   live      the id of the live index version; null before the first
create function public.lexicon_entries(
  p_readings text[], p_words jsonb, p_query text, p_material text default null, p_in text default null
) returns jsonb
language plpgsql stable set jit = off set enable_seqscan = off
-- Planning takes longer than the statement.
set plan_cache_mode = force_generic_plan as $$
declare
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where exists (select from posting p where p.term = e.key)
      or exists (select from reading r where r.reading = coalesce(nullif(e.value, ''), e.key) and r.written = e.key
                 and exists (select from posting p where p.term = r.term and p.n > 0)));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select c.reading, array_agg(c.written order by c.n desc, c.written) as forms from (
          select r.reading, r.written, (select sum(p.n) from posting p where p.term = r.term) as n
          from reading r where r.reading = any (p_readings)) c
        where c.n > 0 group by c.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_words(u.reading) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and e.key <> all (known)
            and not exists (select from reading r join posting p using (term) where r.reading = e.value and p.n > 0)
          order by e.key collate "C" limit 8) u) w
      where w.forms is not null),
    'synonyms', (
      select coalesce(jsonb_agg(jsonb_build_object('folder', s.folder, 'phrases', g.value->'phrases')), '[]')
      from site_synonyms s cross join lateral jsonb_array_elements(s.groups) as g(value)
      where (p_material is null or starts_with(p_material, s.folder))
        and (p_in is null or starts_with(p_in, s.folder) or starts_with(s.folder, p_in))
        and exists (select from jsonb_array_elements_text(g.value->'plain') as p(phrase)
                    where strpos(p_query, p.phrase) > 0)));
end $$;

-- ---------------------------------------------------------------- the search

-- Whether a chunk passes the filters. Only the canary, which names its page, finds that page.
create function public.passes(
  k public.knowledge_chunks, p_type text, p_category text, p_level text, p_material text, p_in text
) returns boolean language sql immutable
-- Bound to its tables when it is created, so that it needs no search_path and is a part of the query that calls it.
return (p_type is null or k.type = p_type) and (p_category is null or k.category = p_category)
  and (p_level is null or k.level = p_level) and (p_material is null or k.material = p_material)
  and (p_in is null or starts_with(k.material, p_in)) and (p_material is not null or not starts_with(k.material, '_sakuin/'));

-- A language without its region.
create function public.base_language(p_language text) returns text language sql immutable
return lower(split_part(p_language, '-', 1));

-- The vector of a question as it would be in a language of p_sample passages: moved by the difference between the mean of
-- that language and that of the nearest one. Null if it is the nearest.
create function public.vector_in_language(p_space text, p_sample integer, p_vector extensions.halfvec, p_language text)
returns extensions.halfvec language sql stable set enable_seqscan = off as $$
  with means as materialized (
    select base_language(k.language) as language, avg(v.embedding) as mean, avg(v.embedding <=> p_vector) as distance
    from (select e.* from embedded_text e where e.space = p_space order by e.text_hash limit p_sample) e
    join knowledge_vector v using (space, text_hash) join knowledge_chunks k using (id)
    where k.language is not null group by 1
  ), nearest as (select m.language, m.mean from means m order by m.distance, m.language limit 1)
  select p_vector + m.mean - n.mean from means m, nearest n where m.language = p_language and n.language <> p_language
$$;

-- The next functions are the steps of search_candidates, and run with its settings of the planner.

-- [[language, cosine]] of a question and p_sample passages, which are the same for every question.
create function public.sampled_cosines(p_vector extensions.halfvec, p_space text, p_sample integer) returns json
language plpgsql stable as $$
declare
  -- The first and the last language of an index: most libraries have one, and need not look at each text of the sample.
  is_mixed constant boolean := (
    select split_part(min(k.language), '-', 1) <> split_part(max(k.language), '-', 1) from knowledge_chunks k);
begin
  return (
    select coalesce(json_agg(json_build_array(k.language, 1 - (v.embedding <=> p_vector))), '[]')
    from (select e.* from embedded_text e where e.space = p_space order by e.text_hash limit p_sample) e
    cross join lateral (select v.* from knowledge_vector v where v.space = e.space and v.text_hash = e.text_hash offset 0) v
    left join lateral (select c.language from knowledge_chunks c where is_mixed and c.id = e.id offset 0) k on true);
end $$;

-- The p_depth chunks with the passages nearest to p_vector that pass the filters, of a language or (null) of all. With
-- p_is_narrow, so few pass that comparing all of them is faster than searching the graph.
create function public.nearest_chunks(
  p_vector extensions.halfvec, p_space text, p_depth integer, p_language text, p_total bigint, p_is_narrow boolean,
  p_type text, p_category text, p_level text, p_material text, p_in text
) returns text[] language plpgsql stable as $$
declare
  is_filtered constant boolean := coalesce(p_type, p_category, p_level, p_in, p_language) is not null;
  ids text[] := '{}';
  passages bigint := 0;
begin
  if not p_is_narrow then
    -- The scan of the graph continues until enough chunks pass the filters; for a language it is one walk.
    perform set_config('hnsw.iterative_scan', case when p_language is null then 'strict_order' else 'off' end, true);
    -- The graph returns chunks in order. Without this the planner reads and sorts all of them.
    perform set_config('enable_sort', 'off', true);
    with near as materialized (
      select t.id from knowledge_vector v
      -- None for a text that no chunk has.
      cross join lateral (
        select e.id from embedded_text e
        where e.space = v.space and e.text_hash = v.text_hash
          and (not is_filtered or exists (
            select from knowledge_chunks k where k.id = e.id and passes(k, p_type, p_category, p_level, p_material, p_in)
              and (p_language is null or base_language(k.language) = p_language))) offset 0) t
      where v.space = p_space and not starts_with(v.space, 'turbopuffer-')
      order by v.embedding <=> p_vector limit 2 * p_depth
    ), numbered as (select n.id, row_number() over () as place from near n)
    select array(select n.id from numbered n group by n.id order by min(n.place) limit p_depth),
           (select count(*) from numbered) into ids, passages;
    perform set_config('enable_sort', 'on', true);
  end if;
  if passages < 2 * p_depth and cardinality(ids) < least(p_depth, p_total) and (p_is_narrow or p_language is null) then
    -- Compare every row that passes the filters.
    ids := array(
      select k.id from knowledge_chunks k join embedded_text e on e.id = k.id and e.space = p_space
      join knowledge_vector v on v.space = e.space and v.text_hash = e.text_hash
      where passes(k, p_type, p_category, p_level, p_material, p_in)
        and (p_language is null or base_language(k.language) = p_language)
      group by k.id order by min(v.embedding <=> p_vector), k.id limit p_depth);
  end if;
  return ids;
end $$;

-- The p_depth nearest chunks, then for each language of the sample that has less than half of its share of these the chunks
-- that are nearest in it, since other languages have lower cosines.
create function public.nearest_by_language(
  p_vector extensions.halfvec, p_space text, p_depth integer, p_sample integer, p_cosines json, p_total bigint,
  p_is_narrow boolean, p_type text, p_category text, p_level text, p_material text, p_in text
) returns text[] language plpgsql stable as $$
declare
  languages constant text[] := array(
    select distinct base_language((c->>0) collate "C") from json_array_elements(p_cosines) c where c->>0 is not null order by 1);
  share constant integer := p_depth / greatest(cardinality(languages), 1);
  nearest text[] := nearest_chunks(
    p_vector, p_space, p_depth, null, p_total, p_is_narrow, p_type, p_category, p_level, p_material, p_in);
  of_language text;
  vector halfvec(1536);
begin
  if cardinality(languages) < 2 then return nearest; end if;
  foreach of_language in array languages loop
    continue when share <= 2 * (
      select count(*) from knowledge_chunks k where k.id = any (nearest) and base_language(k.language) = of_language);
    vector := vector_in_language(p_space, p_sample, p_vector, of_language);
    continue when vector is null;
    nearest := nearest || nearest_chunks(
      vector, p_space, share, of_language, p_total, p_is_narrow, p_type, p_category, p_level, p_material, p_in);
  end loop;
  return nearest;
end $$;

-- The terms of a question: [{term, n, gain, slot, is_plain, folders, is_everywhere, is_read}].
--   n, gain        the number of chunks with it, and its idf
--   is_plain       it is the only term of its slot
--   folders        those that the slot belongs to, of p_folders; is_everywhere: it belongs to all
--   is_read        its postings are read: all those of the rarest slot of a folder, and of the next rarest while the total stays
--                  within p_posting_budget chunks
create function public.question_terms(p_slots jsonb, p_folders text[], p_total bigint, p_posting_budget integer)
returns jsonb language plpgsql stable as $$
begin
  return (
  with question as materialized (
    select s.slot, s.value->'folders' as folders, t.term collate "C" as term
    from jsonb_array_elements(p_slots) with ordinality as s(value, slot)
    cross join lateral jsonb_array_elements_text(s.value->'terms') as t(term)
  ), counted as materialized (
    select t.term, least(p_total, (select coalesce(sum(p.n), 0) from posting p where p.term = t.term))::float8 as n
    from (select distinct s.term from question s) t
  ), sizes as materialized (
    select s.slot, s.folders, count(*) = 1 as is_plain, sum(c.n) as n
    from question s join counted c using (term) group by s.slot, s.folders
  ), reached as (
    select z.slot, f.folder, sum(z.n) over rarest as n, bool_or(z.n > 0) over earlier as is_later
    from sizes z
    join unnest(p_folders) as f(folder) on z.folders is null or z.folders ? f.folder
    window rarest as (partition by f.folder order by z.n, z.slot rows unbounded preceding),
           earlier as (partition by f.folder order by z.n, z.slot rows between unbounded preceding and 1 preceding)
  ), slots as materialized (
    select r.slot, array_agg(r.folder) as folders, count(*) = cardinality(p_folders) as is_everywhere
    from reached r where r.n <= p_posting_budget or not coalesce(r.is_later, false) group by r.slot
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'term', s.term, 'n', c.n, 'gain', ln(1 + (p_total - c.n + 0.5) / (c.n + 0.5)), 'slot', s.slot, 'is_plain', z.is_plain,
    'folders', r.folders, 'is_everywhere', r.is_everywhere, 'is_read', r.slot is not null)), '[]')
  from question s join counted c using (term) join sizes z using (slot) left join slots r using (slot));
end $$;

-- What a question reads from postings: chunks, the places (from 1) of their terms in question_terms, and impacts.
create type public.posting_hits as (chunks integer[], places integer[], impacts smallint[]);

create function public.read_postings(p_terms jsonb, p_block integer) returns public.posting_hits
language plpgsql stable as $$
declare
  hits posting_hits;
begin
  select array_agg(h.chunk), array_agg(t.place), array_agg(h.impact) into hits
  from jsonb_array_elements(p_terms) with ordinality as t(value, place)
  cross join lateral (
    select p.chunks, p.impacts from posting p
    where p.term = (t.value->>'term') collate "C"
      and p.block between coalesce(p_block, 0) and coalesce(p_block, 2147483647) offset 0) p
  cross join lateral unnest(p.chunks, p.impacts) as h(chunk, impact)
  where (t.value->>'is_read')::boolean;
  return hits;
end $$;

-- The p_depth chunks that pass the filters with the greatest sums over the slots of the greatest idf * impact of a slot's
-- terms, of p_passing (numbers; null: all). p_most: so many may have to be looked at; null: all.
create function public.matching_chunks(
  p_terms jsonb, p_hits public.posting_hits, p_folders text[], p_passing integer[], p_depth integer, p_most bigint,
  p_type text, p_category text, p_level text, p_material text, p_in text
) returns text[] language plpgsql stable
-- Sums in one order, so that the same evidence gives the same order each time.
set enable_sort = off as $$
declare
  gains constant float8[] := array(select (t->>'gain')::float8 from jsonb_array_elements(p_terms) t);
  slots constant bigint[] := array(select (t->>'slot')::bigint from jsonb_array_elements(p_terms) t);
  plain constant boolean[] := array(select (t->>'is_plain')::boolean from jsonb_array_elements(p_terms) t);
  everywhere constant boolean[] := array(select (t->>'is_everywhere')::boolean from jsonb_array_elements(p_terms) t);
begin
  return array(
    with hits as not materialized (
      select h.* from unnest(p_hits.chunks, p_hits.places, p_hits.impacts) as h(chunk, place, impact)
      where (p_passing is null or h.chunk in (select unnest(p_passing)))
        -- Of folders that begin the name of a page, the last one is the deepest.
        and (everywhere[h.place] or p_terms->(h.place - 1)->'folders' ? (
          select max(f.folder collate "C") from chunk_words w, unnest(p_folders) as f(folder)
          where w.number = h.chunk and starts_with(w.material, f.folder)))
    ), scored as (
      select v.chunk, sum(v.value) as score
      from (select h.chunk, gains[h.place] * h.impact as value from hits h where plain[h.place]
            union all
            select h.chunk, max(gains[h.place] * h.impact) from hits h
            where false = any (plain) and not plain[h.place] group by h.chunk, slots[h.place]) v
      group by v.chunk
    )
    -- One by one in this order, until enough have passed the filters.
    select k.id
    from (select * from scored order by score desc, chunk limit p_most) s
    cross join lateral (
      select k.id from knowledge_chunks k
      where k.id = (select w.id from chunk_words w where w.number = s.chunk and w.is_current)
        and passes(k, p_type, p_category, p_level, p_material, p_in)
      offset 0) k
    order by s.score desc, s.chunk limit p_depth);
end $$;

-- The chunks p_found, then, of those that pass the filters, the concepts that a found example illustrates, so that the example
-- can rank below them, and p_expected, which is not found.
create function public.with_illustrated(
  p_found text[], p_expected text, p_type text, p_category text, p_level text, p_material text, p_in text
) returns table (id text, is_found boolean, type text, material text, illustrates text[], language text)
language plpgsql stable rows 200 as $$
begin
  return query
  with found as materialized (
    -- One by one by primary key: the planner cannot know how few they are.
    select k.* from unnest(p_found) as f(id)
    cross join lateral (select c.* from knowledge_chunks c where c.id = f.id offset 0) k
  ), other as (
    select e.id, bool_or(e.is_found) as is_found from (
      select f.material || '#' || i.anchor as id, true as is_found from found f, unnest(f.illustrates) as i(anchor)
      where f.type = 'example' and p_type is null
      union all select p_expected, false where p_expected is not null) e
    where e.id not in (select f.id from found f) group by e.id
  )
  select f.id, true, f.type, f.material, f.illustrates, f.language from found f
  union all
  select k.id, o.is_found, k.type, k.material, k.illustrates, k.language
  from other o cross join lateral (
    select c.* from knowledge_chunks c where c.id = o.id and passes(c, p_type, p_category, p_level, p_material, p_in) offset 0) k;
end $$;

-- The impacts of a question's terms in chunks: {id: {term: impact}}. Words that no posting was read of are in the chunks' own.
create function public.impacts_in(p_ids text[], p_terms jsonb, p_hits public.posting_hits) returns jsonb
-- The planner assumes that there are few hits.
language plpgsql stable set enable_nestloop = off as $$
declare
  names constant text[] := array(select t->>'term' from jsonb_array_elements(p_terms) t);
  unread constant text[] := array(select t->>'term' from jsonb_array_elements(p_terms) t where not (t->>'is_read')::boolean);
begin
  return (
  with row as materialized (
    select w.id, w.number, w.terms, w.impacts from unnest(p_ids) as c(id)
    cross join lateral (select w.* from chunk_words w where w.id = c.id and w.is_current offset 0) w
  ), words as (
    select r.id, names[h.place] as term, h.impact from row r
    join unnest(p_hits.chunks, p_hits.places, p_hits.impacts) as h(chunk, place, impact) on h.chunk = r.number
    union
    select u.id, u.term, u.impact
    -- Arrays in the list of a select are read without a copy of their rows.
    from (select r.id, unnest(r.terms) as term, unnest(r.impacts) as impact from row r where unread <> '{}' offset 0) u
    where u.term in (select unnest(unread))
  )
  select coalesce(jsonb_object_agg(m.id, m.impacts), '{}')
  from (select w.id, jsonb_object_agg(w.term, w.impact) as impacts from words w group by w.id) m);
end $$;

-- The candidates of search_candidates, of which these are the nearest and the matching, best first.
create function public.candidates_of(
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
    'cosine', (select 1 - min(v.embedding <=> p_vector) from embedded_text e
               join knowledge_vector v using (space, text_hash) where e.id = c.id and e.space = p_space))), '[]')
  from candidate c, matched m
  -- Without filters nothing above asks where a page is.
  where p_material is not null or not starts_with(c.material, '_sakuin/'));
end $$;

-- The candidates of a question, with the evidence for each. sakuin/retrieval/ranking.py ranks them.
--
-- A question is a list of slots, each with the terms that express it: [{"terms"}].
-- p_folders are the folders with slots of their own, and "" for all other pages. A chunk is searched by the slots of the
-- deepest folder that its page is in: those that name it in `folders`, and those without. Only chunks of pages whose names
-- begin with p_in are found.
-- Returns an object:
--   total        the number of chunks of the index
--   frequency    {term: the number of chunks with it}; it counts words that are not current, too
--   cosines      sampled_cosines
--   candidates   [{id, type, language, illustrates, cosine, nearest_rank, matching_rank, impacts, is_found}]
--
-- The candidates are the p_depth chunks with the nearest passages, their share of these for each language of the sample, since
-- other languages have lower cosines, the p_depth chunks with the best words, and with_illustrated.
create function public.search_candidates(
  p_embedding text, p_slots jsonb, p_space text, p_depth integer, p_sample integer,
  p_posting_budget integer, p_expected text default null, p_type text default null, p_category text default null,
  p_level text default null, p_material text default null, p_in text default null, p_folders text[] default '{""}'
) returns json language plpgsql stable set jit = off set max_parallel_workers_per_gather = 0
set enable_mergejoin = off as $$
declare
  -- As an argument, the type would need a right to the schema extensions.
  query_vector constant halfvec(1536) := p_embedding;
  is_narrow boolean := p_material is not null;
  total bigint;
  cosines json := '[]';
  nearest text[] := '{}';
  passing integer[];
  terms jsonb;
  hits posting_hits;
  matching text[];
begin
  -- The planner assumes that all terms are equally common, and would read every chunk for each of them.
  perform set_config('enable_seqscan', 'off', true);
  select coalesce(sum(m.chunks_count), 0) into total from material m;
  if query_vector is not null then
    if p_sample > 0 then cosines := sampled_cosines(query_vector, p_space, p_sample); end if;
    is_narrow := is_narrow or coalesce(p_type, p_category, p_level, p_in) is not null and not exists (
      select from knowledge_chunks k where passes(k, p_type, p_category, p_level, p_material, p_in) offset 1000);
    perform set_config('hnsw.ef_search', least(1000, 2 * p_depth)::text, true);
    nearest := nearest_by_language(
      query_vector, p_space, p_depth, p_sample, cosines, total, is_narrow, p_type, p_category, p_level, p_material, p_in);
  end if;
  if is_narrow and p_material is null then
    -- So few that the search for p_depth of them, best first, would look at more chunks: at p_depth times total through their number.
    passing := array(
      select w.number from knowledge_chunks k join chunk_words w on w.id = k.id and w.is_current
      where passes(k, p_type, p_category, p_level, p_material, p_in)
      limit sqrt(p_depth * total) + 1);
    passing := case when cardinality(passing) <= sqrt(p_depth * total) then passing end;
  end if;

  -- Planning takes as long as the statements, and no argument changes their best plans.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  terms := question_terms(p_slots, p_folders, total, p_posting_budget);
  hits := read_postings(terms, block_of(p_material));
  matching := matching_chunks(
    terms, hits, p_folders, passing, p_depth,
    case when coalesce(p_type, p_category, p_level, p_material, p_in) is null
      then p_depth + (select count(*) from chunk_words w where not w.is_current) end,
    p_type, p_category, p_level, p_material, p_in);
  return json_build_object(
    'total', total, 'cosines', cosines,
    'frequency', (select coalesce(jsonb_object_agg(t->>'term', t->'n'), '{}') from jsonb_array_elements(terms) t),
    'candidates', candidates_of(
      nearest, matching, terms, hits, query_vector, p_space, p_expected, p_type, p_category, p_level, p_material, p_in));
end $$;

-- What Postgres adds to p_rows, which a search in turbopuffer found: {total, frequency, sample, candidates}, as in
-- search_candidates. `sample` are [row, number of the passage, language]; candidates are [{id, row, type, language, illustrates,
-- is_found}], those of current rows, the concepts that a found example illustrates, and p_expected.
create function public.stored_candidates(
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
        'illustrates', (select coalesce(jsonb_agg(k.material || '#' || i), '[]') from unnest(k.illustrates) i))
        order by k.id), '[]')
      from with_illustrated(
        array(select r.id from stored_row r where r.space = p_space and r.row_id = any (p_rows) and r.id is not null),
        p_expected, p_type, p_category, p_level, p_material, p_in) c
      join knowledge_chunks k on k.id = c.id and passes(k, p_type, p_category, p_level, p_material, p_in)
      left join stored_row r on r.id = c.id and r.space = p_space))
  from whole w
$$;

-- What an answer shows of chunks. Ids without a chunk are left out.
create function public.chunks_to_show(p_ids text[]) returns table (
  id text, material text, anchor text, title text, content text, learns text[], learns_source text, type text,
  page_title text, section text, level text, language text
)
language sql stable as $$
  select k.id, k.material, k.anchor, k.title, k.content, k.learns, k.learns_source, k.type, k.page_title, k.section,
    k.level, k.language
  from knowledge_chunks k where k.id = any (p_ids)
$$;

-- For each list of terms, whether a chunk that passes the filters has all of them.
create function public.has_terms(
  p_terms jsonb, p_type text default null, p_category text default null, p_level text default null,
  p_material text default null, p_in text default null
) returns jsonb language sql stable set jit = off set enable_seqscan = off as $$
  select coalesce(jsonb_agg(exists (
    select from (
      select t.term from jsonb_array_elements_text(s.terms) as t(term)
      order by (select coalesce(sum(p.n), 0) from posting p where p.term = t.term) limit 1) rarest
    join posting p using (term)
    cross join lateral unnest(p.chunks) as h(number)
    cross join lateral (
      select w.id from chunk_words w
      where w.number = h.number and w.is_current and w.terms @> array(select jsonb_array_elements_text(s.terms)) offset 0) w
    join knowledge_chunks k using (id)
    where passes(k, p_type, p_category, p_level, p_material, p_in)) order by s.place), '[]')
  from jsonb_array_elements(p_terms) with ordinality as s(terms, place)
$$;

-- ---------------------------------------------------------------- reading
-- The canary's page, below _sakuin/, is in no list.

-- A text without the addresses of its links (knowledge/markdown.py).
create function public.without_addresses(p_content text) returns text language sql immutable as $$
  select case when strpos(p_content, '](<') > 0
    then regexp_replace(p_content, '\[((?:[^][\n]|\[[^][\n]*\])+)\]\(<[^<>\s]*>\)', '\1', 'g') else p_content end
$$;

-- The chunks in the order of the pages, after this place. What was there may be deleted: an edit of a page does not
-- break a cursor.
create function public.list_concepts(
  p_limit integer, p_after_material text default null, p_after_position integer default null,
  p_type text default null, p_category text default null, p_level text default null, p_material text default null,
  p_in text default null
) returns table (id text, title text, type text, material text, anchor text, "position" integer, text text)
language sql stable as $$
  select k.id, k.title, k.type, k.material, k.anchor, k.position, left(without_addresses(k.content), 300)
  from knowledge_chunks k
  where passes(k, p_type, p_category, p_level, p_material, p_in)
    and (p_after_material is null or (k.material, k.position) > (p_after_material, p_after_position))
  order by k.material, k.position
  limit p_limit
$$;

-- The pages that explain something, by name: [{material, title, category, level}].
create function public.list_materials(p_limit integer, p_after text default null, p_in text default null) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(p) order by p.material), '[]') from (
    select m.material, k.page_title as title, k.category, k.level
    from material m cross join lateral (
      select c.page_title, c.category, c.level from knowledge_chunks c
      where c.material = m.material order by c.position limit 1) k
    where (p_after is null or m.material > p_after) and (p_in is null or starts_with(m.material, p_in))
      and not starts_with(m.material, '_sakuin/')
    order by m.material limit p_limit) p
$$;

-- The values that filters accept: {types, categories, levels, folders}, at most p_limit of each. `materials` are the pages whose
-- names are like p_material, those with the same last segment first. With p_in, all of them are those of pages that begin with it.
create function public.filter_values(p_limit integer, p_material text default null, p_in text default null) returns jsonb
language sql stable set enable_seqscan = off as $$
  -- From one value to the next: an index has each of them once for every chunk.
  with recursive categories as (
    select min(k.category) as value from knowledge_chunks k where k.category is not null
    union all
    select (select min(k.category) from knowledge_chunks k where k.category > c.value) from categories c
    where c.value is not null
  ), levels as (
    select min(k.level) as value from knowledge_chunks k where k.level is not null
    union all
    select (select min(k.level) from knowledge_chunks k where k.level > l.value) from levels l where l.value is not null
  ), alike as (
    (select m.material, false as is_other from (
       select x.material from material x
       where regexp_replace(x.material, '^.*/', '') = regexp_replace(p_material, '^.*/', '') offset 0) m
     where p_in is null or starts_with(m.material, p_in)
     order by m.material limit p_limit)
    union all
    (select m.material, true from material m
     where regexp_replace(m.material, '^.*/', '') <> regexp_replace(p_material, '^.*/', '')
       and (p_in is null or starts_with(m.material, p_in))
       and m.chunks_count > 0 and not starts_with(m.material, '_sakuin/') order by m.material limit p_limit)
  )
  select jsonb_build_object(
    'types', (select coalesce(jsonb_agg(t.type order by t.place), '[]')
              from unnest(array['rule', 'method', 'definition', 'example', 'tip']) with ordinality as t(type, place)
              where exists (select from knowledge_chunks k
                            where k.type = t.type and not starts_with(k.material, '_sakuin/')
                              and (p_in is null or starts_with(k.material, p_in)))),
    'categories', (select coalesce(jsonb_agg(v.value), '[]')
                   from (select c.value from categories c where c.value is not null
                           and (p_in is null or exists (select from knowledge_chunks k
                                                        where k.category = c.value and starts_with(k.material, p_in)))
                         limit p_limit) v),
    'levels', (select coalesce(jsonb_agg(v.value), '[]')
               from (select l.value from levels l where l.value is not null
                       and (p_in is null or exists (select from knowledge_chunks k
                                                    where k.level = l.value and starts_with(k.material, p_in)))
                     limit p_limit) v),
    'folders', (select coalesce(jsonb_agg(v.folder order by v.folder), '[]') from (
      select distinct array_to_string((string_to_array(d.folder, '/'))[:n], '/') collate "C" as folder
      from (select distinct regexp_replace(m.material, '/[^/]*$', '') as folder from material m
            where m.material like '%/%' and m.chunks_count > 0 and not starts_with(m.material, '_sakuin/')
              and (p_in is null or starts_with(m.material, p_in))) d
      cross join lateral generate_series(
        coalesce(cardinality(string_to_array(p_in, '/')) - 1, 1), cardinality(string_to_array(d.folder, '/'))) n
      order by folder limit p_limit) v),
    'materials', (select coalesce(jsonb_agg(v.material order by v.is_other, v.material), '[]') from (
      select a.material, a.is_other from alike a
      where exists (select from knowledge_chunks k where k.material = a.material)
        and not starts_with(a.material, '_sakuin/')
      order by a.is_other, a.material limit p_limit) v))
$$;

-- Whole chunks. With p_neighbours each has `previous` and `next`: {id, material, anchor, title, content} of the chunks
-- before and after it in its page, null at the ends.
create function public.read_chunks(p_ids text[], p_neighbours boolean) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(
    to_jsonb(k) - array['learns_given', 'learns_key', 'illustrates', 'text_hashes', 'fingerprint']
    || case when p_neighbours then jsonb_build_object('previous', (
         select jsonb_build_object('id', n.id, 'material', n.material, 'anchor', n.anchor, 'title', n.title,
                                   'content', n.content)
         from knowledge_chunks n where n.material = k.material and n.position < k.position
         order by n.position desc limit 1), 'next', (
         select jsonb_build_object('id', n.id, 'material', n.material, 'anchor', n.anchor, 'title', n.title,
                                   'content', n.content)
         from knowledge_chunks n where n.material = k.material and n.position > k.position
         order by n.position limit 1)) else '{}' end), '[]')
  from knowledge_chunks k where k.id = any (p_ids)
$$;

-- The chunks of a page in its order, from p_position on: {id, material, anchor, title, content, section, page_title,
-- position, line}. `line` numbers the first line of each, from 1; with p_line they begin with the one that has this line.
-- Without p_has_content they are its outline.
create function public.read_page(
  p_material text, p_limit integer default null, p_position integer default 0, p_line integer default null,
  p_has_content boolean default true
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(p) - array['lines', 'own'] order by p.position), '[]') from (
    select l.*, 1 + l.lines - l.own as line from (
      select k.id, k.material, k.anchor, k.title, k.section, k.page_title, k.position, n.own,
        case when p_has_content then k.content else '' end as content,
        -- In the order of the index, so that p_limit ends it.
        sum(n.own) over (order by k.position rows unbounded preceding) as lines
      from knowledge_chunks k
      cross join lateral (select length(k.content) - length(replace(k.content, chr(10), '')) + 1 as own) n
      where k.material = p_material and k.position >= p_position) l
    where p_line is null or l.lines >= p_line
    order by l.position limit p_limit) p
$$;

-- The lines, from 1, that match p_pattern (retrieval/exact_text.py), after this place in the order of the pages:
-- {found: [{id, material, anchor, title, content, position, lines}], read, ended, material, position}. It ends after
-- p_limit chunks with such lines, or after p_seconds: a scan of a large library takes several calls, and none keeps the
-- database busy for long.
create function public.find_text(
  p_pattern text, p_limit integer, p_seconds float8, p_in text default null, p_material text default null,
  p_after_material text default null, p_after_position integer default null
) returns jsonb
language plpgsql stable
-- In the order of an index, so that nothing is read before the first comparison.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  deadline constant timestamptz := clock_timestamp() + make_interval(secs => p_seconds);
  found jsonb[] := '{}';
  chunks_read integer := 0;
  lines integer[];
  k record;
begin
  for k in
    -- As much of a text as its words are indexed of (language/indexing.py).
    select c.id, c.material, c.anchor, c.title, left(without_addresses(c.content), 100000) as content, c.position
    from knowledge_chunks c
    where (c.material, c.position) > (coalesce(p_after_material, ''), coalesce(p_after_position, -1))
      and c.material between coalesce(p_material, p_in, '') and coalesce(p_material, p_in || chr(1114111), chr(1114111))
      and (p_in is null or starts_with(c.material, p_in)) and not starts_with(c.material, '_sakuin/')
    order by c.material, c.position
  loop
    chunks_read := chunks_read + 1;
    if k.content ~ p_pattern then
      lines := array(
        select l.number from unnest(string_to_array(k.content, chr(10))) with ordinality as l(line, number)
        where l.line ~ p_pattern order by l.number);
      if cardinality(lines) > 0 then
        found := found || (to_jsonb(k) || jsonb_build_object('lines', lines));
      end if;
    end if;
    if cardinality(found) >= p_limit or clock_timestamp() > deadline then
      return jsonb_build_object('found', found, 'read', chunks_read, 'ended', false,
                                'material', k.material, 'position', k.position);
    end if;
  end loop;
  return jsonb_build_object('found', found, 'read', chunks_read, 'ended', true);
end $$;
-- Projects and what belongs to them: members, Tables, Tools, MCP endpoints, and the events of changes.
--
-- The functions of the API run as sakuin_member, a role that row level security binds (8_rights): for a user they see the
-- rows of the user's projects and change what the user's role allows, for the service role all. Invisible rows do not
-- exist: error P0002 (no_data_found). PostgREST answers errors with the status in their code: PT403 a role that is too
-- low, PT422 a wrong argument, PT429 a quota that is used up.

-- ---------------------------------------------------------------- tables

create table public.project (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  -- Null for a project that was created with the admin key.
  created_by uuid,
  created_at timestamptz not null default now(),
  -- Nobody sees the project any more. Maintenance deletes its Tables, then this row (delete_portion).
  deleted_at timestamptz
);
create index project_creator on public.project (created_by);

-- In this order: each role includes the ones before it. Viewers read; editors change Tables, Tools and endpoints;
-- owners manage the members and delete the project.
create type public.member_role as enum ('viewer', 'editor', 'owner');

create table public.project_member (
  project_id uuid not null references public.project on delete cascade,
  user_id uuid not null,
  role public.member_role not null,
  created_at timestamptz not null default now(),
  primary key (project_id, user_id)
);
create index project_member_user on public.project_member (user_id);

create table public.context_table (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references public.project,
  name text collate "C" not null check (name <> ''),
  -- json, not jsonb: jsonb rejects NUL and lone surrogates, and one bad string must not reject the whole Table.
  data json,
  -- The S3 key of a document that is too large for a request, in the Table's own folder.
  data_key text,
  -- 0: no document has arrived yet.
  version bigint not null,
  -- The bytes of the document, or of a larger one that was announced: both count against the project's quota.
  bytes bigint not null default 0,
  -- The chunks that its last scan found.
  chunks_count integer not null default 0,
  -- Counts changes of what has to be indexed: the document, the Tools, a requested reindex.
  generation bigint not null default 1,
  -- Counts announced uploads. An import applies only if no later one was imported.
  upload bigint not null default 0,
  imported_upload bigint not null default 0,
  import_error jsonb check (import_error ? 'code'),
  -- Strings with at least so many characters are indexed.
  chunk_threshold_chars integer not null default 200 check (chunk_threshold_chars between 1 and 1000000),
  -- The index version whose state the Tools show.
  shown_fingerprint text collate "C",
  -- A reindex was requested: compare the chunks recorded as stored with the search engine.
  check_store boolean not null default false,
  -- Messages about it (7_upkeep).
  work jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint body_of_its_table
    check (data_key is null or starts_with(data_key, 'tables/' || project_id || '/' || id || '/'))
);
create index context_table_waiting on public.context_table (id) where work ? 'since';
create index context_table_project on public.context_table (project_id) include (id, bytes, chunks_count);
create unique index context_table_of_project on public.context_table (id, project_id);

create table public.tool (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references public.project on delete cascade,
  table_id uuid not null,
  json_path text collate "C" not null,
  type text not null check (type = 'search'),
  name text collate "C" not null check (name ~ '^[a-zA-Z0-9_-]{1,64}$'),
  description text not null,
  input_schema jsonb not null,
  enabled boolean not null default true,
  metadata jsonb not null default '{}',
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A Tool always belongs to the project of its Table.
  constraint tool_of_its_project foreign key (table_id, project_id)
    references public.context_table (id, project_id) on delete cascade
);
create index tool_table on public.tool (table_id);
create index tool_project on public.tool (project_id);

-- MCP endpoints. While a key is rotated, the previous one is valid until previous_key_until.
create table public.mcp (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references public.project on delete cascade,
  name text collate "C" not null check (name <> ''),
  api_key_hash text collate "C" not null check (api_key_hash ~ '^[0-9a-f]{64}$'),
  previous_key_hash text collate "C",
  previous_key_until timestamptz,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  created_at timestamptz not null default now()
);
create index mcp_key on public.mcp (api_key_hash);
create index mcp_previous_key on public.mcp (previous_key_hash);

create table public.mcp_binding (
  mcp_id uuid not null references public.mcp on delete cascade,
  tool_id uuid not null references public.tool on delete cascade,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  primary key (mcp_id, tool_id)
);
create index mcp_binding_tool on public.mcp_binding (tool_id);

-- The synonyms for the questions to a project's Search Tools: groups and analyzer as in site_synonyms.
create table public.project_synonyms (
  project_id uuid primary key references public.project on delete cascade,
  groups jsonb not null check (jsonb_typeof(groups) = 'array' and length(groups::text) <= 1000000),
  analyzer text not null,
  updated_at timestamptz not null default now()
);

-- The day on which a key was last used.
create table public.key_use (
  key_hash text collate "C" primary key,
  last_used_on date not null
);

-- Keys that the console and the command made; others are in the secret. `key_hash` is the SHA-256 of the key. One searches
-- the library or pushes to it, in `folder` alone ('' is all of it), or reads a project, as the viewer `member_id`.
create table public.library_key (
  key_hash text collate "C" primary key check (key_hash ~ '^[0-9a-f]{64}$'),
  name text not null check (char_length(name) between 1 and 200),
  created_at timestamptz not null default now(),
  purpose text not null default 'search' check (purpose in ('search', 'push', 'read')),
  folder text collate "C" not null default '' check (char_length(folder) <= 500 and (folder = '' or purpose <> 'read')),
  project_id uuid,
  member_id uuid,
  expires_at timestamptz,
  check ((purpose = 'read') = (project_id is not null) and (project_id is null) = (member_id is null)),
  foreign key (project_id, member_id) references public.project_member on delete cascade
);
create index library_key_member on public.library_key (project_id, member_id);

-- Who is signed in to the console: an admin key, by its hash, or a user of Supabase Auth. `id_hash` is the SHA-256 of the
-- id in the browser; `tokens` are the user's, encrypted with a key that only this id gives.
create table public.console_session (
  id_hash text collate "C" primary key,
  admin_key_hash text collate "C",
  user_id uuid,
  tokens text,
  expires_at timestamptz not null default now() + interval '8 hours',
  check ((admin_key_hash is null) = (user_id is not null and tokens is not null))
);
create index console_session_expires on public.console_session (expires_at);

-- Links that sign an admin key in, once each.
create table public.console_link (
  code_hash text collate "C" primary key,
  admin_key_hash text collate "C" not null,
  expires_at timestamptz not null default now() + interval '1 hour'
);

-- Forms that made a key, by the SHA-256 of their ids: a reload must not make another one.
create table public.console_form (
  form_hash text collate "C" primary key,
  expires_at timestamptz not null default now() + interval '8 hours'
);

-- The limits of the deployment that differ from the defaults. `maintain` writes them from the parameter `Limits`.
create table public.quota (
  name text collate "C" primary key,
  value bigint not null check (value >= 0)
);

-- What a user, a project or a key used of a quota in a period: a minute, an hour or a day. Unlogged: a crash may reset it.
create unlogged table public.quota_use (
  principal text collate "C" not null,
  quota text collate "C" not null,
  began timestamptz not null,
  used bigint not null,
  primary key (principal, quota)
);

-- Events, written by triggers in the transaction of any change. Sent right afterwards, or by `maintain`.
create table public.outbox (
  id bigint generated always as identity primary key,
  event text not null check (event in ('ToolCreated', 'ToolUpdated', 'ToolDeleted', 'TableUpdated', 'TableDeleted',
                                       'ToolReady', 'ToolFailed')),
  project_id uuid not null,
  table_id uuid not null,
  tool_id uuid,
  -- Of the Table, when a Tool became ready or failed.
  generation bigint,
  -- Of the request that PostgREST serves; the Lambda functions send it as a header.
  request_id text default left(nullif(current_setting('request.headers', true), '')::json->>'x-request-id', 128),
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  -- When the bus last rejected it.
  rejected_at timestamptz
);
create index outbox_unsent on public.outbox (rejected_at nulls first, id) where sent_at is null;
create index outbox_sent on public.outbox (sent_at);

-- ---------------------------------------------------------------- who calls, and checks of arguments

-- The user for whom the function `api` calls, which has verified the user's token. Nobody else can send this header:
-- users themselves may call nothing (8_rights). Not null for an invalid header: the cast raises an error.
create function public.acting_user() returns uuid language sql stable as $$
  select (nullif(current_setting('request.headers', true), '')::json->>'x-acting-user')::uuid
  where current_setting('role', true) in ('service_role', 'sakuin_member')
$$;

-- Whether the Lambda functions call, for an operator or for themselves. PostgREST sets the role; it stays the same
-- inside a function with the rights of another role.
create function public.is_service() returns boolean language sql stable as $$
  select coalesce(current_setting('role', true), '') = 'service_role' and acting_user() is null
$$;

-- Whether an account has a verified second factor. Runs as postgres, who may read the factors of Supabase Auth.
create function public.has_second_factor(p_user uuid) returns boolean language sql stable security definer as $$
  select exists (select from auth.mfa_factors f where f.user_id = p_user and f.status = 'verified')
$$;

-- The projects in which the acting user has at least this role. Runs with the owner's rights: a policy cannot query
-- the table that it protects.
create function public.acting_projects(p_role public.member_role) returns setof uuid
language sql stable security definer as $$
  select m.project_id from project_member m join project p on p.id = m.project_id and p.deleted_at is null
  where m.user_id = acting_user() and m.role >= p_role
$$;

-- Raises an error unless a condition is true: its message is the code of a text below `said.`, its detail the values.
create function public.require(p_condition boolean, p_errcode text, p_code text, p_values jsonb default '{}') returns void
language plpgsql as $$
begin
  if p_condition is not true then
    raise exception using errcode = p_errcode, message = p_code, detail = p_values::text;
  end if;
end $$;

-- What a quota counts, as a reason in another one.
create function public.counted_by(p_quota text) returns jsonb language sql immutable as $$
  select jsonb_build_object('code', 'quota.what.' || p_quota, 'values', '{}'::jsonb)
$$;

-- The same as the defaults of `Limits`.
create function public.default_quotas() returns jsonb language sql immutable as $$
  select '{
    "projects": 100, "members": 1000, "tables": 1000, "tools": 1000, "endpoints": 1000, "endpoint_tools": 100,
    "project_bytes": 200000000, "project_chunks": 150000, "project_daily_tokens": 100000000,
    "user_bytes": 400000000, "user_chunks": 150000, "all_bytes": 1000000000, "all_chunks": 150000,
    "reindexes_per_hour": 60, "requests_per_minute": 1200, "sign_ins_of_address": 60, "sign_ins_of_account": 10
  }'::jsonb
$$;

create function public.quota_of(p_name text) returns bigint language sql stable as $$
  select coalesce((select q.value from quota q where q.name = p_name), (default_quotas()->>p_name)::bigint)
$$;

create function public.set_quotas(p_quotas jsonb) returns void language sql as $$
  insert into quota as q (name, value)
  select e.key, e.value::bigint from jsonb_each_text(p_quotas) e where default_quotas() ? e.key
  on conflict (name) do update set value = excluded.value where q.value <> excluded.value
$$;

-- Raises an error if p_present things and p_more exceed a quota.
create function public.check_quota(p_present numeric, p_more numeric, p_name text) returns void language plpgsql as $$
declare
  most constant bigint := quota_of(p_name);
begin
  perform require(p_present + p_more <= most, 'PT429', 'quota.reached', jsonb_build_object(
    'count', p_present + p_more, 'what', counted_by(p_name), 'most', most, 'name', p_name));
end $$;

-- One count at a time for each project: simultaneous requests exceed no quota.
create function public.lock_quotas(p_project uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('quotas of ' || p_project, 0))
$$;

-- Adds an amount to what a principal used of a quota in the period that began then. What an earlier period used does not
-- count.
create function public.add_use(p_principal text, p_name text, p_began timestamptz, p_amount bigint) returns bigint
language sql as $$
  insert into quota_use as u (principal, quota, began, used) values (p_principal, p_name, p_began, greatest(p_amount, 0))
  on conflict (principal, quota) do update set began = greatest(u.began, p_began),
    used = greatest(case when u.began >= p_began then u.used else 0 end + p_amount, 0)
  returning used
$$;

-- Takes p_amount of a quota in a period of so many seconds; raises an error, with the seconds until the next period as
-- `retry_after`, if too little is left. 0 is no limit. A negative amount was taken and not used. Runs as postgres: nobody
-- changes his own count.
create function public.take_quota(p_principal text, p_name text, p_seconds integer, p_amount bigint) returns void
language plpgsql security definer as $$
declare
  most constant bigint := quota_of(p_name);
  this_period constant timestamptz := date_bin(make_interval(secs => p_seconds), now(), '2000-01-01T00:00Z');
  next_period constant timestamptz := this_period + make_interval(secs => p_seconds);
  total bigint;
begin
  if most = 0 then return; end if;
  total := add_use(p_principal, p_name, this_period, p_amount);
  -- A single amount that is larger than the quota passes alone: otherwise it would never pass.
  if total > most and total > p_amount and p_amount > 0 then
    perform require(false, 'PT429', 'quota.of_period', jsonb_build_object(
      'most', most, 'what', counted_by(p_name), 'name', p_name, 'time', to_char(next_period at time zone 'utc', 'HH24:MI'),
      'retry_after', ceil(extract(epoch from (next_period - now())))));
  end if;
end $$;

-- Counts an attempt to sign in to the console, by the hashes of the caller's address and of the account. Raises PT429 when
-- one of them has had too many. p_succeeded takes the attempt back: only wrong passwords count in the end.
create function public.count_sign_in(p_address text, p_account text, p_succeeded boolean) returns void
language plpgsql as $$
begin
  if p_succeeded then
    update quota_use set used = used - 1
    where (principal, quota) in ((p_address, 'sign_ins_of_address'), (p_account, 'sign_ins_of_account')) and used > 0;
    return;
  end if;
  delete from quota_use where quota like 'sign_ins_of_%' and began < now() - interval '1 hour';
  perform take_quota(p_address, 'sign_ins_of_address', 900, 1);
  perform take_quota(p_account, 'sign_ins_of_account', 900, 1);
end $$;

-- Returns an argument that keeps the rule of this code; names and descriptions without space around them. Null stays
-- null: a change leaves the field as it is.
create function public.checked(p_code text, p_value text) returns text language plpgsql as $$
declare
  value constant text := case when p_code in ('record.name', 'record.description') then regexp_replace(p_value, '^\s+|\s+$', '', 'g')
                              else p_value end;
begin
  perform require(value is null or case p_code
      when 'record.name' then length(value) between 1 and 200
      when 'record.tool_name' then value ~ '^[a-zA-Z0-9_-]{1,64}$'
      when 'record.description' then length(value) <= 2000
      when 'record.threshold' then value::bigint between 1 and 1000000
      when 'record.document' then length(value) <= 20000000 and value ~ '\S'
    end, 'PT422', p_code,
    jsonb_build_object('name', format('''%s''', left(value, 80)), 'count', left(value, 80)));
  return value;
end $$;

create function public.check_json_path(p_path text) returns text language sql as $$
  select require(p_path = '' or p_path like '/%', 'PT422', 'json.pointer_start',
                 jsonb_build_object('pointer', format('''%s''', left(p_path, 200))));
  select require(p_path !~ '~(?![01])', 'PT422', 'json.pointer_escape', jsonb_build_object('pointer', format('''%s''', left(p_path, 200))));
  select require(length(p_path) <= 10000, 'PT422', 'json.long_pointer');
  select p_path
$$;

-- ---------------------------------------------------------------- projects and members

-- Raises an error unless the caller has at least this role in a project that the caller sees.
create function public.check_role(p_project uuid, p_role public.member_role) returns void language sql as $$
  select require(is_service() or p_project in (select acting_projects(p_role)), 'PT403',
                 'record.needs_role', jsonb_build_object('role', p_role))
$$;

create function public.check_project(p_project uuid, p_role public.member_role) returns void language plpgsql as $$
begin
  perform require(exists (select from project p where p.id = p_project), 'P0002',
                  'record.no_project', jsonb_build_object('id', p_project));
  perform check_role(p_project, p_role);
end $$;

-- The creator of a project is its first owner. Runs as postgres: a project without a member is invisible.
create function public.create_project(p_name text) returns jsonb language plpgsql security definer as $$
declare
  p project;
begin
  if acting_user() is not null then
    perform pg_advisory_xact_lock(hashtextextended('projects of ' || acting_user(), 0));
    -- Also those that the user has left: otherwise a second account would lift the limit.
    perform check_quota((select count(*) from project c where c.created_by = acting_user() and c.deleted_at is null),
                        1, 'projects');
  end if;
  insert into project (name, created_by) values (checked('record.name', p_name), acting_user()) returning * into p;
  if p.created_by is not null then
    insert into project_member (project_id, user_id, role) values (p.id, p.created_by, 'owner');
  end if;
  return jsonb_build_object('id', p.id, 'name', p.name, 'role', case when p.created_by is not null then 'owner' end);
end $$;

-- With the role of the acting user in each; null for an operator.
create function public.list_projects() returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'role', m.role)
                            order by p.created_at, p.id), '[]')
  from project p left join project_member m on m.project_id = p.id and m.user_id = acting_user()
$$;

-- Hides a project and ends its endpoints; maintenance deletes the rest. Runs as postgres: a member cannot write a row
-- that is hidden afterwards.
create function public.mark_project_deleted(p_project uuid) returns void language plpgsql security definer as $$
begin
  update project set deleted_at = now() where id = p_project;
  delete from mcp where project_id = p_project;
  insert into deletion (id) values (p_project) on conflict do nothing;
end $$;

create function public.delete_project(p_project uuid) returns void language sql as $$
  select check_project(p_project, 'owner');
  select mark_project_deleted(p_project)
$$;

create function public.list_members(p_project uuid) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(jsonb_build_object('user_id', m.user_id, 'role', m.role, 'since', m.created_at)
                            order by m.created_at, m.user_id), '[]')
  from project_member m where m.project_id = p_project
$$;

-- One change of the members at a time: of two owners who remove each other, one stays.
create function public.lock_members(p_project uuid) returns void language plpgsql as $$
begin
  perform check_project(p_project, 'viewer');
  perform pg_advisory_xact_lock(hashtextextended('members of ' || p_project, 0));
  -- A member who was removed while waiting for the lock changes nothing.
  perform check_project(p_project, 'viewer');
end $$;

-- Raises an error if the member is an owner whom the caller may not remove, or the last one.
create function public.check_owner_leaves(p_project uuid, p_member uuid) returns void language plpgsql as $$
begin
  if exists (select from project_member m where m.project_id = p_project and m.user_id = p_member and m.role = 'owner')
  then
    perform require(is_service() or p_member = acting_user(), 'PT403',
                    'record.owner');
    perform require(exists (select from project_member m where m.project_id = p_project and m.user_id <> p_member
                            and m.role = 'owner'), '23505',
                    'record.last_owner');
  end if;
end $$;

-- Makes a user a member with this role, or gives a member this role. Null: a new member is a viewer, another member
-- keeps the role.
create function public.add_member(p_project uuid, p_member uuid, p_role public.member_role default null) returns void
language plpgsql as $$
begin
  perform lock_members(p_project);
  perform check_role(p_project, 'owner');
  perform check_quota((select count(*) from project_member m where m.project_id = p_project and m.user_id <> p_member),
                      1, 'members');
  if p_role <> 'owner' then perform check_owner_leaves(p_project, p_member); end if;
  insert into project_member as m (project_id, user_id, role) values (p_project, p_member, coalesce(p_role, 'viewer'))
  on conflict (project_id, user_id) do update set role = excluded.role where p_role <> m.role;
end $$;

-- Owners remove others; every member may leave.
create function public.remove_member(p_project uuid, p_member uuid) returns void language plpgsql as $$
begin
  perform lock_members(p_project);
  if p_member is distinct from acting_user() then perform check_role(p_project, 'owner'); end if;
  perform require(exists (select from project_member m where m.project_id = p_project and m.user_id = p_member),
                  'P0002', 'record.no_member', jsonb_build_object('id', p_member));
  perform check_owner_leaves(p_project, p_member);
  delete from project_member where project_id = p_project and user_id = p_member;
end $$;

-- ---------------------------------------------------------------- synonyms

create function public.read_synonyms(p_project uuid) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce((select jsonb_agg(g.value->'phrases' order by g.number)
                   from project_synonyms s, jsonb_array_elements(s.groups) with ordinality as g(value, number)
                   where s.project_id = p_project), '[]')
$$;

-- Without groups, the project has no synonyms any more.
create function public.replace_synonyms(p_project uuid, p_groups jsonb, p_analyzer text) returns void
language plpgsql as $$
begin
  perform check_project(p_project, 'editor');
  delete from project_synonyms s where s.project_id = p_project and jsonb_array_length(p_groups) = 0;
  insert into project_synonyms as s (project_id, groups, analyzer)
  select p_project, p_groups, checked('record.name', p_analyzer) where jsonb_array_length(p_groups) > 0
  on conflict (project_id) do update set groups = excluded.groups, analyzer = excluded.analyzer, updated_at = now();
end $$;

-- ---------------------------------------------------------------- the status of a Tool
-- Platforms may write `tool.metadata` themselves. A value there that is not a time, a number or an object counts as
-- missing: one bad row must not make a query over all Tools fail.

create function public.timestamp_or_null(p_text text) returns timestamptz language plpgsql stable as $$
begin
  return p_text::timestamptz;
exception when data_exception then
  return null;
end $$;

create function public.bigint_or_null(p_text text) returns bigint language sql immutable as $$
  select case when p_text ~ '^[0-9]{1,18}$' then p_text::bigint end
$$;

create function public.object_or_empty(p_value jsonb) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(p_value) = 'object' then p_value else '{}' end
$$;

create function public.merge_status(p_tool uuid, p_status jsonb) returns void language sql as $$
  update tool set metadata = object_or_empty(metadata)
    || jsonb_build_object('search_index', object_or_empty(metadata->'search_index') || p_status)
  where id = p_tool
$$;

-- ---------------------------------------------------------------- Tables

-- The Table; to change it, locked, for editors.
create function public.table_for(p_table uuid, p_change boolean) returns public.context_table language plpgsql as $$
declare
  t context_table;
begin
  select * into t from context_table c
  where c.id = p_table and exists (select from project p where p.id = c.project_id);
  if p_change and t.id is not null then
    perform check_role(t.project_id, 'editor');
    select * into t from context_table c where c.id = p_table for update;
  end if;
  perform require(t.id is not null, 'P0002', 'record.no_table', jsonb_build_object('id', p_table));
  return t;
end $$;

create function public.table_view(t public.context_table) returns jsonb language sql stable as $$
  select jsonb_build_object('id', t.id, 'project_id', t.project_id, 'name', t.name, 'version', t.version,
    'import_error', t.import_error, 'pending_upload', t.upload > t.imported_upload,
    'chunk_threshold_chars', t.chunk_threshold_chars, 'bytes', t.bytes, 'chunks_count', t.chunks_count)
$$;

-- Starts a new generation, in which all that is indexed of a Table is checked again. Does nothing for a deleted Table.
-- Runs as postgres: nobody else writes events.
create function public.table_changed(p_table uuid, p_event text, p_tool uuid) returns void
language plpgsql security definer as $$
declare
  t context_table;
begin
  update context_table c set generation = c.generation + 1, updated_at = now() where c.id = p_table returning * into t;
  if t.id is null then return; end if;
  perform merge_status(o.id, jsonb_build_object(
    'state', 'pending', 'generation', t.generation, 'configured_at', now(), 'attempt', 0,
    'waiting_since', now(), 'waiting_reason', jsonb_build_object('code', 'work.scan', 'values', '{}'::jsonb)))
  from tool o where o.table_id = p_table and o.enabled;
  insert into outbox (event, project_id, table_id, tool_id) values (p_event, t.project_id, t.id, p_tool);
end $$;

-- The next three triggers start the indexing of a change, whether a function of the API makes it or a platform that
-- writes the rows itself. A new Table has no Tools, so there is nothing to index.
create function public.start_table_indexing() returns trigger language plpgsql security definer as $$
begin
  -- A platform may write the generation that it read before.
  update context_table set generation = old.generation where id = new.id and generation < old.generation;
  perform table_changed(new.id, 'TableUpdated', null);
  return null;
end $$;
create trigger start_table_indexing after update of data, data_key, version, chunk_threshold_chars
  on public.context_table for each row
  when (new.version <> old.version or new.data_key is distinct from old.data_key
        or new.chunk_threshold_chars <> old.chunk_threshold_chars or new.data::text is distinct from old.data::text)
  execute function public.start_table_indexing();

create function public.start_tool_indexing() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'INSERT' then
    perform table_changed(new.table_id, 'ToolCreated', new.id);
  elsif tg_op = 'DELETE' then
    perform table_changed(old.table_id, 'ToolDeleted', old.id);
  elsif new.json_path <> old.json_path or new.enabled <> old.enabled or new.table_id <> old.table_id then
    perform table_changed(o.table_id, 'ToolUpdated', new.id)
    from (select old.table_id union select new.table_id order by 1) o;
  end if;
  return null;
end $$;
create trigger start_tool_indexing after insert or delete or update of json_path, enabled, table_id on public.tool
  for each row execute function public.start_tool_indexing();

-- Says that a Tool has indexed a generation of its Table, or cannot.
create function public.announce_tool() returns trigger language plpgsql security definer as $$
declare
  status constant jsonb := new.metadata->'search_index';
begin
  insert into outbox (event, project_id, table_id, tool_id, generation)
  values (case status->>'state' when 'ready' then 'ToolReady' else 'ToolFailed' end, new.project_id, new.table_id, new.id,
          bigint_or_null(status->>'generation'));
  return null;
end $$;
create trigger announce_tool after update of metadata on public.tool for each row
  when (new.metadata->'search_index'->>'state' in ('ready', 'error')
        and new.metadata->'search_index'->'state' is distinct from old.metadata->'search_index'->'state')
  execute function public.announce_tool();

create function public.record_deleted_table() returns trigger language plpgsql security definer as $$
begin
  insert into outbox (event, project_id, table_id) values ('TableDeleted', old.project_id, old.id);
  insert into deletion (id) values (old.id) on conflict do nothing;
  return null;
end $$;
create trigger record_deleted_table after delete on public.context_table
  for each row execute function public.record_deleted_table();

-- Checks that a Table may have so many bytes or chunks (p_unit): in its project, in all projects of its creator, and in the
-- deployment. A Table that does not grow always may. Only the count of the project is exact while others write. Runs as
-- postgres, since a member sees his own projects alone; an error tells no total of other projects.
create function public.check_size(p_project uuid, p_table uuid, p_unit text, p_amount bigint) returns void
language plpgsql security definer as $$
declare
  creator constant uuid := (select p.created_by from project p where p.id = p_project);
  total record;
begin
  select coalesce(sum(s.amount) filter (where s.project_id = p_project and s.id is distinct from p_table), 0) as project,
    coalesce(sum(s.amount) filter (where s.created_by = creator and s.id is distinct from p_table), 0) as creator,
    coalesce(sum(s.amount) filter (where s.id is distinct from p_table), 0) as deployment,
    coalesce(max(s.amount) filter (where s.id = p_table), 0) as present
  into total
  from (select t.id, t.project_id, p.created_by, case p_unit when 'bytes' then t.bytes else t.chunks_count end as amount
        from context_table t join project p on p.id = t.project_id) s;
  if p_amount <= total.present then return; end if;
  perform check_quota(total.project, p_amount, 'project_' || p_unit);
  perform require(creator is null or total.creator + p_amount <= quota_of('user_' || p_unit), 'PT429',
    'quota.of_user', jsonb_build_object(
      'most', quota_of('user_' || p_unit), 'what', counted_by(p_unit), 'name', 'user_' || p_unit));
  perform require(total.deployment + p_amount <= quota_of('all_' || p_unit), 'PT429',
    'quota.of_all', jsonb_build_object('what', counted_by(p_unit), 'name', 'all_' || p_unit));
end $$;

-- Records the chunks that a scan of a Table found, if the project may have them.
create function public.reserve_chunks(p_table uuid, p_chunks integer) returns void language plpgsql as $$
declare
  t context_table;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null or t.chunks_count = p_chunks then return; end if;
  perform lock_quotas(t.project_id);
  perform check_size(t.project_id, p_table, 'chunks', p_chunks);
  update context_table set chunks_count = p_chunks where id = p_table;
end $$;

-- p_data null: the document comes through an upload.
create function public.create_table(
  p_project uuid, p_name text, p_data text, p_chunk_threshold bigint default null
) returns jsonb language sql as $$
  select check_project(p_project, 'editor');
  select lock_quotas(p_project);
  select check_quota(count(*), 1, 'tables') from context_table t where t.project_id = p_project;
  select check_size(p_project, null, 'bytes', coalesce(octet_length(p_data), 0));
  insert into context_table as t (project_id, name, data, bytes, version, chunk_threshold_chars)
  values (p_project, checked('record.name', p_name), checked('record.document', p_data)::json, coalesce(octet_length(p_data), 0),
          (p_data is not null)::integer,
          coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, 200))
  returning table_view(t)
$$;

create function public.read_table(p_table uuid) returns jsonb language sql as $$
  select table_view(t) from table_for(p_table, false) t
$$;

-- A Table with its document: {data: JSON text, or null; data_key: its key in the bucket, or null}.
create function public.read_document(p_table uuid) returns jsonb language sql as $$
  -- As text, so that no JSON library changes the document.
  select table_view(t) || jsonb_build_object('data', to_json(t.data::text), 'data_key', t.data_key)
  from table_for(p_table, false) t
$$;

create function public.list_tables(p_project uuid) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(table_view(t) order by t.name, t.id), '[]')
  from context_table t where t.project_id = p_project
$$;

-- p_expected_version: the version that the change was made from, or null.
create function public.replace_table(p_table uuid, p_data text, p_expected_version bigint) returns jsonb
language plpgsql as $$
declare
  t context_table := table_for(p_table, true);
begin
  perform require(p_expected_version is null or p_expected_version = t.version, '23505', 'record.version',
                  jsonb_build_object('version', t.version, 'expected', p_expected_version));
  perform lock_quotas(t.project_id);
  perform check_size(t.project_id, p_table, 'bytes', coalesce(octet_length(p_data), 0));
  update context_table c set data = checked('record.document', coalesce(p_data, ''))::json, data_key = null,
    bytes = coalesce(octet_length(p_data), 0), version = c.version + 1,
    upload = c.upload + 1, imported_upload = c.upload + 1, import_error = null
  where c.id = p_table returning * into t;
  return table_view(t);
end $$;

-- Null leaves a field as it is. Another threshold has the Table scanned again.
create function public.change_table(p_table uuid, p_name text, p_chunk_threshold bigint) returns jsonb
language sql as $$
  select table_for(p_table, true);
  update context_table c set name = coalesce(checked('record.name', p_name), c.name),
    chunk_threshold_chars = coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, c.chunk_threshold_chars)
  where c.id = p_table returning table_view(c)
$$;

create function public.delete_table(p_table uuid) returns void language sql as $$
  select table_for(p_table, true);
  delete from context_table where id = p_table
$$;

-- p_bytes: the size of the document. An announced document counts as soon as it is announced.
create function public.begin_upload(p_table uuid, p_bytes bigint default 0) returns jsonb language sql as $$
  select lock_quotas(t.project_id) from table_for(p_table, true) t;
  select check_size(t.project_id, p_table, 'bytes', greatest(t.bytes, p_bytes)) from context_table t where t.id = p_table;
  update context_table t set upload = t.upload + 1, bytes = greatest(t.bytes, p_bytes) where t.id = p_table
  returning jsonb_build_object('project_id', t.project_id, 'table_id', t.id, 'upload', t.upload)
$$;

-- Records that an uploaded document has arrived or cannot be read (p_error). Ignores one that is outdated.
create function public.finish_upload(
  p_table uuid, p_upload bigint, p_key text, p_error jsonb, p_bytes bigint default null
) returns boolean language plpgsql as $$
declare
  t context_table;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null or p_upload <= t.imported_upload then return false; end if;
  if p_error is not null then
    update context_table set import_error = p_error, imported_upload = p_upload where id = p_table;
    return true;
  end if;
  update context_table c set data = null, data_key = p_key, version = c.version + 1, imported_upload = p_upload,
    import_error = null, bytes = coalesce(p_bytes, c.bytes)
  where c.id = p_table;
  return true;
end $$;

-- ---------------------------------------------------------------- Tools

-- The arguments of every Search Tool. The product writes it into each record, also if others create the record.
create function public.write_input_schema() returns trigger language plpgsql as $$
begin
  new.input_schema := '{
    "type": "object",
    "properties": {
      "query": {"type": "string", "description":
        "A complete question (the search keeps no memory) or words: \"how long is the warranty\", 「保証期間は何年」."},
      "top_k": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "Most results."},
      "cursor": {"type": "string", "description": "A `next_cursor`."}
    },
    "required": ["query"],
    "additionalProperties": false
  }';
  return new;
end $$;
create trigger write_input_schema before insert or update of input_schema on public.tool
  for each row execute function public.write_input_schema();

-- The Tool; to change it, for editors.
create function public.tool_for(p_tool uuid, p_change boolean) returns public.tool language plpgsql as $$
declare
  o tool;
begin
  select * into o from tool c where c.id = p_tool and exists (select from project p where p.id = c.project_id);
  perform require(o.id is not null, 'P0002', 'record.no_tool', jsonb_build_object('id', p_tool));
  if p_change then perform check_role(o.project_id, 'editor'); end if;
  return o;
end $$;

create function public.tool_view(o public.tool) returns jsonb language sql stable as $$
  select to_jsonb(o) - array['created_at', 'updated_at']
$$;

-- Refuses a JSON Pointer to which a Table's document has no node. A document in the bucket, or one that Postgres cannot
-- decode (NUL, lone surrogates), passes: the scan reports a missing node, and an array index such as 01 or -1.
create function public.check_node(p_table uuid, p_json_path text) returns void language plpgsql as $$
declare
  t context_table := table_for(p_table, true);
  is_missing boolean;
begin
  perform check_json_path(p_json_path);
  is_missing := p_json_path <> '' and t.data #> array(
    select replace(replace(s.step, '~1', '/'), '~0', '~')
    from unnest(regexp_split_to_array(substr(p_json_path, 2), '/')) with ordinality as s (step, place)
    order by s.place) is null;
  perform require(t.data is null or not is_missing, 'PT422', 'json.no_node',
                  jsonb_build_object('pointer', format('''%s''', left(p_json_path, 200))));
exception when untranslatable_character or invalid_text_representation then
  null;
end $$;

create function public.create_tool(
  p_project uuid, p_table uuid, p_json_path text, p_name text, p_description text
) returns jsonb language plpgsql as $$
declare
  t context_table := table_for(p_table, true);
  o tool;
begin
  perform require(t.project_id = p_project, 'P0002', 'record.no_table', jsonb_build_object('id', p_table));
  perform lock_quotas(t.project_id);
  perform check_quota((select count(*) from tool c where c.project_id = t.project_id), 1, 'tools');
  insert into tool (project_id, table_id, json_path, type, name, description)
  values (t.project_id, t.id, check_json_path(p_json_path), 'search', checked('record.tool_name', p_name),
          coalesce(nullif(checked('record.description', p_description), ''),
                   format('Searches %s by meaning and by words.', left(t.name || p_json_path, 1000))))
  returning * into o;
  select * into o from tool where id = o.id;
  return tool_view(o);
end $$;

create function public.read_tool(p_tool uuid) returns jsonb language sql as $$
  select tool_view(tool_for(p_tool, false))
$$;

-- The Tools of a project, or of the first p_projects that the caller sees.
create function public.list_tools(p_project uuid default null, p_projects integer default 0) returns jsonb
language sql as $$
  select check_project(p_project, 'viewer') where p_project is not null;
  select coalesce(jsonb_agg(tool_view(o) order by o.name, o.id), '[]') from tool o
  where o.project_id = p_project
     or o.project_id in (select p.id from project p order by p.created_at, p.id limit p_projects)
$$;

-- Null leaves a field as it is. The name must stay unique in every endpoint that the Tool is bound to.
create function public.change_tool(p_tool uuid, p_name text, p_description text, p_enabled boolean)
returns jsonb language plpgsql as $$
begin
  perform tool_for(p_tool, true);
  perform from mcp m join mcp_binding b on b.mcp_id = m.id where b.tool_id = p_tool order by m.id for update of m;
  perform require(not exists (
    select from mcp_binding mine join mcp_binding other on other.mcp_id = mine.mcp_id and other.tool_id <> p_tool
    join tool x on x.id = other.tool_id
    where mine.tool_id = p_tool and x.name = p_name),
    '23505', 'record.other_has_name', jsonb_build_object('name', p_name));
  update tool set name = coalesce(checked('record.tool_name', p_name), name),
    description = coalesce(nullif(checked('record.description', p_description), ''), description),
    enabled = coalesce(p_enabled, enabled), version = version + 1, updated_at = now()
  where id = p_tool;
  return tool_view((select x from tool x where x.id = p_tool));
end $$;

create function public.reindex_tool(p_tool uuid) returns jsonb language plpgsql as $$
declare
  o tool := tool_for(p_tool, true);
begin
  perform take_quota(o.project_id::text, 'reindexes_per_hour', 3600, 1);
  perform table_changed(o.table_id, 'ToolUpdated', p_tool);
  update context_table set check_store = true where id = o.table_id;
  return tool_view((select x from tool x where x.id = p_tool));
end $$;

create function public.delete_tool(p_tool uuid) returns void language sql as $$
  select tool_for(p_tool, true);
  delete from tool where id = p_tool
$$;

-- ---------------------------------------------------------------- MCP endpoints

-- The endpoint; to change it, for editors, and locked: the names of its Tools stay unique.
create function public.mcp_for(p_mcp uuid, p_change boolean) returns public.mcp language plpgsql as $$
declare
  m mcp;
begin
  select * into m from mcp where id = p_mcp;
  if p_change and m.id is not null then
    perform check_role(m.project_id, 'editor');
    select * into m from mcp where id = p_mcp for update;
  end if;
  perform require(m.id is not null, 'P0002', 'record.no_endpoint', jsonb_build_object('id', p_mcp));
  return m;
end $$;

-- Shows the last use of both keys while both are valid, so that an operator sees whether the old one is still used.
create function public.mcp_view(m public.mcp) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id, 'name', m.name, 'status', m.status,
    'key_last_used_on', (select last_used_on from key_use where key_hash = m.api_key_hash),
    'previous_key_last_used_on', (select last_used_on from key_use
                                  where key_hash = m.previous_key_hash and m.previous_key_until > now()),
    'tools', (select coalesce(jsonb_agg(jsonb_build_object('tool_id', o.id, 'name', o.name, 'status', b.status)
                                        order by o.name), '[]')
              from mcp_binding b join tool o on o.id = b.tool_id where b.mcp_id = m.id))
$$;

create function public.bind_tool(p_mcp uuid, p_tool uuid, p_status text) returns jsonb language plpgsql as $$
declare
  m mcp := mcp_for(p_mcp, true);
  o tool := tool_for(p_tool, false);
begin
  -- For this endpoint, Tools of other projects do not exist.
  perform require(o.project_id = m.project_id, 'P0002', 'record.no_tool', jsonb_build_object('id', p_tool));
  perform require(not exists (select from mcp_binding b join tool x on x.id = b.tool_id
                              where b.mcp_id = p_mcp and x.name = o.name and x.id <> p_tool),
                  '23505', 'record.endpoint_has_name', jsonb_build_object('name', o.name));
  perform check_quota((select count(*) from mcp_binding b where b.mcp_id = p_mcp and b.tool_id <> p_tool), 1,
                      'endpoint_tools');
  insert into mcp_binding (mcp_id, tool_id, status) values (p_mcp, p_tool, p_status)
  on conflict (mcp_id, tool_id) do update set status = excluded.status;
  return mcp_view(m);
end $$;

create function public.create_mcp(p_project uuid, p_name text, p_key_hash text, p_tools uuid[])
returns jsonb language plpgsql as $$
declare
  m mcp;
begin
  perform check_project(p_project, 'editor');
  perform lock_quotas(p_project);
  perform check_quota((select count(*) from mcp e where e.project_id = p_project), 1, 'endpoints');
  perform check_quota(0, cardinality(p_tools), 'endpoint_tools');
  insert into mcp (project_id, name, api_key_hash)
  values (p_project, checked('record.name', p_name), p_key_hash) returning * into m;
  perform bind_tool(m.id, t.id, 'enabled') from unnest(p_tools) t (id);
  return mcp_view(m);
end $$;

create function public.read_mcp(p_mcp uuid) returns jsonb language sql as $$
  select mcp_view(mcp_for(p_mcp, false))
$$;

create function public.list_mcps(p_project uuid) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(mcp_view(m) order by m.name, m.id), '[]') from mcp m where m.project_id = p_project
$$;

create function public.unbind_tool(p_mcp uuid, p_tool uuid) returns jsonb language plpgsql as $$
declare
  m mcp := mcp_for(p_mcp, true);
begin
  delete from mcp_binding where mcp_id = p_mcp and tool_id = p_tool;
  perform require(found, 'P0002', 'record.not_bound', jsonb_build_object('id', p_tool));
  return mcp_view(m);
end $$;

-- The old key stays valid for p_overlap_seconds.
create function public.rotate_mcp(p_mcp uuid, p_key_hash text, p_overlap_seconds integer) returns jsonb
language plpgsql as $$
declare
  m mcp := mcp_for(p_mcp, true);
begin
  perform require(p_overlap_seconds between 0 and 604800, 'PT422', 'record.overlap');
  update mcp set previous_key_hash = m.api_key_hash, api_key_hash = p_key_hash,
    previous_key_until = now() + make_interval(secs => p_overlap_seconds)
  where id = p_mcp;
  return mcp_view(m);
end $$;

create function public.change_mcp(p_mcp uuid, p_name text, p_status text) returns jsonb language sql as $$
  select mcp_for(p_mcp, true);
  update mcp m set name = coalesce(checked('record.name', p_name), m.name),
    status = coalesce(p_status, m.status)
  where m.id = p_mcp returning mcp_view(m)
$$;

create function public.delete_mcp(p_mcp uuid) returns void language sql as $$
  select mcp_for(p_mcp, true);
  delete from mcp where id = p_mcp
$$;

-- ---------------------------------------------------------------- the use of keys

-- The valid keys for searches: the function `mcp` sees no others.
create function public.search_keys() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(k)), '[]') from library_key k
  where k.purpose = 'search' and (k.expires_at is null or k.expires_at > now())
$$;

-- Creates a key. One that reads a project becomes a member of it, so that row level security binds it, owners see it, and
-- who removes the member removes the key.
create function public.create_library_key(
  p_key_hash text, p_name text, p_purpose text, p_folder text, p_project uuid, p_expires_at timestamptz
) returns void language plpgsql as $$
declare
  member constant uuid := case when p_purpose = 'read' and p_project is not null then gen_random_uuid() end;
begin
  perform require(p_expires_at is null or p_expires_at > now(), 'PT422', 'record.key_past');
  if member is not null then
    perform require(exists (select from project p where p.id = p_project and p.deleted_at is null), 'P0002',
                    'record.no_project', jsonb_build_object('id', p_project));
    perform add_member(p_project, member, 'viewer');
  end if;
  insert into library_key (key_hash, name, purpose, folder, project_id, member_id, expires_at)
  values (p_key_hash, p_name, p_purpose, p_folder, p_project, member, p_expires_at);
end $$;

create function public.delete_library_key(p_key_hash text) returns void language sql as $$
  delete from key_use where key_hash = p_key_hash;
  with removed as (delete from library_key where key_hash = p_key_hash returning project_id, member_id)
  delete from project_member m using removed r where m.project_id = r.project_id and m.user_id = r.member_id
$$;

-- Deletes keys that were not used for a year: most of them no longer exist.
create function public.record_key_use(p_key_hash text) returns void language sql as $$
  delete from key_use where last_used_on < (now() at time zone 'utc')::date - 365;
  insert into key_use as known (key_hash, last_used_on) values (p_key_hash, (now() at time zone 'utc')::date)
  on conflict (key_hash) do update set last_used_on = excluded.last_used_on
    where known.last_used_on < excluded.last_used_on
$$;

-- ---------------------------------------------------------------- the outbox

-- Records which events the bus accepted and which it rejected.
create function public.mark_events_sent(p_ids bigint[], p_rejected bigint[]) returns void language sql as $$
  update outbox set sent_at = now() where id = any (p_ids);
  update outbox set rejected_at = clock_timestamp() where id = any (p_rejected);
  delete from outbox where sent_at < now() - interval '7 days';
$$;
-- The index over Tables: the strings of a document, their chunks in the search engine ("the store", turbopuffer), and
-- what a search may return. Rows belong to the fingerprint of an index version; Tools show the state of the live one.
--
-- Tables with many rows for one Table have no foreign key to it: their rows are deleted in portions, later
-- (delete_portion). A writer of one locks the Table's row, so nobody writes one for a deleted Table.
--
-- Locks are taken in one order: the Table's row, the lock of its words, its nodes by pointer_hash, its scan.

-- ---------------------------------------------------------------- tables

-- One row for each large string of a document. `content_hash` is the searchable version (null: none yet), `wanted_hash`
-- that of the document; they differ until its chunks are stored. Empty: the document no longer has the string, and the
-- row stays until its rows are deleted from the store.
create table public.node (
  table_id uuid not null,
  fingerprint text collate "C" not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  content_hash text collate "C",
  generation bigint not null default 0,
  wanted_hash text collate "C" not null,
  wanted_generation bigint not null,
  wanted_chunks integer not null,
  -- The store may still have rows of an older version.
  needs_sweep boolean not null default false,
  -- Why the embedding service refused the text. The node then has no chunks.
  refused_reason jsonb check (refused_reason ? 'code'),
  primary key (table_id, fingerprint, pointer_hash)
);
create index node_unfinished on public.node (table_id, fingerprint) where content_hash is distinct from wanted_hash;
create index node_needs_sweep on public.node (table_id, fingerprint) where needs_sweep;
create index node_refused on public.node (table_id, fingerprint) where refused_reason is not null;

create table public.chunks (
  id uuid primary key default gen_random_uuid(),
  table_id uuid not null,
  fingerprint text collate "C" not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  content_hash text collate "C" not null,
  chunk_index integer not null,
  total_chunks integer not null,
  chunk_text text not null,
  -- What its object says of it (see title_of in sakuin/tables/objects.py): it is found by that, too.
  title text not null,
  char_start integer not null,
  char_end integer not null,
  turbopuffer_namespace text,
  turbopuffer_doc_id text collate "C",
  -- Null: has to be stored, for the first time or again.
  indexed_at timestamptz,
  -- The chunk's words in table_reading. Null: not stored yet, so not counted.
  readings bigint[],
  -- Of the first chunk of a batch: how many attempts to store it began and did not end by themselves.
  attempts integer not null default 0,
  unique (table_id, fingerprint, pointer_hash, content_hash, chunk_index)
);
create index chunks_doc_id on public.chunks (turbopuffer_doc_id);
-- The beginning of the hash by which the vector of a text is found.
create function public.text_key(p_title text, p_text text) returns text language sql immutable as $$
  select left(encode(sha256(convert_to(concat_ws(chr(10), nullif(p_title, ''), p_text), 'UTF8')), 'hex'), 16)
$$;
create index chunks_text on public.chunks (public.text_key(title, chunk_text) collate "C");
create index chunks_unstored on public.chunks (table_id, fingerprint) where indexed_at is null;

-- Chunks of wanted versions that are not stored.
create view public.unstored_chunks with (security_invoker = true) as
  select c.id, c.table_id, c.fingerprint, c.json_pointer from chunks c
  where c.indexed_at is null and c.content_hash = (
    select n.wanted_hash from node n where n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash);

-- Vectors by the hash of their text, separate for each project: the store does not give its own back. Those of texts that
-- no chunk has are deleted after 30 days (delete_unused_texts).
create table public.chunk_vector (
  project_id uuid not null references public.project,
  space text collate "C" not null,
  text_hash text collate "C" not null,
  embedding extensions.halfvec(1536) not null,
  used_at timestamptz not null default now(),
  primary key (project_id, space, text_hash)
);
create index chunk_vector_used on public.chunk_vector (used_at);

-- The scan of a Table for one fingerprint.
create table public.table_scan (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text collate "C" not null,
  -- The generation that was scanned completely.
  generation bigint not null default -1,
  -- The generation in which the Table was found complete: others need to be looked at (is_table_complete).
  complete_generation bigint,
  skipped_nodes jsonb not null default '[]',
  -- What it found for the status of Tools, by their json_path.
  found jsonb not null default '{}',
  -- The scan under way: its generation, how many strings were scanned, and when.
  current_generation bigint,
  current_nodes integer not null default 0,
  current_at timestamptz,
  -- Why indexing makes no progress, and the generation for which it was given up.
  error jsonb check (error ? 'code'),
  failed_generation bigint,
  heartbeat_at timestamptz not null default now(),
  -- When chunks were last stored; null once the store has indexed them (see unindexed_tables).
  stored_at timestamptz,
  -- How many chunks were stored since the scan began, at scanned_at: the speed of indexing.
  stored_chunks integer not null default 0,
  scanned_at timestamptz not null default now(),
  -- How often maintenance started the scan (record_table_start).
  started_generation bigint,
  starts integer,
  started_at timestamptz,
  primary key (table_id, fingerprint)
);
create index table_scan_fingerprint on public.table_scan (fingerprint);
create index table_scan_stored on public.table_scan (stored_at) where stored_at is not null;

-- How the words of a Table are read and written, as `reading` for pages. `chunks` counts the chunks with the word; rows
-- without any are deleted. Written in the transactions that store and delete chunks.
--
-- An empty reading marks a term of the search. Terms are counted in a sample of the chunks (see chunks_to_store), and the
-- empty term counts the chunks of that sample: docs/decisions/0051.
create table public.table_reading (
  id bigint generated always as identity primary key,
  table_id uuid not null,
  fingerprint text collate "C" not null,
  reading text collate "C" not null,
  written text collate "C" not null,
  sound text collate "C" not null generated always as (public.sound_of(reading)) stored,
  chunks integer not null,
  unique (table_id, fingerprint, reading, written)
-- Free space on each page: a changed count needs no change of an index.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = .02);
-- Without terms, for which a growing table without statistics would use them.
create index table_reading_begins on public.table_reading (table_id, fingerprint, left(sound, 1), length(sound))
  where reading <> '';
create index table_reading_ends on public.table_reading (table_id, fingerprint, right(sound, 1), length(sound))
  where reading <> '';

-- The short fields of the objects around strings, for answers. They belong to the document, not to an index version.
create table public.table_object (
  table_id uuid not null,
  pointer_hash text collate "C" not null,
  json_pointer text collate "C" not null,
  -- json, not jsonb: it keeps their order.
  fields json not null,
  fields_hash text collate "C" not null,
  primary key (table_id, pointer_hash)
);

-- The fingerprints of this deployment. The first one has the plain namespace, the others have a suffix.
create table public.table_index_version (
  fingerprint text collate "C" primary key,
  suffix text collate "C" not null unique
);

-- The namespaces that this deployment has written to; other deployments may share its account. A row is written before
-- the first chunk is sent and stays after its Table is deleted, so that late writes of a killed worker are found.
-- `unneeded_since`: a namespace that is not needed is deleted whenever it is found again.
create table public.table_namespace (
  namespace text collate "C" primary key,
  table_id uuid not null,
  fingerprint text collate "C" not null,
  unneeded_since timestamptz
);
create index table_namespace_table on public.table_namespace (table_id);

-- ---------------------------------------------------------------- namespaces

-- Deletes the records of namespaces that were not needed for p_seconds. Workers that started before have ended.
create function public.delete_namespace_records(p_namespaces text[], p_seconds integer) returns void language sql as $$
  delete from table_namespace s
  where s.namespace = any (p_namespaces) and s.unneeded_since < now() - make_interval(secs => p_seconds)
$$;

-- ---------------------------------------------------------------- scanning a document

-- Whether a JSON Pointer is in a scope (another pointer).
create function public.is_within(p_pointer text, p_scope text) returns boolean language sql immutable as $$
  select p_scope = '' or p_pointer = p_scope or starts_with(p_pointer, p_scope || '/')
$$;

create function public.record_scan_state(p_table uuid, p_fingerprint text, p_error jsonb, p_failed bigint) returns void
language sql as $$
  insert into table_scan as p (table_id, fingerprint, error, failed_generation)
  values (p_table, p_fingerprint, p_error, p_failed)
  on conflict (table_id, fingerprint) do update set heartbeat_at = now(), error = excluded.error,
    failed_generation = excluded.failed_generation, complete_generation = null
$$;

-- A page of a scan takes three or four calls: begin_scan, changed_nodes, plan_nodes, record_scan or finish_scan.

-- Whether to scan a page. An explicit request (not p_for_event) restarts the scan. An event restarts a scan that is
-- incomplete after 15 minutes: its messages may be lost.
create function public.should_scan(t public.context_table, p_fingerprint text, p_skip integer, p_for_event boolean)
returns boolean language plpgsql as $$
declare
  at timestamptz;
begin
  if p_skip = 0 and not p_for_event then
    update table_scan p set current_generation = null where p.table_id = t.id and p.fingerprint = p_fingerprint;
    return true;
  end if;
  select p.current_at into at from table_scan p
  where p.table_id = t.id and p.fingerprint = p_fingerprint and p.current_generation = t.generation
    and p.current_nodes > p_skip;
  if at is null or t.check_store then return true; end if;
  return at < now() - interval '15 minutes' and not (
    is_table_complete(t.id, p_fingerprint)
    and not exists (select from tool o where o.table_id = t.id and o.enabled and is_live_for_tables(p_fingerprint)
                    and coalesce(o.metadata->'search_index'->>'state', '') not in ('ready', 'error')));
end $$;

-- Begins a scan of a Table, or continues it after p_skip nodes: {decision, project_id, generation, check_store, data,
-- data_key, scopes, chunk_threshold}. `decision`: scan; gone; empty (no document has arrived); superseded (p_generation is not the
-- present one, or this page was scanned already). Tools show the progress of the live version only.
create function public.begin_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_skip integer, p_for_event boolean
) returns jsonb language plpgsql as $$
declare
  t context_table;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return jsonb_build_object('decision', 'gone'); end if;
  if p_generation <> t.generation or not should_scan(t, p_fingerprint, p_skip, p_for_event) then
    return jsonb_build_object('decision', 'superseded');
  end if;
  if t.data is null and t.data_key is null then return jsonb_build_object('decision', 'empty'); end if;
  if p_skip = 0 then
    if is_live_for_tables(p_fingerprint) then
      perform merge_status(o.id, jsonb_build_object(
        'state', 'indexing', 'started_at', now(), 'heartbeat_at', now(), 'generation', t.generation,
        'waiting_since', null, 'waiting_reason', null,
        'attempt', coalesce(bigint_or_null(o.metadata->'search_index'->>'attempt'), 0) + 1))
      from tool o where o.table_id = p_table and o.enabled;
    end if;
    perform record_scan_state(p_table, p_fingerprint, null, null);
    update table_scan s set stored_chunks = 0, scanned_at = now()
    where s.table_id = p_table and s.fingerprint = p_fingerprint;
  end if;
  return jsonb_build_object(
    'decision', 'scan', 'project_id', t.project_id, 'generation', t.generation, 'check_store', t.check_store,
    -- As text, so that no JSON library changes the document.
    'data', to_json(t.data::text), 'data_key', t.data_key, 'chunk_threshold', t.chunk_threshold_chars,
    'chunks_count', t.chunks_count,
    'scopes', (select coalesce(jsonb_agg(distinct o.json_path), '[]')
               from tool o where o.table_id = t.id and o.enabled));
end $$;

-- The places (from 1) of the first p_limit of these nodes that are not stored completely with this text and title.
create function public.changed_nodes(
  p_table uuid, p_fingerprint text, p_pointer_hashes text[], p_content_hashes text[], p_titles text[], p_limit integer
) returns integer[] language sql stable as $$
  select coalesce(array_agg(x.place order by x.place), '{}') from (
    select g.place::integer as place
    from unnest(p_pointer_hashes, p_content_hashes, p_titles) with ordinality as g(pointer_hash, content_hash, title, place)
    -- Node by node (because of offset 0): a growing table has no statistics for a join.
    left join lateral (
      select true as complete from node n
      where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = g.pointer_hash
        and n.wanted_hash = g.content_hash and n.content_hash = n.wanted_hash and not n.needs_sweep
        and n.wanted_chunks = (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.title = g.title
            and c.turbopuffer_doc_id is not null and c.indexed_at is not null)
      offset 0) n on true
    where n.complete is null
    order by g.place limit p_limit) x
$$;

-- Records the wanted versions of nodes and their chunks. Idempotent. A chunk with another title than before is stored
-- again; until then it is found as before. Returns {missing: ids of the chunks to store,
-- published: see publish_nodes}; null if a newer generation exists.
create function public.plan_nodes(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes jsonb)
returns jsonb language plpgsql as $$
declare
  missing jsonb;
  words bigint[];
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation
    and exists (select from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint) for share;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  select array_agg(x.word) into words from jsonb_array_elements(p_nodes) n cross join lateral (
    select unnest(c.readings) as word from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = n->>'pointer_hash'
      and c.content_hash = n->>'content_hash' and c.title <> n->>'title' offset 0) x;
  perform discount_words(words);
  insert into chunks (table_id, pointer_hash, json_pointer, content_hash, chunk_index, fingerprint, total_chunks,
                      chunk_text, title, char_start, char_end)
  select p_table, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', (c->>'index')::integer, p_fingerprint,
         (c->>'total')::integer, c->>'text', n->>'title', (c->>'char_start')::integer, (c->>'char_end')::integer
  from jsonb_array_elements(p_nodes) n, jsonb_array_elements(n->'chunks') c
  on conflict (table_id, fingerprint, pointer_hash, content_hash, chunk_index) do update set
    title = excluded.title, indexed_at = null, readings = null
  where chunks.title <> excluded.title;
  insert into node (table_id, fingerprint, pointer_hash, json_pointer, wanted_hash, wanted_generation, wanted_chunks)
  select p_table, p_fingerprint, n->>'pointer_hash', n->>'json_pointer', n->>'content_hash', p_generation,
         jsonb_array_length(n->'chunks')
  from jsonb_array_elements(p_nodes) n
  order by n->>'pointer_hash'
  on conflict (table_id, fingerprint, pointer_hash) do update set
    wanted_hash = excluded.wanted_hash, wanted_generation = excluded.wanted_generation,
    wanted_chunks = excluded.wanted_chunks, refused_reason = null;
  -- Node by node (because of offset 0): a growing table has no statistics for a join.
  select coalesce(jsonb_agg(x.id), '[]') into missing
  from jsonb_array_elements(p_nodes) n cross join lateral (
    select c.id from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = n->>'pointer_hash'
      and c.content_hash = n->>'content_hash' and (c.turbopuffer_doc_id is null or c.indexed_at is null)
    offset 0) x;
  return jsonb_build_object('missing', missing, 'published', publish_nodes(p_table, p_fingerprint, array(
    select n->>'pointer_hash' from jsonb_array_elements(p_nodes) n)));
end $$;

-- Records that the messages for the first p_nodes strings of this generation are sent, or not needed.
create function public.record_scan(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes integer) returns void
language sql as $$
  update table_scan p set current_generation = p_generation, current_at = now(), current_nodes = greatest(
    p_nodes, case when p.current_generation = p_generation then p.current_nodes end)
  where p.table_id = p_table and p.fingerprint = p_fingerprint and p_nodes > 0
    and p_generation >= coalesce(p.current_generation, p_generation)
$$;

-- Ends a scan of p_nodes strings: removes nodes in portions of p_limit, the first call those that are not among p_kept
-- (hashes of pointers), later calls (p_kept is null) those in p_gone, with p_more if yet another call follows. Returns
-- {removed: nodes_to_sweep, gone: the nodes to give to later calls, after mark_swept, unindexed: see
-- mark_ready_if_complete}; null if a newer generation exists. With the last portion the scan is recorded and, if there is
-- nothing to sweep, the Table is ready if nothing is missing; otherwise mark_swept does that.
create function public.finish_scan(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_gone text[], p_more boolean, p_skipped jsonb,
  p_found jsonb, p_nodes integer, p_limit integer
) returns jsonb language plpgsql as $$
declare
  gone text[] := p_gone;
  removed jsonb;
  is_last boolean;
  unindexed jsonb := '[]';
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  if p_kept is not null then
    gone := array(
      select x.pointer_hash from node x
      where x.table_id = p_table and x.fingerprint = p_fingerprint and x.wanted_hash <> ''
        and not exists (select from unnest(p_kept) kept where kept = x.pointer_hash));
  end if;
  is_last := not p_more and cardinality(gone) <= p_limit;
  with rows as (
    delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.pointer_hash = any (gone[:p_limit]) returning c.pointer_hash, c.turbopuffer_doc_id
  ), stored as (
    update node n set content_hash = null, wanted_hash = '', wanted_chunks = 0, refused_reason = null,
      needs_sweep = true, generation = p_generation, wanted_generation = p_generation
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = any (gone[:p_limit])
      and (n.needs_sweep
           or n.pointer_hash in (select r.pointer_hash from rows r where r.turbopuffer_doc_id is not null))
    returning n.pointer_hash
  )
  delete from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
    and n.pointer_hash = any (gone[:p_limit]) and n.pointer_hash not in (select s.pointer_hash from stored s);
  insert into table_scan (table_id, fingerprint, generation, skipped_nodes, found)
  select p_table, p_fingerprint, p_generation, p_skipped, p_found where is_last
  on conflict (table_id, fingerprint) do update set
    generation = excluded.generation, skipped_nodes = excluded.skipped_nodes, found = excluded.found, error = null,
    failed_generation = null, heartbeat_at = now();
  update context_table set shown_fingerprint = p_fingerprint where id = p_table and is_live_for_tables(p_fingerprint);
  removed := nodes_to_sweep(p_table, p_fingerprint);
  if is_last and removed = '[]' then
    unindexed := mark_ready_if_complete(p_table, p_fingerprint)->'unindexed';
    perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
  end if;
  return jsonb_build_object('removed', removed, 'gone', to_jsonb(gone[p_limit + 1:]), 'unindexed', unindexed);
end $$;

-- Deletes the objects of a Table that are not among these (hashes of pointers and of fields), and returns the places
-- (from 1) of those that are missing; null if a newer generation exists.
create function public.changed_objects(
  p_table uuid, p_generation bigint, p_pointer_hashes text[], p_fields_hashes text[]
) returns integer[] language plpgsql as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return null; end if;
  delete from table_object x where x.table_id = p_table and not exists (
    select from unnest(p_pointer_hashes, p_fields_hashes) as g(pointer_hash, fields_hash)
    where g.pointer_hash = x.pointer_hash and g.fields_hash = x.fields_hash);
  return array(
    select g.place::integer
    from unnest(p_pointer_hashes) with ordinality as g(pointer_hash, place)
    where not exists (select from table_object x where x.table_id = p_table and x.pointer_hash = g.pointer_hash)
    order by g.place);
end $$;

-- Stores objects: [{pointer_hash, json_pointer, fields (JSON text), fields_hash}]. Idempotent; does nothing if a newer
-- generation exists.
create function public.store_objects(p_table uuid, p_generation bigint, p_objects jsonb) returns void
language plpgsql as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return; end if;
  insert into table_object (table_id, pointer_hash, json_pointer, fields, fields_hash)
  select p_table, o.pointer_hash, o.json_pointer, o.fields::json, o.fields_hash
  from jsonb_to_recordset(p_objects) as o(pointer_hash text, json_pointer text, fields text, fields_hash text)
  order by o.pointer_hash
  on conflict (table_id, pointer_hash) do update set fields = excluded.fields, fields_hash = excluded.fields_hash;
end $$;

-- Records why a Table cannot be indexed in this generation (null: the present one).
create function public.record_scan_failure(p_table uuid, p_fingerprint text, p_generation bigint, p_error jsonb)
returns void language plpgsql as $$
declare
  present bigint;
begin
  select t.generation into present from context_table t where t.id = p_table for update;
  if present is null or p_generation <> present then return; end if;
  perform record_scan_state(p_table, p_fingerprint, p_error, present);
  perform merge_status(o.id, jsonb_build_object('state', 'error', 'last_error', p_error, 'heartbeat_at', now()))
  from tool o
  where is_live_for_tables(p_fingerprint) and o.table_id = p_table and o.enabled
    and o.metadata->'search_index'->>'state' is distinct from 'ready';
end $$;

-- ---------------------------------------------------------------- storing chunks

-- One transaction at a time counts the words of a Table.
create function public.lock_words(p_table uuid, p_fingerprint text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('words ' || p_table || p_fingerprint, 0))
$$;

-- Counts the words of newly stored chunks.
--   p_stored: [{id, namespace, doc_id, readings: [place]}], places in p_readings: [[reading, written]], from 0
-- Returns the ids of the words by place. A chunk that is stored again is not counted again: it has its readings.
create function public.count_readings(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb)
returns bigint[] language sql as $$
  with used as (
    select u.place::integer as place, count(*)::integer as chunks
    from jsonb_array_elements(p_stored) s
    -- Chunk by chunk (because of offset 0): a growing table has no statistics for a join.
    cross join lateral (select from chunks c where c.id = (s->>'id')::uuid and c.readings is null offset 0) fresh
    cross join jsonb_array_elements_text(s->'readings') u(place) group by 1
  ), asked as materialized (
    select e.word->>0 as reading, e.word->>1 as written, u.place, u.chunks
    from jsonb_array_elements(p_readings) with ordinality e(word, place) join used u on u.place = e.place - 1
  ), counted as (
    insert into table_reading as r (table_id, fingerprint, reading, written, chunks)
    select p_table, p_fingerprint, a.reading, a.written, a.chunks from asked a
    on conflict (table_id, fingerprint, reading, written) do update set chunks = r.chunks + excluded.chunks
    returning r.id, r.reading, r.written
  ), numbered as (
    select a.place, r.id from asked a join counted r on r.reading = a.reading and r.written = a.written
  )
  select coalesce(array_agg(coalesce(n.id, 0) order by place), '{}')
  from generate_series(0, jsonb_array_length(p_readings) - 1) place left join numbered n using (place)
$$;

-- Subtracts words of chunks that no longer have them, by their ids.
create function public.discount_words(p_words bigint[]) returns void language sql as $$
  with fewer as materialized (
    select u.id, count(*)::integer as chunks from unnest(p_words) u(id) group by u.id
  ), counted as (
    update table_reading r set chunks = r.chunks - f.chunks from fewer f where r.id = f.id and r.chunks > f.chunks
  )
  delete from table_reading r using fewer f where r.id = f.id and r.chunks <= f.chunks
$$;

-- Subtracts the words of deleted chunks, whichever function deleted them. Those of a deleted Table are deleted with it.
create function public.discount_readings() returns trigger language plpgsql security definer as $$
begin
  perform lock_words(g.table_id, g.fingerprint) from (
    select distinct d.table_id, d.fingerprint from gone d
    where d.readings is not null and exists (select from context_table t where t.id = d.table_id)) g;
  if not found then return null; end if;
  perform discount_words(array(select unnest(d.readings) from gone d));
  return null;
end $$;
create trigger discount_readings after delete on public.chunks
  referencing old table as gone for each statement execute function public.discount_readings();

-- Chunks of p_ids that have to be embedded and stored, without those that are no longer wanted. `counts_terms`: whether
-- the terms of a chunk are to be counted. Those of the first 2,000 chunks are, and of the next ones those of every second,
-- until there are 2,000 more, then of every fourth, and so on: of 100,000 chunks about 11,000, chosen by a hash.
create function public.chunks_to_store(p_table uuid, p_fingerprint text, p_namespace text, p_ids uuid[]) returns jsonb
language plpgsql as $$
declare
  wanted jsonb;
  counted constant integer := (select r.chunks from table_reading r where r.table_id = p_table
                               and r.fingerprint = p_fingerprint and r.reading = '' and r.written = '');
  every constant bigint := 1::bigint << coalesce(counted, 0) / 2000;
begin
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'json_pointer', c.json_pointer, 'content_hash', c.content_hash, 'chunk_index', c.chunk_index,
    'chunk_text', c.chunk_text, 'title', c.title, 'generation', n.wanted_generation,
    'counts_terms', hashtextextended(c.content_hash, c.chunk_index) % every = 0)
    order by c.pointer_hash, c.chunk_index), '[]')
  into wanted
  from chunks c
  join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
    and n.wanted_hash = c.content_hash
  where c.id = any (p_ids) and c.table_id = p_table and c.fingerprint = p_fingerprint
    and (c.turbopuffer_doc_id is null or c.indexed_at is null)
    and exists (select from context_table t where t.id = p_table);
  -- A worker with a wrong project id writes nothing.
  perform require(wanted = '[]' or starts_with(p_namespace, 'project_' || t.project_id || '_table_' || t.id), 'PT422',
                  'record.other_project') from context_table t where t.id = p_table;
  -- Read first: a row that every batch of a Table locks would make them wait.
  if wanted <> '[]' and not exists (
    select from table_namespace n where n.namespace = p_namespace and n.unneeded_since is null) then
    insert into table_namespace (namespace, table_id, fingerprint) values (p_namespace, p_table, p_fingerprint)
    on conflict (namespace) do update set unneeded_since = null;
  end if;
  return wanted;
end $$;

create function public.known_vectors(p_project uuid, p_space text, p_text_hashes text[]) returns jsonb
language sql as $$
  update chunk_vector v set used_at = now()
  where v.project_id = p_project and v.space = p_space and v.text_hash = any (p_text_hashes)
    and v.used_at < now() - interval '1 day';
  select coalesce(jsonb_object_agg(v.text_hash, v.embedding::text), '{}') from chunk_vector v
  where v.project_id = p_project and v.space = p_space and v.text_hash = any (p_text_hashes)
$$;

-- Publishes the wanted version of each node whose chunks are all stored. Deletes the chunks of its other versions: if
-- such a version returns, it is stored again in its own generation. Returns nodes_to_sweep.
create function public.publish_nodes(p_table uuid, p_fingerprint text, p_pointer_hashes text[]) returns jsonb
language plpgsql as $$
begin
  perform lock_words(p_table, p_fingerprint);
  -- In one order everywhere, so that two workers that finish one node cannot deadlock.
  perform from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
    and n.pointer_hash = any (p_pointer_hashes) order by n.pointer_hash for update;
  with done as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation,
      -- A version that was never published may have left rows, too.
      needs_sweep = n.needs_sweep or (n.content_hash is not null and n.content_hash <> n.wanted_hash) or exists (
        select from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
          and c.pointer_hash = n.pointer_hash and c.content_hash <> n.wanted_hash)
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = any (p_pointer_hashes)
      and (n.content_hash, n.generation) is distinct from (n.wanted_hash, n.wanted_generation)
      and n.wanted_chunks = (
        select count(*) from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
          and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
    returning n.pointer_hash, n.content_hash
  )
  delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
    and c.pointer_hash = any (array(select d.pointer_hash from done d))
    and c.content_hash <> (select d.content_hash from done d where d.pointer_hash = c.pointer_hash);
  return nodes_to_sweep(p_table, p_fingerprint, p_pointer_hashes);
end $$;

-- Records that the store has confirmed these chunks (p_stored, p_readings: see count_readings). Returns {alive: whether
-- the Table still exists, unwanted: [doc_id] of rows that came too late and have to be deleted from the store,
-- published: see publish_nodes}.
create function public.record_stored(p_table uuid, p_fingerprint text, p_stored jsonb, p_readings jsonb)
returns jsonb language plpgsql as $$
declare
  unwanted jsonb;
  numbers bigint[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then
    return jsonb_build_object('alive', false, 'unwanted', '[]'::jsonb, 'published', '[]'::jsonb);
  end if;
  perform lock_words(p_table, p_fingerprint);
  numbers := count_readings(p_table, p_fingerprint, p_stored, p_readings);
  update chunks c set turbopuffer_namespace = s->>'namespace', turbopuffer_doc_id = s->>'doc_id', indexed_at = now(), attempts = 0,
    readings = coalesce(c.readings, array(
      select numbers[u.place::integer + 1] from jsonb_array_elements_text(s->'readings') u(place)))
  from jsonb_array_elements(p_stored) s where c.id = (s->>'id')::uuid;
  update table_scan s set stored_at = clock_timestamp(), complete_generation = null,
    stored_chunks = s.stored_chunks + jsonb_array_length(p_stored)
  where s.table_id = p_table and s.fingerprint = p_fingerprint;
  select coalesce(jsonb_agg(s->>'doc_id'), '[]') into unwanted
  from jsonb_array_elements(p_stored) s
  where not exists (
    select from chunks c join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint
      and n.pointer_hash = c.pointer_hash
    where c.id = (s->>'id')::uuid and c.content_hash in (n.wanted_hash, n.content_hash));
  return jsonb_build_object('alive', true, 'unwanted', unwanted,
    'published', publish_nodes(p_table, p_fingerprint, array(
      select distinct c.pointer_hash from jsonb_array_elements(p_stored) s join chunks c on c.id = (s->>'id')::uuid)));
end $$;

-- Finishes the nodes of chunks whose text the embedding service refuses: nothing is found for them, and the same text
-- is not sent again. p_refused: [{id, reason}], ids of chunks.
create function public.mark_refused(p_table uuid, p_fingerprint text, p_refused jsonb) returns void
language plpgsql as $$
declare
  pointers text[];
begin
  perform from context_table t where t.id = p_table for share;
  if not found then return; end if;
  perform lock_words(p_table, p_fingerprint);
  with refusal as (
    select distinct on (c.pointer_hash) c.pointer_hash, c.content_hash, r->'reason' as reason
    from jsonb_array_elements(p_refused) r join chunks c on c.id = (r->>'id')::uuid
    where c.table_id = p_table and c.fingerprint = p_fingerprint
    order by c.pointer_hash, c.chunk_index
  ), refused as (
    update node n set content_hash = n.wanted_hash, generation = n.wanted_generation, wanted_chunks = 0,
      needs_sweep = false, refused_reason = s.reason
    from refusal s
    where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s.pointer_hash
      and n.wanted_hash = s.content_hash
    returning n.pointer_hash
  )
  select array_agg(r.pointer_hash) into pointers from refused r;
  delete from chunks c
  where c.table_id = p_table and c.fingerprint = p_fingerprint and c.pointer_hash = any (pointers);
end $$;

-- Records that the older rows of these nodes are deleted from the store, and of those that the document no longer has all.
-- After finish_scan, with its generation and p_nodes (0: it has more nodes), it ends the scan, and returns the Table if it
-- is unindexed: see mark_ready_if_complete.
create function public.mark_swept(
  p_table uuid, p_fingerprint text, p_swept jsonb, p_generation bigint default null, p_nodes integer default 0
) returns jsonb language plpgsql as $$
declare
  done jsonb := '{"unindexed": []}';
begin
  if p_generation is not null then perform from context_table t where t.id = p_table for update; end if;
  -- Two transactions that update the same nodes in different orders would wait for each other.
  perform lock_words(p_table, p_fingerprint);
  update node n set needs_sweep = false from jsonb_array_elements(p_swept) s
  where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s->>'pointer_hash'
    and n.generation = (s->>'generation')::bigint;
  delete from node n using jsonb_array_elements(p_swept) s
  where n.table_id = p_table and n.fingerprint = p_fingerprint and n.pointer_hash = s->>'pointer_hash'
    and n.wanted_hash = '' and not n.needs_sweep;
  if p_generation is not null then
    done := mark_ready_if_complete(p_table, p_fingerprint);
    perform record_scan(p_table, p_fingerprint, p_generation, p_nodes);
  end if;
  return done->'unindexed';
end $$;

-- The published and removed nodes, all or those of p_pointer_hashes, whose older rows have to be deleted from the store:
-- [{pointer_hash, content_hash, generation}].
create function public.nodes_to_sweep(p_table uuid, p_fingerprint text, p_pointer_hashes text[] default null)
returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'pointer_hash', n.pointer_hash, 'content_hash', n.content_hash, 'generation', n.generation)
    order by n.pointer_hash), '[]')
  from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.needs_sweep
    and n.content_hash is not distinct from nullif(n.wanted_hash, '')
    and (p_pointer_hashes is null or n.pointer_hash = any (p_pointer_hashes))
$$;

-- ---------------------------------------------------------------- is a Table ready?

-- Whether a Table is stored for a fingerprint: scanned in its present generation, each string stored in its wanted
-- version, nothing left to delete.
create function public.is_table_stored(p_table uuid, p_fingerprint text) returns boolean language sql stable as $$
  select exists (select from table_scan s join context_table t on t.id = s.table_id and t.generation = s.generation
                 where s.table_id = p_table and s.fingerprint = p_fingerprint)
    and not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                    and n.content_hash is distinct from n.wanted_hash)
    and not exists (select from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint)
    and not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.needs_sweep)
$$;

-- Whether a Table is complete: stored, and indexed by the store, so that searches see all of it.
create function public.is_table_complete(p_table uuid, p_fingerprint text) returns boolean language sql stable as $$
  select is_table_stored(p_table, p_fingerprint) and not exists (
    select from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint and s.stored_at is not null)
$$;

-- The Tables that are stored, and only wait until the store has indexed them: [{table_id, fingerprint, namespace,
-- stored_at}], those that wait longest first; all, or p_table for p_fingerprint.
create function public.unindexed_tables(p_table uuid default null, p_fingerprint text default null) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'table_id', s.table_id, 'fingerprint', s.fingerprint, 'namespace', n.namespace, 'stored_at', s.stored_at)
    order by s.stored_at), '[]')
  from table_scan s join table_namespace n on n.table_id = s.table_id and n.fingerprint = s.fingerprint
  where s.stored_at is not null and (p_table is null or (s.table_id, s.fingerprint) = (p_table, p_fingerprint))
    and is_table_stored(s.table_id, s.fingerprint)
$$;

-- Updates the status of a Table's Tools, under the Table's lock, and returns whether the Table is complete. During
-- indexing, chunks are counted every two seconds and not with each batch: counting takes as long as there are nodes.
-- `minutes_left`: by the speed since the scan began; null if that is not known yet.
create function public.update_tool_status(p_table uuid, p_fingerprint text) returns boolean language plpgsql as $$
declare
  t context_table;
  done boolean;
  stored boolean;
  -- Whether missing chunks are counted: while a Table is indexed for the first time, most of them are missing.
  published boolean;
begin
  select * into t from context_table c where c.id = p_table for update;
  if t.id is null then return false; end if;
  done := is_table_complete(p_table, p_fingerprint);
  stored := done or is_table_stored(p_table, p_fingerprint);
  published := not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                           and n.content_hash is distinct from n.wanted_hash);
  perform merge_status(o.id, counts || jsonb_build_object('heartbeat_at', now(), 'generation', t.generation,
      'waiting_since', null, 'waiting_reason', null,
      'minutes_left', case when not done then ceil(
        ((counts->>'chunks_count')::bigint - (counts->>'indexed_chunks_count')::bigint)
        * extract(epoch from now() - s.scanned_at) / 60 / nullif(s.stored_chunks, 0)) end,
      'skipped_nodes', (
        select coalesce(jsonb_agg(x.skipped), '[]') from (
          select e as skipped from jsonb_array_elements(s.skipped_nodes) e
          union all
          select jsonb_build_object('json_pointer', n.json_pointer, 'reason', n.refused_reason) from node n
          where n.table_id = p_table and n.fingerprint = p_fingerprint and n.refused_reason is not null) x
        where is_within(x.skipped->>'json_pointer', o.json_path)))
    || (f.status - 'missing')
    || case when not done then '{}'
            when f.status->>'missing' is not null
            then jsonb_build_object('state', 'error', 'last_error', f.status->'missing', 'attempt', 0)
            else jsonb_build_object('state', 'ready', 'indexed_at', now(), 'last_error', null, 'attempt', 0) end)
  from tool o
  left join table_scan s on s.table_id = p_table and s.fingerprint = p_fingerprint
  -- `missing` is why the document has no part for the Tool.
  cross join lateral (select coalesce(s.found->o.json_path, '{}') as status) f
  cross join lateral (
    -- A published node is stored completely, except for what the store has lost. The chunks of other nodes are counted
    -- one node at a time: a growing table has no statistics for a join.
    select jsonb_build_object('nodes_count', count(*), 'chunks_count', coalesce(sum(n.wanted_chunks), 0),
      'indexed_chunks_count', coalesce(sum(case when n.content_hash is not distinct from n.wanted_hash
        then n.wanted_chunks
        else (select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
              and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash and c.indexed_at is not null)
        end), 0) - case when published and not done then (
          select count(*) from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
            and is_within(c.json_pointer, o.json_path)) else 0 end) as counts
    from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.wanted_hash <> ''
      and is_within(n.json_pointer, o.json_path)
  ) x
  where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' is distinct from 'ready'
    and (stored or coalesce(timestamp_or_null(o.metadata->'search_index'->>'heartbeat_at'), '-infinity')
                 < now() - interval '2 seconds'
         or o.metadata->'search_index'->'indexed_chunks_count' is null);
  return done;
end $$;

-- Returns {ready: whether a Table is complete, unindexed: unindexed_tables of it}. If it is complete, its Tools are ready
-- (an error where the document has no part for them) and nothing waits any more. Any other error stays until
-- then: another batch of the same Table may still come.
create function public.mark_ready_if_complete(p_table uuid, p_fingerprint text) returns jsonb language plpgsql as $$
declare
  done boolean;
begin
  done := case when is_live_for_tables(p_fingerprint) then update_tool_status(p_table, p_fingerprint)
               else is_table_complete(p_table, p_fingerprint) end;
  if done then
    update context_table t set work = null where t.id = p_table and t.work is not null;
  end if;
  update table_scan p set heartbeat_at = now(), error = case when not done then p.error end,
    failed_generation = case when not done then p.failed_generation end,
    complete_generation = case when done then p.generation end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    -- Every batch of a Table comes here.
    and (p.heartbeat_at < now() - interval '2 seconds'
         or done and (p.error is not null or p.complete_generation is distinct from p.generation));
  return jsonb_build_object('ready', done, 'unindexed',
                            case when done then '[]' else unindexed_tables(p_table, p_fingerprint) end);
end $$;

-- Records that the store has indexed what was stored until p_stored_at, and returns whether the Table is complete.
create function public.mark_indexed(p_table uuid, p_fingerprint text, p_stored_at timestamptz) returns boolean
language plpgsql as $$
begin
  perform from context_table t where t.id = p_table for update;
  update table_scan s set stored_at = null
  where s.table_id = p_table and s.fingerprint = p_fingerprint and s.stored_at = p_stored_at;
  return mark_ready_if_complete(p_table, p_fingerprint)->'ready';
end $$;

-- ---------------------------------------------------------------- what the store has lost

-- Marks chunks to be stored again. They keep their doc ids: while the store still finds them, they are results.
create function public.mark_missing(p_table uuid, p_fingerprint text, p_ids uuid[]) returns void language sql as $$
  select from context_table t where t.id = p_table for update;
  select lock_words(p_table, p_fingerprint);
  update table_scan s set complete_generation = null where s.table_id = p_table and s.fingerprint = p_fingerprint;
  -- By primary key alone: a cached plan that reads all chunks of the Table would compare each with each id.
  update chunks c set indexed_at = null where c.id = any (p_ids)
$$;

-- ---------------------------------------------------------------- searching

-- The Tools that agents reach through an endpoint.
create function public.bound_tools(p_mcp uuid) returns setof public.tool language sql stable rows 10 as $$
  select o.* from mcp m
  join mcp_binding b on b.mcp_id = m.id and b.status = 'enabled'
  join tool o on o.id = b.tool_id and o.enabled and o.project_id = m.project_id
  where m.id = p_mcp and m.status = 'enabled'
$$;

-- An endpoint with its Tools; null if it is deleted or disabled.
create function public.endpoint(p_mcp uuid) returns jsonb language sql stable as $$
  select jsonb_build_object('id', m.id, 'project_id', m.project_id,
    'tools', (select coalesce(jsonb_agg(tool_view(o) order by o.name), '[]') from bound_tools(m.id) o))
  from mcp m where m.id = p_mcp and m.status = 'enabled'
$$;

-- An endpoint for the hash of one of its keys: {key_hashes, endpoint}. A wrong key gets two hashes and no endpoint,
-- after the same work, whether or not there is such an endpoint; a hash of zeros stands for a key that does not exist.
create function public.endpoint_of_key(p_mcp uuid, p_key_hash text) returns jsonb language sql stable as $$
  select jsonb_build_object('key_hashes', to_jsonb(k.hashes),
    'endpoint', case when p_key_hash = any (k.hashes) then endpoint(p_mcp) end)
  from (
    select array[
      coalesce(m.api_key_hash, repeat('0', 64)),
      coalesce(case when m.previous_key_until > now() then m.previous_key_hash end, repeat('0', 64))] as hashes
    from (select p_mcp as id) asked left join mcp m on m.id = asked.id and m.status = 'enabled') k
$$;

-- An endpoint for a user, in an agent's hands or his own: null unless the user has a role in its project, of which each
-- may search. The function `mcp` has verified the token; nobody else may call this.
create function public.endpoint_of_user(p_mcp uuid, p_user uuid) returns jsonb language sql stable as $$
  select endpoint(m.id) from mcp m
  join project p on p.id = m.project_id and p.deleted_at is null
  join project_member u on u.project_id = m.project_id and u.user_id = p_user and u.role >= 'viewer'
  where m.id = p_mcp
$$;

-- The same as `similar_words` for the words of a Table.
create function public.similar_table_words(p_table uuid, p_fingerprint text, p_reading text) returns jsonb
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
    from (select n.written, n.chunks, a.typos, typo_distance(n.sound, a.sound) as distance from around n, asked a) r
    where r.distance <= r.typos group by r.written
  )
  select to_jsonb((array_agg(f.written order by f.distance, f.n desc, f.written))[:5]) from found f
$$;

-- What is known of a question's words in a Tool's Table, in the form of lexicon_entries; the synonyms are the groups of the
-- project with a phrase in p_query, all of them if another analyzer stored them. Empty for a Tool that this endpoint does
-- not reach.
create function public.table_lexicon_entries(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_readings text[], p_words jsonb, p_query text, p_analyzer text
) returns jsonb language plpgsql stable set jit = off set enable_seqscan = off as $$
declare
  asked constant uuid := (select o.table_id from bound_tools(p_mcp) o where o.id = p_tool);
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where exists (
      select from table_reading t
      where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = coalesce(nullif(e.value, ''), e.key)
        and t.written = e.key));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select t.reading, array_agg(t.written order by t.chunks desc, t.written) as forms from table_reading t
        where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = any (p_readings)
        group by t.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_table_words(asked, p_fingerprint, u.reading) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and not exists (
            select from table_reading t
            where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = e.value)
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
create function public.table_term_frequencies(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_terms text[], p_sample integer
) returns jsonb language sql stable set jit = off set enable_seqscan = off as $$
  select jsonb_build_object(
    'total', coalesce((
      select r.chunks from table_reading r
      where r.table_id = o.table_id and r.fingerprint = p_fingerprint and r.reading = '' and r.written = ''), 0),
    'chunks', (
      select coalesce(jsonb_object_agg(r.written, r.chunks), '{}') from table_reading r
      where r.table_id = o.table_id and r.fingerprint = p_fingerprint and r.reading = '' and r.written = any (p_terms)),
    'sample', (
      -- Hashes order pointers at random.
      select coalesce(jsonb_agg(s.turbopuffer_doc_id), '[]') from (
        select c.turbopuffer_doc_id from chunks c
        where c.table_id = o.table_id and c.fingerprint = p_fingerprint and c.indexed_at is not null
        order by c.pointer_hash, c.content_hash, c.chunk_index limit p_sample) s))
  from bound_tools(p_mcp) o where o.id = p_tool
$$;

-- Of the found rows (doc ids, best first) the first p_limit that are current, in the Tool's scope, and reachable through
-- this endpoint.
create function public.current_chunks(
  p_mcp uuid, p_tool uuid, p_fingerprint text, p_doc_ids text[], p_limit integer
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', x.id, 'table_id', x.table_id, 'json_pointer', x.json_pointer, 'content_hash', x.content_hash,
    'chunk_index', x.chunk_index, 'total_chunks', x.total_chunks, 'chunk_text', x.chunk_text,
    'char_start', x.char_start, 'char_end', x.char_end, 'turbopuffer_namespace', x.turbopuffer_namespace,
    'turbopuffer_doc_id', x.turbopuffer_doc_id)), '[]')
  from (
    select c.* from bound_tools(p_mcp) o
    join chunks c on c.table_id = o.table_id and c.fingerprint = p_fingerprint
    join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
      and n.content_hash = c.content_hash
    where o.id = p_tool and c.turbopuffer_doc_id = any (p_doc_ids)
      and is_within(c.json_pointer, o.json_path)
    order by array_position(p_doc_ids, c.turbopuffer_doc_id) limit p_limit) x
$$;

-- The objects at these places (hashes of pointers) that are in the Tool's scope: [{json_pointer, fields}].
create function public.objects_in_scope(p_mcp uuid, p_tool uuid, p_pointer_hashes text[]) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('json_pointer', x.json_pointer, 'fields', x.fields::text)), '[]')
  from bound_tools(p_mcp) o
  join table_object x on x.table_id = o.table_id and x.pointer_hash = any (p_pointer_hashes)
  where o.id = p_tool and is_within(x.json_pointer, o.json_path)
$$;
-- Index versions: one for the present settings, and earlier ones until they are deleted. A version covers pages and
-- Tables. One version is live: searches use it, whatever is deployed. Every recorded version is written to.

create table public.index_version (
  fingerprint text collate "C" primary key,
  parts jsonb not null,
  -- Its parts: for pages, for Tables, and the space of the Tables' vectors.
  knowledge text collate "C" not null references public.page_index_version,
  tables text collate "C" not null references public.table_index_version,
  table_space text collate "C" not null,
  live boolean not null default false,
  created_at timestamptz not null default now(),
  live_since timestamptz,
  retired_at timestamptz
);
create unique index index_version_live on public.index_version (live) where live;

-- Tables that have something to index.
create view public.indexed_table with (security_invoker = true) as
  select t.id, t.project_id, t.generation, t.updated_at from context_table t
  where (t.data is not null or t.data_key is not null)
    and exists (select from tool o where o.table_id = t.id and o.enabled);

-- ---------------------------------------------------------------- which versions there are

-- Records a version. The first one is live at once.
--   p_index: {fingerprint, parts, knowledge: a row of page_index_version, tables, table_space}
create function public.record_index_version(p_index jsonb) returns void language plpgsql as $$
begin
  if exists (select from index_version s where s.fingerprint = p_index->>'fingerprint') then return; end if;
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  insert into page_index_version select * from jsonb_populate_record(null::page_index_version, p_index->'knowledge')
  on conflict do nothing;
  insert into table_index_version (fingerprint, suffix)
  select p_index->>'tables', case when exists (select from table_index_version) then p_index->>'tables' else '' end
  on conflict do nothing;
  insert into index_version (fingerprint, parts, knowledge, tables, table_space, live, live_since)
  select p_index->>'fingerprint', p_index->'parts', p_index->'knowledge'->>'fingerprint', p_index->>'tables',
         p_index->>'table_space', first.one, case when first.one then now() end
  from (select not exists (select from index_version s where s.live) as one) first
  on conflict do nothing;
end $$;

-- The versions, oldest first. `answered`: it is or was live.
create function public.index_versions() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'parts', s.parts, 'live', s.live, 'answered', s.live_since is not null, 'tables', s.tables, 'suffix', f.suffix)
    order by s.created_at, s.fingerprint), '[]')
  from index_version s join table_index_version f on f.fingerprint = s.tables
$$;

-- Whether Tables are searched with this fingerprint.
create function public.is_live_for_tables(p_fingerprint text) returns boolean language sql stable as $$
  select exists (select from index_version s where s.live and s.tables = p_fingerprint)
$$;

-- The spaces of the versions with the same text template as p_fingerprint.
create function public.spaces_of_template(p_fingerprint text) returns text[] language sql stable as $$
  select array(select distinct f.space from index_version v join page_index_version f on f.fingerprint = v.knowledge
               join page_index_version own on own.text_template = f.text_template
               where own.fingerprint = p_fingerprint)
$$;

-- Ends a comparison of a Table with the store. The live version is compared last. A reindex that was requested
-- meanwhile changed the generation and is still due.
create function public.finish_comparison(p_table uuid, p_fingerprint text, p_generation bigint) returns void
language sql as $$
  update context_table set check_store = false
  where id = p_table and generation = p_generation and is_live_for_tables(p_fingerprint)
$$;

-- ---------------------------------------------------------------- what a version lacks

-- The searchable materials that a version does not cover: last written with older settings, or with a chunk that has no
-- vector in it. With p_before the first p_limit of those that were not requested since, and about which no message is under way.
create function public.outdated_materials(
  p_fingerprint text, p_before timestamptz default null, p_limit integer default null
) returns text[] language plpgsql stable as $$
begin
  return array(
    -- First all that are outdated (because of offset 0).
    select o.material from (
    select m.* from material m
    left join (select s.knowledge, f.space, min(s.created_at) as since
               from index_version s join page_index_version f on f.fingerprint = s.knowledge
               where s.knowledge = p_fingerprint group by s.knowledge, f.space) asked on true
    where m.indexed_version_id is not null
      and (m.fingerprint is distinct from p_fingerprint and not exists (
             select from index_version later where later.knowledge = m.fingerprint and later.created_at > asked.since)
           or m.chunks_count > 0 and asked.space <> all (m.complete_spaces))
    order by m.material offset 0) o
    where p_before is null or coalesce(o.build_requested_at, '-infinity') < p_before
                              and not awaits_message(o.work)
    order by o.material limit p_limit);
end $$;

-- The Tables of which a version finds less than the live version: not scanned, scanned for an older generation, or with
-- a string that only the live version has stored. Tables that cannot be read and have nothing stored do not count. For
-- the live version itself: the Tables that are being indexed.
create function public.incomplete_tables(p_fingerprint text) returns table (table_id uuid, reason jsonb)
language sql stable as $$
  select t.id, coalesce(p.error, jsonb_build_object('code', 'index.not_built', 'values', '{}'::jsonb))
  from indexed_table t
  left join index_version l on l.live
  left join table_scan p on p.table_id = t.id and p.fingerprint = p_fingerprint
  left join table_scan now_live on now_live.table_id = t.id and now_live.fingerprint = l.tables
  where p.complete_generation is distinct from t.generation
    and not (p.error is not null and now_live.error is not null and not exists (
      select from node n where n.table_id = t.id and n.fingerprint = l.tables and n.content_hash is not null))
    and (coalesce(p.generation, -1) < case when p_fingerprint = l.tables then t.generation
                                           else coalesce(now_live.generation, -1) end
         or exists (select from node n
                    where n.table_id = t.id and n.fingerprint = p_fingerprint
                      and n.content_hash is distinct from n.wanted_hash and not exists (
                        select from node o where o.table_id = t.id and o.fingerprint = l.tables
                          and o.fingerprint <> p_fingerprint and o.pointer_hash = n.pointer_hash
                          and o.content_hash is distinct from o.wanted_hash)))
$$;

-- A version for the operator. Of missing parts, the first ten are named.
create function public.index_version_state(v public.index_version) returns jsonb language sql stable as $$
  select to_jsonb(v) - array['knowledge', 'tables', 'table_space'] || jsonb_build_object(
    'pages', jsonb_build_object(
      'total', (select count(*) from material m where m.indexed_version_id is not null),
      'missing', cardinality(pages.missing), 'named', to_jsonb(pages.missing[:10])),
    'tables', jsonb_build_object(
      'total', (select count(*) from indexed_table),
      'missing', cardinality(tables.missing), 'named', to_jsonb(tables.missing[:10])))
  from (select outdated_materials(v.knowledge) as missing offset 0) pages
  cross join (select coalesce(array_agg(jsonb_build_object('table_id', i.table_id, 'reason', i.reason)
                                        order by i.table_id), '{}') as missing
              from incomplete_tables(v.tables) i) tables
$$;

create function public.index_version_states() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(index_version_state(v) order by v.created_at, v.fingerprint), '[]') from index_version v
$$;

-- ---------------------------------------------------------------- activating and deleting

-- Makes Tools show the status of the live version, for p_seconds; returns the number of Tables. `maintain` does the
-- rest. Tables that this version lacks are scanned again.
create function public.refresh_tool_status(p_seconds integer) returns integer language plpgsql as $$
declare
  live constant text := (select v.tables from index_version v where v.live);
  t context_table;
  done integer := 0;
begin
  for t in select * from context_table c where c.shown_fingerprint <> live order by c.id for update loop
    exit when clock_timestamp() > statement_timestamp() + make_interval(secs => p_seconds);
    update context_table c set shown_fingerprint = live where c.id = t.id;
    update tool o set metadata = jsonb_set(o.metadata, '{search_index,state}', '"indexing"')
    where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready';
    if not update_tool_status(t.id, live) then
      insert into outbox (event, project_id, table_id)
      select 'TableUpdated', t.project_id, t.id
      where exists (select from tool o where o.table_id = t.id and o.enabled);
    end if;
    done := done + 1;
  end loop;
  return done;
end $$;

-- Makes a version live, for pages and Tables at once. An incomplete version is an error, unless p_force. The former
-- version is written to until it is deleted.
create function public.activate_index_version(p_fingerprint text, p_force boolean) returns jsonb language plpgsql as $$
declare
  v index_version;
  state jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into v from index_version i where i.fingerprint = p_fingerprint;
  perform require(v.fingerprint is not null, 'P0002', 'index.none', jsonb_build_object('id', p_fingerprint));
  state := index_version_state(v);
  if not v.live then
    perform require(
      p_force or (state->'pages'->'missing', state->'tables'->'missing') = ('0'::jsonb, '0'::jsonb), '23505',
      'index.incomplete', jsonb_build_object(
        'id', v.fingerprint, 'pages', state->'pages'->'missing', 'all_pages', state->'pages'->'total',
        'tables', state->'tables'->'missing', 'all_tables', state->'tables'->'total'));
    update index_version set live = false, retired_at = now() where live;
    update index_version set live = true, live_since = now(), retired_at = null where fingerprint = v.fingerprint;
    perform refresh_tool_status(3);
  end if;
  return (select index_version_state(i) from index_version i where i.fingerprint = v.fingerprint);
end $$;

-- Deletes a version: it is no longer written to, and `maintain` removes what it stored. Searches that began before the
-- activation of another version may use it for p_seconds more.
create function public.delete_index_version(p_fingerprint text, p_seconds integer) returns void language plpgsql as $$
declare
  v index_version;
begin
  perform pg_advisory_xact_lock(hashtext('sakuin.index_version'));
  select * into v from index_version i where i.fingerprint = p_fingerprint;
  perform require(v.fingerprint is not null, 'P0002', 'index.none', jsonb_build_object('id', p_fingerprint));
  perform require(not v.live, '23505', 'index.live', jsonb_build_object('id', p_fingerprint));
  perform require(v.retired_at > now() - make_interval(secs => p_seconds) is not true, '23505',
                  'index.lately', jsonb_build_object('id', p_fingerprint));
  delete from index_version where fingerprint = p_fingerprint;
end $$;

-- Deletes some vectors of pages that no version uses, and returns how many rows changed. First all materials forget that
-- they are complete: a version that returns meanwhile must not believe it.
create function public.sweep_vectors(p_limit integer) returns bigint language plpgsql as $$
declare
  unused constant text[] := array(
    select f.space from page_index_version f
    except select f.space from index_version v join page_index_version f on f.fingerprint = v.knowledge);
  of_them constant text := format('x.space = any (%L)', unused);
  n bigint;
begin
  update material m set complete_spaces = array(select unnest(m.complete_spaces) except select unnest(unused))
  where m.material = any (array(select x.material from material x where x.complete_spaces && unused limit p_limit));
  get diagnostics n = row_count;
  if n = 0 then n := delete_some('embedded_text', of_them, p_limit); end if;
  if n = 0 then
    n := delete_some('knowledge_vector', of_them || ' and not exists (
      select from embedded_text t where (t.space, t.text_hash) = (x.space, x.text_hash))', p_limit);
  end if;
  return n + delete_some('stored_row', of_them, p_limit);
end $$;

-- Deletes a portion of what a Table stores for a deleted version, and returns how many rows; 0: nothing is left, or the
-- version is recorded again. Clears the scan first and deletes its row last, because plan_nodes needs the row.
create function public.delete_table_index(p_table uuid, p_fingerprint text, p_limit integer) returns bigint
language plpgsql as $$
declare
  n bigint;
begin
  perform from context_table t where t.id = p_table for update;
  if exists (select from index_version v where v.tables = p_fingerprint) then return 0; end if;
  update table_scan s set generation = -1, current_generation = null, complete_generation = null
  where s.table_id = p_table and s.fingerprint = p_fingerprint and s.generation >= 0;
  perform lock_words(p_table, p_fingerprint);
  n := delete_table_rows(p_table, p_fingerprint, p_limit);
  delete from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint and n = 0;
  return n;
end $$;

-- Marks and returns the namespaces that are not needed, of one Table or of all: the Table is deleted, or the version
-- is, and the Table has no nodes for it.
create function public.mark_abandoned_namespaces(p_table uuid) returns jsonb language sql as $$
  with checked as materialized (
    select s.namespace, t.id is null or not exists (select from index_version v where v.tables = s.fingerprint)
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = s.fingerprint) as abandoned
    from table_namespace s left join context_table t on t.id = s.table_id
    where p_table is null or s.table_id = p_table
  ), noted as (
    update table_namespace s set unneeded_since = case when j.abandoned then now() end
    from checked j where j.namespace = s.namespace and j.abandoned = (s.unneeded_since is null)
  )
  select coalesce(jsonb_agg(j.namespace order by j.namespace), '[]') from checked j where j.abandoned
$$;
-- What the library is: what its owner says of it and of its folders, and what is in them.

-- What its owner says of the library ('') or of a folder. Only an admin key writes it; nothing of a page gets here.
create table public.library_description (
  folder text collate "C" primary key check (char_length(folder) <= 500),
  description text not null check (octet_length(description) between 1 and 400)
);

-- What is in the library, or in the folder p_in (with a slash at its end), and in its first p_limit described folders, by
-- name: [{folder, description, pages, types, languages: {code: pages}, changed_at}]. Of ten languages at most; what is no
-- code of a language is left out.
create function public.library_places(p_limit integer, p_in text default null) returns jsonb language sql stable as $$
  with place as (
    -- '0' follows '/': the names between them are those in the folder.
    select p.folder, case when p.folder = '' then '' else p.folder || '/' end as lowest,
      case when p.folder = '' then chr(1114111) else p.folder || '0' end as beyond
    from (select coalesce(rtrim(p_in, '/'), '') collate "C" as folder
          union
          (select d.folder from library_description d where p_in is null or starts_with(d.folder || '/', p_in)
           order by d.folder limit p_limit)) p
  ), page as materialized (
    select m.material, m.changed_at, m.chunks_count > 0 as is_there, k.language
    from material m left join lateral (
      select c.language from knowledge_chunks c where c.material = m.material order by c.position limit 1) k on true
    where m.material >= coalesce(p_in, '') and m.material < coalesce(rtrim(p_in, '/') || '0', chr(1114111))
      and not starts_with(m.material, '_sakuin/')
  ), counted as materialized (
    select p.folder, g.language, count(*) filter (where g.is_there) as pages, max(g.changed_at) as changed_at
    from place p join page g on g.material >= p.lowest and g.material < p.beyond
    group by p.folder, g.language
  )
  select jsonb_agg(jsonb_build_object(
    'folder', p.folder, 'description', d.description,
    'pages', (select coalesce(sum(c.pages), 0) from counted c where c.folder = p.folder),
    'changed_at', (select max(c.changed_at) from counted c where c.folder = p.folder),
    'languages', (select coalesce(jsonb_object_agg(c.language, c.pages), '{}') from (
      select o.language, o.pages from counted o
      where o.folder = p.folder and o.pages > 0 and o.language ~ '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})?$'
      order by o.pages desc, o.language limit 10) c),
    'types', (select coalesce(jsonb_agg(x.type order by x.place), '[]')
              from unnest(array['rule', 'method', 'definition', 'example', 'tip']) with ordinality as x(type, place)
              where exists (select from knowledge_chunks k
                            where k.type = x.type and k.material >= p.lowest and k.material < p.beyond
                              and not starts_with(k.material, '_sakuin/')))) order by p.folder)
  from place p left join library_description d using (folder)
$$;
-- Upkeep: work that waits, limits, and the comparison of records with the bucket and the store. Each section is
-- independent of the others.

-- ---------------------------------------------------------------- work that waits
-- Messages wait in SQS. The row that a message is about says so: `work` of a page (material), a file (authored_file) or a
-- Table (context_table), {attempts, since, reason, vendor, until}; null if nothing is known.
--   attempts: by the id of a message, how many began and did not end by themselves: their workers died
--   since, reason, vendor, until: since when it waits and why, for which outside system, and when its message is delivered
-- A batch of chunks counts its attempts in the row of its first chunk.

-- Counts an attempt. Of many messages that changed nothing, old ones are forgotten.
create function public.with_attempt(p_work jsonb, p_message text) returns jsonb language sql immutable as $$
  select coalesce(p_work, '{}') || jsonb_build_object('attempts',
    case when a ? p_message or (select count(*) from jsonb_object_keys(a)) < 20 then a else '{}' end
    || jsonb_build_object(p_message, coalesce((a->>p_message)::integer, 0) + 1))
  from (select coalesce(p_work->'attempts', '{}') as a) x
$$;

-- Records that a message waits: its attempt ended by itself.
create function public.with_wait(p_work jsonb, p_message text, p_wait jsonb) returns jsonb language sql stable as $$
  select jsonb_build_object('attempts', coalesce(p_work->'attempts', '{}') - p_message)
    || (p_wait - 'seconds') || jsonb_build_object(
      'since', least((p_work->>'since')::timestamptz, (p_wait->>'since')::timestamptz),
      'until', now() + make_interval(secs => (p_wait->>'seconds')::double precision))
$$;

-- Whether a message about this row will come soon. One that is long overdue is lost.
create function public.awaits_message(p_work jsonb) returns boolean language sql stable as $$
  select coalesce((p_work->>'until')::timestamptz > now() - interval '15 minutes', false)
$$;

-- Counts an attempt before its work begins: a worker that dies cannot. p_work: {kind, id, table_id, fingerprint, source};
-- kinds are page (the id is its name), file (key), table (id) and chunks (the first one). Returns {attempts: how many of this
-- message began without an end, index_versions, page: of a page (page_record)}, which its worker needs next.
create function public.begin_work(p_work jsonb, p_message text) returns jsonb language plpgsql as $$
declare
  work jsonb;
begin
  case p_work->>'kind'
  when 'page' then
    perform add_material(p_work->>'id', nullif(p_work->'source', 'null'));
    update material m set work = with_attempt(m.work, p_message) where m.material = p_work->>'id' returning m.work into work;
  when 'file' then
    insert into authored_file as f (key, version_id, work) values (p_work->>'id', '', with_attempt(null, p_message))
    on conflict (key) do update set work = with_attempt(f.work, p_message) returning f.work into work;
  when 'table' then
    update context_table t set work = with_attempt(t.work, p_message) where t.id = (p_work->>'id')::uuid
    returning t.work into work;
  else
    update chunks c set attempts = c.attempts + 1 where c.id = (p_work->>'id')::uuid
    returning jsonb_build_object('attempts', jsonb_build_object(p_message, c.attempts)) into work;
  end case;
  -- What is gone has nothing to do.
  return page_record(case p_work->>'kind' when 'page' then p_work->>'id' end)
    || jsonb_build_object('attempts', coalesce((work->'attempts'->>p_message)::integer, 1));
end $$;

-- Shows on the Tools of a Table since when and why it waits (null: it does not), or on the scan of another version.
create function public.show_wait(p_table uuid, p_fingerprint text, p_since timestamptz, p_reason jsonb) returns void
language plpgsql as $$
begin
  if coalesce(p_fingerprint, '') = '' or is_live_for_tables(p_fingerprint) then
    perform merge_status(o.id, jsonb_build_object(
      'waiting_since', p_since, 'waiting_reason', p_reason, 'heartbeat_at', now()))
    from tool o
    where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing');
  else
    -- Why it failed stays until it is complete.
    update table_scan p set heartbeat_at = now(),
      error = case when p_reason is null and p.failed_generation is not null then p.error else p_reason end
    where p.table_id = p_table and p.fingerprint = p_fingerprint;
  end if;
end $$;

-- Records that a message waits. p_work as in begin_work; p_wait: {since, reason, vendor, seconds}.
create function public.record_wait(p_work jsonb, p_message text, p_wait jsonb) returns void language plpgsql as $$
declare
  t context_table;
begin
  if p_work->>'kind' = 'page' then
    update material m set work = with_wait(m.work, p_message, p_wait) where m.material = p_work->>'id';
    return;
  elsif p_work->>'kind' = 'file' then
    update authored_file f set work = with_wait(f.work, p_message, p_wait) where f.key = p_work->>'id';
    return;
  end if;
  update context_table c set work = with_wait(c.work, p_message, p_wait)
  where c.id = (p_work->>'table_id')::uuid returning c.* into t;
  if t.id is null then return; end if;
  if p_work->>'kind' = 'chunks' then
    update chunks c set attempts = 0 where c.id = (p_work->>'id')::uuid;
  end if;
  if is_live_for_tables(p_work->>'fingerprint') then
    -- What is stored meanwhile counts, and the time that is left grows.
    perform update_tool_status(t.id, p_work->>'fingerprint');
  end if;
  perform show_wait(t.id, p_work->>'fingerprint', (t.work->>'since')::timestamptz, t.work->'reason');
end $$;

-- Records that the work of a message has ended, where nothing else does.
create function public.finish_work(p_work jsonb) returns void language plpgsql as $$
begin
  if p_work->>'kind' = 'page' then
    update material m set work = null where m.material = p_work->>'id' and m.work is not null;
  elsif p_work->>'kind' = 'file' then
    update authored_file f set work = null where f.key = p_work->>'id' and f.work is not null;
  else
    if p_work->>'kind' = 'chunks' then
      update chunks c set attempts = 0 where c.id = (p_work->>'id')::uuid and c.attempts > 0;
    end if;
    update context_table t set work = null where t.id = (p_work->>'table_id')::uuid and t.work is not null;
    if found then perform show_wait((p_work->>'table_id')::uuid, p_work->>'fingerprint', null, null); end if;
  end if;
end $$;

-- Records that messages about these pages are sent, before they are.
create function public.note_requests(p_materials text[], p_reason jsonb) returns void language sql as $$
  update material m set work = with_wait(m.work, '', jsonb_build_object(
    'since', now(), 'reason', p_reason, 'vendor', null, 'seconds', 0))
  where m.material = any (p_materials)
$$;

-- What waits: {count, oldest_seconds: of what waits for a vendor, reasons: [{vendor, reason, count}], rows: the oldest p_limit, as
-- [{kind, subject, since, reason, vendor, until}]}
create function public.waiting_work(p_limit integer) returns jsonb language sql stable as $$
  with waiting as (
    select 'page' as kind, m.material as subject, m.work from material m where m.work ? 'since'
    union all select 'file', f.key, f.work from authored_file f where f.work ? 'since'
    union all select 'table', t.id::text, t.work from context_table t where t.work ? 'since'
  ), row as materialized (
    select w.kind, w.subject, (w.work->>'since')::timestamptz as since, w.work->'reason' as reason,
           w.work->>'vendor' as vendor, (w.work->>'until')::timestamptz as until
    from waiting w
  )
  select jsonb_build_object(
    'count', (select count(*) from row),
    'oldest_seconds', coalesce((select extract(epoch from now() - min(r.since)) from row r
                                where r.vendor is not null), 0)::bigint,
    'reasons', (select coalesce(jsonb_agg(to_jsonb(x) order by x.count desc, x.reason), '[]') from (
      select r.vendor, r.reason, count(*) as count from row r group by r.vendor, r.reason) x),
    'rows', (select coalesce(jsonb_agg(to_jsonb(x) order by x.since, x.subject), '[]') from (
      select r.* from row r order by r.since, r.subject limit p_limit) x))
$$;

-- Why the files with these keys have no result yet, as the rows of waiting_work; the subject is the key.
create function public.waiting_files(p_keys text[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('kind', 'file', 'subject', x.key) || (x.work - 'attempts')), '[]')
  from (select m.key, m.work from material m where m.key = any (p_keys)
        union all select f.key, f.work from authored_file f where f.key = any (p_keys)) x
  where x.work ? 'since'
$$;

-- ---------------------------------------------------------------- deleting in portions
-- A request hides what it deletes, which is one short statement, and records the rest. Maintenance deletes it in
-- portions, each far below the time limit of a statement. What a dead worker leaves, the next run deletes.

-- Deleted Tables and projects whose rows have to be deleted, and Tables with rows of a deleted index version (`fingerprint`;
-- else empty). `turn`: when a portion of them was deleted last.
create table public.deletion (
  id uuid not null,
  fingerprint text collate "C" not null default '',
  turn timestamptz not null default now(),
  primary key (id, fingerprint)
);

-- Deletes at most p_limit rows x of a table for which p_where is true, and returns how many.
create function public.delete_some(p_table regclass, p_where text, p_limit integer) returns bigint
language plpgsql set enable_seqscan = off as $$
declare
  n bigint;
begin
  execute format('delete from %1$s d where d.ctid = any (array(select x.ctid from %1$s x where %2$s limit %3$s))',
                 p_table, p_where, p_limit);
  get diagnostics n = row_count;
  return n;
end $$;

-- Deletes up to p_limit rows of each kind that a Table stores, for a fingerprint or (null) for all. Returns how many.
-- Chunks go first: a string whose chunks are missing is indexed again, should its index version return.
create function public.delete_table_rows(p_table uuid, p_fingerprint text, p_limit integer) returns bigint
language plpgsql as $$
declare
  of_table constant text := format('x.table_id = %L', p_table);
  of_version constant text := concat(of_table, ' and x.fingerprint = ' || quote_literal(p_fingerprint));
  n bigint := delete_some('chunks', of_version, p_limit);
begin
  if n = 0 then
    n := delete_some('node', of_version, p_limit) + delete_some('table_reading', of_version, p_limit);
  end if;
  return n + case when p_fingerprint is null then delete_some('table_object', of_table, p_limit) else 0 end;
end $$;

-- Deletes a portion of what is deleted: {rows, left}, `left`: how many Tables and projects have more. Null if nothing is
-- left, or other workers have it.
create function public.delete_portion(p_limit integer) returns jsonb language plpgsql set enable_seqscan = off as $$
declare
  gone deletion;
  n bigint;
begin
  insert into deletion (id, fingerprint) select s.table_id, s.fingerprint from table_scan s
  where s.fingerprint = any (array(
    select f.fingerprint from table_index_version f except select v.tables from index_version v))
  on conflict do nothing;
  -- Each in turn: a large one does not keep others waiting.
  select d.* into gone from deletion d order by d.turn, d.id limit 1 for update skip locked;
  if gone.id is null then return null; end if;
  if gone.fingerprint <> '' then
    n := delete_table_index(gone.id, gone.fingerprint, p_limit);
  else
    n := delete_table_rows(gone.id, null, p_limit)
      -- Each has up to 20 MB of its own, and becomes a deletion of its own.
      + delete_some('context_table', format('x.project_id = %L', gone.id), greatest(p_limit / 500, 1))
      + delete_some('chunk_vector', format('x.project_id = %L', gone.id), p_limit);
    delete from project p where p.id = gone.id and n = 0;
  end if;
  delete from deletion d where (d.id, d.fingerprint) = (gone.id, gone.fingerprint) and n = 0;
  update deletion d set turn = clock_timestamp() where (d.id, d.fingerprint) = (gone.id, gone.fingerprint);
  return jsonb_build_object('rows', n, 'left', (select count(*) from deletion));
end $$;

-- ---------------------------------------------------------------- starting the indexing of Tables

-- Records that the scan of a Table is started, and returns how often that was within a day for its present generation. Null
-- if it was started within the last p_seconds.
create function public.record_table_start(p_table uuid, p_fingerprint text, p_seconds integer) returns integer
language sql as $$
  insert into table_scan as s (table_id, fingerprint, started_generation, starts, started_at)
  -- A scan that begins locks the Table first, too.
  select t.id, p_fingerprint, t.generation, 1, now()
  from (select c.* from context_table c where c.id = p_table for share) t
  on conflict (table_id, fingerprint) do update set
    starts = case when s.started_generation = excluded.started_generation and s.started_at > now() - interval '1 day'
                  then s.starts + 1 else 1 end,
    started_generation = excluded.started_generation, started_at = now(), heartbeat_at = now()
  where s.started_generation is distinct from excluded.started_generation
    or s.started_at <= now() - make_interval(secs => p_seconds)
  returning s.starts
$$;

-- Tables that nobody indexes: no progress for p_seconds, and no message. For the live version: Tools that wait. For another
-- version: Tables that are not complete, among them those that it never had, and those that were given up a day ago; of
-- these so many that p_limit are under way. For any version: Tables with stored chunks that no Tool needs.
create function public.stalled_tables(p_fingerprint text, p_seconds integer, p_limit integer) returns jsonb
language sql stable as $$
  with lacking as materialized (
    select t.id, greatest(p.heartbeat_at, t.updated_at) as at,
      p.table_id is not null and p.failed_generation is distinct from t.generation as is_under_way
    from indexed_table t left join table_scan p on p.table_id = t.id and p.fingerprint = p_fingerprint
    where not is_live_for_tables(p_fingerprint)
      and case when p.complete_generation is distinct from t.generation
          then not is_table_complete(t.id, p_fingerprint) end
      and (p.failed_generation is distinct from t.generation or p.heartbeat_at < now() - interval '1 day')
  ), still as (
    select o.table_id as id from tool o
    where is_live_for_tables(p_fingerprint) and o.enabled
      and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
      and coalesce(timestamp_or_null(o.metadata->'search_index'->>'heartbeat_at'),
                   timestamp_or_null(o.metadata->'search_index'->>'configured_at'))
          < now() - make_interval(secs => p_seconds)
    union
    -- The event of a change starts its scan.
    select l.id from lacking l where l.is_under_way and l.at < now() - make_interval(secs => p_seconds)
    union
    (select l.id from lacking l where not l.is_under_way
     order by l.id limit greatest(p_limit - (select count(*) from lacking u where u.is_under_way), 0))
    union
    select t.id from context_table t
    where t.updated_at < now() - make_interval(secs => p_seconds)
      and not exists (select from tool o where o.table_id = t.id and o.enabled)
      and exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint)
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id) order by t.id), '[]')
  from still s join context_table t using (id)
  where unindexed_tables(t.id, p_fingerprint) = '[]'
$$;

-- ---------------------------------------------------------------- building an index version

-- Claims pages that versions of this text template lack.
create function public.claim_pages_to_build(p_text_template text, p_seconds integer, p_limit integer) returns text[]
language sql as $$
  with unbuilt as materialized (
    select distinct o.material
    from index_version v join page_index_version f on f.fingerprint = v.knowledge
    -- A request from before the version was recorded was for another version.
    cross join lateral unnest(outdated_materials(
      v.knowledge, greatest(now() - make_interval(secs => p_seconds), v.created_at), p_limit)) as o(material)
    where f.text_template = p_text_template order by 1 limit p_limit
  ), noted as (
    update material m set build_requested_at = now() from unbuilt u where u.material = m.material
  )
  select coalesce(array_agg(u.material order by u.material), '{}') from unbuilt u
$$;

-- ---------------------------------------------------------------- rate limits

-- Grants p_wanted searches of this minute, or a quarter of the rest if that is less, so that other workers get some:
-- {searches, seconds until the minute ends}. The principal is the hash of a key of /mcp, or the id of a project for all
-- its endpoints: another key or endpoint does not reset the minute.
create function public.consume_quota(p_principal text, p_wanted integer, p_per_minute integer) returns jsonb
language plpgsql as $$
declare
  moment constant timestamptz := clock_timestamp();
  this_minute constant timestamptz := date_trunc('minute', moment);
  granted integer;
begin
  granted := least(p_wanted, ceil(greatest(p_per_minute - add_use(p_principal, 'searches', this_minute, 0), 0) / 4.0));
  perform add_use(p_principal, 'searches', this_minute, granted);
  return jsonb_build_object('searches', granted, 'seconds', 60 - extract(epoch from (moment - this_minute)));
end $$;

-- ---------------------------------------------------------------- refused questions

-- Questions without a good match, if RecordRefusedQuestions is on: the Tool that was asked (null: the library), the day
-- (UTC), how often, and how often of these it had an answer that is probably wrong. Nothing tells who asked.
create table public.refused_question (
  day date not null,
  tool_id uuid references public.tool on delete cascade,
  question text collate "C" not null,
  asked integer not null default 1,
  weak integer not null default 0,
  unique nulls not distinct (day, tool_id, question)
);
create index refused_question_tool on public.refused_question (tool_id);

-- Counts a question. Of each Tool, and of the library, the first p_most questions of a day are recorded.
create function public.record_refused_question(p_tool uuid, p_question text, p_most integer, p_weak boolean) returns void
language sql as $$
  with today as (
    select q.question from refused_question q
    where q.day = (now() at time zone 'utc')::date and q.tool_id is not distinct from p_tool
  )
  insert into refused_question as r (day, tool_id, question, weak)
  select (now() at time zone 'utc')::date, p_tool, p_question, p_weak::integer
  where (select count(*) from today) < p_most or exists (select from today t where t.question = p_question)
  on conflict (day, tool_id, question) do update set asked = r.asked + 1, weak = r.weak + excluded.weak
$$;

-- What agents said of answers of the library: how often an explanation (its id; '' for none of the results) answered a
-- question, and how often it did not. The question is '' unless RecordRefusedQuestions is on. Nothing tells who said it.
create table public.feedback (
  day date not null,
  chunk_id text collate "C" not null,
  question text collate "C" not null,
  answered integer not null,
  unanswered integer not null,
  primary key (day, chunk_id, question)
);

-- Counts what an agent said. The first p_most questions of a day are recorded; after them, explanations without a question.
create function public.record_feedback(p_chunk text, p_question text, p_answered boolean, p_most integer) returns void
language sql as $$
  with today as (
    select f.chunk_id, f.question from feedback f where f.day = (now() at time zone 'utc')::date and f.question <> ''
  )
  insert into feedback as f (day, chunk_id, question, answered, unanswered)
  select (now() at time zone 'utc')::date, p_chunk,
    case when (select count(*) from today) < p_most
           or exists (select from today t where (t.chunk_id, t.question) = (p_chunk, p_question))
         then p_question else '' end,
    p_answered::integer, (not p_answered)::integer
  on conflict (day, chunk_id, question) do update set
    answered = f.answered + excluded.answered, unanswered = f.unanswered + excluded.unanswered
$$;

-- What was said most often: [{chunk_id, question, answered, unanswered}].
create function public.feedback_counts(p_limit integer) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.answered + x.unanswered desc, x.chunk_id, x.question), '[]') from (
    select f.chunk_id, f.question, sum(f.answered) as answered, sum(f.unanswered) as unanswered
    from feedback f group by f.chunk_id, f.question
    order by sum(f.answered + f.unanswered) desc, f.chunk_id, f.question limit p_limit) x
$$;

-- The most frequent questions, of these Tools or (null) of everything:
-- [{tool_id, question, asked, weak, unanswered, first_day, last_day}]. `unanswered`: agents said that a result did not
-- answer; of such a question the search itself may have refused nothing.
create function public.refused_questions(p_tools uuid[], p_limit integer) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.asked desc, x.last_day desc, x.question), '[]') from (
    select q.tool_id, q.question, greatest(sum(q.asked), sum(q.unanswered)) as asked, sum(q.weak) as weak,
      sum(q.unanswered) as unanswered, min(q.day) as first_day, max(q.day) as last_day
    from (
      select r.tool_id, r.question, r.asked, r.weak, 0 as unanswered, r.day from refused_question r
      union all
      select null, f.question, 0, 0, f.unanswered, f.day from feedback f where f.question <> '' and f.unanswered > 0) q
    where p_tools is null or q.tool_id = any (p_tools)
    group by q.tool_id, q.question order by asked desc, last_day desc, q.question limit p_limit) x
$$;

-- ---------------------------------------------------------------- counters of a day

-- What happened on a day (UTC), without a text or a person: questions of a project (null: the library) and the key that
-- asked, and how many of them, and of uploads, took how long (ms:500 is up to 500 milliseconds). Each worker writes to
-- one shard, so that few wait for the same row. Tokens have one row: what indexing embedded (tokens:embedding),
-- what questions without a key did (tokens:public), and what the language model that writes learns read and wrote
-- (tokens:learns).
create table public.daily_count (
  day date not null,
  project_id uuid,
  key text collate "C" not null check (length(key) <= 64),
  name text collate "C" not null check (length(name) <= 32),
  shard smallint not null check (shard between 0 and 7),
  total bigint not null check (total >= 0),
  unique nulls not distinct (day, project_id, key, name, shard)
);

-- Adds what a worker has counted: [{day, project_id, key, name, total}], each row once.
create function public.add_daily_counts(p_shard integer, p_counts jsonb) returns void language sql as $$
  insert into daily_count as d (day, project_id, key, name, shard, total)
  select c.day, c.project_id, c.key, c.name, p_shard, c.total
  from jsonb_to_recordset(p_counts) as c(day date, project_id uuid, key text, name text, total bigint)
  -- A worker may have been frozen for a night.
  where c.day between (now() at time zone 'utc')::date - 2 and (now() at time zone 'utc')::date
  order by c.project_id, c.key, c.name
  limit 2000
  on conflict (day, project_id, key, name, shard) do update set total = d.total + excluded.total
$$;

-- Adds tokens, and returns the day's sum. With no tokens it writes nothing.
create function public.add_tokens(p_kind text, p_tokens bigint) returns bigint language sql as $$
  with today as (
    select (now() at time zone 'utc')::date as day, 'tokens:' || p_kind as name
  ), added as (
    insert into daily_count as d (day, key, name, shard, total)
    select t.day, '', t.name, 0, p_tokens from today t where p_tokens > 0
    on conflict (day, project_id, key, name, shard) do update set total = d.total + excluded.total
    returning total
  )
  select coalesce((select a.total from added a),
                  (select d.total from daily_count d join today t using (day, name)
                   where d.project_id is null and d.key = '' and d.shard = 0), 0)
$$;

-- The last p_days: {days: {day: {name: total}},
-- callers: [{project_id, project, key, asked, refused, weak}], the p_callers that asked most}.
create function public.daily_counts(p_days integer, p_callers integer) returns jsonb language sql stable as $$
  with since as (select (now() at time zone 'utc')::date - p_days as day),
  sums as (
    select c.day, c.name, sum(c.total) as total from daily_count c, since s where c.day > s.day group by c.day, c.name
  ),
  callers as (
    select c.project_id, c.key, sum(c.total) filter (where c.name = 'asked') as asked,
      coalesce(sum(c.total) filter (where c.name = 'refused'), 0) as refused,
      coalesce(sum(c.total) filter (where c.name = 'weak'), 0) as weak
    from daily_count c, since s where c.day > s.day and c.name in ('asked', 'refused', 'weak')
    group by c.project_id, c.key having bool_or(c.name = 'asked')
    order by asked desc, c.project_id, c.key limit p_callers
  )
  select jsonb_build_object(
    'days', (select coalesce(jsonb_object_agg(d.day, d.counts), '{}')
             from (select day, jsonb_object_agg(name, total) as counts from sums group by day) d),
    'callers', (select coalesce(jsonb_agg(to_jsonb(x) || jsonb_build_object('project', p.name)
                                          order by x.asked desc, x.project_id, x.key), '[]')
                from callers x left join project p on p.id = x.project_id))
$$;

-- Deletes all days but the last p_days, questions of all but the last p_question_days (0 deletes all), and what was used of
-- quotas in periods that are over, the longest of which is a day. Returns how many rows.
create function public.delete_old_days(p_days integer, p_question_days integer) returns bigint language sql as $$
  with today as (
    select (now() at time zone 'utc')::date as day
  ), counts as (
    delete from daily_count c using today t where c.day <= t.day - p_days returning 1
  ), questions as (
    delete from refused_question q using today t where q.day <= t.day - p_question_days returning 1
  ), judgements as (
    delete from feedback f using today t
    where f.day <= t.day - case when f.question = '' then p_days else p_question_days end returning 1
  ), uses as (
    delete from quota_use u where u.began < now() - interval '2 days' returning 1
  )
  select (select count(*) from counts) + (select count(*) from questions) + (select count(*) from judgements)
       + (select count(*) from uses)
$$;

-- ---------------------------------------------------------------- daily rounds
-- What goes through everything in portions does so once a day.

-- Where a round continues: `place` is empty at the beginning, null after the end.
create table public.daily_round (
  name text collate "C" primary key,
  place text default '',
  began_at timestamptz not null default now()
);

-- Begins a round, or continues it: {place}; null if it has ended and began less than a day ago.
create function public.begin_round(p_name text) returns jsonb language sql as $$
  insert into daily_round as r (name) values (p_name)
  on conflict (name) do update set place = '', began_at = now()
  where r.place is null and r.began_at < now() - interval '1 day';
  select jsonb_build_object('place', r.place) from daily_round r where r.name = p_name and r.place is not null
$$;

-- ---------------------------------------------------------------- reconciliation: the bucket

-- The records of the keys after p_after, in the order of the bucket's list: [{key, version_id, again, young, under_way}].
--   version_id: the newest known version, null if the key is deleted
--   again: the key has to be checked again, whatever its version is: it waits for a page without an owner; or a file was
--     read by another analyzer, or a page that it names was not written with it, and no work on the page is recorded
--   young: changed in the last p_settling seconds; under_way: a message about it will come soon
create function public.recorded_objects(
  p_after text, p_limit integer, p_analyzer text, p_settling double precision
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'version_id', x.version_id, 'again', x.again,
    'under_way', awaits_message(x.work), 'young', x.at > now() - make_interval(secs => p_settling)) order by x.key), '[]')
  from (
    select y.* from (
    (select m.key, case when m.status <> 'deleted' then m.version_id end as version_id, false as again,
            m.updated_at as at, m.work
     from material m where m.key > p_after order by m.key limit p_limit)
    union all
    (select w.key, case when not w.deleted then w.version_id end, not w.deleted and m.status = 'deleted', w.since, m.work
     from competing_key w join material m using (material)
     where w.key > p_after order by w.key limit p_limit)
    union all
    (select f.key, f.version_id,
            exists (select from site_synonyms s where s.key = f.key and s.analyzer <> p_analyzer)
              -- A request was lost. The page's newest version must be searchable, since an older one may be gone.
              or f.names is not null and exists (
                select from unnest(materials_named_in(f.key, f.version_id, f.folder, f.names)) named
                join material m on m.material = named
                where m.status = 'ready' and m.learns_files ? f.key and not awaits_message(m.work)),
            f.applied_at, f.work
     from authored_file f where f.key > p_after order by f.key limit p_limit)
    ) y order by y.key limit p_limit) x
$$;

-- ---------------------------------------------------------------- reconciliation: pages in turbopuffer

-- The rows of p_limit materials after p_after: {rows: {space: {row_id: material}}, lacking: [material], next}. `lacking`:
-- a chunk has no row in a space.
create function public.current_rows(p_after text, p_limit integer) returns jsonb
language sql stable set enable_seqscan = off as $$
  with page as materialized (
    select m.material from material m where m.material > p_after order by m.material limit p_limit
  ), row as materialized (
    select k.material, t.space, r.row_id
    from page p join knowledge_chunks k using (material) join embedded_text t using (id)
    left join stored_row r on (r.id, r.space) = (t.id, t.space)
    where starts_with(t.space, 'turbopuffer-')
  )
  select jsonb_build_object(
    'rows', (select coalesce(jsonb_object_agg(s.space, s.rows), '{}') from (
      select r.space, jsonb_object_agg(r.row_id, r.material) as rows from row r where r.row_id is not null group by r.space) s),
    'lacking', (select coalesce(jsonb_agg(distinct r.material), '[]') from row r where r.row_id is null),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- ---------------------------------------------------------------- garbage collection

-- Deletes readings without chunks, of p_limit after p_after (a reading, a tab, its spelling): {deleted, next}.
create function public.delete_unused_readings(p_after text, p_limit integer) returns jsonb language plpgsql as $$
declare
  page reading[];
  n bigint;
begin
  -- A writer that adds such words again inserts into this table last. It waits now, and then sees the deletion.
  lock table reading in share row exclusive mode;
  select array_agg(x order by x.reading, x.written) into page from (
    select r.* from reading r
    where (r.reading, r.written) > (split_part(p_after, chr(9), 1), split_part(p_after, chr(9), 2))
    order by r.reading, r.written fetch first p_limit rows with ties) x;
  delete from reading r using unnest(page) u where (r.reading, r.written, r.term) = (u.reading, u.written, u.term)
    and not exists (select from posting p where p.term = r.term and p.n > 0);
  get diagnostics n = row_count;
  return jsonb_build_object('deleted', n, 'next', case when cardinality(page) >= p_limit
    then page[cardinality(page)].reading || chr(9) || page[cardinality(page)].written end);
end $$;

-- Deletes answers and vectors of texts that nothing has had for p_seconds, at most p_limit of each kind, and returns how
-- many rows changed. What is used counts as used today, at most once in half that time; so an answer, or a vector of a
-- Table, goes after one and a half times as long at the latest, and a vector of a deleted index version after half as long.
-- A row that changes meanwhile has another ctid, and is left alone.
create function public.delete_unused_texts(p_seconds integer, p_limit integer) returns bigint
language sql set enable_seqscan = off as $$
  with old as (
    select now() - make_interval(secs => p_seconds / 2) as looked_at, now() - make_interval(secs => 1.5 * p_seconds) as gone_at
  ), answer as materialized (
    select x.* from (
      select c.ctid as place, exists (select from knowledge_chunks k where k.learns_key = c.cache_key) as used,
        c.used_at < o.gone_at as is_old
      from learns_cache c join old o on c.used_at < o.looked_at) x
    where x.used or x.is_old limit p_limit
  ), vector as materialized (
    select x.* from (
      select v.ctid as place, not w.is_wanted or v.used_at < o.gone_at as is_old,
        w.is_wanted and exists (
          select from chunks c join context_table t on t.id = c.table_id and t.project_id = v.project_id
          where text_key(c.title, c.chunk_text) collate "C" = left(v.text_hash, 16)) as used
      from chunk_vector v join old o on v.used_at < o.looked_at
      cross join lateral (
        select exists (select from index_version i where i.table_space = v.space) as is_wanted) w) x
    where x.used or x.is_old limit p_limit
  ), used_answers as (
    update learns_cache c set used_at = now() where c.ctid = any (array(select a.place from answer a where a.used)) returning 1
  ), used_vectors as (
    update chunk_vector v set used_at = now() where v.ctid = any (array(select a.place from vector a where a.used)) returning 1
  ), old_answers as (
    delete from learns_cache c where c.ctid = any (array(select a.place from answer a where not a.used)) returning 1
  ), old_vectors as (
    delete from chunk_vector v where v.ctid = any (array(select a.place from vector a where not a.used)) returning 1
  ), old_rows as materialized (
    select x.space, x.text_hash, x.ctid as place from unused_vector x
    where x.unused_since < now() - make_interval(secs => p_seconds) order by x.unused_since limit p_limit
  ), old_page_vectors as (
    delete from knowledge_vector v using old_rows o
    where (v.space, v.text_hash) = (o.space, o.text_hash)
      and not exists (select from embedded_text t where t.space = o.space and t.text_hash = o.text_hash)
  ), forgotten as (
    delete from unused_vector u where u.ctid = any (array(select o.place from old_rows o)) returning 1
  )
  select (select count(*) from used_answers) + (select count(*) from used_vectors) + (select count(*) from old_answers)
       + (select count(*) from old_vectors) + (select count(*) from forgotten)
$$;

-- ---------------------------------------------------------------- reconciliation: Tables

-- p_limit chunks of a Table after p_after ([pointer_hash, content_hash, chunk_index], null: from the beginning):
-- {generation, planned, unscanned, stored: {doc_id: id}, coming: [doc_id], next}; null if the Table is deleted. `planned`:
-- the generation is scanned. `unscanned`: no scan of the live version is recorded, although a Tool needs one. `coming`:
-- chunks that are not stored yet, by their future doc id (sakuin.tables.index_names).
create function public.recorded_rows(p_table uuid, p_fingerprint text, p_after jsonb, p_limit integer) returns jsonb
language sql stable as $$
  with page as materialized (
    select c.id, c.pointer_hash, c.content_hash, c.chunk_index,
           c.turbopuffer_doc_id is not null and c.indexed_at is not null as stored,
           coalesce(c.turbopuffer_doc_id, left(c.table_id::text, 8) || '_' || c.pointer_hash || '_'
                    || left(c.content_hash, 16) || '_' || c.chunk_index) as doc_id
    from chunks c
    where c.table_id = p_table and c.fingerprint = p_fingerprint
      and (c.pointer_hash, c.content_hash, c.chunk_index)
        > (coalesce(p_after->>0, ''), coalesce(p_after->>1, ''), coalesce((p_after->>2)::integer, -1))
    order by c.pointer_hash, c.content_hash, c.chunk_index limit p_limit
  )
  select jsonb_build_object(
    'generation', t.generation,
    'planned', exists (select from table_scan s where s.table_id = t.id and s.fingerprint = p_fingerprint
                       and s.generation = t.generation),
    'unscanned', is_live_for_tables(p_fingerprint) and t.updated_at < now() - interval '15 minutes'
      and exists (select from tool o where o.table_id = t.id and o.enabled)
      and not exists (select from table_scan s where s.table_id = p_table and s.fingerprint = p_fingerprint),
    'stored', (select coalesce(jsonb_object_agg(x.doc_id, x.id) filter (where x.stored), '{}') from page x),
    'coming', (select coalesce(jsonb_agg(x.doc_id) filter (where not x.stored), '[]') from page x),
    'next', (select jsonb_build_array(x.pointer_hash, x.content_hash, x.chunk_index) from page x
             order by x.pointer_hash, x.content_hash, x.chunk_index offset p_limit - 1))
  from context_table t where t.id = p_table
$$;

-- Continues from the generation of the store's rows: the records come from an older backup.
create function public.raise_generation(p_table uuid, p_generation bigint) returns void language plpgsql as $$
begin
  perform from context_table t where t.id = p_table and t.generation < p_generation for update;
  if not found then return; end if;
  update context_table set generation = p_generation where id = p_table;
  perform table_changed(p_table, 'TableUpdated', null);
end $$;

-- ---------------------------------------------------------------- orphaned uploads
-- Uploaded documents that nobody needs are deleted from the bucket. Here are the folders to look through.

-- Folders of Tables with announced or imported uploads, or of deleted Tables.
create table public.orphaned_upload (
  folder text collate "C" primary key,
  table_id uuid not null,
  since timestamptz not null default now()
);
create index orphaned_upload_since on public.orphaned_upload (since);

create function public.track_uploads() returns trigger language plpgsql security definer as $$
begin
  -- A signed upload address stays valid for some minutes after the Table is deleted.
  insert into orphaned_upload (folder, table_id) values ('tables/' || old.project_id || '/' || old.id || '/', old.id)
  on conflict (folder) do update set since = case when tg_op = 'DELETE' then now() else orphaned_upload.since end;
  return null;
end $$;
create trigger track_uploads after update of upload, imported_upload, data_key on public.context_table
  for each row when (new.upload > 0) execute function public.track_uploads();
create trigger track_uploads_of_deleted after delete on public.context_table
  for each row when (old.upload > 0) execute function public.track_uploads();

-- Folders to clean up, oldest first: [{folder, keep, gone}]; `keep` is the Table's present document. Those of deleted
-- Tables are due after p_gone seconds; others after p_left, because a message may still import an upload.
create function public.orphaned_uploads(p_gone integer, p_left integer, p_limit integer) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(
    jsonb_build_object('folder', x.folder, 'keep', x.data_key, 'gone', x.gone) order by x.since), '[]')
  from (
    select l.folder, l.since, t.data_key, t.id is null as gone
    from orphaned_upload l left join context_table t on t.id = l.table_id
    where l.since < now() - make_interval(secs => case when t.id is null then p_gone else p_left end)
    order by l.since limit p_limit) x
$$;

-- Records that a folder was cleaned up except for p_keep. p_again: it has uploads that are too young. If the Table has
-- another document by now, the folder stays due.
create function public.record_upload_cleanup(p_folder text, p_keep text, p_again boolean) returns void
language sql as $$
  update orphaned_upload l set since = now() where l.folder = p_folder and p_again;
  delete from orphaned_upload l where l.folder = p_folder and not p_again
    and not exists (select from context_table t where t.id = l.table_id and t.data_key is distinct from p_keep)
$$;

-- ---------------------------------------------------------------- erasing a customer

-- Erases a page that the bucket no longer has, with all that was made of its texts.
create function public.erase_page(p_material text) returns void language plpgsql set enable_seqscan = off as $$
declare
  r material;
  vectors jsonb;
  words constant text[] := array(
    select distinct t from chunk_words w, unnest(w.terms) t where w.material = p_material);
begin
  select * into r from material m where m.material = p_material for update;
  select jsonb_agg(distinct to_jsonb(t)) into vectors from knowledge_chunks k join embedded_text t using (id)
  where k.material = p_material;
  delete from learns_cache c using knowledge_chunks k where k.material = p_material and c.cache_key = k.learns_key
    and not exists (select from knowledge_chunks o where o.learns_key = k.learns_key and o.material <> p_material);
  perform replace_chunks(p_material, '[]', r.fingerprint, r.generation);
  perform change_postings(posting_block(r.number), '{}',
    array(select w.number from chunk_words w where w.material = p_material));
  delete from chunk_words w where w.material = p_material;
  -- As in delete_unused_readings.
  lock table reading in share row exclusive mode;
  delete from reading x where x.term = any (words) and not exists (select from posting p where p.term = x.term and p.n > 0);
  delete from knowledge_vector v using jsonb_to_recordset(vectors) as t(space text, text_hash text)
  where (v.space, v.text_hash) = (t.space, t.text_hash)
    and not exists (select from embedded_text e where (e.space, e.text_hash) = (v.space, v.text_hash));
  delete from material m where m.material = p_material;
end $$;

-- Deletes the rows x of a table for which p_where is true, or with p_dry_run keeps them. Returns how many.
create function public.erase_rows(p_table regclass, p_where text, p_dry_run boolean) returns bigint
language plpgsql as $$
declare
  n bigint;
begin
  execute format(case when p_dry_run then 'select count(*) from %1$s x where %2$s'
    else 'with gone as (delete from %1$s x where %2$s returning 1) select count(*) from gone' end, p_table, p_where) into n;
  return n;
end $$;

-- Erases what is recorded of a folder of the library and of a deleted project (null: of none), at most p_limit pages; with
-- p_dry_run it counts. Returns {erased: {name: count}, left}. `left`: pages, and whether maintenance still deletes the project.
-- Questions to the library name nobody, so with a folder all of them go.
create function public.erase_records(p_folder text, p_prefix text, p_project uuid, p_limit integer, p_dry_run boolean)
returns jsonb language plpgsql as $$
declare
  pages constant text[] := array(select m.material from material m where starts_with(m.material, p_folder || '/') order by 1);
  of_keys constant text := format('starts_with(normalize(x.key), %L)', p_prefix || p_folder || '/');
  of_folder constant text := format('(x.folder = %1$L or starts_with(x.folder, %1$L || ''/''))', p_folder);
  of_project constant text := format('x.project_id = %L', p_project);
  of_key_hash constant text := format('in (select k.key_hash from library_key k where %s or %s)',
    replace(of_folder, 'x.', 'k.'), replace(of_project, 'x.', 'k.'));
  erased jsonb := jsonb_build_object('pages', case when p_dry_run then cardinality(pages)
    else least(cardinality(pages), p_limit) end);
  target record;
begin
  if not p_dry_run then perform erase_page(m) from unnest(pages[:p_limit]) m; end if;
  for target in select * from (values
    ('files', 'authored_file', of_keys), ('synonyms', 'site_synonyms', of_keys), ('results', 'upload_result', of_keys),
    ('descriptions', 'library_description', of_folder),
    ('questions', 'refused_question', format('x.tool_id is null and %L is not null', p_folder)),
    ('judgements', 'feedback', format('%L is not null', p_folder)),
    ('uses', 'quota_use', format('x.principal = %L or x.principal %s', p_project, of_key_hash)),
    ('days', 'key_use', 'x.key_hash ' || of_key_hash),
    ('keys', 'library_key', 'x.key_hash ' || of_key_hash),
    ('counters', 'daily_count', of_project)) t(name, of_table, rows)
  loop
    erased := erased || jsonb_build_object(target.name, erase_rows(target.of_table::regclass, target.rows, p_dry_run));
  end loop;
  return jsonb_build_object('erased', erased, 'left', case when p_dry_run then 0
    else greatest(cardinality(pages) - p_limit, 0) + (select count(*) from deletion d where d.id = p_project)
      + (select count(*) from project p where p.id = p_project) end);
end $$;

-- ---------------------------------------------------------------- sakuin doctor

-- The versions of the applied migrations, as the Supabase CLI records them. Only the owner may read that record.
create function public.applied_migrations() returns text[] language plpgsql stable security definer as $$
begin
  return array(select m.version from supabase_migrations.schema_migrations m order by m.version);
exception when undefined_table or invalid_schema_name then
  return '{}';
end $$;

-- What code relies on, as one hash: columns, constraints, indexes, triggers, policies, views, and functions with their
-- text, owner, settings and callers. The same on each version of Postgres. Two databases with the same hash have the
-- same schema, however they came to it; that of the database which the functions were built for is in their code.
create function public.schema_digest() returns text language sql stable set search_path = pg_catalog as $$
  with ours as (
    select c.oid, c.relname, c.relkind from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
  )
  select md5(string_agg(x.line, E'\n' order by x.line collate "C")) from (
    select concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                     a.attidentity, a.attgenerated, nullif(a.attcollation, 0)::regcollation, pg_get_expr(d.adbin, d.adrelid)) as line
    from ours c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    union all
    -- Postgres 18 records NOT NULL as a constraint, too.
    select concat_ws(' ', 'constraint', c.relname, k.conname, pg_get_constraintdef(k.oid))
    from ours c join pg_constraint k on k.conrelid = c.oid and k.contype <> 'n'
    union all
    select pg_get_indexdef(i.indexrelid) from ours c join pg_index i on i.indrelid = c.oid where i.indisvalid
    union all
    select pg_get_triggerdef(t.oid) from ours c join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal
    union all
    select concat_ws(' ', 'policy', c.relname, p.polname, p.polcmd, p.polroles::regrole[],
                     pg_get_expr(p.polqual, c.oid), '/', pg_get_expr(p.polwithcheck, c.oid))
    from ours c join pg_policy p on p.polrelid = c.oid
    union all
    select concat_ws(' ', 'view', c.relname, pg_get_viewdef(c.oid)) from ours c where c.relkind = 'v'
    union all
    select concat_ws(' ', 'function', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
                     p.provolatile, p.proowner::regrole, p.prosecdef, p.proconfig,
                     md5(concat(p.prosrc, pg_get_function_sqlbody(p.oid))),
                     has_function_privilege('service_role', p.oid, 'execute'),
                     has_function_privilege('sakuin_search', p.oid, 'execute'))
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')) x
$$;

-- One row: when a run of `maintain` last ended without an error.
create table public.maintenance (
  single boolean primary key default true check (single),
  ended_at timestamptz not null default now()
);

-- Records that a run ended. A message that is a day late is lost: SQS loses none, but an emulator that is killed does.
create function public.mark_maintained() returns void language sql as $$
  update material set work = null where work ? 'since' and (work->>'until')::timestamptz < now() - interval '1 day';
  update authored_file set work = null where work ? 'since' and (work->>'until')::timestamptz < now() - interval '1 day';
  update context_table set work = null where work ? 'since' and (work->>'until')::timestamptz < now() - interval '1 day';
  insert into maintenance (single) values (true) on conflict (single) do update set ended_at = now()
$$;

-- {migrations: the applied ones, digest}
create function public.schema_state() returns jsonb language sql stable as $$
  select jsonb_build_object('migrations', applied_migrations(), 'digest', schema_digest())
$$;

-- {schema: schema_state, maintained_at}
create function public.health_state() returns jsonb language sql stable as $$
  select jsonb_build_object('schema', schema_state(), 'maintained_at', (select m.ended_at from maintenance m))
$$;

create function public.database_bytes() returns bigint language sql stable as $$
  select pg_database_size(current_database())
$$;

-- The learns.yml and synonyms.yml whose current version cannot be read: [{key, reason}].
create function public.broken_files() returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', f.key, 'reason', r.reason) order by f.key), '[]')
  from authored_file f join upload_result r on (r.key, r.version_id) = (f.key, f.version_id) and r.outcome = 'failed'
$$;

-- What `sakuin doctor` checks in the database, from the catalog alone: it answers without a right to any table.
--   missing: tables, views and functions that the caller may not use; open: tables that a user's token could read or
--   write past the API; vectors: type by column; extensions: schema and version by name; bytes: of the database
create function public.database_state() returns jsonb language sql stable as $$
  select jsonb_build_object(
    'time', now(),
    'postgres', current_setting('server_version_num')::integer / 10000,
    'bytes', database_bytes(),
    -- Hosted Supabase sets it when the disk is full.
    'is_read_only', current_setting('default_transaction_read_only')::boolean,
    'schema', schema_state(),
    'missing', coalesce((select jsonb_agg(x.thing order by x.thing) from (
      select format('%s (%s)', c.relname, string_agg(r.name, ', ')) as thing
      from pg_class c, unnest(array['select', 'insert', 'update', 'delete']) r (name)
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
        and not has_table_privilege(c.oid, r.name)
      group by c.relname
      union all
      select format('%s()', p.proname) from pg_proc p
      where p.pronamespace = 'public'::regnamespace and not has_function_privilege(p.oid, 'execute')) x), '[]'),
    'open', coalesce((select jsonb_agg(c.relname order by c.relname) from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
        and (c.relkind <> 'v' and not c.relrowsecurity
             or exists (select from pg_roles r where r.rolname in ('anon', 'authenticated')
                        and has_table_privilege(r.oid, c.oid, 'select, insert, update, delete, truncate')))), '[]'),
    'vectors', coalesce((select jsonb_object_agg(c.relname || '.' || a.attname, format_type(t.oid, a.atttypmod))
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and t.typname in ('vector', 'halfvec')
        and not a.attisdropped), '{}'),
    'extensions', (select jsonb_object_agg(e.extname,
      jsonb_build_object('schema', e.extnamespace::regnamespace, 'version', e.extversion)) from pg_extension e))
$$;

-- ---------------------------------------------------------------- the first page of the console

-- {projects, tables, tools: {state: count}, errors: [{tool_id, name, project_id, table_id, last_error}]}, `errors` the
-- first p_errors of Tools in an error.
create function public.project_counts(p_errors integer) returns jsonb language sql stable as $$
  with tools as materialized (
    select o.id, o.name, o.project_id, o.table_id, coalesce(o.metadata->'search_index'->>'state', 'pending') as state,
           o.metadata->'search_index'->'last_error' as last_error
    from tool o where o.enabled
  )
  select jsonb_build_object(
    'projects', (select count(*) from project p where p.deleted_at is null),
    'tables', (select count(*) from context_table),
    'tools', (select coalesce(jsonb_object_agg(s.state, s.n), '{}')
              from (select t.state, count(*) as n from tools t group by t.state) s),
    'errors', (select coalesce(jsonb_agg(jsonb_build_object(
                 'tool_id', e.id, 'name', e.name, 'project_id', e.project_id, 'table_id', e.table_id,
                 'last_error', e.last_error) order by e.id), '[]')
               from (select * from tools t where t.state = 'error' order by t.id limit p_errors) e))
$$;

-- What the first page shows, in one call, the first p_named of each kind: pages, projects, waiting, broken, usage, bytes as
-- the functions here answer them; failed: [{material, error, updated_at}], the last failure first; collapsed: {count, pages},
-- of pages that an upload took much of, rows of material; competing: {count, keys: [{key, owner}]}; index: the parts of
-- the live index version.
create function public.attention(p_named integer, p_days integer, p_callers integer) returns jsonb
language sql stable as $$
  with collapsed as materialized (
    select m.* from material m
    where m.status <> 'deleted' and (m.collapse->>'at')::timestamptz > now() - interval '90 days'
  ), competing as materialized (
    select c.key, m.key as owner from competing_key c join material m using (material) where not c.deleted
  )
  select jsonb_build_object(
    'pages', material_counts(), 'projects', project_counts(p_named), 'waiting', waiting_work(0),
    'broken', broken_files(), 'usage', daily_counts(p_days, p_callers), 'bytes', database_bytes(),
    'failed', (select coalesce(jsonb_agg(to_jsonb(x) order by x.updated_at desc), '[]') from (
      select m.material, m.error, m.updated_at from material m where m.status = 'failed'
      order by m.updated_at desc limit p_named) x),
    'collapsed', jsonb_build_object('count', (select count(*) from collapsed), 'pages', (
      select coalesce(jsonb_agg(to_jsonb(x) order by x.material), '[]') from (
        select * from collapsed order by material limit p_named) x)),
    'competing', jsonb_build_object('count', (select count(*) from competing), 'keys', (
      select coalesce(jsonb_agg(to_jsonb(x) order by x.key), '[]') from (
        select * from competing order by key limit p_named) x)),
    'index', (select v.parts from index_version v where v.live))
$$;
-- Who may do what. These roles reach the database through PostgREST:
--   service_role   the other Lambda functions. It bypasses row level security, but it needs grants.
--   sakuin_search  the function `mcp`. It may call the functions that searches need, and nothing else.
--   authenticated, anon  nothing. The function `api` calls for a user, as service_role with the user's id (acting_user).
--
-- The functions of the API run as sakuin_member, a role without login that row level security binds. They see and write
-- only what the policies allow: for the acting user the rows of their projects, by their role in each; else for
-- service_role all rows. Columns that are not for users (hashes of keys, generations, states) change only through
-- functions that keep them consistent.

-- ---------------------------------------------------------------- the role of members

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_member') then
    create role sakuin_member nologin noinherit;
  end if;
end $$;
-- The owner of everything else must be able to replace what this role owns.
grant sakuin_member to postgres;
grant usage on schema public to sakuin_member;

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_search') then
    create role sakuin_search nologin noinherit;
  end if;
end $$;
grant sakuin_search to authenticator;
grant usage on schema public to sakuin_search;

-- ---------------------------------------------------------------- row level security
-- Without a policy, a table has no rows for anybody but its owner and service_role.

-- Members see the members; owners add and change them, but change or remove no other owner; everybody may leave.
create policy see_members on public.project_member for select to sakuin_member
  using ((select is_service()) or project_id in (select acting_projects('viewer')));
create policy add_members on public.project_member for insert to sakuin_member
  with check ((select is_service()) or project_id in (select acting_projects('owner')));
create policy change_members on public.project_member for update to sakuin_member
  using ((select is_service())
         or project_id in (select acting_projects('owner')) and (role <> 'owner' or user_id = acting_user()))
  with check ((select is_service()) or project_id in (select acting_projects('owner')));
create policy remove_members on public.project_member for delete to sakuin_member
  using ((select is_service()) or user_id = acting_user()
         or project_id in (select acting_projects('owner')) and role <> 'owner');

create policy see_projects on public.project for select to sakuin_member
  using (deleted_at is null and ((select is_service()) or id in (select acting_projects('viewer'))));

-- Members see what belongs to their projects; editors change it.
do $$
declare
  t text;
begin
  foreach t in array array['context_table', 'tool', 'mcp', 'project_synonyms'] loop
    execute format('create policy see on public.%I for select to sakuin_member
      using ((select is_service()) or project_id in (select acting_projects(''viewer'')))', t);
    execute format('create policy change on public.%I to sakuin_member
      using ((select is_service()) or project_id in (select acting_projects(''editor'')))', t);
  end loop;
end $$;
create policy its_table on public.tool as restrictive to sakuin_member using (true)
  with check (exists (select from public.context_table t where t.id = tool.table_id and t.project_id = tool.project_id));

-- The endpoint and the Tool are visible only to those who may see their projects.
create policy see_bindings on public.mcp_binding for select to sakuin_member
  using (mcp_id in (select e.id from public.mcp e));
create policy change_bindings on public.mcp_binding to sakuin_member
  using (mcp_id in (select e.id from public.mcp e
                    where (select is_service()) or e.project_id in (select acting_projects('editor'))))
  with check (exists (select from public.mcp e join public.tool o on o.project_id = e.project_id
                      where e.id = mcp_binding.mcp_id and o.id = mcp_binding.tool_id
                        and ((select is_service()) or e.project_id in (select acting_projects('editor')))));

create policy see_keys on public.key_use for select to sakuin_member
  using (exists (select from public.mcp e where e.api_key_hash = key_use.key_hash)
         or exists (select from public.mcp e where e.previous_key_hash = key_use.key_hash));
create policy see_quotas on public.quota for select to sakuin_member using (true);

-- ---------------------------------------------------------------- grants
-- Hosted projects have different default grants, by their age. Until 2026 new tables and functions were open to all
-- three roles; since then service_role has no access to new tables either, but TRUNCATE, REFERENCES and TRIGGER are
-- still granted. Postgres itself lets everybody execute a new function. Therefore everything is revoked first, and
-- then granted by name.

-- Sets what each table and function needs, whatever they had. Each migration ends with it: a function that is created
-- again has lost its settings.
create function public.set_rights() returns void language plpgsql as $$
declare
  t regclass;
  f regprocedure;
  name regproc;
begin
  for t in select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s enable row level security', t);
  end loop;
  -- All functions find the same tables, whoever calls them. A table in a caller's pg_temp is found last.
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosqlbody is null loop
    execute format('alter function %s set search_path = public, extensions, pg_temp', f);
  end loop;
  execute format('revoke temporary on database %I from public', current_database());
  revoke all on all tables in schema public from public, anon, authenticated, service_role;
  revoke all on all sequences in schema public from public, anon, authenticated, service_role;
  revoke all on all functions in schema public from public, anon, authenticated, service_role;

  -- Functions run with the rights of their caller, so the caller needs the tables that they use. Sequences need no
  -- grant: all of them belong to identity columns.
  grant select, insert, update, delete on all tables in schema public to service_role;
  grant execute on all functions in schema public to service_role;

  grant select on public.project, public.key_use, public.quota to sakuin_member;
  grant select, insert, update (role), delete on public.project_member to sakuin_member;
  grant select, insert, update, delete on public.context_table, public.tool, public.mcp, public.mcp_binding,
    public.project_synonyms to sakuin_member;
  grant execute on all functions in schema public to sakuin_member;

  -- The functions of the API. create_project runs with the rights of postgres (3_projects.sql). A role needs CREATE on
  -- the schema to become the owner of a function.
  grant create on schema public to sakuin_member;
  foreach name in array array[
    'list_projects', 'delete_project', 'add_member', 'list_members', 'remove_member',
    'read_synonyms', 'replace_synonyms',
    'create_table', 'read_table', 'read_document', 'list_tables', 'replace_table', 'change_table', 'delete_table', 'begin_upload',
    'check_node', 'create_tool', 'read_tool', 'list_tools', 'change_tool', 'reindex_tool', 'delete_tool',
    'create_mcp', 'read_mcp', 'list_mcps', 'bind_tool', 'unbind_tool', 'rotate_mcp', 'change_mcp', 'delete_mcp'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('alter function %s owner to sakuin_member', name::regprocedure);
  end loop;
  revoke create on schema public from sakuin_member;

  -- What a search needs. These functions run with the rights of postgres: sakuin_search reads no table.
  foreach name in array array[
    'search_candidates', 'stored_candidates', 'chunks_to_show', 'has_terms', 'read_chunks', 'list_concepts', 'list_materials', 'filter_values', 'lexicon_entries',
    'library_places', 'read_page', 'find_text',
    'endpoint', 'endpoint_of_key', 'endpoint_of_user', 'table_lexicon_entries', 'table_term_frequencies', 'current_chunks',
    'objects_in_scope',
    'index_versions', 'has_second_factor', 'search_keys', 'record_key_use', 'consume_quota', 'record_refused_question',
    'record_feedback', 'add_tokens', 'add_daily_counts'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('grant execute on function %s to sakuin_search', name::regprocedure);
  end loop;
end $$;
select public.set_rights();

-- For what an operator creates by hand: the defaults of one schema cannot revoke functions from public, or enable row
-- level security. tests/isolation/test_sql_rights.py checks both.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges in schema public grant select, insert, update, delete on tables to service_role;
alter default privileges in schema public grant execute on functions to service_role;

reset search_path;
