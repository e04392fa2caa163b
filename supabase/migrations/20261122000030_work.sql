-- Rows of work: which messages are in hand, which wait and until when, which are dead and why.

-- A row a message, from the moment a worker takes it until it is done; a message that is sent again keeps its row.
-- `until`: unless something is heard of it before, `maintain` sends the body to its queue again.
--   in_hand: a worker has it, and moves `heartbeat_at` and `until` while it lives
--   waiting: it is in its queue: it failed and comes back, or was sent again
--   parked:  it is in no queue; `reason` says why, `vendor` for whom it waits (null: for the next day)
--   dead:    it is among the dead letters; kept as long as SQS keeps those
create table public.work (
  id text primary key,
  queue text not null check (queue in ('material', 'tool', 'embed')),
  body text not null,
  correlation_id text not null default '',
  -- The material, or the Table by its id; null where nobody can read the message.
  subject text collate "C",
  -- The index over Tables that it is for; null: all.
  fingerprint text,
  -- The S3 object's version that the message speaks of.
  source jsonb,
  state text not null check (state in ('in_hand', 'waiting', 'parked', 'dead')),
  attempt integer not null,
  parks integer not null default 0,
  -- Parked for a vendor that has answered since.
  released boolean not null default false,
  vendor text,
  reason text,
  since timestamptz,
  sent_at timestamptz not null,
  taken_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  until timestamptz not null
);
create index work_until on public.work (until) where state <> 'dead';
create index work_subject on public.work (subject);
create index work_vendor on public.work (vendor) where vendor is not null;

-- How often a Table that stood still was started again in an index, in its present generation.
create table public.table_restart (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text not null,
  generation bigint not null,
  restarts integer not null,
  at timestamptz not null default now(),
  primary key (table_id, fingerprint)
);

alter table public.work enable row level security;
alter table public.table_restart enable row level security;
revoke all on public.work, public.table_restart from anon, authenticated;

-- ---------------------------------------------------------------- what platforms may write
-- They write `metadata` themselves. What is no time, no number, no object there is as if it were missing: one such row
-- must not cost the others theirs.

create function public.moment_of(p_text text) returns timestamptz
language plpgsql stable set search_path = public, extensions as $$
begin
  return p_text::timestamptz;
exception when data_exception then
  return null;
end $$;

create function public.number_of(p_text text) returns bigint
language sql immutable set search_path = public, extensions as $$
  select case when p_text ~ '^[0-9]{1,18}$' then p_text::bigint end
$$;

create function public.object_of(p_value jsonb) returns jsonb
language sql immutable set search_path = public, extensions as $$
  select case when jsonb_typeof(p_value) = 'object' then p_value else '{}' end
$$;

create or replace function public.merge_status(p_tool uuid, p_status jsonb) returns void
language sql set search_path = public, extensions as $$
  update tool set metadata = object_of(metadata)
    || jsonb_build_object('search_index', object_of(metadata->'search_index') || p_status)
  where id = p_tool
$$;

create or replace function public.table_changed(p_table uuid, p_event text, p_tool uuid) returns void
language plpgsql set search_path = public, extensions as $$
declare
  t context_table;
begin
  update context_table c set generation = c.generation + 1, updated_at = now() where c.id = p_table returning * into t;
  perform merge_status(o.id, jsonb_build_object(
    'state', 'pending', 'generation', t.generation, 'configured_at', now(), 'attempt', 0))
  from tool o where o.table_id = p_table and o.enabled;
  insert into outbox (event, project_id, table_id, tool_id) values (p_event, t.project_id, t.id, p_tool);
end $$;

create or replace function public.indexing_started(p_table uuid, p_generation bigint) returns boolean
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return false; end if;
  perform merge_status(o.id, jsonb_build_object(
    'state', 'indexing', 'started_at', now(), 'heartbeat_at', now(), 'generation', p_generation,
    'attempt', coalesce(number_of(o.metadata->'search_index'->>'attempt'), 0) + 1))
  from tool o where o.table_id = p_table and o.enabled;
  return true;
