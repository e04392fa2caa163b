-- Upkeep: unfinished work, limits, and the comparison of records with the bucket and the store. Each section is
-- independent of the others.

-- ---------------------------------------------------------------- unfinished work
-- One row for each page, file or Table in trouble, never one for each message. Work that goes well leaves no row.

-- `subject`: for a `file` its S3 key (a page, learns.yml, synonyms.yml), for a reindexed `material` its name,
--   for a `table` its id, for an `upload` the S3 key of the document, for a `deletion` the id of a deleted Table or
--   project (see delete_portion).
-- `state`: retrying - its queue delivers the message again; waiting - maintenance sends a message at `retry_at`;
--   failed - its message is a dead letter; before `retry_at` the last delivery may still be running.
-- `vendor`: the outside system that failed, if one did. `released`: that vendor has answered since.
-- `attempts`: how often it failed; `waits`: how often it had to wait. Work that a rate limit delays has not failed.
-- `message`: {queue, body, group, sequencer} of the message that continues the work; null if none does. `probe`: what is
--   sent instead until the vendor answers. `sequencer`: of the newest event that did not finish.
-- `sent_at`: when maintenance sent a message for it; null after a result of that message.
create table public.unfinished_work (
  kind text collate "C" not null check (kind in ('file', 'material', 'table', 'upload', 'deletion')),
  subject text collate "C" not null,
  fingerprint text collate "C" not null default '',
  state text not null check (state in ('retrying', 'waiting', 'failed')),
  reason text not null,
  vendor text collate "C",
  message jsonb,
  probe jsonb,
  sequencer text collate "C" not null default '',
  attempts integer not null default 0,
  waits integer not null default 0,
  since timestamptz not null default now(),
  retry_at timestamptz not null,
  released boolean not null default false,
  sent_at timestamptz,
  primary key (kind, subject, fingerprint)
);
create index unfinished_work_due on public.unfinished_work (retry_at) where state <> 'failed';
-- For the list, the oldest first.
create index unfinished_work_since on public.unfinished_work (since, subject, kind, fingerprint);
create index unfinished_work_vendor on public.unfinished_work (vendor) where state = 'waiting';

-- Changes of all rows of a vendor run one at a time: otherwise they could deadlock.
create function public.lock_vendors() returns void
language sql set search_path = public, extensions as $$
  select pg_advisory_xact_lock(hashtext('sakuin.unfinished_work'))
$$;

-- Shows why a Table waits: on its Tools, or on the scan of another version. p_fingerprint null: all versions.
create function public.show_reason(p_table uuid, p_fingerprint text, p_reason text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if p_fingerprint is null or is_live_for_tables(p_fingerprint) then
    perform merge_status(o.id, jsonb_build_object('last_error', p_reason, 'heartbeat_at', now()))
    from tool o
    where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing');
  else
    update table_scan p set heartbeat_at = now(), error = p_reason
    where p.table_id = p_table and p.fingerprint = p_fingerprint;
  end if;
end $$;

-- Records why work did not finish. p_work: {kind, subject, fingerprint, sequencer, message, probe}. p_state
-- 'failed' with p_seconds is recorded before a last delivery: it counts unless the worker records something else.
-- p_state 'waiting' pauses the work for a time that grows with the outage (1 to 15 minutes, half of it random), but for
-- at least p_seconds; with p_vendor null, for exactly p_seconds. p_state 'retrying' with p_longest: nothing has failed,
-- the work has to wait for p_seconds. Returns false, and records nothing, if the work has been unfinished for longer than
-- p_longest seconds.
create function public.record_unfinished(
  p_work jsonb, p_state text, p_reason text, p_vendor text, p_seconds double precision, p_longest double precision
) returns boolean language plpgsql set search_path = public, extensions as $$
declare
  w constant unfinished_work := jsonb_populate_record(null::unfinished_work, p_work);
  began constant timestamptz := coalesce(
    (select u.since from unfinished_work u
     where (u.kind, u.subject, u.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, ''))
       and (u.state <> 'failed' or u.retry_at > now())), now());
  beforehand constant boolean := p_state = 'failed' and p_seconds > 0;
  delayed constant boolean := p_state = 'retrying' and p_longest is not null;
  pause constant double precision := case when p_vendor is null or p_state <> 'waiting' then p_seconds
    else greatest(p_seconds, least(greatest(60, extract(epoch from now() - began) / 2), 900)
                             * (0.5 + random() / 2)) end;
