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

-- In how many chunks a term is, of p_passing (numbers; null: all, also those whose words are not current).
create function public.chunks_with(p_term text, p_passing integer[]) returns bigint language sql stable as $$
  select case when p_passing is null then (select coalesce(sum(p.n), 0) from posting p where p.term = p_term)
    else (select count(*) from posting p cross join unnest(p.chunks) as h(number)
          where p.term = p_term and h.number in (select unnest(p_passing))) end
$$;

-- The words of a similar sound that p_passing has, best first. Only readings that begin or end with the same two kana are
-- compared: errors at both ends are not found.
create function public.similar_words(p_reading text, p_passing integer[]) returns jsonb
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
    from (select m.written, m.distance, chunks_with(m.term, p_passing) as n from measured m where m.distance <= m.typos) w
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

-- ---------------------------------------------------------------- filters

-- What chunks have to be: one of each list that is not null, of `material`, below one of `folder` (with a slash at its end),
-- and as `fields` says of the page's own fields.
create type public.page_filter as (
  type text[], category text[], level text[], language text[], folder text[], material text, fields jsonpath);

-- The filter in the arguments of version 1.0.0; null if there is none.
create function public.filter_of(p_type text, p_category text, p_level text, p_material text, p_in text)
returns public.page_filter language sql immutable as $$
  select row(f.*)::page_filter from (
    select nullif(array[p_type], '{null}'), nullif(array[p_category], '{null}'), nullif(array[p_level], '{null}'),
      null::text[], nullif(array[p_in], '{null}'), p_material, null::jsonpath) f
  where coalesce(p_type, p_category, p_level, p_material, p_in) is not null
$$;

-- Whether a chunk passes a filter. Only the canary, which names its page, finds that page.
create function public.passes(k public.knowledge_chunks, f public.page_filter) returns boolean language sql immutable
-- Bound to its tables when it is created, so that it needs no search_path and is a part of the query that calls it.
return (f.type is null or k.type = any (f.type)) and (f.category is null or k.category = any (f.category))
  and (f.level is null or k.level = any (f.level)) and (f.language is null or k.language = any (f.language))
  and (f.material is null or k.material = f.material) and (f.folder is null or k.material ^@ any (f.folder))
  and (f.fields is null or k.fields @@ f.fields) and (f.material is not null or not starts_with(k.material, '_sakuin/'));

-- The numbers of the chunks that pass; null without a filter.
create function public.passing_chunks(p_filter public.page_filter) returns integer[]
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
begin
  if p_filter is null then return null; end if;
  return array(
    select w.number from knowledge_chunks k join chunk_words w on w.id = k.id and w.is_current where passes(k, p_filter));
end $$;

-- The same p_sample passages for every question: hashes order texts at random. With p_fixed of chunks that pass it.
create function public.sample_of(p_space text, p_sample integer, p_fixed public.page_filter)
returns setof public.embedded_text language plpgsql stable as $$
begin
  if p_fixed is null then
    return query select e.* from embedded_text e where e.space = p_space order by e.text_hash, e.id limit p_sample;
  else
    return query select e.* from knowledge_chunks k join embedded_text e on e.id = k.id and e.space = p_space
      where passes(k, p_fixed) order by e.text_hash, e.id limit p_sample;
  end if;
end $$;

-- What is known of a question's words, in one round trip:
--   written   for each of p_readings, its spellings in the index
--   known     those of p_words ({word or term: reading, or empty}) that the index has
--   near      for each other word of p_words, words of a similar reading
--   synonyms  the groups with a phrase that occurs in p_query: [{folder, phrases}]; with p_material those for that page,
--             with p_in those for pages whose names begin with it
--   live      the id of the live index version; null before the first
-- With p_fixed as if there were no other chunks.
create function public.lexicon_entries(
  p_readings text[], p_words jsonb, p_query text, p_material text default null, p_in text default null,
  p_fixed public.page_filter default null
) returns jsonb
language plpgsql stable set jit = off set enable_seqscan = off
-- Planning takes longer than the statement.
set plan_cache_mode = force_generic_plan as $$
declare
  passing constant integer[] := passing_chunks(p_fixed);
  known constant text[] := array(
    select e.key from jsonb_each_text(p_words) e
    where chunks_with(e.key, passing) > 0
      or exists (select from reading r where r.reading = coalesce(nullif(e.value, ''), e.key) and r.written = e.key
                 and chunks_with(r.term, passing) > 0));