end $$;

-- ---------------------------------------------------------------- a worker takes, holds and lets go

-- p_taken: [{id, queue, body, correlation_id, subject, fingerprint, source, tries, sent_at}], `sent_at` in seconds since
-- 1970.
-- Gives {id: {attempt, parks, dead, waited}}. `dead`: the message is older than its own death, which the dead letters hold
-- already; one that was sent later was redriven, and begins anew. (Half a minute for clocks that differ.)
create function public.work_begun(p_taken jsonb, p_seconds integer) returns jsonb
language sql set search_path = public, extensions as $$
  with taken as (
    -- A message and its copy may come in one batch.
    select distinct on (t.id) t.* from jsonb_to_recordset(p_taken) as t(
      id text, queue text, body text, correlation_id text, subject text, fingerprint text, source jsonb, tries integer,
      sent_at double precision)
    order by t.id, t.sent_at desc
  ), begun as (
    insert into work as w (id, queue, body, correlation_id, subject, fingerprint, source, state, attempt, sent_at, until)
    select t.id, t.queue, t.body, t.correlation_id, t.subject, t.fingerprint, t.source, 'in_hand', t.tries,
           to_timestamp(t.sent_at), now() + make_interval(secs => p_seconds)
    from taken t order by t.id
    on conflict (id) do update set
      state = 'in_hand', attempt = case when w.state = 'dead' then 1 else w.attempt + 1 end,
      parks = case when w.state = 'dead' then 0 else w.parks end,
      reason = case when w.state = 'dead' then null else w.reason end,
      since = case when w.state = 'dead' then null else w.since end,
      sent_at = excluded.sent_at, heartbeat_at = now(), until = excluded.until
    where w.state <> 'dead' or excluded.sent_at > w.since - interval '30 seconds'
    returning w.id, w.attempt, w.parks, w.since
  )
  select coalesce(jsonb_object_agg(t.id, jsonb_build_object(
           'attempt', coalesce(b.attempt, 0), 'parks', coalesce(b.parks, 0), 'dead', b.id is null,
           'waited', coalesce(extract(epoch from now() - b.since), 0))), '{}')
  from taken t left join begun b on b.id = t.id
$$;

-- What becomes of the work on a Table, for those of its tools that wait for it. (With indexes beside each other
-- it depends on whose work it is.)
create function public.note_work(p_table uuid, p_fingerprint text, p_status jsonb) returns void
language sql set search_path = public, extensions as $$
  select merge_status(o.id, p_status || jsonb_build_object('heartbeat_at', now()))
  from tool o
  where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
$$;

-- A sign of life, also on the tools of a Table. Who holds the Table's lock gives one himself.
create function public.work_beats(p_ids text[], p_seconds integer) returns void
language plpgsql set search_path = public, extensions as $$
declare
  t record;
begin
  update work w set heartbeat_at = now(), until = now() + make_interval(secs => p_seconds)
  where w.id = any (p_ids) and w.state = 'in_hand';
  for t in
    select distinct case when w.queue <> 'material' then w.subject::uuid end as id, w.fingerprint from work w
    where w.id = any (p_ids) order by 1, 2
  loop
    perform from context_table c where c.id = t.id for update skip locked;
    if found then perform note_work(t.id, t.fingerprint, '{}'); end if;
  end loop;
end $$;

-- p_ended: what `work_begun` takes, with {outcome: done | again | parked | dead, reason, vendor, seconds}.
-- Work that a vendor was to blame for and that is done lets everything go that waits for this vendor; work that is
-- parked holds it back again.
create function public.work_ended(p_ended jsonb) returns void
language plpgsql set search_path = public, extensions as $$
declare
  answered text[];
  t record;
