-- The change feed: what changed in the index since a cursor (docs/decisions/0121).
--
-- A row for each explanation, failed page and Tool, with its last change. The transaction that changes the index writes
-- it, without a number. Readers number what is committed, one reader at a time: a transaction that commits late gets a
-- late number, so that no cursor has passed it. Writers share no row.

-- `owner`: the id of a project, empty for the library. `subject`: the id of an explanation, the name of a page, the id of
-- a Tool, the question of a gap; `moved_to` is then the explanation that answers it. `generation`: that of the page, or of the Tool's Table. `moved_to`: another explanation with the same text.
-- `added`: the number of its last addition; null while that has no number. A cursor before it has not seen the subject.
create table public.change (
  owner text collate "C" not null,
  topic text collate "C" not null check (topic in ('explanation', 'page', 'tool', 'gap')),
  subject text collate "C" not null,
  event text collate "C" not null check (
    event in ('added', 'changed', 'moved', 'removed', 'failed', 'recovered', 'ready', 'answered')),
  generation bigint not null,
  moved_to text collate "C",
  changed_at timestamptz not null default now(),
  number bigint,
  added bigint,
  primary key (owner, topic, subject)
);
create index change_number on public.change (owner, number);
-- What is gone is told for a while, and then deleted (delete_old_changes).
create index change_gone on public.change (changed_at) where event in ('moved', 'removed', 'recovered', 'answered');

-- The last number of each feed, and the highest number that was deleted. Writers of changes do not touch it.
create table public.change_feed (
  owner text collate "C" primary key,
  last bigint not null default 0,
  deleted bigint not null default 0
);

-- ---------------------------------------------------------------- writing

-- Records the change of a page or a Tool, unless it is known. Those of explanations are written by replace_chunks.
create function public.record_change(p_owner text, p_topic text, p_subject text, p_event text, p_generation bigint)
returns void language sql set search_path = public, extensions as $$
  insert into change as c (owner, topic, subject, event, generation)
  values (p_owner, p_topic, p_subject, p_event, p_generation)
  on conflict (owner, topic, subject) do update set
    event = excluded.event, generation = excluded.generation, changed_at = now(), number = null
  where (c.event, c.generation) <> (excluded.event, excluded.generation)
$$;

-- Records that a page failed, or that it is searchable or deleted after it had failed.
create function public.record_page_change(r public.material) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if r.status = 'failed' or exists (select from change c where (c.owner, c.topic, c.subject, c.event)
                                                              = ('', 'page', r.material, 'failed')) then
    perform record_change('', 'page', r.material, case when r.status = 'failed' then 'failed' else 'recovered' end,
                          r.generation);
  end if;
end $$;

-- Records that a Tool is ready or failed. Nothing is told of a deleted one: no reader may see it any more.
create function public.record_tool_change() returns trigger
language plpgsql security definer set search_path = public, extensions, pg_temp as $$
declare
  status jsonb;
begin
  if tg_op = 'DELETE' then
    delete from change c where (c.owner, c.topic, c.subject) = (old.project_id::text, 'tool', old.id::text);
    return null;
  end if;
  status := new.metadata->'search_index';
  perform record_change(new.project_id::text, 'tool', new.id::text,
                        case when status->>'state' = 'ready' then 'ready' else 'failed' end,
                        coalesce(bigint_or_null(status->>'generation'), 0));
  return null;
end $$;
create trigger record_tool_change after update of metadata on public.tool for each row
  when (new.metadata->'search_index'->>'state' in ('ready', 'error')
        and new.metadata->'search_index'->'state' is distinct from old.metadata->'search_index'->'state')
  execute function public.record_tool_change();
create trigger forget_tool_changes after delete on public.tool
  for each row execute function public.record_tool_change();

-- ---------------------------------------------------------------- reading