begin
  if began < now() - make_interval(secs => p_longest) then return false; end if;
  -- Locks in one order everywhere: the Table, the vendors, the rows.
  if p_state = 'waiting' and w.kind = 'table' then
    perform from context_table c where c.id = w.subject::uuid for update;
    perform show_reason(w.subject::uuid, nullif(w.fingerprint, ''), p_reason);
  end if;
  if delayed and w.kind = 'table' and is_live_for_tables(w.fingerprint) then
    -- It is alive, and the time that is left grows.
    perform update_tool_status(w.subject::uuid, w.fingerprint);
  end if;
  if p_state = 'waiting' and p_vendor is not null then
    perform lock_vendors();
    update unfinished_work u set released = false where u.state = 'waiting' and u.released and u.vendor = p_vendor;
  end if;
  insert into unfinished_work as u (kind, subject, fingerprint, state, reason, vendor, message, probe, sequencer,
                                    attempts, waits, since, retry_at)
  values (w.kind, w.subject, coalesce(w.fingerprint, ''), p_state, p_reason, p_vendor, w.message, w.probe,
          coalesce(w.sequencer, ''), (not delayed)::integer, (p_state = 'waiting')::integer,
          case when p_state = 'failed' and not beforehand then now() else began end,
          now() + make_interval(secs => pause))
  on conflict (kind, subject, fingerprint) do update set
    state = excluded.state, reason = excluded.reason, vendor = excluded.vendor,
    attempts = u.attempts + (not beforehand and not delayed)::integer,
    -- Several messages of one Table that meet the same outage are one wait.
    waits = u.waits + case when u.state = 'waiting' and u.sent_at is null then 0 else excluded.waits end,
    since = excluded.since, retry_at = excluded.retry_at, released = false,
    sent_at = null,
    -- An older event that fails late does not replace a newer one, and no event replaces a message without a
    -- sequencer: that is about the current state.
    message = case when excluded.sequencer = '' or u.message is null
                     or (u.message->>'sequencer' <> '' and excluded.sequencer >= u.sequencer)
              then excluded.message else u.message end,
    probe = coalesce(excluded.probe, u.probe), sequencer = greatest(u.sequencer, excluded.sequencer)
  -- A Table has several messages. Waiting replaces retrying and failed, failed replaces retrying. A waiting Table is
  -- scanned again, so a failed message matters only if maintenance has sent a message: that may be the failed one.
  where u.kind <> 'table' or excluded.state = 'waiting' or u.state = 'retrying'
    or (u.state = 'waiting' and p_state = 'failed' and u.sent_at is not null)
    or (u.state = 'failed' and (u.retry_at > now() or (p_state = 'failed' and not beforehand)));
  return true;
end $$;

-- Releases what waits for these vendors: maintenance sends it. The caller has locked the vendors.
create function public.release_vendors(p_vendors text[]) returns void
language sql set search_path = public, extensions as $$
  update unfinished_work u set released = true, retry_at = now()
  where u.state = 'waiting' and not u.released and u.vendor = any (p_vendors)
$$;

-- Finishes work. p_work as in record_unfinished; an older event of a file does not finish a newer one, one without a
-- sequencer finishes all. p_answered: its vendor has answered, so everything that waits for this vendor is released. A
-- waiting Table is finished by its next scan; a batch of its chunks only shows that the vendor answers. A failed Table
-- is finished when it is complete (mark_ready_if_complete).
create function public.finish_work(p_work jsonb, p_answered boolean) returns void
language plpgsql set search_path = public, extensions as $$
declare
  w constant unfinished_work := jsonb_populate_record(null::unfinished_work, p_work);
  u unfinished_work;
begin
  select * into u from unfinished_work x
  where (x.kind, x.subject, x.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, ''));
  -- Nearly always there is no row. The vendors are locked before the row.
  if u.kind is null then return; end if;
  if u.vendor is not null then perform lock_vendors(); end if;
  select * into u from unfinished_work x
  where (x.kind, x.subject, x.fingerprint) = (w.kind, w.subject, coalesce(w.fingerprint, '')) for update;
  if u.kind is null or (coalesce(w.sequencer, '') <> '' and w.sequencer < u.sequencer) then return; end if;
  if u.kind <> 'table' or u.state = 'retrying' or (u.state = 'failed' and u.retry_at > now())
     or (u.state = 'waiting' and not p_answered and (u.released or u.vendor is null)) then
    delete from unfinished_work x where (x.kind, x.subject, x.fingerprint) = (u.kind, u.subject, u.fingerprint);
  end if;
  if p_answered and u.vendor is not null and not u.released then
    perform release_vendors(array[u.vendor]);
  end if;
end $$;

-- Finishes all work of a complete Table. If it was the probe of a vendor, the vendor has answered.
create function public.finish_table_work(p_table uuid, p_fingerprint text) returns void
language plpgsql set search_path = public, extensions as $$
declare
  answered text[];
