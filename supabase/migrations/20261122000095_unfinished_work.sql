-- Work that did not finish: one row for each page, file or Table in trouble, never one for each message.
-- Work that goes well leaves no row.

drop function public.work_begun(jsonb, integer);
drop function public.work_beats(text[], integer);
drop function public.work_ended(jsonb);
drop function public.work_due(integer, integer);
drop function public.work_sent(text[], integer);
drop function public.work_buried(text, text);
drop function public.work_rows(jsonb, integer);
drop function public.work_counts();
drop function public.work_on_pages(text[]);
drop table public.work;

-- `subject`: of a `file` its S3 key (a page, learns.yml, synonyms.yml), of a `material` that is indexed again its name,
--   of a `table` its id, of an `upload` the S3 key of the document.
-- `state`: retrying - its queue delivers the message again; waiting - maintenance sends a message at `retry_at`;
--   failed - its message is a dead letter.
-- `vendor`: the outside system to blame, if one is. `released`: that vendor has answered since.
-- `attempts`: how often it failed; `waits`: how often it had to wait.
-- `version_id`, `sequencer`, `removed`: the newest event of a file that did not finish.
-- `sent_at`: when maintenance sent a message for it; null once something came of that.
create table public.unfinished_work (
  kind text not null check (kind in ('file', 'material', 'table', 'upload')),
  subject text collate "C" not null,
  fingerprint text collate "C" not null default '',
  state text not null check (state in ('retrying', 'waiting', 'failed')),
  reason text not null,
  vendor text,
  version_id text,
  sequencer text collate "C" not null default '',
  removed boolean not null default false,
  attempts integer not null default 0,
  waits integer not null default 0,
  since timestamptz not null default now(),
  retry_at timestamptz not null,
  released boolean not null default false,
  sent_at timestamptz,
  primary key (kind, subject, fingerprint)
);
create index unfinished_work_due on public.unfinished_work (retry_at) where state <> 'failed';
create index unfinished_work_vendor on public.unfinished_work (vendor) where state = 'waiting';
alter table public.unfinished_work enable row level security;
revoke all on public.unfinished_work from anon, authenticated;

-- Changes of all rows of one vendor take turns: two at a time would wait for each other's rows.
create function public.lock_vendors() returns void
language sql set search_path = public, extensions as $$
  select pg_advisory_xact_lock(hashtext('sakuin.unfinished_work'))
$$;

-- Records why work did not finish. p_work: {kind, subject, fingerprint, version_id, sequencer, removed}.
-- p_state 'waiting' pauses the work for a time that grows with the outage (1 to 15 minutes, half of it chance), but not
-- for less than p_seconds; with p_vendor null, for exactly p_seconds. False, and nothing is recorded, if it has been in
-- trouble for longer than p_longest seconds.
create function public.record_unfinished(
  p_work jsonb, p_state text, p_reason text, p_vendor text, p_seconds double precision, p_longest double precision
) returns boolean language plpgsql set search_path = public, extensions as $$
declare
  w constant unfinished_work := jsonb_populate_record(null::unfinished_work, p_work);
  began constant timestamptz := coalesce(
    (select u.since from unfinished_work u
     where (u.kind, u.subject, u.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, '')) and u.state <> 'failed'), now());
  pause constant double precision := case when p_vendor is null or p_state <> 'waiting' then p_seconds else greatest(p_seconds,
    least(greatest(60, extract(epoch from now() - began) / 2), 900) * (0.5 + random() / 2)) end;