-- Numbers at most p_limit (null: all) committed changes of a feed, in the order of their transactions, and returns the
-- feed, locked if there were any. A row that is being changed is left for the next reader.
create function public.number_changes(p_owner text, p_limit integer) returns public.change_feed
language plpgsql set search_path = public, extensions as $$
declare
  f change_feed;
  n bigint;
begin
  -- A number that another reader has not committed yet is null here, and the lock waits for it.
  if exists (select from change c where c.owner = p_owner and c.number is null) then
    insert into change_feed (owner) values (p_owner) on conflict do nothing;
    select * into f from change_feed x where x.owner = p_owner for update;
    with due as (
      select c.topic, c.subject, c.changed_at from change c where c.owner = p_owner and c.number is null
      order by c.changed_at, c.topic, c.subject limit p_limit for update skip locked
    ), numbered as (
      update change c set number = d.number, added = case when c.event = 'added' then d.number else c.added end
      from (select x.*, f.last + row_number() over (order by x.changed_at, x.topic, x.subject) as number from due x) d
      where (c.owner, c.topic, c.subject) = (p_owner, d.topic, d.subject)
      returning 1
    )
    select count(*) into n from numbered;
    update change_feed x set last = x.last + n where x.owner = p_owner and n > 0;
  end if;
  select * into f from change_feed x where x.owner = p_owner;
  return case when f.owner is null then row(p_owner, 0, 0)::change_feed else f end;
end $$;

-- The changes of a feed after a cursor, at most p_limit, in the order of their numbers: {changes, cursor, more}; with 0
-- none, and the cursor of now. Null if the cursor is too old: it has not seen what was deleted since.
--   p_cursor: [began, complete, read], null for the beginning. `began`: what was deleted when the reader began;
--     `complete`: the reader has had all changes up to this number; `read`: the number of the last change that it got.
--   p_kinds: such as 'page.failed'; null for all. p_tools: of a project, the Tools that the reader may see.
--   p_in: the beginning of the pages that the reader may see; null for all. What moves out of them is removed there.
create function public.changes_since(
  p_owner text, p_cursor bigint[], p_kinds text[], p_tools text[], p_limit integer, p_in text default null
) returns jsonb language plpgsql set search_path = public, extensions as $$
declare
  f constant change_feed := number_changes(p_owner, case when p_limit > 0 then 5000 end);
  began constant bigint := coalesce(p_cursor[1], f.deleted);
  complete constant bigint := coalesce(p_cursor[2], 0);
  read constant bigint := coalesce(p_cursor[3], 0);
  done jsonb;
begin
  if read > f.last then return null; end if;
  with page as materialized (
    select c.*, x.kind
    from change c cross join lateral (
      select concat(c.topic, '.', case when c.event = 'changed' and c.added > complete then 'added'
                                       when c.event = 'moved' and not starts_with(c.moved_to, p_in) then 'removed'
                                       else c.event end) as kind) x
    where c.owner = p_owner and c.number > read and c.number <= f.last
      and (p_tools is null or c.subject = any (p_tools))
      and (p_in is null or c.topic <> 'gap' and starts_with(c.subject, p_in))
      and (p_kinds is null or x.kind = any (p_kinds))
    order by c.number limit p_limit
  ), ended as (
    select (select count(*) from page) < greatest(p_limit, 1) as is_last,
           -- One that is changed at this moment may be new to the reader.
           exists (select from change c where c.owner = p_owner and c.number is null) as has_more,
           -- Of the same moment as the page: what is deleted meanwhile must not be passed over.
           exists (select from change_feed x where x.owner = p_owner and x.deleted > greatest(began, read)) as is_old
  )
  select case when not e.is_old or p_cursor is null then jsonb_build_object(
    'changes', (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'kind', p.kind, 'id', p.subject, 'generation', p.generation, 'time', p.changed_at,
        'moved_to', case when p.kind = 'explanation.moved' then p.moved_to end,
        'answer', case when p.kind = 'gap.answered' then p.moved_to end,
        'title', k.title, 'type', k.type, 'content_hash', k.content_hash, 'name', o.name,
        'reason', case when p.event = 'failed' then coalesce(m.error, o.metadata->'search_index'->>'last_error') end))
        order by p.number), '[]')
      from page p
      left join knowledge_chunks k on k.id = case p.topic when 'explanation' then p.subject when 'gap' then p.moved_to end
      left join material m on p.topic = 'page' and m.material = p.subject
      left join tool o on o.id = case when p.topic = 'tool' then p.subject::uuid end),
    'cursor', case when not e.is_last then jsonb_build_array(began, complete, (select max(p.number) from page p))
                   else jsonb_build_array(began, case when e.has_more and p_limit > 0 then complete else f.last end,
                                          f.last) end,
    'more', not e.is_last or e.has_more) end
  into done from ended e;
  return done;
