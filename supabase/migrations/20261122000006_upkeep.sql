-- Upkeep: what `maintain` and the workers need so that all work is done in the end, and what compares the records with
-- the bucket and the store. Each section stands for itself.

-- ================================================================ work rows
-- One row for each message, from the moment a worker receives it until it is done. A message that is sent again keeps
-- its row.

-- `until`: if nothing is heard of it before, `maintain` sends the body to its queue again.
--   in_hand: a worker has it, and moves `heartbeat_at` and `until` while it lives
--   waiting: it is in its queue, because it failed and comes back, or because it was sent again
--   parked:  it is in no queue. `reason` says why, `vendor` for whom it waits (null: for the next day)
--   dead:    it is in the dead letter queue; kept as long as SQS keeps it there
create table public.work (
  id text collate "C" primary key,
  queue text not null check (queue in ('material', 'tool', 'embed')),
  body text not null,
  correlation_id text not null default '',
  -- The material, or the id of the Table; null for a message that cannot be read.
  subject text collate "C",
  -- The fingerprint of the index over Tables that it is for; null: all.
  fingerprint text collate "C",
  -- The version of the S3 object that the message is about.
  source jsonb,
  state text not null check (state in ('in_hand', 'waiting', 'parked', 'dead')),
  attempt integer not null,
  parks integer not null default 0,
  -- Parked for a vendor that has answered since.
  released boolean not null default false,
  vendor text collate "C",
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

-- Whether a Table has a message for this fingerprint that is in hand, waiting or parked.
create function public.has_work(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from work w where w.subject = p_table::text and w.state <> 'dead'
                 and coalesce(w.fingerprint, p_fingerprint) = p_fingerprint)
$$;

-- Records that a worker has received messages, and returns {id: {attempt, parks, dead, waited}}.
--   p_taken: [{id, queue, body, correlation_id, subject, fingerprint, source, tries, sent_at}], sent_at in seconds
--     since 1970
-- `dead`: the message is older than its own death, and is in the dead letter queue already. One that was sent later was
-- redriven, and starts again. (The clocks may differ by half a minute.)
create function public.work_begun(p_taken jsonb, p_seconds integer) returns jsonb
language sql set search_path = public, extensions as $$
  with taken as (
    -- One batch may have a message and its copy.
    select distinct on (t.id) t.* from jsonb_to_recordset(p_taken) as t(
      id text, queue text, body text, correlation_id text, subject text, fingerprint text, source jsonb, tries integer,
      sent_at double precision)
    order by t.id, t.sent_at desc
  ), begun as (
    insert into work as w (id, queue, body, correlation_id, subject, fingerprint, source, state, attempt, sent_at,
                           until)
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

-- Shows the state of the work on a Table: on its waiting Tools, or on the plan of a version that does not answer.
create function public.note_work(p_table uuid, p_fingerprint text, p_status jsonb) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if p_fingerprint is null or tables_answer(p_fingerprint) then
    perform merge_status(o.id, p_status || jsonb_build_object('heartbeat_at', now()))
    from tool o
    where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing');
  else
    update table_plan p set heartbeat_at = now(), error = coalesce(p_status->>'last_error', p.error)
    where p.table_id = p_table and p.fingerprint = p_fingerprint;
  end if;
end $$;

-- A sign of life of the messages, and of their Tables. A Table that somebody has locked is left out: the owner of the
-- lock gives its own.
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

-- Records the end of an attempt.
--   p_ended: what `work_begun` takes, with {outcome: done | again | parked | dead, reason, vendor, seconds}
-- Work that waited for a vendor and is done now releases everything that waits for the same vendor; work that is parked
-- again holds it back.
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
    -- Two transactions that change all parked rows would deadlock.
    perform pg_advisory_xact_lock(hashtext('work parked'));
  end if;
  update work w set released = true, until = now()
  where w.state = 'parked' and not w.released and w.vendor = any (answered);

  insert into work as w (id, queue, body, correlation_id, subject, fingerprint, source, state, attempt, parks, vendor,
                         reason, since, sent_at, until)
  select distinct on (e.id) e.id, e.queue, e.body, e.correlation_id, e.subject, e.fingerprint, e.source,
         case e.outcome when 'again' then 'waiting' else e.outcome end,
         case e.outcome when 'parked' then 0 else e.tries end,
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

-- Claims what is to be sent again, the oldest first. Nobody else gets these rows for p_seconds; if the caller dies they
-- are due again. Of the work that waits for one vendor, one message goes as a probe, and no other while it is under
-- way. Work that comes back in an hour is not a probe.
create function public.work_due(p_limit integer, p_seconds integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  due jsonb;
begin
  -- Longer than SQS keeps a dead letter.
  delete from work w where w.state = 'dead' and w.since < now() - interval '15 days';
  -- Once for each vendor, not for each row: an outage parks thousands.
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
    'fingerprint', c.fingerprint, 'source', c.source, 'attempt', c.attempt, 'lost', c.was = 'in_hand')
    order by c.since nulls first, c.id), '[]')
  into due from claimed c;
  return due;