begin
  return jsonb_build_object(
    'live', (select v.fingerprint from index_version v where v.live),
    'known', to_jsonb(known),
    'written', (
      select coalesce(jsonb_object_agg(w.reading, to_jsonb(w.forms[:5])), '{}') from (
        select c.reading, array_agg(c.written order by c.n desc, c.written) as forms from (
          select r.reading, r.written, chunks_with(r.term, passing) as n from reading r where r.reading = any (p_readings)) c
        where c.n > 0 group by c.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, similar_words(u.reading, passing) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and e.key <> all (known)
            and not exists (select from reading r where r.reading = e.value and chunks_with(r.term, passing) > 0)
          order by e.key collate "C" limit 8) u) w
      where w.forms is not null),
    'synonyms', (
      select coalesce(jsonb_agg(jsonb_build_object('folder', s.folder, 'phrases', g.value->'phrases')), '[]')
      from site_synonyms s cross join lateral jsonb_array_elements(s.groups) as g(value)
      where (p_material is null or starts_with(p_material, s.folder))
        and (p_in is null or starts_with(p_in, s.folder) or starts_with(s.folder, p_in))
        and (p_fixed is null or exists (
          select from knowledge_chunks k where starts_with(k.material, s.folder) and passes(k, p_fixed)))
        and exists (select from jsonb_array_elements_text(g.value->'plain') as p(phrase)
                    where strpos(p_query, p.phrase) > 0)));
end $$;

-- ---------------------------------------------------------------- the search

-- A language without its region.
create function public.base_language(p_language text) returns text language sql immutable
return lower(split_part(p_language, '-', 1));

-- The vector of a question as it would be in each of p_languages: moved by the difference between the means of that language
-- and of the nearest one in p_sample passages.
create function public.vectors_in_languages(
  p_space text, p_sample integer, p_fixed public.page_filter, p_vector extensions.halfvec, p_nearest text, p_languages text[]
) returns table (language text, vector extensions.halfvec) language sql stable as $$
  with means as materialized (
    select base_language(k.language) as language, avg(v.embedding) as mean
    from sample_of(p_space, p_sample, p_fixed) e
    join knowledge_vector v using (space, text_hash) join knowledge_chunks k using (id)
    where p_languages <> '{}' and base_language(k.language) = any (p_nearest || p_languages) group by 1)
  select m.language, p_vector + m.mean - n.mean from means m join means n on n.language = p_nearest
  where m.language = any (p_languages) order by m.language
$$;

-- The next functions are the steps of search_candidates, and run with its settings of the planner.

-- [[language, cosine]] of a question and p_sample passages, which are the same for every question.
create function public.sampled_cosines(
  p_vector extensions.halfvec, p_space text, p_sample integer, p_fixed public.page_filter
) returns json language plpgsql stable as $$
declare
  -- The first and the last language of an index: most libraries have one, and need not look at each text of the sample.
  is_mixed constant boolean := (
    select split_part(min(k.language), '-', 1) <> split_part(max(k.language), '-', 1) from knowledge_chunks k
    where p_fixed is null or passes(k, p_fixed));
begin
  return (
    select coalesce(json_agg(json_build_array(k.language, 1 - (v.embedding <=> p_vector))), '[]')
    from sample_of(p_space, p_sample, p_fixed) e
    cross join lateral (select v.* from knowledge_vector v where v.space = e.space and v.text_hash = e.text_hash offset 0) v
    left join lateral (select c.language from knowledge_chunks c where is_mixed and c.id = e.id offset 0) k on true);
end $$;

-- The p_depth chunks with the passages nearest to p_vector that pass the filters, of a language or (null) of all. With
-- p_is_narrow, so few pass that comparing all of them is faster than searching the graph.
create function public.nearest_chunks(
  p_vector extensions.halfvec, p_space text, p_depth integer, p_language text, p_total bigint, p_is_narrow boolean,
  p_filter public.page_filter
) returns text[] language plpgsql stable as $$
declare
  is_filtered constant boolean := not p_filter is null or p_language is not null;
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
            select from knowledge_chunks k where k.id = e.id and passes(k, p_filter)
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
      where passes(k, p_filter)
        and (p_language is null or base_language(k.language) = p_language)
      group by k.id order by min(v.embedding <=> p_vector), k.id limit p_depth);
  end if;
  return ids;
end $$;