end $$;

-- ---------------------------------------------------------------- deleting

-- Deletes at most p_limit changes of what has been gone for p_seconds, and returns how many. Cursors before them are too
-- old from then on.
create function public.delete_old_changes(p_seconds integer, p_limit integer) returns integer
language plpgsql set search_path = public, extensions as $$
declare
  before constant timestamptz := now() - make_interval(secs => p_seconds);
  n integer;
begin
  if not exists (select from change c where c.event in ('moved', 'removed', 'recovered', 'answered')
                                        and c.changed_at < before) then
    return 0;
  end if;
  -- What nobody has read has no number, and a cursor from before it must be too old, too.
  perform number_changes('', p_limit);
  with gone as (
    delete from change c where c.ctid = any (array(
      select x.ctid from change x
      where x.owner = '' and x.event in ('moved', 'removed', 'recovered', 'answered') and x.changed_at < before
        and x.number is not null
      order by x.changed_at limit p_limit for update skip locked))
    returning c.number
  ), recorded as (
    update change_feed f set deleted = greatest(f.deleted, (select max(g.number) from gone g)) where f.owner = ''
  )
  select count(*) into n from gone;
  return n;
end $$;

-- ---------------------------------------------------------------- what the library is

-- What its owner says of the library ('') or of a folder. Only an admin key writes it; nothing of a page gets here.
create table public.library_description (
  folder text collate "C" primary key check (char_length(folder) <= 500),
  description text not null check (octet_length(description) between 1 and 400)
);

-- What is in the library, or in the folder p_in (with a slash at its end), and in its first p_limit described folders, by
-- name: [{folder, description, pages, types, languages: {code: pages}, changed_at}]. Of ten languages at most; what is no
-- code of a language is left out.
create function public.library_places(p_limit integer, p_in text default null) returns jsonb
language sql stable set search_path = public, extensions as $$
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

-- ---------------------------------------------------------------- subscriptions

-- Who is sent events (docs/decisions/0132). `principal`: a key, as 'key:' and its hash, or a user, as 'user:' and the UUID;
-- `payer`: whose quota it uses. `owner`: the feed that it follows, read up to `position`. `cursor`: of MCP, after the last
-- event that was received. The secrets are encrypted. `question` and `vector` are of a standing question (touched_questions), as
-- it was `asked_at`. `attempt` numbers its messages in the queue; none is sent before
-- `due_at`.
create table public.event_subscription (
  id text collate "C" primary key,
  principal text collate "C" not null,
  payer text collate "C" not null,
  owner text collate "C" not null,
  mcp_id uuid references public.mcp on delete cascade,
  name text collate "C" not null,
  arguments jsonb not null,
  url text collate "C" not null,
  secret text not null,
  previous_secret text,
  previous_until timestamptz,
  cursor text collate "C" not null,
  position bigint not null,
  not_before timestamptz,
  expires_at timestamptz not null,
  verified_at timestamptz not null,
  attempt bigint not null default 0,
  due_at timestamptz not null default now(),
  failures integer not null default 0,
  failed_since timestamptz,
  last_error text,
  delivered_at timestamptz,
  question jsonb,
  vector extensions.halfvec(1536),
  asked_at timestamptz
);
create index event_subscription_payer on public.event_subscription (payer);
create index event_subscription_callback on public.event_subscription (principal, url);
create index event_subscription_endpoint on public.event_subscription (mcp_id);