end $$;

-- Records that messages were sent. If nobody receives one for p_seconds it is due again.
create function public.work_sent(p_ids text[], p_seconds integer) returns void
language sql set search_path = public, extensions as $$
  update work w set until = now() + make_interval(secs => p_seconds) where w.id = any (p_ids) and w.state = 'waiting'
$$;

create function public.work_buried(p_id text, p_reason text) returns void
language sql set search_path = public, extensions as $$
  update work w set state = 'dead', reason = p_reason, since = now(), vendor = null where w.id = p_id
$$;

-- p_wanted: {state, queue, subjects, ids}, all optional.
create function public.work_rows(p_wanted jsonb, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(x) order by x.taken_at, x.id), '[]') from (
    select w.id, w.queue, w.state, w.subject, w.attempt, w.vendor, w.reason, w.since, w.until, w.heartbeat_at,
           w.taken_at
    from work w
    where (p_wanted->>'state' is null or w.state = p_wanted->>'state')
      and (p_wanted->>'queue' is null or w.queue = p_wanted->>'queue')
      and (p_wanted->'subjects' is null
           or w.subject = any (array(select jsonb_array_elements_text(p_wanted->'subjects'))))
      and (p_wanted->'ids' is null or w.id = any (array(select jsonb_array_elements_text(p_wanted->'ids'))))
    order by w.taken_at, w.id limit p_limit) x
$$;

-- The number of rows by state, and the age of the oldest parked row. Rows that wait for the next day do not count.
create function public.work_counts() returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'in_hand', count(*) filter (where w.state = 'in_hand'), 'waiting', count(*) filter (where w.state = 'waiting'),
    'parked', count(*) filter (where w.state = 'parked'), 'dead', count(*) filter (where w.state = 'dead'),
    'oldest_parked_seconds', coalesce(extract(epoch from now() - min(w.since) filter (
      where w.state = 'parked' and (w.vendor is not null or w.until < now() - interval '1 hour')))::bigint, 0))
  from work w
$$;

-- The rows about these materials and keys: [{subject, state, sent_at, key, version_id, looks}]. `looks`: the message
-- names no version; its worker asks the bucket.
create function public.work_on_pages(p_subjects text[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('subject', w.subject, 'state', w.state, 'sent_at', w.sent_at,
    'key', w.source->>'key', 'version_id', w.source->>'version_id',
    'looks', coalesce(w.source->>'sequencer' = '', false)) order by w.subject, w.id), '[]')
  from work w where w.queue = 'material' and w.subject = any (p_subjects)
$$;

-- ================================================================ restarting stalled Tables

create table public.table_restart (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text collate "C" not null,
  generation bigint not null,
  restarts integer not null,
  at timestamptz not null default now(),
  primary key (table_id, fingerprint)
);

