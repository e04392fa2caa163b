-- What the indexed texts say of how words are read and written, for questions in kana and slips of the keyboard.

create extension if not exists fuzzystrmatch with schema extensions;

-- A posting whose term has a tab in it is a reading and how it is written: it comes and goes with its chunks, and
-- its `n` says how often. Here each such pair stands once, so that a reading can be looked for by its sound.
-- Pairs are never taken out: what no chunk has any more is not answered, and a new page may bring it back.
create function public.sound_of(p_reading text) returns text
language sql immutable set search_path = public, extensions as $$
  select regexp_replace(
    translate(p_reading, 'ガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴァィゥェォッャュョヮ',
                         'カキクケコサシスセソタチツテトハヒフヘホハヒフヘホウアイウエオツヤユヨワ'),
    '(.)\1+', '\1', 'g')
$$;

create table public.reading (
  reading text collate "C" not null,
  written text collate "C" not null,
  sound text collate "C" not null,
  primary key (reading, written)
);
alter table public.reading enable row level security;
create index reading_begins on public.reading (left(sound, 2), length(sound));
create index reading_ends on public.reading (right(sound, 2), length(sound));

-- The site's own synonyms, as its file says them: [{"phrases", "plain"}], plain as questions are read. The fence is
-- that of pages. No groups: the file is gone.
create table public.site_synonyms (
  key text primary key,
  bucket text not null,
  sequencer text collate "C" not null,
  version_id text,
  groups jsonb not null,
  updated_at timestamptz not null default now()
);
alter table public.site_synonyms enable row level security;

create function public.keep_synonyms(p_source jsonb, p_groups jsonb) returns text
language plpgsql set search_path = public, extensions as $$
declare
  kept text;
begin
  insert into site_synonyms as s (key, bucket, sequencer, version_id, groups)
  values (p_source->>'key', p_source->>'bucket', p_source->>'sequencer', p_source->>'version_id', p_groups)
  on conflict (key) do update set
    bucket = excluded.bucket, sequencer = excluded.sequencer, version_id = excluded.version_id,
    groups = excluded.groups, updated_at = now()
  where s.sequencer <= excluded.sequencer
  returning 'applied' into kept;
  return coalesce(kept, 'superseded');
end $$;

-- The words of a material bring their readings along; last, since a new pair makes its other writers wait.
alter function public.replace_words(text, jsonb) rename to replace_postings;

create function public.replace_words(p_material text, p_chunks jsonb) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform replace_postings(p_material, p_chunks);
  -- In one order, so that no two writers wait in a circle.
  insert into reading (reading, written, sound)
  select p.reading, p.written, sound_of(p.reading)
  from (select distinct split_part(t, chr(9), 1) as reading, split_part(t, chr(9), 2) as written
        from jsonb_array_elements(p_chunks) c, jsonb_array_elements_text(c->'terms') t
        where strpos(t, chr(9)) > 0) p
  where not exists (select from reading r where r.reading = p.reading and r.written = p.written)
  order by p.reading collate "C", p.written collate "C"
  on conflict do nothing;
end $$;

create function public.chunks_written(r public.reading) returns bigint
language sql stable set search_path = public, extensions as $$
  select coalesce(sum(p.n), 0) from posting p where p.term = r.reading || chr(9) || r.written
$$;

-- Whether two neighbours changed places, and nothing else did.
create function public.is_swapped(p_one text, p_other text) returns boolean
language sql immutable set search_path = public, extensions as $$
  select length(p_one) = length(p_other) and exists (
    select from generate_series(1, length(p_one) - 1) i
    where overlay(p_one placing substr(p_one, i + 1, 1) || substr(p_one, i, 1) from i for 2) = p_other
      and p_one <> p_other)
$$;

create function public.near_words(p_reading text) returns jsonb
language sql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
  with asked as materialized (
    select sound_of(p_reading) as sound, length(sound_of(p_reading)) as width,
           case when length(p_reading) >= 7 then 2 else 1 end as slips
  ),
  around as (
    select r.reading, r.written, r.sound from asked a, reading r
    where left(r.sound, 2) = left(a.sound, 2) and length(r.sound) between a.width - a.slips and a.width + a.slips
    union
    select r.reading, r.written, r.sound from asked a, reading r
    where right(r.sound, 2) = right(a.sound, 2) and length(r.sound) between a.width - a.slips and a.width + a.slips
  ),
  measured as (
    select r.reading, r.written,
           case when is_swapped(r.sound, a.sound) then 1 else greatest(1, r.edits) end as distance
    from (select n.*, levenshtein_less_equal(n.sound, a.sound, 2) as edits from around n, asked a) r, asked a
    where r.edits <= a.slips or r.edits = 2 and is_swapped(r.sound, a.sound)
  )
  select jsonb_agg(m.written order by m.place) from (
    select w.written, row_number() over (order by min(w.distance), max(w.n) desc, w.written) as place
    from (select m.written, m.distance, chunks_written((m.reading, m.written, '')::reading) as n from measured m) w
    where w.n > 0 group by w.written) m
  where m.place <= 5
$$;

-- All that must be known of a question's words, in one round trip (see sakuin.domain.language.question.KnownWords);
-- of synonyms the groups of which a phrase stands in the question.
--
-- Near are readings within one keystroke (from 4 kana on) or two (from 7 on): a kana too many, too few, or another
-- one, two that changed places, and any number of doubled, small or voiced kana together. Looked at are those that
-- begin or end with the same two kana, so that a slip at both ends is not found.
create function public.look_up_words(p_readings text[], p_words jsonb, p_query text) returns jsonb
language plpgsql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  known jsonb;
begin
  select jsonb_build_object(
    'written', (
      select coalesce(jsonb_object_agg(w.reading, w.forms), '{}') from (
        select r.reading, jsonb_agg(r.written order by r.n desc, r.written) as forms from (
          select r.reading, r.written, chunks_written(r) as n,
                 row_number() over (partition by r.reading order by chunks_written(r) desc, r.written) as place
          from reading r where r.reading = any (p_readings)) r
        where r.n > 0 and r.place <= 5 group by r.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, near_words(u.reading) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40
            and not exists (select from posting p where p.term = e.key)
            and not exists (select from reading r where r.reading = e.value and chunks_written(r) > 0)
          order by e.key limit 8) u) w
      where w.forms is not null),
    'synonyms', (
      select coalesce(jsonb_agg(g.value->'phrases'), '[]')
      from site_synonyms s cross join lateral jsonb_array_elements(s.groups) as g(value)
      where exists (select from jsonb_array_elements_text(g.value->'plain') as p(phrase)
                    where strpos(p_query, p.phrase) > 0))
  ) into known;
  return known;
end $$;

revoke all on all tables in schema public from anon, authenticated;
revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