-- The p_depth nearest chunks, then for each language of the sample that has less than half of its share of these the chunks
-- that are nearest in it, since other languages have lower cosines.
create function public.nearest_by_language(
  p_vector extensions.halfvec, p_space text, p_depth integer, p_sample integer, p_cosines json, p_total bigint,
  p_is_narrow boolean, p_filter public.page_filter, p_fixed public.page_filter
) returns text[] language plpgsql stable as $$
declare
  -- The nearest first.
  languages constant text[] := array(
    select base_language((c->>0) collate "C") from json_array_elements(p_cosines) c where c->>0 is not null
    group by 1 order by avg((c->>1)::float8) desc, 1);
  share constant integer := p_depth / greatest(cardinality(languages), 1);
  nearest text[] := nearest_chunks(p_vector, p_space, p_depth, null, p_total, p_is_narrow, p_filter);
  lacking constant text[] := array(
    select l from unnest(languages[2:]) l where l not in (
      select base_language(k.language) from knowledge_chunks k where k.id = any (nearest) and k.language is not null
      group by 1 having 2 * count(*) >= share));
  moved record;
begin
  for moved in select * from vectors_in_languages(p_space, p_sample, p_fixed, p_vector, languages[1], lacking) loop
    nearest := nearest || nearest_chunks(moved.vector, p_space, share, moved.language, p_total, p_is_narrow, p_filter);
  end loop;
  return nearest;
end $$;

-- The terms of a question: [{term, n, gain, slot, is_plain, folders, is_everywhere, is_read}].
--   n, gain        the number of chunks with it, and its idf
--   is_plain       it is the only term of its slot
--   folders        those that the slot belongs to, of p_folders; is_everywhere: it belongs to all
--   is_read        its postings are read: all those of the rarest slot of a folder, and of the next rarest while the total stays
--                  within p_posting_budget chunks
create function public.question_terms(
  p_slots jsonb, p_folders text[], p_total bigint, p_posting_budget integer, p_passing integer[]
) returns jsonb language plpgsql stable as $$
begin
  return (
  with question as materialized (
    select s.slot, s.value->'folders' as folders, t.term collate "C" as term
    from jsonb_array_elements(p_slots) with ordinality as s(value, slot)
    cross join lateral jsonb_array_elements_text(s.value->'terms') as t(term)
  ), counted as materialized (
    select t.term, least(p_total, chunks_with(t.term, p_passing))::float8 as n from (select distinct s.term from question s) t
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
  p_filter public.page_filter
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
        and passes(k, p_filter)
      offset 0) k
    order by s.score desc, s.chunk limit p_depth);
end $$;

-- The chunks p_found, then, of those that pass the filters, the concepts that a found example illustrates, so that the example
-- can rank below them, and p_expected, which is not found.
create function public.with_illustrated(
  p_found text[], p_expected text, p_filter public.page_filter
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
      where f.type = 'example' and p_filter.type is null
      union all select p_expected, false where p_expected is not null) e
    where e.id not in (select f.id from found f) group by e.id
  )
  select f.id, true, f.type, f.material, f.illustrates, f.language from found f
  union all
  select k.id, o.is_found, k.type, k.material, k.illustrates, k.language
  from other o cross join lateral (
    select c.* from knowledge_chunks c where c.id = o.id and passes(c, p_filter) offset 0) k;
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
  p_expected text, p_filter public.page_filter
) returns json language plpgsql stable as $$
declare
  found constant text[] := array(select distinct f from unnest(p_nearest || p_matching) f);
begin
  return (
  with candidate as materialized (
    select * from with_illustrated(found, p_expected, p_filter)
  ), matched as materialized (
    select impacts_in(array(select c.id from candidate c), p_terms, p_hits) as impacts
  )
  select coalesce(json_agg(json_build_object(
    'id', c.id, 'type', c.type, 'language', c.language, 'is_found', c.is_found,
    'nearest_rank', array_position(p_nearest, c.id), 'matching_rank', array_position(p_matching, c.id),
    'illustrates', (select coalesce(json_agg(c.material || '#' || i), '[]') from unnest(c.illustrates) i),
    'impacts', coalesce(m.impacts->c.id, '{}'),
    'cosine', (select 1 - min(v.embedding <=> p_vector) from embedded_text e
               join knowledge_vector v using (space, text_hash) where e.id = c.id and e.space = p_space),
    'head', (select 1 - (v.embedding <=> p_vector) from knowledge_chunks k
             join knowledge_vector v on v.space = p_space and v.text_hash = k.text_hashes[1] where k.id = c.id))), '[]')
  from candidate c, matched m
  -- Without filters nothing above asks where a page is.
  where p_filter.material is not null or not starts_with(c.material, '_sakuin/'));
