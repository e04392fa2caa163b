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
  -- The address that an owner invited. Until the person accepts, `is_invited` is true and the id is nobody's.
  email text collate "C",
  is_invited boolean not null default false,
  constraint project_member_invited_check check (not is_invited or (email is not null and role <> 'owner')),
  primary key (project_id, user_id)
);
create index project_member_user on public.project_member (user_id);
create unique index project_member_invited on public.project_member (email, project_id) where is_invited;

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
  -- What its entries are (`EntryRules`); null: it has none.
  entries jsonb check (entries ? 'pattern'),
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
  -- The endpoint has only entries with these attributes: {"tenant": [42]}.
  filter jsonb,
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

-- What a key that searches is limited to beside its folder: {name: value}. Version 1.0.0 reads no other columns of keys.
create table public.library_key_filter (
  key_hash text collate "C" primary key references public.library_key on delete cascade,
  filter jsonb not null check (jsonb_typeof(filter) = 'object' and filter <> '{}')
);

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

-- Makes the acting user a member of each project that invited the account's confirmed address in the last 30 days. An
-- identity provider (SSO) may claim any address: its accounts accept nothing. Runs as postgres, who may read auth.users.
create function public.accept_invitations() returns void language sql security definer as $$
  with accepted as (
    delete from project_member m using auth.users u
    where u.id = acting_user() and u.email_confirmed_at is not null and not u.is_sso_user
      and m.is_invited and m.email = lower(u.email) collate "C"
    returning m.*)
  insert into project_member (project_id, user_id, role, email)
  select a.project_id, acting_user(), a.role, a.email from accepted a where a.created_at > now() - interval '30 days'
  on conflict (project_id, user_id) do update set email = excluded.email
$$;

-- With the role of the acting user in each; null for an operator. Accepts the user's invitations first.
create function public.list_projects() returns jsonb language sql as $$
  select accept_invitations();
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