-- Records a restart of a Table's scan, and returns how often its present generation was restarted within a day. Null if
-- somebody restarted it within the last p_seconds.
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

-- Tables whose indexing has stopped: no sign of life for p_seconds, and no message for them. For the version that
-- answers: Tools that wait. For another version: Tables that are neither complete nor given up. For any version: Tables
-- of which something is stored that no Tool asks for.
create function public.stuck_tables(p_fingerprint text, p_seconds integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with still as (
    select o.table_id from tool o
    where tables_answer(p_fingerprint) and o.enabled
      and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
      and coalesce(moment_of(o.metadata->'search_index'->>'heartbeat_at'),
                   moment_of(o.metadata->'search_index'->>'configured_at')) < now() - make_interval(secs => p_seconds)
    union
    select t.id from table_plan p join indexed_table t on t.id = p.table_id
    where not tables_answer(p_fingerprint) and p.fingerprint = p_fingerprint
      and p.failed_generation is distinct from t.generation
      -- The event of a change starts its scan.
      and greatest(p.heartbeat_at, t.updated_at) < now() - make_interval(secs => p_seconds)
      and not table_whole(t.id, p_fingerprint)
    union
    select t.id from context_table t
    where t.updated_at < now() - make_interval(secs => p_seconds)
      and not exists (select from tool o where o.table_id = t.id and o.enabled)
      and (exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint)
           or exists (select from removed_chunk r where r.table_id = t.id and r.fingerprint = p_fingerprint))
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id) order by t.id), '[]')
  from still s join context_table t on t.id = s.table_id
  where not has_work(t.id, p_fingerprint)
$$;

-- ================================================================ building an index version

-- When a page was last requested to build an index version, so that it is not requested each minute.
create table public.material_asked (
  material text collate "C" primary key references public.material on delete cascade,
  asked_at timestamptz not null
);

-- Claims up to p_limit pages that versions of this recipe do not cover.
create function public.pages_to_build(p_recipe text, p_seconds integer, p_limit integer) returns text[]
language sql set search_path = public, extensions as $$
  with unbuilt as materialized (
    select distinct m.material collate "C" as material
    from search_index s join index_fingerprint f on f.fingerprint = s.knowledge
    cross join lateral unnest(materials_built_otherwise(s.knowledge)) as m(material)
    left join material_asked a on a.material = m.material
    where f.recipe = p_recipe
      -- A request from before a version existed was for another version.
      and coalesce(a.asked_at, '-infinity') < greatest(now() - make_interval(secs => p_seconds), s.created_at)
      and not exists (select from work w where w.subject = m.material and w.state <> 'dead')
    order by 1 limit p_limit
  ), noted as (
    insert into material_asked (material, asked_at) select u.material, now() from unbuilt u
    on conflict (material) do update set asked_at = now()
  )
  select coalesce(array_agg(u.material order by u.material), '{}') from unbuilt u
$$;