end $$;

-- The candidates of a question, with the evidence for each. sakuin/retrieval/ranking.py ranks them.
--
-- A question is a list of slots, each with the terms that express it: [{"terms"}].
-- p_folders are the folders with slots of their own, and "" for all other pages. A chunk is searched by the slots of the
-- deepest folder that its page is in: those that name it in `folders`, and those without. Only chunks that
-- pass p_filter are found; version 1.0.0 sends it as the five arguments before it. With p_fixed, which is a part of it, what
-- is counted and sampled is as if there were no other chunks.
-- Returns an object:
--   total        the number of chunks of the index
--   frequency    {term: the number of chunks with it}; without p_fixed it counts words that are not current, too
--   cosines      sampled_cosines
--   candidates   [{id, type, language, illustrates, cosine, head, nearest_rank, matching_rank, impacts, is_found}]; `head` is the
--                cosine of the first passage
--
-- The candidates are the p_depth chunks with the nearest passages, their share of these for each language of the sample, since
-- other languages have lower cosines, the p_depth chunks with the best words, and with_illustrated.
create function public.search_candidates(
  p_embedding text, p_slots jsonb, p_space text, p_depth integer, p_sample integer,
  p_posting_budget integer, p_expected text default null, p_type text default null, p_category text default null,
  p_level text default null, p_material text default null, p_in text default null, p_folders text[] default '{""}',
  p_filter public.page_filter default null, p_fixed public.page_filter default null
) returns json language plpgsql stable set jit = off set max_parallel_workers_per_gather = 0
set enable_mergejoin = off as $$
declare
  -- As an argument, the type would need a right to the schema extensions.
  query_vector constant halfvec(1536) := p_embedding;
  needed constant page_filter := coalesce(p_filter, filter_of(p_type, p_category, p_level, p_material, p_in));
  counted constant integer[] := passing_chunks(p_fixed);
  is_narrow boolean := needed.material is not null;
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
  total := coalesce(cardinality(counted), (select sum(m.chunks_count) from material m), 0);
  if query_vector is not null then
    if p_sample > 0 then cosines := sampled_cosines(query_vector, p_space, p_sample, p_fixed); end if;
    is_narrow := is_narrow or not needed is null and not exists (
      select from knowledge_chunks k where passes(k, needed) offset 1000);
    perform set_config('hnsw.ef_search', least(1000, 2 * p_depth)::text, true);
    nearest := nearest_by_language(
      query_vector, p_space, p_depth, p_sample, cosines, total, is_narrow, needed, p_fixed);
  end if;
  if is_narrow and needed.material is null then
    -- So few that the search for p_depth of them, best first, would look at more chunks: at p_depth times total through their number.
    passing := array(
      select w.number from knowledge_chunks k join chunk_words w on w.id = k.id and w.is_current
      where passes(k, needed)
      limit sqrt(p_depth * total) + 1);
    passing := case when cardinality(passing) <= sqrt(p_depth * total) then passing end;
  end if;

  -- Planning takes as long as the statements, and no argument changes their best plans.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  terms := question_terms(p_slots, p_folders, total, p_posting_budget, counted);
  hits := read_postings(terms, block_of(needed.material));
  matching := matching_chunks(
    terms, hits, p_folders, coalesce(passing, counted), p_depth,
    case when needed is null then p_depth + (select count(*) from chunk_words w where not w.is_current) end, needed);
  return json_build_object(
    'total', total, 'cosines', cosines,
    'frequency', (select coalesce(jsonb_object_agg(t->>'term', t->'n'), '{}') from jsonb_array_elements(terms) t),
    'candidates', candidates_of(nearest, matching, terms, hits, query_vector, p_space, p_expected, needed));
end $$;