begin
  -- Nearly always there is no row. The vendors are locked before the rows.
  if not exists (select from unfinished_work u where u.kind = 'table' and u.subject = p_table::text
                 and u.fingerprint in ('', p_fingerprint)) then return; end if;
  perform lock_vendors();
  with gone as (
    delete from unfinished_work u
    where u.kind = 'table' and u.subject = p_table::text and u.fingerprint in ('', p_fingerprint) returning u.*
  )
  select array_agg(g.vendor) into answered from gone g
  where g.state = 'waiting' and g.vendor is not null and not g.released and g.sent_at is not null;
  perform release_vendors(answered);
end $$;

-- Claims due work for p_seconds, and returns its messages, oldest first: [{queue, body, group}]. Until a vendor has
-- answered, one row at a time is a probe of it.
create function public.claim_due_work(p_limit integer, p_seconds integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  due jsonb;
begin
  -- SQS keeps a dead letter for 14 days.
  delete from unfinished_work u where u.state = 'failed' and u.retry_at < now() - interval '15 days';
  delete from unfinished_work u
  where u.kind = 'table' and not exists (select from context_table t where t.id = u.subject::uuid);
  with away as materialized (
    select distinct u.vendor from unfinished_work u
    where u.vendor is not null and not u.released and case u.state
      -- A probe is under way, or a failed one waits for its next attempt.
      when 'waiting' then u.sent_at > now() - make_interval(secs => p_seconds) or (u.waits > 1 and u.retry_at > now())
      -- Its queue will deliver a probe again.
      when 'retrying' then u.waits > 0 and u.retry_at > now() - make_interval(secs => p_seconds)
      else false end
  ), probe as materialized (
    select distinct on (u.vendor) u.kind, u.subject, u.fingerprint from unfinished_work u
    where u.state = 'waiting' and u.vendor is not null and not u.released and u.retry_at <= now()
      and u.vendor not in (select a.vendor from away a)
    -- A probe without a result is followed by another one.
    order by u.vendor, u.waits, u.sent_at nulls first, u.since, u.subject
  ), late as (
    select u.kind, u.subject, u.fingerprint from unfinished_work u
    where u.message is not null and case u.state
      when 'waiting' then u.retry_at <= now() and (u.vendor is null or u.released
        or (u.kind, u.subject, u.fingerprint) in (select p.kind, p.subject, p.fingerprint from probe p))
      -- Its queue did not deliver it again and may have lost it.
      when 'retrying' then u.retry_at <= now() - make_interval(secs => p_seconds)
      else false end
    order by u.since, u.subject limit p_limit for update skip locked
  ), claimed as (
    update unfinished_work u set state = 'waiting', sent_at = now(), retry_at = now() + make_interval(secs => p_seconds)
    from late l where (l.kind, l.subject, l.fingerprint) = (u.kind, u.subject, u.fingerprint)
    returning u.*
  )
  select coalesce(jsonb_agg(case when c.vendor is not null and not c.released then coalesce(c.probe, c.message)
                            else c.message end - 'sequencer' order by c.since, c.subject), '[]')
  into due from claimed c;
  return due;
end $$;

-- Whether a message or maintenance will continue a Table in this version. A retry that is long overdue does not count.
create function public.has_unfinished_work(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from unfinished_work u
                 where u.kind = 'table' and u.subject = p_table::text and u.fingerprint in ('', p_fingerprint)
                   and (u.state = 'waiting'
                        or u.state = 'retrying' and u.retry_at > now() - interval '15 minutes'))
$$;

-- Unfinished work, oldest first. p_wanted: {state, subjects, after}, all optional; `after` is the last row of the page
-- before, as {since, subject, kind, fingerprint}.
create function public.unfinished_rows(p_wanted jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.since, x.subject, x.kind, x.fingerprint), '[]') from (
    select u.kind, u.subject, u.fingerprint, u.state, u.reason, u.vendor, u.attempts, u.since, u.message->>'body' as body,
      case when u.state <> 'failed' then u.retry_at end as retry_at
    from unfinished_work u
    where (p_wanted->>'state' is null or u.state = p_wanted->>'state')
      and (p_wanted->'subjects' is null
           or u.subject = any (array(select jsonb_array_elements_text(p_wanted->'subjects'))))
      and (p_wanted->'after' is null
           or (u.since, u.subject, u.kind, u.fingerprint)
              > ((p_wanted->'after'->>'since')::timestamptz, p_wanted->'after'->>'subject',
                 p_wanted->'after'->>'kind', p_wanted->'after'->>'fingerprint'))
    order by u.since, u.subject, u.kind, u.fingerprint limit p_limit) x