-- Claims Tables that a version which does not answer has never indexed, or that were given up p_seconds ago. Together
-- with those under way there are at most p_limit. A Table that stalls is restarted (see stuck_tables).
create function public.tables_to_build(p_fingerprint text, p_seconds integer, p_limit integer) returns jsonb
language sql set search_path = public, extensions as $$
  with under_way as materialized (
    select count(*) as n from table_plan p join indexed_table t on t.id = p.table_id
    where p.fingerprint = p_fingerprint and p.failed_generation is distinct from t.generation
      and not table_whole(t.id, p_fingerprint)
  ), unbuilt as materialized (
    select t.id, t.project_id from indexed_table t
    left join table_plan p on p.table_id = t.id and p.fingerprint = p_fingerprint
    where not tables_answer(p_fingerprint) and not has_work(t.id, p_fingerprint)
      and (p.table_id is null
           or p.failed_generation = t.generation and p.heartbeat_at < now() - make_interval(secs => p_seconds))
    order by t.id limit greatest(p_limit - (select n from under_way), 0)
  ), noted as (
    insert into table_plan (table_id, fingerprint) select u.id, p_fingerprint from unbuilt u
    on conflict (table_id, fingerprint) do update set heartbeat_at = now()
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', u.project_id, 'table_id', u.id) order by u.id), '[]')
  from unbuilt u
$$;

-- ================================================================ circuits
-- What all workers know of a vendor that fails.

-- Times are in seconds since 1970, by the workers' clocks.
create table public.circuit (
  name text collate "C" primary key,
  state text not null check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  failure_count integer not null default 0,
  opened_at bigint,
  half_open_owner text,
  probe_lease_expiry bigint,
  changed_at timestamptz not null default now()
);

-- Null for a circuit that was never opened.
create function public.read_circuit(p_name text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select to_jsonb(c) from circuit c where c.name = p_name
$$;

-- Opens a closed circuit. The first worker sets the time; later ones, or one during a probe, change nothing.
create function public.open_circuit(p_name text, p_failure_count integer, p_opened_at bigint) returns void
language sql set search_path = public, extensions as $$
  insert into circuit as c (name, state, failure_count, opened_at)
  values (p_name, 'OPEN', p_failure_count, p_opened_at)
  on conflict (name) do update set state = 'OPEN', failure_count = excluded.failure_count,
    opened_at = excluded.opened_at, half_open_owner = null, probe_lease_expiry = null, changed_at = now()
    where c.state = 'CLOSED'
$$;

-- True for the one worker that may probe: the circuit is open since p_opened_at, or the lease of an earlier probe has
-- expired.
create function public.claim_probe(
  p_name text, p_owner text, p_opened_at bigint, p_lease_expiry bigint, p_now bigint
) returns boolean
language sql set search_path = public, extensions as $$
  with claimed as (
    update circuit c set state = 'HALF_OPEN', half_open_owner = p_owner, probe_lease_expiry = p_lease_expiry,
      changed_at = now()
    where c.name = p_name
      and ((c.state = 'OPEN' and c.opened_at = p_opened_at)
           or (c.state = 'HALF_OPEN' and c.probe_lease_expiry <= p_now))
    returning 1
  )
  select exists (select from claimed)
$$;

-- Ends a probe: the circuit is open again, or closed (null).
create function public.end_probe(p_name text, p_opened_at bigint) returns void
language sql set search_path = public, extensions as $$
  update circuit set state = case when p_opened_at is null then 'CLOSED' else 'OPEN' end, failure_count = 0,
    opened_at = p_opened_at, half_open_owner = null, probe_lease_expiry = null, changed_at = now()
  where name = p_name
$$;

-- ================================================================ rate limits

-- The searches of each principal in its minute: a key of /mcp by its hash, an endpoint by its id (its owner could
-- rotate the key for a new minute). Unlogged: a crash may reset the minute.
create unlogged table public.allowance (
  holder text collate "C" primary key,
  minute timestamptz not null,
  taken integer not null
);

-- Grants p_wanted searches of this minute, or a quarter of the rest if that is less, so that other workers get some.
create function public.take_allowance(p_holder text, p_wanted integer, p_per_minute integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  now_is timestamptz := clock_timestamp();
  this_minute timestamptz := date_trunc('minute', now_is);
  spent integer;
  granted integer;
begin
  insert into allowance as known (holder, minute, taken) values (p_holder, this_minute, 0)
  on conflict (holder) do update set
    minute = greatest(known.minute, excluded.minute),
    taken = case when known.minute < excluded.minute then 0 else known.taken end
  returning taken into spent;
  granted := least(p_wanted, ceil(greatest(p_per_minute - spent, 0) / 4.0)::integer);
  update allowance set taken = taken + granted where holder = p_holder;
  return jsonb_build_object(
    'searches', granted,
    'seconds', 60 - extract(epoch from now_is - this_minute)
  );
end $$;

-- ================================================================ the daily budget of embedding tokens

create table public.embedding_day (
  day date primary key,
  tokens bigint not null check (tokens >= 0)
);

create function public.embedding_tokens_today() returns bigint
language sql stable set search_path = public, extensions as $$
  select coalesce((select tokens from embedding_day where day = (now() at time zone 'utc')::date), 0)
$$;

create function public.add_embedding_tokens(p_tokens bigint) returns void
language sql set search_path = public, extensions as $$
  insert into embedding_day as d (day, tokens) values ((now() at time zone 'utc')::date, p_tokens)
  on conflict (day) do update set tokens = d.tokens + excluded.tokens
$$;

-- ================================================================ re-hashing keys
-- The key of an endpoint that was hashed with an earlier pepper gets the present hash when it is next used.

create function public.rehash_key(p_mcp uuid, p_old text, p_new text) returns boolean
language plpgsql set search_path = public, extensions as $$
begin
  update mcp set
    api_key_hash = case when api_key_hash = p_old then p_new else api_key_hash end,
    previous_key_hash = case when previous_key_hash = p_old then p_new else previous_key_hash end
  where id = p_mcp and p_old in (api_key_hash, previous_key_hash);
  if not found then return false; end if;
  -- The day of the last use moves to the new hash.
  insert into key_use as known (key_hash, last_used_on)
  select p_new, u.last_used_on from key_use u where u.key_hash = p_old
  on conflict (key_hash) do update set last_used_on = greatest(known.last_used_on, excluded.last_used_on);
  delete from key_use where key_hash = p_old;
  return true;
end $$;

-- ================================================================ reconciliation: runs
-- Each kind of comparison runs in pages, one worker at a time.

-- `busy_until`: a worker has it. `under_way`: the run has not come to its end.
create table public.reconciliation (
  walk text collate "C" primary key,
  after text,
  under_way boolean not null default false,
  busy_until timestamptz
);

-- Claims a run: {after}. Null while another worker has it, and if none is under way, unless p_begin.
create function public.take_walk(p_walk text, p_seconds integer, p_begin boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  taken jsonb;
begin
  if p_begin then
    insert into reconciliation (walk) values (p_walk) on conflict do nothing;
  end if;
  update reconciliation r set
    busy_until = now() + make_interval(secs => p_seconds),
    after = case when r.under_way then r.after end,
    under_way = true
  where r.walk = p_walk and coalesce(r.busy_until, '-infinity') < now() and (r.under_way or p_begin)
  returning jsonb_build_object('after', r.after) into taken;
  return taken;
end $$;

-- Saves how far a run has come; its worker continues.
create function public.keep_walk(p_walk text, p_after text) returns void
language sql set search_path = public, extensions as $$
  update reconciliation r set after = p_after where r.walk = p_walk
$$;

-- Releases a run. p_after null: it has come to its end.
create function public.leave_walk(p_walk text, p_after text) returns void
language sql set search_path = public, extensions as $$
  update reconciliation r set after = p_after, busy_until = null, under_way = p_after is not null
  where r.walk = p_walk
$$;

-- ================================================================ reconciliation: the bucket

-- What is recorded of the keys after p_after, in the order in which the bucket lists them. `young`: it changed in the
-- last p_settling seconds. `free`: the material of a waiting key has no owner; or a file was read by another analyzer.
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
     from waiting_source w join material m using (material)
     where w.key > p_after order by w.key limit p_limit)
    union all
    (select f.key, 'file', f.version_id, f.version_id is null,
            exists (select from site_synonyms s where s.key = f.key and s.analyzer <> p_analyzer), f.at
     from followed_file f where f.key > p_after order by f.key limit p_limit)
    ) y order by y.key limit p_limit) x
$$;

-- The number of keys of pages that are not deleted.
create function public.recorded_pages() returns bigint
language sql stable set search_path = public, extensions as $$
  select (select count(*) from material m where m.status <> 'deleted')
       + (select count(*) from waiting_source w where not w.deleted)
$$;

-- ================================================================ reconciliation: pages

-- Of p_limit materials after p_after, those whose chunks, words and postings do not fit each other:
-- {broken: [{material, why}], next}.
create function public.broken_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
  with page as materialized (
    select m.* from material m where m.material > p_after order by m.material limit p_limit
  ), judged as (
    select p.material, case
      when p.status = 'deleted' and c.n > 0 then 'chunks of a deleted page'
      when p.chunks_count <> c.n then 'a wrong number of chunks'
      when exists (select from knowledge_chunks k where k.material = p.material
                   and not exists (select from chunk_words w where w.id = k.id))
        or exists (select from chunk_words w where w.material = p.material
                   and not exists (select from knowledge_chunks k where k.id = w.id)) then 'chunks without words'
      when exists (
        select from chunk_words w cross join lateral unnest(w.terms) as t(term)
        where w.material = p.material and not exists (
          select from posting o
          where o.term = t.term and o.block = block_of(p.number) and w.number = any (o.chunks)))
        then 'words without postings' end as why
    from page p cross join lateral (select count(*) as n from knowledge_chunks k where k.material = p.material) c
  )
  select jsonb_build_object(
    'broken', (select coalesce(jsonb_agg(
                 jsonb_build_object('material', j.material, 'why', j.why) order by j.material), '[]')
               from judged j where j.why is not null),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- Of p_limit materials after p_after, those whose learns wait for a language model and that nobody works on:
-- {materials, next}.
create function public.provisional_materials(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with page as materialized (
    select m.material from material m where m.material > p_after order by m.material limit p_limit
  )
  select jsonb_build_object(
    'materials', (select coalesce(jsonb_agg(p.material order by p.material), '[]') from page p
      where exists (select from knowledge_chunks k where k.material = p.material and k.learns_source = 'provisional')
        and not exists (select from work w where w.queue = 'material' and w.subject = p.material)),
    'next', case when (select count(*) from page) = p_limit then (select max(p.material) from page p) end)
$$;

-- Writes the postings of a material again from its words, and deletes the chunks of a deleted page. Other faults are
-- repaired by applying the page again.
create function public.mend_material(p_material text) returns void
language plpgsql set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  r material;
  here integer;
  words jsonb;
begin
  select * into r from material m where m.material = p_material for update;
  here := block_of(r.number);
  -- Numbers without words: nothing else removes them from the postings.
  perform pg_advisory_xact_lock(hashtext('sakuin.posting'), here);
  update posting p set chunks = kept.chunks, impacts = kept.impacts
  from posting o cross join lateral (
    select coalesce(array_agg(u.chunk), '{}') as chunks, coalesce(array_agg(u.impact), '{}') as impacts
    from unnest(o.chunks, o.impacts) as u(chunk, impact)
    where exists (select from chunk_words w where w.number = u.chunk)) kept
  where o.block = here and p.term = o.term and p.block = o.block and cardinality(kept.chunks) < o.n;
  delete from posting p where p.block = here and p.n = 0;

  if r.status = 'deleted' then
    delete from knowledge_chunks k where k.material = p_material;
    update material m set chunks_count = 0 where m.material = p_material;
    perform replace_postings(p_material, '[]');
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'terms', w.terms, 'impacts', w.impacts)), '[]') into words
  from chunk_words w where w.material = p_material;
  perform replace_postings(p_material, '[]');
  perform replace_postings(p_material, words);