begin
  if began < now() - make_interval(secs => p_longest) then return false; end if;
  -- Locks in one order everywhere: the Table, the vendors, the rows.
  if p_state = 'waiting' and w.kind = 'table' then
    perform from context_table c where c.id = w.subject::uuid for update;
    perform note_work(w.subject::uuid, nullif(w.fingerprint, ''), jsonb_build_object('last_error', p_reason));
  end if;
  if p_state = 'waiting' and p_vendor is not null then
    perform lock_vendors();
    update unfinished_work u set released = false where u.state = 'waiting' and u.released and u.vendor = p_vendor;
  end if;
  insert into unfinished_work as u (kind, subject, fingerprint, state, reason, vendor, version_id, sequencer, removed,
                                    attempts, waits, since, retry_at)
  values (w.kind, w.subject, coalesce(w.fingerprint, ''), p_state, p_reason, p_vendor, w.version_id,
          coalesce(w.sequencer, ''), coalesce(w.removed, false), 1, (p_state = 'waiting')::integer,
          case p_state when 'failed' then now() else began end, now() + make_interval(secs => pause))
  on conflict (kind, subject, fingerprint) do update set
    state = excluded.state, reason = excluded.reason, vendor = excluded.vendor, attempts = u.attempts + 1,
    waits = u.waits + excluded.waits, since = excluded.since, retry_at = excluded.retry_at, released = false,
    sent_at = null,
    -- An older event that fails late does not hide a newer one.
    (version_id, sequencer, removed) = (
      select n.version_id, n.sequencer, n.removed
      from (values (excluded.version_id, excluded.sequencer, excluded.removed, 1),
                   (u.version_id, u.sequencer, u.removed, 2)) n(version_id, sequencer, removed, place)
      order by n.sequencer desc, n.place limit 1)
  -- A Table that waits has more messages than the one that is retried.
  where not (u.kind = 'table' and u.state = 'waiting' and excluded.state = 'retrying');
  return true;
end $$;

-- Work has finished. p_work as in record_unfinished; an older event of a file does not finish a newer one, one without a
-- sequencer finishes all. p_answered: the vendor that it waited for has answered, so everything else that waits for this
-- vendor is released.
-- A Table that waits is finished by the scan that follows; a batch of its chunks only shows that the vendor answers.
create function public.finish_work(p_work jsonb, p_answered boolean) returns void
language plpgsql set search_path = public, extensions as $$
declare
  w constant unfinished_work := jsonb_populate_record(null::unfinished_work, p_work);
  u unfinished_work;
begin
  select * into u from unfinished_work x
  where (x.kind, x.subject, x.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, ''));
  -- Almost always there is none. The lock comes before the row's.
  if u.kind is null then return; end if;
  if u.vendor is not null then perform lock_vendors(); end if;
  select * into u from unfinished_work x
  where (x.kind, x.subject, x.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, '')) for update;
  if u.kind is null or (coalesce(w.sequencer, '') <> '' and w.sequencer < u.sequencer) then return; end if;
  if u.kind <> 'table' or u.state <> 'waiting' or (not p_answered and (u.released or u.vendor is null)) then
    delete from unfinished_work x where (x.kind, x.subject, x.fingerprint) = (u.kind, u.subject, u.fingerprint);
  end if;
  if p_answered and u.vendor is not null and not u.released then
    update unfinished_work x set released = true, retry_at = now()
    where x.state = 'waiting' and not x.released and x.vendor = u.vendor;
  end if;
end $$;