begin
  with gone as (
    delete from work w using jsonb_array_elements(p_ended) e
    where e->>'outcome' = 'done' and w.id = e->>'id' returning w.vendor
  )
  select array_agg(distinct g.vendor) into answered from gone g where g.vendor is not null;
  if answered is not null or p_ended @> '[{"outcome": "parked"}]' then
    -- Two that change all that is parked would wait for each other.
    perform pg_advisory_xact_lock(hashtext('work parked'));
  end if;
  update work w set released = true, until = now()
  where w.state = 'parked' and not w.released and w.vendor = any (answered);

  insert into work as w (id, queue, body, correlation_id, subject, fingerprint, source, state, attempt, parks, vendor,
                         reason, since, sent_at, until)
  select distinct on (e.id) e.id, e.queue, e.body, e.correlation_id, e.subject, e.fingerprint, e.source,
         case e.outcome when 'again' then 'waiting' else e.outcome end, case e.outcome when 'parked' then 0 else e.tries end,
         case e.outcome when 'parked' then 1 else 0 end, e.vendor, e.reason, now(), to_timestamp(e.sent_at),
         now() + make_interval(secs => e.seconds)
  from jsonb_to_recordset(p_ended) as e(
    id text, queue text, body text, correlation_id text, subject text, fingerprint text, source jsonb, tries integer,
    sent_at double precision, outcome text, reason text, vendor text, seconds double precision)
  where e.outcome <> 'done'
  order by e.id
  on conflict (id) do update set
    state = excluded.state, attempt = case when excluded.state = 'parked' then 0 else w.attempt end,
    parks = w.parks + excluded.parks, vendor = excluded.vendor, reason = excluded.reason, released = false,
    since = case when excluded.state = 'dead' then now() else coalesce(w.since, now()) end, until = excluded.until;

  update work w set released = false
  where w.state = 'parked' and w.released
    and w.vendor = any (array(select e->>'vendor' from jsonb_array_elements(p_ended) e where e->>'outcome' = 'parked'));

  for t in
    select distinct on (e->>'subject', e->>'fingerprint') c.id, e->>'fingerprint' as fingerprint, e->>'reason' as reason
    from jsonb_array_elements(p_ended) e
    join context_table c on c.id = case when e->>'queue' <> 'material' then (e->>'subject')::uuid end
    where e->>'outcome' = 'parked' order by e->>'subject', e->>'fingerprint'
  loop
    perform from context_table c where c.id = t.id for update;
    perform note_work(t.id, t.fingerprint, jsonb_build_object('last_error', t.reason));
  end loop;
end $$;

-- ---------------------------------------------------------------- maintain sends again

-- Claims what has to be sent again, the oldest trouble first: nobody else gets these rows for p_seconds, and who dies
-- meanwhile leaves them due. Of what waits for a vendor that has not answered yet, one goes as a probe, and no other
-- while one is on its way, nor before one that failed would go again. What comes back in an hour is no probe now.
create function public.work_due(p_limit integer, p_seconds integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  due jsonb;
begin
  -- Longer than SQS keeps a dead letter.
  delete from work w where w.state = 'dead' and w.since < now() - interval '15 days';
  -- Each once, not for each row: an outage parks thousands.
  with asked as materialized (
    select distinct y.vendor from work y
    where y.vendor is not null
      and (y.state = 'in_hand' or y.state = 'waiting' and y.until <= now() + interval '10 minutes'
           or y.state = 'parked' and y.parks > 1 and y.until > now())
  ), probe as materialized (
    select distinct on (x.vendor) x.id from work x
    where x.state = 'parked' and x.vendor is not null and not x.released and x.until <= now()
      and x.vendor not in (select vendor from asked)
    order by x.vendor, x.parks, x.since, x.id
  ), late as (
    select w.id, w.state from work w
    where w.state <> 'dead' and w.until <= now()
      and (w.state <> 'parked' or w.vendor is null or w.released or w.id in (select id from probe))
    order by w.since nulls first, w.id limit p_limit for update skip locked
  ), claimed as (
    update work w set state = 'waiting', until = now() + make_interval(secs => p_seconds)
    from late where late.id = w.id and w.until <= now()
    returning w.*, late.state as was
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', c.id, 'queue', c.queue, 'body', c.body, 'correlation_id', c.correlation_id, 'subject', c.subject,
    'fingerprint', c.fingerprint, 'source', c.source, 'attempt', c.attempt, 'lost', c.was = 'in_hand') order by c.since nulls first, c.id), '[]')
  into due from claimed c;
  return due;