-- What Postgres adds to p_rows, which a search in turbopuffer found: {total, frequency, sample, candidates}, as in
-- search_candidates. `sample` are [row, number of the passage, language]; candidates are [{id, row, type, language, illustrates,
-- is_found}], those of current rows, the concepts that a found example illustrates, and p_expected.
create function public.stored_candidates(
  p_rows text[], p_terms text[], p_space text, p_sample integer, p_expected text default null, p_type text default null,
  p_category text default null, p_level text default null, p_material text default null, p_in text default null,
  p_filter public.page_filter default null, p_fixed public.page_filter default null
) returns jsonb language sql stable set jit = off set enable_seqscan = off as $$
  with whole as materialized (
    select coalesce(cardinality(c.passing), (select sum(m.chunks_count) from material m), 0) as total, c.passing,
      coalesce(p_filter, filter_of(p_type, p_category, p_level, p_material, p_in)) as needed
    from passing_chunks(p_fixed) as c(passing)
  )
  select jsonb_build_object(
    'total', w.total,
    'frequency', (select coalesce(jsonb_object_agg(t.term, least(w.total, chunks_with(t.term, w.passing))), '{}')
                  from unnest(p_terms) as t(term)),
    'sample', (
      select coalesce(jsonb_agg(jsonb_build_array(r.row_id, array_position(k.text_hashes, e.text_hash) - 1, k.language)
        order by e.text_hash, r.row_id), '[]')
      from sample_of(p_space, p_sample, p_fixed) e
      join knowledge_chunks k using (id) join stored_row r on r.id = e.id and r.space = p_space),
    'candidates', (
      select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'row', r.row_id, 'type', k.type, 'language', k.language, 'is_found', c.is_found,
        'illustrates', (select coalesce(jsonb_agg(k.material || '#' || i), '[]') from unnest(k.illustrates) i))
        order by k.id), '[]')
      from with_illustrated(
        array(select r.id from stored_row r where r.space = p_space and r.row_id = any (p_rows) and r.id is not null),
        p_expected, w.needed) c
      join knowledge_chunks k on k.id = c.id and passes(k, w.needed)
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
  p_material text default null, p_in text default null, p_filter public.page_filter default null
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
    where passes(k, n.needed)) order by s.place), '[]')
  from jsonb_array_elements(p_terms) with ordinality as s(terms, place), (
    select coalesce(p_filter, filter_of(p_type, p_category, p_level, p_material, p_in)) as needed offset 0) n
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
  p_in text default null, p_filter public.page_filter default null
) returns table (id text, title text, type text, material text, anchor text, "position" integer, text text)
language plpgsql stable as $$
declare
  needed constant page_filter := coalesce(p_filter, filter_of(p_type, p_category, p_level, p_material, p_in));
begin
  return query
  select k.id, k.title, k.type, k.material, k.anchor, k.position, left(without_addresses(k.content), 300)
  from knowledge_chunks k
  where passes(k, needed)
    and (p_after_material is null or (k.material, k.position) > (p_after_material, p_after_position))
  order by k.material, k.position
  limit p_limit;
end $$;

-- The pages that explain something, by name: [{material, title, category, level}].
create function public.list_materials(
  p_limit integer, p_after text default null, p_in text default null, p_filter public.page_filter default null
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(p) order by p.material), '[]') from (
    select m.material, k.page_title as title, k.category, k.level
    from material m cross join lateral (
      select c.page_title, c.category, c.level from knowledge_chunks c
      where c.material = m.material and passes(c, p_filter) order by c.position limit 1) k
    where (p_after is null or m.material > p_after) and (p_in is null or starts_with(m.material, p_in))
    order by m.material limit p_limit) p
$$;