$$;

-- The amount of work in each state, and the age of the oldest waiting work, without work that waits for a set time.
create function public.unfinished_counts() returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'retrying', count(*) filter (where u.state = 'retrying'), 'waiting', count(*) filter (where u.state = 'waiting'),
    'failed', count(*) filter (where u.state = 'failed'),
    'oldest_waiting_seconds', coalesce(extract(epoch from now() - min(u.since) filter (
      where u.state = 'waiting' and (u.vendor is not null or u.retry_at < now() - interval '1 hour')))::bigint, 0))
  from unfinished_work u
$$;

-- ---------------------------------------------------------------- messages in flight
-- A row for each message whose work takes longer than some seconds; most messages have none. `until`: the end of its
-- lease. Later its worker is dead, and its queue delivers the message again.
create table public.message_lease (
  message_id text collate "C" primary key,
  queue text collate "C" not null,
  body text not null,
  since timestamptz not null,
  until timestamptz not null
);

-- Records that a worker has had a message for p_worked seconds and keeps it for p_seconds more.
create function public.renew_lease(
  p_message text, p_queue text, p_body text, p_worked double precision, p_seconds double precision
) returns void language sql set search_path = public, extensions as $$
  -- Their messages ended without a worker that could record it.
  delete from message_lease l where l.until < now() - interval '15 minutes';
  insert into message_lease as l (message_id, queue, body, since, until)
  values (p_message, p_queue, p_body, now() - make_interval(secs => p_worked), now() + make_interval(secs => p_seconds))
  on conflict (message_id) do update set until = excluded.until,
    since = case when l.until < now() then excluded.since else l.since end
$$;

-- ---------------------------------------------------------------- deleting in portions
-- A request hides what it deletes, which is one short statement, and records the rest as unfinished work. Maintenance
-- deletes it in portions, each far below the time limit of a statement. What a dead worker leaves, the next run deletes.

-- Records a deleted Table or project, whose rows have to be deleted.
create function public.record_deletion(p_id uuid, p_reason text) returns void
language sql set search_path = public, extensions as $$
  insert into unfinished_work (kind, subject, state, reason, retry_at)
  values ('deletion', p_id, 'waiting', p_reason, now()) on conflict do nothing
$$;

-- Deletes at most p_limit rows x of a table for which p_where is true, and returns how many.
create function public.delete_some(p_table regclass, p_where text, p_limit integer) returns bigint
language plpgsql set search_path = public, extensions set enable_seqscan = off as $$
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
language plpgsql set search_path = public, extensions as $$
declare
  of_table constant text := format('x.table_id = %L', p_table);
  of_version constant text := concat(of_table, ' and x.fingerprint = ' || quote_literal(p_fingerprint));
  n bigint := delete_some('chunks', of_version, p_limit);
begin
  if n = 0 then
    n := delete_some('node', of_version, p_limit) + delete_some('table_reading', of_version, p_limit);
  end if;
  n := n + delete_some('pending_deletion', of_version, p_limit);
  return n + case when p_fingerprint is null then delete_some('table_object', of_table, p_limit) else 0 end;
end $$;

-- Deletes a portion of a deleted Table or project: {rows, left}, `left`: how many Tables and projects are not deleted
-- completely. Null if nothing is left, or other workers have it.
create function public.delete_portion(p_limit integer) returns jsonb
language plpgsql set search_path = public, extensions set enable_seqscan = off as $$
declare
  gone uuid;
  n bigint;
begin
  -- Each in turn: a large one does not keep others waiting.
  select u.subject::uuid into gone from unfinished_work u where u.kind = 'deletion'
  order by u.retry_at, u.subject limit 1 for update skip locked;
  if gone is null then return null; end if;
  n := delete_table_rows(gone, null, p_limit)
    -- Each has up to 20 MB of its own, and becomes a deletion of its own.
    + delete_some('context_table', format('x.project_id = %L', gone), greatest(p_limit / 500, 1))
    + delete_some('chunk_vector', format('x.project_id = %L', gone), p_limit);
  if n = 0 then
    delete from project p where p.id = gone;
    delete from change c where c.owner = gone::text;
    delete from change_feed f where f.owner = gone::text;
    delete from unfinished_work u where u.kind = 'deletion' and u.subject = gone::text;
  else
    update unfinished_work u set retry_at = clock_timestamp() where u.kind = 'deletion' and u.subject = gone::text;
  end if;
  return jsonb_build_object('rows', n, 'left', (select count(*) from unfinished_work u where u.kind = 'deletion'));
end $$;

-- ---------------------------------------------------------------- starting the indexing of Tables