end $$;

-- They are in their queues; if nobody takes one for p_seconds it is sent once more.
create function public.work_sent(p_ids text[], p_seconds integer) returns void
language sql set search_path = public, extensions as $$
  update work w set until = now() + make_interval(secs => p_seconds) where w.id = any (p_ids) and w.state = 'waiting'
$$;

create function public.work_buried(p_id text, p_reason text) returns void
language sql set search_path = public, extensions as $$
  update work w set state = 'dead', reason = p_reason, since = now(), vendor = null where w.id = p_id
$$;

-- How often this Table was started again in an index and generation, this time among them; null if somebody did so
-- within the last p_seconds. What is a day old does not count.
create function public.table_restarted(p_table uuid, p_fingerprint text, p_seconds integer) returns integer
language sql set search_path = public, extensions as $$
  insert into table_restart as r (table_id, fingerprint, generation, restarts)
  select t.id, p_fingerprint, t.generation, 1 from context_table t where t.id = p_table
  on conflict (table_id, fingerprint) do update set
    restarts = case when r.generation = excluded.generation and r.at > now() - interval '1 day'
                    then r.restarts + 1 else 1 end,
    generation = excluded.generation, at = now()
  where r.generation <> excluded.generation or r.at <= now() - make_interval(secs => p_seconds)
  returning r.restarts
$$;

-- What speaks for a Table in this index: a message that is in hand, waiting or parked.
create function public.has_work(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from work w where w.subject = p_table::text and w.state <> 'dead'
                 and coalesce(w.fingerprint, p_fingerprint) = p_fingerprint)
$$;

-- Tables whose work stopped: pending or indexing without a sign of life, and no message of theirs is in hand, waiting
-- or parked.
drop function public.stuck_tables(integer);
create function public.stuck_tables(p_fingerprint text, p_seconds integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(distinct jsonb_build_object('project_id', o.project_id, 'table_id', o.table_id)), '[]')
  from tool o
  where o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
    and coalesce(moment_of(o.metadata->'search_index'->>'heartbeat_at'),
                 moment_of(o.metadata->'search_index'->>'configured_at')) < now() - make_interval(secs => p_seconds)
    and not has_work(o.table_id, p_fingerprint)
$$;

drop function public.indexing_waits(uuid, text);
drop table public.table_wait;

-- ---------------------------------------------------------------- for people

-- p_wanted: {state, queue, subjects, ids}, each may be missing.
create function public.work_rows(p_wanted jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.taken_at, x.id), '[]') from (
    select w.id, w.queue, w.state, w.subject, w.attempt, w.vendor, w.reason, w.since, w.until, w.heartbeat_at, w.taken_at
    from work w
    where (p_wanted->>'state' is null or w.state = p_wanted->>'state')
      and (p_wanted->>'queue' is null or w.queue = p_wanted->>'queue')
      and (p_wanted->'subjects' is null
           or w.subject = any (array(select jsonb_array_elements_text(p_wanted->'subjects'))))
      and (p_wanted->'ids' is null or w.id = any (array(select jsonb_array_elements_text(p_wanted->'ids'))))
    order by w.taken_at, w.id limit p_limit) x
$$;

-- How much of each state, and for how long the oldest has been parked that does not just wait for the next day.
create function public.work_counts() returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'in_hand', count(*) filter (where w.state = 'in_hand'), 'waiting', count(*) filter (where w.state = 'waiting'),
    'parked', count(*) filter (where w.state = 'parked'), 'dead', count(*) filter (where w.state = 'dead'),
    'oldest_parked_seconds', coalesce(extract(epoch from now() - min(w.since) filter (
      where w.state = 'parked' and (w.vendor is not null or w.until < now() - interval '1 hour')))::bigint, 0))
  from work w
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