-- The values that filters accept: {types, categories, levels, folders}, at most p_limit of each, and with p_fields `languages`
-- and `fields`: {name: values, one more if there are more}; version 1.0.0 reads no more members than it knows. `materials`
-- are the pages whose names are like p_material, those with the same last segment first. All are those of pages that begin
-- with p_in, and of explanations that pass p_filter.
create function public.filter_values(
  p_limit integer, p_material text default null, p_in text default null, p_filter public.page_filter default null,
  p_fields boolean default false
) returns jsonb language sql stable set enable_seqscan = off as $$
  -- All explanations of a page have the same values.
  with page as materialized (
    select m.material, k.category, k.level, k.language, k.fields
    from material m cross join lateral (
      select c.* from knowledge_chunks c
      where c.material = m.material and passes(c, p_filter) order by c.position limit 1) k
    where p_in is null or starts_with(m.material, p_in)
  ), field as (
    select f.key, jsonb_agg(f.value order by f.value) as values from (
      select distinct e.key, v.value, dense_rank() over (partition by e.key order by v.value) as place
      from page p cross join jsonb_each(p.fields) e cross join jsonb_array_elements_text(e.value) v) f
    where f.place <= p_limit + 1 group by f.key order by f.key limit p_limit
  )
  select jsonb_build_object(
    'types', array(
      select t.type from unnest(array['rule', 'method', 'definition', 'example', 'tip']) with ordinality as t(type, place)
      where exists (select from knowledge_chunks k
                    where k.type = t.type and passes(k, p_filter) and (p_in is null or starts_with(k.material, p_in)))
      order by t.place),
    'categories', array(select distinct p.category from page p where p.category is not null order by 1 limit p_limit),
    'levels', array(select distinct p.level from page p where p.level is not null order by 1 limit p_limit),
    'folders', array(
      select distinct array_to_string((string_to_array(d.folder, '/'))[:n], '/') collate "C" as folder
      from (select distinct regexp_replace(p.material, '/[^/]*$', '') as folder from page p where p.material like '%/%') d
      cross join lateral generate_series(
        coalesce(cardinality(string_to_array(p_in, '/')) - 1, 1), cardinality(string_to_array(d.folder, '/'))) n
      order by folder limit p_limit),
    'materials', array(
      select p.material from page p where p_material is not null
      order by regexp_replace(p.material, '^.*/', '') <> regexp_replace(p_material, '^.*/', ''), p.material limit p_limit))
    || case when p_fields then jsonb_build_object(
      'languages', array(select distinct p.language from page p where p.language is not null order by 1 limit p_limit),
      'fields', (select coalesce(jsonb_object_agg(f.key, f.values), '{}') from field f)) else '{}' end
$$;

create function public.located_text(k public.knowledge_chunks) returns jsonb language sql stable
return jsonb_build_object('id', k.id, 'material', k.material, 'anchor', k.anchor, 'title', k.title, 'content', k.content);

-- Whole chunks. With p_neighbours each has `previous` and `next`: located_text of the chunks before and after it in its
-- page, null at the ends.
create function public.read_chunks(p_ids text[], p_neighbours boolean, p_filter public.page_filter default null) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(
    to_jsonb(k) - array['learns_given', 'learns_key', 'illustrates', 'text_hashes', 'fingerprint', 'fields']
    || case when p_neighbours then jsonb_build_object('previous', (
         select located_text(n) from knowledge_chunks n
         where n.material = k.material and n.position < k.position and (p_filter is null or passes(n, p_filter))
         order by n.position desc limit 1), 'next', (
         select located_text(n) from knowledge_chunks n
         where n.material = k.material and n.position > k.position and (p_filter is null or passes(n, p_filter))
         order by n.position limit 1)) else '{}' end), '[]')
  from knowledge_chunks k where k.id = any (p_ids) and (p_filter is null or passes(k, p_filter))
$$;

-- The chunks of a page in its order, from p_position on: {id, material, anchor, title, content, section, page_title,
-- position, line}. `line` numbers the first line of each, from 1; with p_line they begin with the one that has this line.
-- Without p_has_content they are its outline.
create function public.read_page(
  p_material text, p_limit integer default null, p_position integer default 0, p_line integer default null,
  p_has_content boolean default true, p_filter public.page_filter default null
) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(p) - array['lines', 'own'] order by p.position), '[]') from (
    select l.*, 1 + l.lines - l.own as line from (
      select k.id, k.material, k.anchor, k.title, k.section, k.page_title, k.position, n.own,
        case when p_has_content then k.content else '' end as content,
        -- In the order of the index, so that p_limit ends it.
        sum(n.own) over (order by k.position rows unbounded preceding) as lines
      from knowledge_chunks k
      cross join lateral (select length(k.content) - length(replace(k.content, chr(10), '')) + 1 as own) n
      where k.material = p_material and k.position >= p_position and (p_filter is null or passes(k, p_filter))) l
    where p_line is null or l.lines >= p_line
    order by l.position limit p_limit) p
$$;

-- The lines, from 1, that match p_pattern (retrieval/exact_text.py), after this place in the order of the pages:
-- {found: [{id, material, anchor, title, content, position, lines}], read, ended, material, position}. It ends after
-- p_limit chunks with such lines, or after p_seconds: a scan of a large library takes several calls, and none keeps the
-- database busy for long.
create function public.find_text(
  p_pattern text, p_limit integer, p_seconds float8, p_in text default null, p_material text default null,
  p_after_material text default null, p_after_position integer default null, p_filter public.page_filter default null
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
      and (p_in is null or starts_with(c.material, p_in)) and passes(c, p_filter)
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