-- Records that the scan of a Table is started, and returns how often that was within a day for its present generation. Null
-- if it was started within the last p_seconds.
create function public.record_table_start(p_table uuid, p_fingerprint text, p_seconds integer) returns integer
language sql set search_path = public, extensions as $$
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
language sql stable set search_path = public, extensions as $$
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
    (select l.id from lacking l where not l.is_under_way and not has_unfinished_work(l.id, p_fingerprint)
     order by l.id limit greatest(p_limit - (select count(*) from lacking u where u.is_under_way), 0))
    union
    select t.id from context_table t
    where t.updated_at < now() - make_interval(secs => p_seconds)
      and not exists (select from tool o where o.table_id = t.id and o.enabled)
      and (exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint)
           or exists (select from pending_deletion r where r.table_id = t.id and r.fingerprint = p_fingerprint))
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id) order by t.id), '[]')
  from still s join context_table t using (id)
  where not has_unfinished_work(t.id, p_fingerprint) and unindexed_tables(t.id, p_fingerprint) = '[]'
$$;

-- ---------------------------------------------------------------- building an index version

-- Claims pages that versions of this text template lack.
create function public.claim_pages_to_build(p_text_template text, p_seconds integer, p_limit integer) returns text[]
language sql set search_path = public, extensions as $$
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
language plpgsql set search_path = public, extensions as $$
declare
  moment constant timestamptz := clock_timestamp();
  this_minute constant timestamptz := date_trunc('minute', moment);
  spent integer;
  granted integer;
begin
  insert into quota_use as u (principal, quota, began, used) values (p_principal, 'searches', this_minute, 0)
  on conflict (principal, quota) do update set
    began = greatest(u.began, excluded.began),
    used = case when u.began < excluded.began then 0 else u.used end
  returning used into spent;
  granted := least(p_wanted, ceil(greatest(p_per_minute - spent, 0) / 4.0)::integer);
  update quota_use set used = used + granted where (principal, quota) = (p_principal, 'searches');
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
language sql set search_path = public, extensions as $$
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
language sql set search_path = public, extensions as $$
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
create function public.feedback_counts(p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.answered + x.unanswered desc, x.chunk_id, x.question), '[]') from (
    select f.chunk_id, f.question, sum(f.answered) as answered, sum(f.unanswered) as unanswered
    from feedback f group by f.chunk_id, f.question
    order by sum(f.answered + f.unanswered) desc, f.chunk_id, f.question limit p_limit) x
$$;

