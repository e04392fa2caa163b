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