end $$;

-- Deletes (or with p_dry_run, counts) readings that no chunk has, of p_limit after p_after, which is a reading and its
-- spelling with a tab between: {unused, next}.
create function public.sweep_readings(p_after text, p_limit integer, p_dry_run boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  page reading[];
  unused reading[];
begin
  if not p_dry_run then
    -- A writer that brings words back inserts here last. It waits now, and then sees what was deleted.
    lock table reading in share row exclusive mode;
  end if;
  select array_agg(x order by x.reading, x.written) into page from (
    select r.* from reading r
    where (r.reading, r.written) > (split_part(p_after, chr(9), 1), split_part(p_after, chr(9), 2))
    order by r.reading, r.written limit p_limit) x;
  select coalesce(array_agg(r), '{}') into unused from unnest(page) r where chunks_written(r) = 0;
  if not p_dry_run then
    delete from reading r using unnest(unused) u where r.reading = u.reading and r.written = u.written;
  end if;
  return jsonb_build_object('unused', cardinality(unused), 'next', case when cardinality(page) = p_limit
    then page[p_limit].reading || chr(9) || page[p_limit].written end);
end $$;

-- ================================================================ reconciliation: Tables

-- p_limit Tables: with p_whole by id after p_after, otherwise those that were checked least recently.
create function public.tables_in_turn(p_after uuid, p_whole boolean, p_limit integer) returns uuid[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(x.id order by x.place), '{}') from (
    (select t.id, row_number() over (order by t.id) as place from context_table t
     where p_whole and t.id > coalesce(p_after, '00000000-0000-0000-0000-000000000000') order by t.id limit p_limit)
    union all
    (select t.id, row_number() over (order by t.checked_at nulls first, t.id) from context_table t
     where not p_whole order by t.checked_at nulls first, t.id limit p_limit)) x
$$;

-- What the records say of these Tables. `settled`: no work is left. `unbuilt`: a Tool says ready, but what it says does
-- not fit the rows.
create function public.tables_claimed(p_fingerprint text, p_tables uuid[]) returns jsonb
language sql stable set search_path = public, extensions as $$
  with picked as materialized (
    select t.id, t.project_id, t.generation, t.planned_generation, t.planned_fingerprint from context_table t
    where t.id = any (p_tables)
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id, 'stored', x.stored,
    'settled', x.settled, 'unbuilt', x.unbuilt or x.settled and x.untrue) order by t.id), '[]')
  from picked t cross join lateral (
    select
      (select count(*) from chunks c where c.table_id = t.id and c.fingerprint = p_fingerprint
         and c.turbopuffer_doc_id is not null and c.indexed_at is not null) as stored,
      t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint
        and not exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint
                        and (n.content_hash is distinct from n.wanted_hash or n.unswept))
        and not exists (select from unstored_chunks u where u.table_id = t.id and u.fingerprint = p_fingerprint)
        and not exists (select from removed_chunk r where r.table_id = t.id and r.fingerprint = p_fingerprint)
        as settled,
      (t.planned_generation <> t.generation or t.planned_fingerprint is distinct from p_fingerprint)
        and exists (select from tool o where o.table_id = t.id and o.enabled)
        and not exists (select from tool o where o.table_id = t.id and o.enabled
                        and o.metadata->'search_index'->>'state' is distinct from 'ready') as unbuilt,
      exists (
        select from tool o where o.table_id = t.id and o.enabled and o.metadata->'search_index'->>'state' = 'ready'
          and number_of(o.metadata->'search_index'->>'chunks_count') is distinct from (
            select coalesce(sum(n.wanted_chunks), 0) from node n
            where n.table_id = t.id and n.fingerprint = p_fingerprint and within(n.json_pointer, o.json_path)))
        or exists (
        select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint and n.wanted_chunks <> (
          select count(*) from chunks c where c.table_id = n.table_id and c.fingerprint = n.fingerprint
            and c.pointer_hash = n.pointer_hash and c.content_hash = n.wanted_hash)) as untrue
  ) x