-- p_emails: with what was invited; the addresses are for owners. Version 1.0.0 reads no more members than it knows.
create function public.list_members(p_project uuid, p_emails boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(jsonb_build_object('user_id', m.user_id, 'role', m.role, 'since', m.created_at)
    || case when p_emails then jsonb_build_object('is_invited', m.is_invited, 'email',
              case when is_service() or p_project in (select acting_projects('owner')) then m.email end) else '{}' end
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

-- Invites an address: its person is a member with this role (null: a viewer) from the next list_projects on. The answer
-- does not depend on whether an account has the address, so that nobody can find out. An invitation is no owner.
create function public.invite_member(p_project uuid, p_email text, p_role public.member_role default null) returns void
language plpgsql as $$
begin
  perform lock_members(p_project);
  perform check_role(p_project, 'owner');
  perform require(p_email ~ '^[^\s@]+@[^\s@]+$' and length(p_email) <= 254, 'PT422',
                  'record.email', jsonb_build_object('email', left(p_email, 254)));
  perform require(p_role is distinct from 'owner', 'PT422', 'record.invited_owner');
  delete from project_member m where m.project_id = p_project and m.email = lower(p_email) and m.is_invited;
  perform check_quota((select count(*) from project_member m where m.project_id = p_project), 1, 'members');
  insert into project_member (project_id, user_id, role, email, is_invited)
  values (p_project, gen_random_uuid(), coalesce(p_role, 'viewer'), lower(p_email), true);
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
-- p_state: of its Tools that were ready. Runs as postgres: nobody else writes events.
create function public.table_changed(p_table uuid, p_event text, p_tool uuid, p_state text default 'pending') returns void
language plpgsql security definer as $$
declare
  t context_table;
begin
  update context_table c set generation = c.generation + 1, updated_at = now() where c.id = p_table returning * into t;
  if t.id is null then return; end if;
  perform merge_status(o.id, jsonb_build_object(
    'state', case when o.metadata->'search_index'->>'state' in ('ready', 'updating') then p_state else 'pending' end,
    'generation', t.generation, 'configured_at', now(), 'attempt', 0,
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
  -- Other filters of the same entries: texts and vectors stay, and answer meanwhile.
  perform table_changed(new.id, 'TableUpdated', null, case
    when new.version = old.version and new.chunk_threshold_chars = old.chunk_threshold_chars
      and new.entries - 'filter' = old.entries - 'filter' then 'updating' else 'pending' end);
  return null;
end $$;
create trigger start_table_indexing after update of data, data_key, version, chunk_threshold_chars, entries
  on public.context_table for each row
  when (new.version <> old.version or new.data_key is distinct from old.data_key
        or new.chunk_threshold_chars <> old.chunk_threshold_chars or new.data::text is distinct from old.data::text
        or new.entries is distinct from old.entries)
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
  values (case status->>'state' when 'error' then 'ToolFailed' else 'ToolReady' end, new.project_id, new.table_id, new.id,
          bigint_or_null(status->>'generation'));
  return null;
end $$;
create trigger announce_tool after update of metadata on public.tool for each row
  when (new.metadata->'search_index'->>'state' in ('ready', 'empty', 'error')
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
  p_project uuid, p_name text, p_data text, p_chunk_threshold bigint default null, p_entries jsonb default null
) returns jsonb language sql as $$
  select check_project(p_project, 'editor');
  select lock_quotas(p_project);
  select check_quota(count(*), 1, 'tables') from context_table t where t.project_id = p_project;
  select check_size(p_project, null, 'bytes', coalesce(octet_length(p_data), 0));
  insert into context_table as t (project_id, name, data, bytes, version, chunk_threshold_chars, entries)
  values (p_project, checked('record.name', p_name), checked('record.document', p_data)::json, coalesce(octet_length(p_data), 0),
          (p_data is not null)::integer,
          coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, 200), nullif(p_entries, '{}'))
  returning table_view(t)
$$;

-- p_entries: with what its entries are. Version 1.0.0 reads no more members than it knows.
create function public.read_table(p_table uuid, p_entries boolean default false) returns jsonb language sql as $$
  select table_view(t) || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end
  from table_for(p_table, false) t
$$;

-- A Table with its document: {data: JSON text, or null; data_key: its key in the bucket, or null}.
create function public.read_document(p_table uuid, p_entries boolean default false) returns jsonb language sql as $$
  -- As text, so that no JSON library changes the document.
  select table_view(t) || jsonb_build_object('data', to_json(t.data::text), 'data_key', t.data_key)
    || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end
  from table_for(p_table, false) t
$$;

create function public.list_tables(p_project uuid, p_entries boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(table_view(t)
    || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end order by t.name, t.id), '[]')
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

-- Null leaves a field as it is; p_entries '{}': none any more. Another threshold, other entries have the Table scanned
-- again.
create function public.change_table(
  p_table uuid, p_name text, p_chunk_threshold bigint, p_entries jsonb default null
) returns jsonb language sql as $$
  select table_for(p_table, true);
  update context_table c set name = coalesce(checked('record.name', p_name), c.name),
    chunk_threshold_chars = coalesce(checked('record.threshold', p_chunk_threshold::text)::integer, c.chunk_threshold_chars),
    entries = nullif(coalesce(p_entries, c.entries), '{}')
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

-- The fixed filter of each Tool of an endpoint, and the entries of its Table, by the id of the Tool; null if there are none.
create function public.filters_of(p_mcp uuid) returns jsonb language sql stable as $$
  select jsonb_object_agg(b.tool_id, jsonb_build_object('filter', b.filter, 'entries', t.entries))
  from mcp_binding b join tool o on o.id = b.tool_id join context_table t on t.id = o.table_id
  where b.mcp_id = p_mcp and (t.entries is not null or b.filter is not null)
$$;

-- p_filter null leaves the fixed filter as it is; '{}' removes it.
create function public.bind_tool(p_mcp uuid, p_tool uuid, p_status text, p_filter jsonb default null) returns jsonb
language plpgsql as $$
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
  insert into mcp_binding as b (mcp_id, tool_id, status, filter) values (p_mcp, p_tool, p_status, nullif(p_filter, '{}'))
  on conflict (mcp_id, tool_id) do update set status = excluded.status,
    filter = nullif(coalesce(p_filter, b.filter), '{}');
  return mcp_view(m);
end $$;

-- p_filters: fixed filters by the id of their Tool.
create function public.create_mcp(
  p_project uuid, p_name text, p_key_hash text, p_tools uuid[], p_filters jsonb default '{}'
) returns jsonb language plpgsql as $$
declare
  m mcp;
begin
  perform check_project(p_project, 'editor');
  perform lock_quotas(p_project);
  perform check_quota((select count(*) from mcp e where e.project_id = p_project), 1, 'endpoints');
  perform check_quota(0, cardinality(p_tools), 'endpoint_tools');
  insert into mcp (project_id, name, api_key_hash)
  values (p_project, checked('record.name', p_name), p_key_hash) returning * into m;
  perform bind_tool(m.id, t.id, 'enabled', p_filters->t.id::text) from unnest(p_tools) t (id);
  return mcp_view(m);
end $$;

-- p_filters: with filters_of it. Version 1.0.0 reads no more members than it knows.
create function public.read_mcp(p_mcp uuid, p_filters boolean default false) returns jsonb language sql as $$
  select mcp_view(mcp_for(p_mcp, false))
    || case when p_filters then jsonb_build_object('filters', filters_of(p_mcp)) else '{}' end
$$;

create function public.list_mcps(p_project uuid, p_filters boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(mcp_view(m)
    || case when p_filters then jsonb_build_object('filters', filters_of(m.id)) else '{}' end
    order by m.name, m.id), '[]') from mcp m where m.project_id = p_project
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

-- The valid keys for searches: the function `mcp` sees no others. p_filters: also those with a filter, which version 1.0.0
-- would ignore.
create function public.search_keys(p_filters boolean default false) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(k) || case when p_filters then jsonb_build_object('filter', f.filter) else '{}' end), '[]')
  from library_key k left join library_key_filter f using (key_hash)
  where k.purpose = 'search' and (k.expires_at is null or k.expires_at > now()) and (p_filters or f.filter is null)
$$;

-- Creates a key. One that reads a project becomes a member of it, so that row level security binds it, owners see it, and
-- who removes the member removes the key.
create function public.create_library_key(
  p_key_hash text, p_name text, p_purpose text, p_folder text, p_project uuid, p_expires_at timestamptz,
  p_filter jsonb default null
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
  insert into library_key_filter (key_hash, filter) select p_key_hash, p_filter where p_filter is not null;
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