-- The most frequent questions, of these Tools or (null) of everything:
-- [{tool_id, question, asked, weak, unanswered, first_day, last_day}]. `unanswered`: agents said that a result did not
-- answer; of such a question the search itself may have refused nothing.
create function public.refused_questions(p_tools uuid[], p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
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
-- one shard, so that few wait for the same row. Tokens have one row: what indexing embedded (tokens:embedding), and what
-- the language model that writes learns read and wrote (tokens:learns).
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
create function public.add_daily_counts(p_shard integer, p_counts jsonb) returns void
language sql set search_path = public, extensions as $$
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
create function public.add_tokens(p_kind text, p_tokens bigint) returns bigint
language sql set search_path = public, extensions as $$
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
create function public.daily_counts(p_days integer, p_callers integer) returns jsonb
language sql stable set search_path = public, extensions as $$
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
create function public.delete_old_days(p_days integer, p_question_days integer) returns bigint
language sql set search_path = public, extensions as $$
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

-- ---------------------------------------------------------------- counts of projects

-- {projects, tables, tools: {state: count}, errors: [{tool_id, name, project_id, table_id, last_error}]}, `errors` the
-- first p_errors of Tools in an error.
create function public.project_counts(p_errors integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with tools as materialized (
    select o.id, o.name, o.project_id, o.table_id, coalesce(o.metadata->'search_index'->>'state', 'pending') as state,
           o.metadata->'search_index'->>'last_error' as last_error
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

-- ---------------------------------------------------------------- reconciliation: runs
-- All kinds of comparisons run in pages, one worker at a time.

-- One row: the last run, or the present one. `claimed_until`: a worker has claimed it. `under_way`: the run has not
-- ended. `found`: the number of its differences, `differences` the first 500 of them, `failed` the reasons of parts that
-- failed last. They stay until the next run.
create table public.reconciliation_run (
  single boolean primary key default true check (single),
  after text,
  under_way boolean not null default false,
  claimed_until timestamptz,
  began_at timestamptz,
  ended_at timestamptz,
  found integer not null default 0,
  differences jsonb not null default '[]',
  failed jsonb not null default '[]'
);

-- Claims the run for p_seconds: {after}. Null while another worker has it, and if none is under way, unless p_begin.
create function public.claim_reconciliation(p_seconds integer, p_begin boolean) returns jsonb
language sql set search_path = public, extensions as $$
  insert into reconciliation_run (single) select true where p_begin on conflict do nothing;
  update reconciliation_run r set
    claimed_until = now() + make_interval(secs => p_seconds), after = case when r.under_way then r.after end,
    began_at = case when r.under_way then r.began_at else now() end,
    ended_at = null,
    found = case when r.under_way then r.found else 0 end,
    differences = case when r.under_way then r.differences else '[]' end,
    failed = case when r.under_way then r.failed else '[]' end,
    under_way = true
  where coalesce(r.claimed_until, '-infinity') < now() and (r.under_way or p_begin)
  returning jsonb_build_object('after', r.after)
$$;

-- Releases the run with what its worker found: p_differences is [{rule, where, message, repair}], p_failed [reason].
-- p_after null: it has come to its end.
create function public.release_reconciliation(p_after text, p_differences jsonb, p_failed jsonb) returns void
language sql set search_path = public, extensions as $$
  update reconciliation_run r set
    after = p_after, claimed_until = null, under_way = p_after is not null,
    ended_at = case when p_after is null then now() end,
    found = r.found + jsonb_array_length(p_differences),
    differences = coalesce((select jsonb_agg(d.value order by d.n)
                            from jsonb_array_elements(r.differences || p_differences) with ordinality d(value, n)
                            where d.n <= 500), '[]'),
    failed = p_failed
  where r.single
$$;

-- ---------------------------------------------------------------- reconciliation: the bucket

-- The records of the keys after p_after, in the order of the bucket's list. `young`: changed in the last p_settling
-- seconds. `free`: the material of a waiting key has no owner; or a file was read by another analyzer, or a page that it
-- names was not written with it, and no work on the page is recorded.
create function public.recorded_objects(
  p_after text, p_limit integer, p_analyzer text, p_settling double precision
) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'kind', x.kind, 'version_id', x.version_id,
    'gone', x.gone, 'free', x.free, 'young', x.at > now() - make_interval(secs => p_settling)) order by x.key), '[]')
  from (
    select y.* from (
    (select m.key, 'owner' as kind, m.version_id, m.status = 'deleted' as gone, false as free,
            m.updated_at as at
     from material m
     where m.key > p_after order by m.key limit p_limit)
    union all
    (select w.key, 'waiting', w.version_id, w.deleted, m.status = 'deleted', w.since
     from competing_key w join material m using (material)
     where w.key > p_after order by w.key limit p_limit)
    union all
    (select f.key, 'file', f.version_id, f.version_id is null,
            exists (select from site_synonyms s where s.key = f.key and s.analyzer <> p_analyzer)
              -- A request was lost. The page's newest version must be searchable, since an older one may be gone.
              or f.names is not null and exists (
                select from unnest(materials_named_in(f.key, f.version_id, f.folder, f.names)) named
                join material m on m.material = named
                where m.status = 'ready' and m.learns_files ? f.key and not exists (
                  select from unfinished_work u where (u.kind, u.subject) in (('material', m.material), ('file', m.key)))),
            f.applied_at
     from authored_file f where f.key > p_after order by f.key limit p_limit)
    ) y order by y.key limit p_limit) x
$$;

-- ---------------------------------------------------------------- reconciliation: pages