$$;

-- How many chunks of a Table are recorded as stored; null until its present generation is scanned to the end.
create function public.stored_rows(p_table uuid, p_fingerprint text) returns bigint
language sql stable set search_path = public, extensions as $$
  select (select count(*) from chunks c where c.table_id = t.id and c.fingerprint = p_fingerprint
            and c.turbopuffer_doc_id is not null and c.indexed_at is not null)
  from context_table t
  where t.id = p_table and t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint
$$;

create function public.tables_checked(p_tables uuid[]) returns void
language sql set search_path = public, extensions as $$
  update context_table set checked_at = now() where id = any (p_tables)
$$;

-- The store did not confirm what was written last: this Table is checked first.
create function public.doubt_table(p_table uuid) returns void
language sql set search_path = public, extensions as $$
  update context_table set checked_at = null where id = p_table
$$;

-- p_limit chunks of a Table after p_after ([pointer_hash, content_hash, chunk_index], null: from the beginning):
-- {generation, planned, stored: {doc_id: id}, coming: [doc_id], next}; null if the Table is deleted. `coming`: chunks
-- that are not stored yet, by the doc id that they will have (sakuin.domain.search_index_names).
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
    'planned', t.planned_generation = t.generation and t.planned_fingerprint = p_fingerprint,
    'stored', (select coalesce(jsonb_object_agg(x.doc_id, x.id) filter (where x.stored), '{}') from page x),
    'coming', (select coalesce(jsonb_agg(x.doc_id) filter (where not x.stored), '[]') from page x),
    'next', (select jsonb_build_array(x.pointer_hash, x.content_hash, x.chunk_index) from page x
             order by x.pointer_hash, x.content_hash, x.chunk_index offset p_limit - 1))
  from context_table t where t.id = p_table