-- Claims what is due, longest in trouble first, as [{kind, subject, fingerprint, version_id, sequencer, removed,
-- project_id, chunks}]: nobody else gets it for p_seconds. While a vendor has not answered since, one row of it goes at
-- a time, as a probe: of a Table one batch of chunks (`chunks`, at most p_batch; empty where it has to be scanned).
create function public.due_work(p_limit integer, p_seconds integer, p_batch integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  due jsonb;
begin
  -- SQS keeps a dead letter for 14 days.
  delete from unfinished_work u where u.state = 'failed' and u.since < now() - interval '15 days';
  delete from unfinished_work u
  where u.kind = 'table' and not exists (select from context_table t where t.id = u.subject::uuid);
  with away as materialized (
    select distinct u.vendor from unfinished_work u
    where u.state = 'waiting' and u.vendor is not null and not u.released
      -- A probe is under way, or one that failed waits for its next turn.
      and (u.sent_at > now() - make_interval(secs => p_seconds) or (u.waits > 1 and u.retry_at > now()))
  ), probe as materialized (
    select distinct on (u.vendor) u.kind, u.subject, u.fingerprint from unfinished_work u
    where u.state = 'waiting' and u.vendor is not null and not u.released and u.retry_at <= now()
      and u.vendor not in (select a.vendor from away a)
    order by u.vendor, u.waits, u.since, u.subject
  ), late as (
    select u.kind, u.subject, u.fingerprint from unfinished_work u
    where case u.state
      when 'waiting' then u.retry_at <= now() and (u.vendor is null or u.released
        or (u.kind, u.subject, u.fingerprint) in (select p.kind, p.subject, p.fingerprint from probe p))
      -- Its queue did not deliver it again, so perhaps it has lost it.
      when 'retrying' then u.retry_at <= now() - make_interval(secs => p_seconds)
      else false end
    order by u.since, u.subject limit p_limit for update skip locked
  ), claimed as (
    update unfinished_work u set state = 'waiting', sent_at = now(), retry_at = now() + make_interval(secs => p_seconds)
    from late l where (l.kind, l.subject, l.fingerprint) = (u.kind, u.subject, u.fingerprint)
    returning u.*
  )
  select coalesce(jsonb_agg(jsonb_build_object(
      'kind', c.kind, 'subject', c.subject, 'fingerprint', c.fingerprint, 'version_id', c.version_id,
      'sequencer', c.sequencer, 'removed', c.removed,
      'project_id', (select t.project_id from context_table t where c.kind = 'table' and t.id = c.subject::uuid),
      'chunks', case when c.kind = 'table' and c.vendor is not null and not c.released
        then first_unstored(c.subject::uuid, c.fingerprint, p_batch) else '[]' end)
    order by c.since, c.subject), '[]')
  into due from claimed c;
  return due;
end $$;

-- The ids of some chunks of a Table that are wanted and not stored.
create function public.first_unstored(p_table uuid, p_fingerprint text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(x.id), '[]') from (
    select c.id from chunks c
    join node n on n.table_id = c.table_id and n.fingerprint = c.fingerprint and n.pointer_hash = c.pointer_hash
      and n.wanted_hash = c.content_hash
    where c.table_id = p_table and c.fingerprint = p_fingerprint and c.indexed_at is null limit p_limit) x
$$;

-- Whether a message or maintenance will go on with a Table in this index. A retry that is long overdue does not count.
create or replace function public.has_work(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from unfinished_work u
                 where u.kind = 'table' and u.subject = p_table::text and u.state <> 'failed'
                   and u.fingerprint in ('', p_fingerprint) and u.retry_at > now() - interval '15 minutes')
$$;

-- Unfinished work, longest in trouble first. p_wanted: {state, subjects}, each may be missing.
create function public.unfinished_rows(p_wanted jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.since, x.subject), '[]') from (
    select u.kind, u.subject, u.fingerprint, u.state, u.reason, u.vendor, u.version_id, u.removed, u.attempts, u.since,
      case when u.state <> 'failed' then u.retry_at end as retry_at
    from unfinished_work u
    where (p_wanted->>'state' is null or u.state = p_wanted->>'state')
      and (p_wanted->'subjects' is null
           or u.subject = any (array(select jsonb_array_elements_text(p_wanted->'subjects'))))
    order by u.since, u.subject limit p_limit) x
$$;

-- How much work is in each state, and for how many seconds the oldest has waited that does not just wait for tomorrow.
create function public.unfinished_counts() returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'retrying', count(*) filter (where u.state = 'retrying'), 'waiting', count(*) filter (where u.state = 'waiting'),
    'failed', count(*) filter (where u.state = 'failed'),
    'oldest_waiting_seconds', coalesce(extract(epoch from now() - min(u.since) filter (
      where u.state = 'waiting' and (u.vendor is not null or u.retry_at < now() - interval '1 hour')))::bigint, 0))
  from unfinished_work u
$$;