-- Of p_limit materials after p_after, those with faulty chunks, words or postings: {broken: [{material, why}], next}.
create function public.broken_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
  with page as materialized (
    select m.* from material m where m.material > p_after order by m.material limit p_limit
  ), checked as (
    select p.material, case
      when p.status = 'deleted' and c.n > 0 then 'chunks of a deleted page'
      when p.chunks_count <> c.n then 'a wrong number of chunks'
      when exists (select from knowledge_chunks k where k.material = p.material
                   and not exists (select from chunk_words w where w.id = k.id and w.is_current))
        or exists (select from chunk_words w where w.material = p.material and w.is_current
                   and not exists (select from knowledge_chunks k where k.id = w.id)) then 'chunks without words'
      when exists (select from knowledge_chunks k join embedded_text t using (id)
                   where k.material = p.material and starts_with(t.space, 'turbopuffer-')
                     and not exists (select from stored_row r where (r.id, r.space) = (t.id, t.space))) then 'chunks without rows'
      when exists (
        select from chunk_words w cross join lateral unnest(w.terms) as t(term)
        where w.material = p.material and not exists (
          select from posting o
          where o.term = t.term and o.block = posting_block(p.number) and w.number = any (o.chunks)))
        then 'words without postings' end as why
    from page p cross join lateral (select count(*) as n from knowledge_chunks k where k.material = p.material) c
  )
  select jsonb_build_object(
    'broken', (select coalesce(jsonb_agg(
                 jsonb_build_object('material', j.material, 'why', j.why) order by j.material), '[]')
               from checked j where j.why is not null),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- The current rows in turbopuffer of the same materials: {space: [row_id]}.
create function public.current_rows(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions set enable_seqscan = off as $$
  select coalesce(jsonb_object_agg(s.space, s.rows), '{}') from (
    select r.space, jsonb_agg(r.row_id) as rows
    from (select m.material from material m where m.material > p_after order by m.material limit p_limit) p
    join knowledge_chunks k using (material) join stored_row r using (id) group by r.space) s
$$;

-- Rewrites the postings of a material from its words, and deletes the chunks of a deleted page. Other faults are
-- repaired by applying the page again.
create function public.repair_material(p_material text) returns void
language plpgsql set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  r material;
  here integer;
  words integer[];
begin
  select * into r from material m where m.material = p_material for update;
  here := posting_block(r.number);
  -- Removes numbers without words from the postings.
  perform pg_advisory_xact_lock(hashtext('sakuin.posting'), here);
  update posting p set chunks = kept.chunks, impacts = kept.impacts
  from posting o cross join lateral (
    select coalesce(array_agg(u.chunk), '{}') as chunks, coalesce(array_agg(u.impact), '{}') as impacts
    from unnest(o.chunks, o.impacts) as u(chunk, impact)
    where exists (select from chunk_words w where w.number = u.chunk)) kept
  where o.block = here and p.term = o.term and p.block = o.block and cardinality(kept.chunks) < o.n;
  delete from posting p where p.block = here and p.n = 0;

  if r.status = 'deleted' then
    perform replace_chunks(p_material, '[]', r.fingerprint, r.generation);
    update material m set chunks_count = 0 where m.material = p_material;
  else
    words := array(select w.number from chunk_words w where w.material = p_material);
    perform change_postings(here, words, words);
  end if;
end $$;

-- Deletes (or with p_dry_run, counts) readings without chunks, of p_limit after p_after (a reading, a tab, its
-- spelling): {unused, next}.
create function public.delete_unused_readings(p_after text, p_limit integer, p_dry_run boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  page reading[];
  unused reading[];
begin
  if not p_dry_run then
    -- A writer that adds such words again inserts into this table last. It waits now, and then sees the deletion.
    lock table reading in share row exclusive mode;
  end if;
  select array_agg(x order by x.reading, x.written) into page from (
    select r.* from reading r
    where (r.reading, r.written) > (split_part(p_after, chr(9), 1), split_part(p_after, chr(9), 2))
    order by r.reading, r.written fetch first p_limit rows with ties) x;
  select coalesce(array_agg(r), '{}') into unused from unnest(page) r
  where not exists (select from posting p where p.term = r.term and p.n > 0);
  if not p_dry_run then
    delete from reading r using unnest(unused) u where (r.reading, r.written, r.term) = (u.reading, u.written, u.term);
  end if;
  return jsonb_build_object('unused', cardinality(unused), 'next', case when cardinality(page) >= p_limit
    then page[cardinality(page)].reading || chr(9) || page[cardinality(page)].written end);
end $$;

-- Deletes answers and vectors of texts that nothing has had for p_seconds, at most p_limit of each kind, and returns how
-- many rows changed. What is used counts as used today, at most once in half that time; so an answer, or a vector of a
-- Table, goes after one and a half times as long at the latest, and a vector of a deleted index version after half as long.
-- A row that changes meanwhile has another ctid, and is left alone.
create function public.delete_unused_texts(p_seconds integer, p_limit integer) returns bigint
language sql set search_path = public, extensions set enable_seqscan = off as $$
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
      cross join lateral (select not exists (select from index_version i where i.live)
        or exists (select from index_version i where i.table_space = v.space) as is_wanted) w) x
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

-- The records of these Tables. `settled`: complete. `unbuilt`: a Tool is ready, but its status does not fit the rows.
create function public.table_claims(p_fingerprint text, p_tables uuid[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id,
    'settled', x.settled, 'unbuilt', x.ready and not x.scanned or x.settled and x.untrue) order by t.id), '[]')
  from context_table t cross join lateral (
    select
      is_table_complete(t.id, p_fingerprint) as settled,
      exists (select from table_scan s where s.table_id = t.id and s.fingerprint = p_fingerprint
              and s.generation = t.generation) as scanned,
      (select bool_and(o.metadata->'search_index'->>'state' is not distinct from 'ready') from tool o
       where o.table_id = t.id and o.enabled) as ready,
      exists (
        select from tool o where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready'
          and bigint_or_null(o.metadata->'search_index'->>'chunks_count') is distinct from (
            select coalesce(sum(n.wanted_chunks), 0) from node n
            where n.table_id = t.id and n.fingerprint = p_fingerprint and is_within(n.json_pointer, o.json_path)))
        or exists (
        select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint and n.wanted_chunks <> (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash)) as untrue
  ) x
  where t.id = any (p_tables)
$$;

-- p_limit chunks of a Table after p_after ([pointer_hash, content_hash, chunk_index], null: from the beginning):
-- {generation, planned, stored: {doc_id: id}, coming: [doc_id], next}; null if the Table is deleted. `planned`: the
-- generation is scanned. `coming`: chunks that are not stored yet, by their future doc id (sakuin.tables.index_names).
create function public.recorded_rows(p_table uuid, p_fingerprint text, p_after jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
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
    'stored', (select coalesce(jsonb_object_agg(x.doc_id, x.id) filter (where x.stored), '{}') from page x),
    'coming', (select coalesce(jsonb_agg(x.doc_id) filter (where not x.stored), '[]') from page x),
    'next', (select jsonb_build_array(x.pointer_hash, x.content_hash, x.chunk_index) from page x
             order by x.pointer_hash, x.content_hash, x.chunk_index offset p_limit - 1))
  from context_table t where t.id = p_table
$$;

-- Continues from the generation of the store's rows: the records come from an older backup.
create function public.raise_generation(p_table uuid, p_generation bigint) returns void
language plpgsql set search_path = public, extensions as $$
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

create function public.track_uploads() returns trigger
language plpgsql security definer set search_path = public, extensions, pg_temp as $$
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
language sql stable set search_path = public, extensions as $$
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
language sql set search_path = public, extensions as $$
  update orphaned_upload l set since = now() where l.folder = p_folder and p_again;
  delete from orphaned_upload l where l.folder = p_folder and not p_again
    and not exists (select from context_table t where t.id = l.table_id and t.data_key is distinct from p_keep)
$$;

-- ---------------------------------------------------------------- sakuin doctor

-- The versions of the applied migrations, as the Supabase CLI records them. Only the owner may read that record.
create function public.applied_migrations() returns text[]
language plpgsql stable security definer set search_path = public, extensions, pg_temp as $$
begin
  return array(select m.version from supabase_migrations.schema_migrations m order by m.version);
exception when undefined_table or invalid_schema_name then
  return '{}';
end $$;

-- What code relies on, as one hash: columns, constraints, indexes, triggers, policies, views, and functions with their
-- text, owner, settings and callers. The same on each version of Postgres. Two databases with the same hash have the
-- same schema, however they came to it; that of the database which the functions were built for is in their code.
create function public.schema_digest() returns text
language sql stable set search_path = pg_catalog as $$
  with ours as (
    select c.oid, c.relname, c.relkind from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
  )
  select md5(string_agg(x.line, E'\n' order by x.line collate "C")) from (
    select concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                     a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)) as line
    from ours c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    union all
    -- Postgres 18 records NOT NULL as a constraint, too.
    select concat_ws(' ', 'constraint', c.relname, k.conname, pg_get_constraintdef(k.oid))
    from ours c join pg_constraint k on k.conrelid = c.oid and k.contype <> 'n'
    union all
    select pg_get_indexdef(i.indexrelid) from ours c join pg_index i on i.indrelid = c.oid
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
                     p.provolatile, p.proowner::regrole, p.prosecdef, p.proconfig, md5(p.prosrc),
                     has_function_privilege('service_role', p.oid, 'execute'),
                     has_function_privilege('sakuin_search', p.oid, 'execute'))
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')) x
$$;

-- {migrations: the applied ones, digest}
create function public.schema_state() returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object('migrations', applied_migrations(), 'digest', schema_digest())
$$;

create function public.database_bytes() returns bigint
language sql stable set search_path = public, extensions as $$
  select pg_database_size(current_database())
$$;

-- The learns.yml and synonyms.yml whose current version cannot be read: [{key, reason}].
create function public.broken_files() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', f.key, 'reason', r.reason) order by f.key), '[]')
  from authored_file f join upload_result r on (r.key, r.version_id) = (f.key, f.version_id) and r.outcome = 'failed'
$$;

-- What `sakuin doctor` checks in the database, from the catalog alone: it answers without a right to any table.
--   missing: tables, views and functions that the caller may not use; open: tables that a user's token could read or
--   write past the API; vectors: type by column; extensions: schema and version by name; bytes: of the database
create function public.database_state() returns jsonb
language sql stable set search_path = public, extensions as $$
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