$$;

-- The store has rows of a later generation, because the records come from a backup: the count continues from there.
create function public.catch_up_table(p_table uuid, p_generation bigint) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation < p_generation for update;
  if not found then return; end if;
  update context_table set generation = p_generation where id = p_table;
  perform table_changed(p_table, 'TableUpdated', null);
end $$;

-- ================================================================ orphaned uploads
-- Uploaded documents that nobody needs are deleted from the bucket. Here are the folders to look through.

-- The folder of a Table, since an upload was announced or imported, or since the Table was deleted.
create table public.left_body (
  folder text collate "C" primary key,
  table_id uuid not null,
  since timestamptz not null default now()
);
create index left_body_since on public.left_body (since);

create function public.folder_of_bodies(t public.context_table) returns text
language sql immutable set search_path = public, extensions as $$
  select 'tables/' || t.project_id || '/' || t.id || '/'
$$;

create function public.leave_bodies() returns trigger
language plpgsql security definer set search_path = public, extensions, pg_temp as $$
begin
  -- A signed upload address stays valid for some minutes after the Table is deleted.
  insert into left_body (folder, table_id) values (folder_of_bodies(old), old.id)
  on conflict (folder) do update set since = case when tg_op = 'DELETE' then now() else left_body.since end;
  return null;