-- What became of an uploaded version; the version has finished.
create or replace function public.write_receipt(p_source jsonb, p_outcome text, p_reason text) returns void
language sql set search_path = public, extensions as $$
  delete from receipt where at < now() - interval '30 days';
  insert into receipt as r (key, version_id, outcome, reason)
  select p_source->>'key', p_source->>'version_id', p_outcome, p_reason
  where p_source->>'version_id' is not null
  on conflict (key, version_id) do update set outcome = excluded.outcome, reason = excluded.reason, at = now();
  select finish_work(jsonb_build_object('kind', 'file', 'subject', p_source->>'key', 'fingerprint', '',
                                        'sequencer', p_source->>'sequencer'), p_outcome = 'applied')
$$;

-- Whether work on a page is retried or waits.
create function public.is_unfinished(p_material text, p_key text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from unfinished_work u where u.kind = 'file' and u.subject = p_key and u.state <> 'failed')
    or exists (select from unfinished_work u where u.kind = 'material' and u.subject = p_material and u.state <> 'failed')
$$;

-- Of p_limit materials after p_after those whose learns wait for a language model, and that nobody works on:
-- {materials, next}.
create or replace function public.provisional_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with page as materialized (
    select m.material, m.key from material m where m.material > p_after order by m.material limit p_limit
  )
  select jsonb_build_object(
    'materials', (select coalesce(jsonb_agg(p.material order by p.material), '[]') from page p
      where exists (select from knowledge_chunks k where k.material = p.material and k.learns_source = 'provisional')
        and not is_unfinished(p.material, p.key)),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- Pages that indexes of this recipe are not whole for, noted as asked for.
create or replace function public.pages_to_build(p_recipe text, p_seconds integer, p_limit integer) returns text[]
language sql set search_path = public, extensions as $$
  with unbuilt as materialized (
    select distinct m.material
    from search_index s join index_fingerprint f on f.fingerprint = s.knowledge
    cross join lateral unnest(materials_built_otherwise(s.knowledge)) as b(material)
    join material m on m.material = b.material
    left join material_asked a on a.material = m.material
    where f.recipe = p_recipe
      -- What was asked for before an index was there was asked for another.
      and coalesce(a.asked_at, '-infinity') < greatest(now() - make_interval(secs => p_seconds), s.created_at)
      and not is_unfinished(m.material, m.key)
    order by 1 limit p_limit
  ), noted as (
    insert into material_asked (material, asked_at) select u.material, now() from unbuilt u
    on conflict (material) do update set asked_at = now()
  )
  select coalesce(array_agg(u.material order by u.material), '{}') from unbuilt u
$$;

-- What failed for good stays so until all of it is there: another batch of the same Table may still come.
create or replace function public.settle_index(p_table uuid, p_fingerprint text) returns boolean
language plpgsql set search_path = public, extensions as $$
declare
  done boolean;
begin
  if not exists (select from context_table t where t.id = p_table) then return false; end if;
  done := case when tables_answer(p_fingerprint) then settle_table(p_table, p_fingerprint)
               else table_whole(p_table, p_fingerprint) end;
  if done then
    delete from unfinished_work u
    where u.kind = 'table' and u.subject = p_table::text and u.fingerprint in ('', p_fingerprint);
  end if;
  update table_plan p set heartbeat_at = now(), error = case when not done then p.error end,
    failed_generation = case when not done then p.failed_generation end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    -- Every batch of a Table comes here.
    and (p.heartbeat_at < now() - interval '2 seconds' or done and p.error is not null);
  return done;
end $$;

revoke execute on function public.lock_vendors(), public.record_unfinished(jsonb, text, text, text, double precision, double precision),
  public.finish_work(jsonb, boolean), public.due_work(integer, integer, integer), public.first_unstored(uuid, text, integer),
  public.unfinished_rows(jsonb, integer), public.unfinished_counts(), public.is_unfinished(text, text)
  from public, anon, authenticated;
grant execute on all functions in schema public to service_role;

drop function public.read_circuit(text);
drop function public.open_circuit(text, integer, bigint);
drop function public.claim_probe(text, text, bigint, bigint, bigint);
drop function public.end_probe(text, bigint);
drop table public.circuit;

drop function public.tables_in_turn(uuid, boolean, integer);
drop function public.stored_rows(uuid, text);
drop function public.tables_checked(uuid[]);
drop function public.doubt_table(uuid);
alter table public.context_table drop column checked_at;