-- After so many failures without a success nothing is sent until the client refreshes.
create function public.most_failures() returns integer
language sql immutable set search_path = public, extensions as 'select 8';

-- The subscription if it is there, and whether the principal has proved within a day that the address is its own.
create function public.read_subscription(p_id text, p_principal text, p_url text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select jsonb_build_object(
    'subscription', (select to_jsonb(s) - 'vector' from event_subscription s where s.id = p_id and s.expires_at > now()),
    'verified', exists (select from event_subscription s
                        where s.principal = p_principal and s.url = p_url and s.expires_at > now()
                          and s.verified_at > now() - interval '1 day'))
$$;

-- Adds a subscription, or refreshes it: it goes on where it is. `p_row` has the columns by name; with `previous_secret`
-- the old one signs, too, for five minutes.
create function public.subscribe(p_row jsonb, p_seconds integer, p_verified boolean) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  r event_subscription := jsonb_populate_record(null::event_subscription, p_row);
  s event_subscription;
begin
  perform pg_advisory_xact_lock(hashtextextended('subscriptions of ' || r.payer, 0));
  delete from event_subscription x where x.payer = r.payer and x.expires_at <= now();
  if not exists (select from event_subscription x where x.id = r.id) then
    perform check_quota((select count(*) from event_subscription x where x.payer = r.payer), 1,
                        'subscriptions', 'event subscriptions');
  end if;
  insert into event_subscription as x (id, principal, payer, owner, mcp_id, name, arguments, url, secret, cursor, position,
                                       not_before, expires_at, verified_at)
  values (r.id, r.principal, r.payer, r.owner, r.mcp_id, r.name, r.arguments, r.url, r.secret, r.cursor, r.position,
          r.not_before, now() + make_interval(secs => p_seconds),
          case when p_verified then now() else coalesce((select max(y.verified_at) from event_subscription y
                                                         where y.principal = r.principal and y.url = r.url), now()) end)
  on conflict (id) do update set
    secret = excluded.secret,
    previous_secret = coalesce(r.previous_secret, x.previous_secret),
    previous_until = case when r.previous_secret is null then x.previous_until else now() + interval '5 minutes' end,
    expires_at = excluded.expires_at,
    verified_at = case when p_verified then excluded.verified_at else x.verified_at end,
    failures = 0, failed_since = null,
    due_at = case when x.failures = 0 then x.due_at else now() end
  returning * into s;
  return to_jsonb(s) - 'vector';
end $$;

-- Whether there was such a subscription.
create function public.unsubscribe(p_id text) returns boolean
language sql set search_path = public, extensions as $$
  with gone as (delete from event_subscription s where s.id = p_id returning s.expires_at)
  select exists (select from gone g where g.expires_at > now())
$$;

-- The subscriptions to questions that a change which they have not seen may give another answer: it is of one of the
-- explanations that they watch, or the changed explanation alone may be as good as the present answer. `question`:
-- {space, in, watched: [id], least, per_cosine, words, covered, terms: [{term, slot, value}]}; that is if per_cosine *
-- cosine + for each slot words * the best value * impact + covered * the best value >= least. docs/decisions/0142
create function public.touched_questions() returns setof text
language sql stable set search_path = public, extensions as $$
  with asked as materialized (
    -- A vector of unit length is read once; one of a row would be for each comparison.
    select s.id, s.position, l2_normalize(s.vector) as vector, q.*
    from event_subscription s cross join lateral jsonb_to_record(s.question) as q(
      space text, "in" text, watched jsonb, least float8, per_cosine float8, words float8, covered float8, terms jsonb)
    where s.question is not null and s.due_at <= now() and s.expires_at > now() and s.failures < most_failures()
  ), changed as materialized (
    select c.subject, c.event, coalesce(c.number, 9223372036854775807) as number from change c
    where c.owner = '' and c.topic = 'explanation'
      and (c.number is null or c.number > (select min(a.position) from asked a))
  ), few as materialized (
    -- To compare more takes longer than to ask.
    select c.* from changed c where (select count(*) from changed) <= 50
  ), explanation as materialized (
    -- A concept may be placed as high as an example that shows it.
    select e.id, max(c.number) as number
    from few c join knowledge_chunks k on k.id = c.subject
    join knowledge_chunks e on e.material = k.material and (e.id = k.id or k.anchor = any (e.illustrates))
    where c.event in ('added', 'changed') group by e.id
  ), passage as materialized (
    select e.id, t.space, l2_normalize(v.embedding) as vector
    from explanation e join embedded_text t using (id) join knowledge_vector v using (space, text_hash)
  ), near as materialized (
    select a.id as asked, p.id, max(-(p.vector <#> a.vector)) as cosine
    from asked a join passage p using (space) group by a.id, p.id
  ), word as materialized (
    select w.id, u.term, u.impact / 32767.0::float8 as impact
    from explanation e join chunk_words w on w.id = e.id and w.is_current
    cross join unnest(w.terms, w.impacts) as u(term, impact)
  ), words as materialized (
    select s.asked, s.id, sum(s.value) as value from (
      select a.id as asked, w.id, a.words * max(t.value * w.impact) + a.covered * max(t.value) as value
      from asked a cross join lateral jsonb_to_recordset(a.terms) as t(term text, slot integer, value float8)
      join word w using (term)
      group by a.id, a.words, a.covered, t.slot, w.id) s
    group by s.asked, s.id
  )
  select a.id from asked a where a.least is null or (select count(*) from changed) > 50
  union
  select a.id from asked a join few c on c.number > a.position and a.watched ? c.subject
  union
  select a.id
  from asked a join explanation e on e.number > a.position and starts_with(e.id, a."in")
  left join near n on n.asked = a.id and n.id = e.id left join words w on w.asked = a.id and w.id = e.id
  where a.least <= coalesce(w.value, 0) + coalesce(a.per_cosine * n.cosine, 0)
$$;

-- The subscriptions whose feed has moved, at most p_limit: {id, attempt, payer}, for a message each. They are not due again
-- for two minutes, so that a message that is lost is sent again. A standing question is due if a change may touch it, and
-- once a day: how rare words are changes with all pages. Without p_match no question is compared; one row without an id
-- then says that there are some to compare.
create function public.due_subscriptions(p_limit integer, p_match boolean default true) returns jsonb
language sql set search_path = public, extensions as $$
  with gone as (
    delete from event_subscription s where s.expires_at <= now()
  ), feed as materialized (
    select o.owner, exists (select from change c where c.owner = o.owner and c.number is null) as is_read,
           (select max(c.number) from change c where c.owner = o.owner) as last
    from (select distinct s.owner from event_subscription s where s.due_at <= now()) o
  ), moved as materialized (
    select s.id, f.last, case when s.question is null then true
                              when p_match then s.asked_at < now() - interval '1 day'
                                         or s.id in (select touched_questions()) end as is_due
    from event_subscription s join feed f on f.owner = s.owner
    where s.due_at <= now() and s.expires_at > now() and s.failures < most_failures()
      and (f.is_read or f.last > s.position or s.asked_at < now() - interval '1 day')
  ), untouched as (
    update event_subscription s set position = greatest(s.position, m.last) from moved m where s.id = m.id and not m.is_due
  ), due as (
    select s.id from event_subscription s join moved m using (id)
    where m.is_due and s.due_at <= now() order by s.due_at limit p_limit for update of s skip locked
  ), sent as (
    update event_subscription s set attempt = s.attempt + 1, due_at = now() + interval '2 minutes'
    from due d where s.id = d.id returning s.id, s.attempt, s.payer
  )
  select coalesce(jsonb_agg(to_jsonb(t)), '[]') from (
    select * from sent
    union all select '', 0, '' where exists (select from moved m where m.is_due is null)) t
$$;

-- The subscription of a message; null if it has ended, or another message has followed.
create function public.begin_delivery(p_id text, p_attempt bigint) returns jsonb
language sql set search_path = public, extensions as $$
  update event_subscription s set due_at = now() + interval '2 minutes'
  where s.id = p_id and s.attempt = p_attempt and s.expires_at > now() returning to_jsonb(s) - 'vector'
$$;

-- Records how far a message has come. `p_received`: an event was; `p_seconds`: after how many it is due again, null while
-- the message goes on. `p_question`, `p_vector`: of a standing question that was asked. False if another message has
-- followed.
create function public.record_delivery(
  p_id text, p_attempt bigint, p_cursor text, p_position bigint, p_received boolean, p_seconds integer,
  p_question jsonb default null, p_vector text default null
) returns boolean language sql set search_path = public, extensions as $$
  with recorded as (
    update event_subscription s set
      cursor = coalesce(p_cursor, s.cursor), position = greatest(s.position, p_position),
      failures = case when p_received then 0 else s.failures end,
      failed_since = case when p_received then null else s.failed_since end,
      delivered_at = case when p_received then now() else s.delivered_at end,
      due_at = coalesce(now() + make_interval(secs => p_seconds), s.due_at),
      question = coalesce(p_question, s.question),
      vector = case when p_question is null then s.vector else p_vector::halfvec end,
      asked_at = case when p_question is null then s.asked_at else now() end
    where s.id = p_id and s.attempt = p_attempt returning 1
  )
  select exists (select from recorded)
$$;

-- Records a failure, and returns the number of the message that follows after p_seconds; null if none shall.
create function public.record_failed_delivery(p_id text, p_attempt bigint, p_error text, p_seconds integer) returns bigint
language sql set search_path = public, extensions as $$
  with failed as (
    update event_subscription s set
      attempt = s.attempt + 1, failures = s.failures + 1, last_error = p_error,
      failed_since = coalesce(s.failed_since, now()), due_at = now() + make_interval(secs => p_seconds + 60)
    where s.id = p_id and s.attempt = p_attempt returning s.attempt, s.failures
  )
  select f.attempt from failed f where f.failures < most_failures()
$$;

-- ---------------------------------------------------------------- gaps

-- Tells that the question of a gap is answered by an explanation, and ends its subscription, which has no address: whoever
-- follows the feed hears of it.
create function public.answer_gap(p_id text, p_attempt bigint, p_answer text) returns void
language sql set search_path = public, extensions as $$
  with ended as (
    delete from event_subscription s where s.id = p_id and s.attempt = p_attempt returning s.arguments->>'question' as question
  )
  insert into change as c (owner, topic, subject, event, generation, moved_to)
  select '', 'gap', e.question, 'answered', coalesce((select k.generation from knowledge_chunks k where k.id = p_answer), 0),
         p_answer
  from ended e
  on conflict (owner, topic, subject) do update set
    generation = excluded.generation, moved_to = excluded.moved_to, changed_at = now(), number = null
$$;

-- The questions of gaps that are watched, and those that were answered lately, the newest first: [{question, answer, since}],
-- `answer` null while there is none.
create function public.watched_gaps() returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(to_jsonb(w) order by w.since desc, w.question), '[]') from (
    select s.arguments->>'question' as question, null as answer, s.verified_at as since
    from event_subscription s where s.url = '' and s.expires_at > now()
    union all
    select c.subject, c.moved_to, c.changed_at from change c where (c.owner, c.topic) = ('', 'gap')) w
$$;