end $$;
create trigger leave_bodies after update of upload, imported_upload, data_key on public.context_table
  for each row when (new.upload > 0) execute function public.leave_bodies();
create trigger leave_bodies_of_the_deleted after delete on public.context_table
  for each row when (old.upload > 0) execute function public.leave_bodies();

-- Folders to look through, the oldest first: [{folder, keep, gone}]; `keep` is the document that the Table has now. A
-- deleted Table needs nothing after p_gone seconds. For others, a message may still import what came within p_left
-- seconds.
create function public.left_bodies(p_gone integer, p_left integer, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(
    jsonb_build_object('folder', x.folder, 'keep', x.data_key, 'gone', x.gone) order by x.since), '[]')
  from (
    select l.folder, l.since, t.data_key, t.id is null as gone
    from left_body l left join context_table t on t.id = l.table_id
    where l.since < now() - make_interval(secs => case when t.id is null then p_gone else p_left end)
    order by l.since limit p_limit) x
$$;

-- Records that a folder was looked through and only p_keep was left. p_again: it has uploads that are too young. The
-- folder of a Table that has another document by now is looked through once more.
create function public.bodies_removed(p_folder text, p_keep text, p_again boolean) returns void
language sql set search_path = public, extensions as $$
  update left_body l set since = now() where l.folder = p_folder and p_again;
  delete from left_body l where l.folder = p_folder and not p_again
    and not exists (select from context_table t where t.id = l.table_id and t.data_key is distinct from p_keep)
$$;
