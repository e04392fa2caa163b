-- Who may do what. Three roles reach the database through PostgREST:
--   service_role   the Lambda functions. It passes row level security, but it needs grants.
--   authenticated  people who are signed in. They may call the functions member_* and nothing else.
--   anon           nothing.
--
-- The functions member_* run as sakuin_member, a role that nobody can log in as and that row level security binds.
-- Whatever a function is asked, it sees and writes only what the policies allow for the person of the token. Columns
-- that are not for people (hashes of keys, generations, states) change only through functions that keep them right.

-- ---------------------------------------------------------------- the role of members

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_member') then
    create role sakuin_member nologin noinherit;
  end if;
end $$;
-- The owner of everything else must be able to replace what this role owns.
grant sakuin_member to postgres;
grant usage on schema public to sakuin_member;

-- The person who asks; null for everybody who is not signed in. The same as auth.uid(), which a migration cannot grant
-- to a role of its own.
create function public.acting_user() returns uuid
language sql stable set search_path = public, extensions as $$
  select case when c.claims->>'role' = 'authenticated' then (c.claims->>'sub')::uuid end
  from (select nullif(current_setting('request.jwt.claims', true), '')::jsonb as claims) c
$$;

-- The projects of the person who asks. It runs with the owner's rights: a policy cannot ask the table that it protects.
create function public.acting_projects() returns setof uuid
language sql stable security definer set search_path = public, extensions, pg_temp as $$
  select m.project_id from project_member m where m.user_id = acting_user()
$$;

-- ---------------------------------------------------------------- row level security

-- Without a policy, a table has no rows for anybody but its owner and service_role.
do $$
declare
  t regclass;
begin
  for t in select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s enable row level security', t);
  end loop;
end $$;

create policy own_memberships on public.project_member for select to sakuin_member
  using (project_id in (select acting_projects()));
create policy new_memberships on public.project_member for insert to sakuin_member
  with check (project_id in (select acting_projects()));
create policy old_memberships on public.project_member for delete to sakuin_member
  using (project_id in (select acting_projects()));

create policy own_projects on public.project to sakuin_member
  using (id in (select m.project_id from public.project_member m where m.user_id = acting_user()));
create policy own_tables on public.context_table to sakuin_member
  using (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()));
create policy own_tools on public.tool to sakuin_member
  using (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()))
  with check (exists (select from public.context_table t
                      where t.id = tool.table_id and t.project_id = tool.project_id));
create policy own_endpoints on public.mcp to sakuin_member
  using (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()));
create policy own_bindings on public.mcp_binding to sakuin_member
  using (mcp_id in (select e.id from public.mcp e))
  with check (exists (select from public.mcp e join public.tool o on o.project_id = e.project_id
                      where e.id = mcp_binding.mcp_id and o.id = mcp_binding.tool_id));
create policy own_keys on public.key_use for select to sakuin_member
  using (exists (select from public.mcp e where e.api_key_hash = key_use.key_hash)
         or exists (select from public.mcp e where e.previous_key_hash = key_use.key_hash));
create policy own_events on public.outbox for insert to sakuin_member
  with check (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()));

-- ================================================================ the functions of members
-- Each finds out by itself who asks; none takes a user. What the API checks before the call is checked here again,
-- because a token opens PostgREST, too.

-- ---------------------------------------------------------------- checks of arguments

create function public.fitting(p_text text, p_most integer, p_what text) returns text
language plpgsql immutable set search_path = public, extensions as $$
begin
  if length(p_text) > p_most or p_text !~ '\S' then
    raise exception '% has 1 to % characters, not only space', p_what, p_most using errcode = '22023';
  end if;
  return p_text;
end $$;

-- A hash as `hash_of_key` makes it.
create function public.fitting_hash(p_hash text) returns text
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_hash ~ '^[0-9a-f]{64}$' then
    return p_hash;
  end if;
  raise exception 'A hash is 64 digits of hex' using errcode = '22023';
end $$;

-- A replaced key must not stay valid for ever.
create function public.fitting_overlap(p_seconds integer) returns integer
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_seconds between 0 and 604800 then
    return p_seconds;
  end if;
  raise exception 'An overlap has 0 to 604800 seconds' using errcode = '22023';
end $$;

-- Limits for those who go past the API: ten times its defaults.
create function public.check_room(p_there bigint, p_most bigint, p_what text) returns void
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_there >= p_most then
    raise exception 'There is room for % %', p_most, p_what using errcode = '22023';
  end if;
end $$;

-- The person who asks. Without one it is an error, because the functions behind take null for the admin key.
create function public.signed_in() returns uuid
language plpgsql stable set search_path = public, extensions as $$
begin
  if acting_user() is null then
    raise exception 'Sign in' using errcode = '42501';
  end if;
  return acting_user();
end $$;

-- ---------------------------------------------------------------- projects

-- Runs with the owner's rights: before a project has its first member, nobody may see it.
create function public.member_create_project(p_name text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room(count_projects(signed_in()), 1000, 'projects');
  select create_project(fitting(p_name, 200, 'A name'), signed_in()) $$;

-- Runs with the owner's rights: counts projects that the person has left, too.
create function public.member_count_projects() returns bigint
language sql stable security definer set search_path = public, extensions, pg_temp as $$
  select count_projects(signed_in()) $$;

create function public.member_list_projects() returns jsonb
language sql stable security definer set search_path = public, extensions, pg_temp as $$
  select list_projects(signed_in()) $$;

create function public.member_delete_project(p_project uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select delete_project(p_project, signed_in()) $$;

create function public.member_add_member(p_project uuid, p_member uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room((select count(*) from project_member m
                     where m.project_id = p_project and m.user_id <> p_member), 10000, 'members');
  select add_member(p_project, signed_in(), p_member) $$;

create function public.member_list_members(p_project uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select list_members(p_project, signed_in()) $$;

create function public.member_remove_member(p_project uuid, p_member uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select remove_member(p_project, signed_in(), p_member) $$;

-- ---------------------------------------------------------------- Tables

create function public.member_create_table(p_project uuid, p_name text, p_data text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room((select count(*) from context_table t where t.project_id = p_project), 10000, 'tables');
  select create_table(p_project, signed_in(), fitting(p_name, 200, 'A name'),
                      fitting(p_data, 20000000, 'A document that is not uploaded')) $$;

create function public.member_read_table(p_table uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select read_table(p_table, signed_in()) $$;

create function public.member_list_tables(p_project uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select list_tables(p_project, signed_in()) $$;

create function public.member_replace_table(p_table uuid, p_data text, p_expected_version bigint) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select replace_table(p_table, signed_in(),
                       fitting(coalesce(p_data, ''), 20000000, 'A document that is not uploaded'),
                       p_expected_version) $$;

create function public.member_rename_table(p_table uuid, p_name text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select rename_table(p_table, signed_in(), fitting(p_name, 200, 'A name')) $$;

create function public.member_delete_table(p_table uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select delete_table(p_table, signed_in()) $$;

create function public.member_begin_upload(p_table uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select begin_upload(p_table, signed_in()) $$;

-- ---------------------------------------------------------------- Tools

create function public.member_create_tool(
  p_table uuid, p_json_path text, p_name text, p_description text, p_input_schema jsonb
) returns jsonb language plpgsql security definer set search_path = public, extensions, pg_temp as $$
begin
  if p_json_path !~ '^(/([^~/]|~[01])*)*$' or length(p_json_path) > 10000 then
    raise exception 'A json_path is a JSON Pointer' using errcode = '22023';
  end if;
  if length(p_input_schema::text) > 10000 or jsonb_typeof(p_input_schema) <> 'object' then
    raise exception 'An input schema is an object of at most 10000 characters' using errcode = '22023';
  end if;
  perform check_room((select count(*) from tool o join context_table t on t.project_id = o.project_id
                      where t.id = p_table), 10000, 'tools');
  return create_tool(p_table, signed_in(), p_json_path, p_name, fitting(p_description, 2000, 'A description'),
                     p_input_schema);
end $$;

create function public.member_read_tool(p_tool uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select read_tool(p_tool, signed_in()) $$;

create function public.member_list_tools(p_project uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select list_tools(p_project, signed_in()) $$;

create function public.member_change_tool(p_tool uuid, p_name text, p_description text, p_enabled boolean) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select change_tool(p_tool, signed_in(), p_name, fitting(p_description, 2000, 'A description'), p_enabled) $$;

create function public.member_reindex_tool(p_tool uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select reindex_tool(p_tool, signed_in()) $$;

create function public.member_delete_tool(p_tool uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select delete_tool(p_tool, signed_in()) $$;

-- ---------------------------------------------------------------- MCP endpoints

create function public.member_create_mcp(p_project uuid, p_name text, p_key_hash text, p_tools uuid[]) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room((select count(*) from mcp e where e.project_id = p_project), 10000, 'endpoints');
  select check_room(coalesce(cardinality(p_tools), 1000), 1000, 'tools at an endpoint');
  select create_mcp(p_project, signed_in(), fitting(p_name, 200, 'A name'), fitting_hash(p_key_hash),
                    p_tools) $$;

create function public.member_read_mcp(p_mcp uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select read_mcp(p_mcp, signed_in()) $$;

create function public.member_list_mcps(p_project uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select list_mcps(p_project, signed_in()) $$;

create function public.member_bind_tool(p_mcp uuid, p_tool uuid, p_status text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room((select count(*) from mcp_binding b where b.mcp_id = p_mcp and b.tool_id <> p_tool), 1000,
                    'tools at an endpoint');
  select bind_tool(p_mcp, p_tool, signed_in(), p_status) $$;

create function public.member_unbind_tool(p_mcp uuid, p_tool uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select unbind_tool(p_mcp, p_tool, signed_in()) $$;

create function public.member_rotate_mcp(p_mcp uuid, p_key_hash text, p_overlap_seconds integer) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select rotate_mcp(p_mcp, signed_in(), fitting_hash(p_key_hash), fitting_overlap(p_overlap_seconds)) $$;

create function public.member_change_mcp(p_mcp uuid, p_name text, p_status text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select change_mcp(p_mcp, signed_in(), fitting(p_name, 200, 'A name'), p_status) $$;

create function public.member_delete_mcp(p_mcp uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select delete_mcp(p_mcp, signed_in()) $$;

-- ================================================================ grants
-- Hosted projects have different default grants, by their age. Until 2026 new tables and functions were open to all
-- three roles; since then service_role has no access to new tables either, but TRUNCATE, REFERENCES and TRIGGER are
-- still granted. Postgres itself lets everybody execute a new function. Therefore everything is revoked first, and
-- then granted by name. These statements must come after everything that they are about.

revoke all on all tables in schema public from public, anon, authenticated, service_role;
revoke all on all sequences in schema public from public, anon, authenticated, service_role;
revoke all on all functions in schema public from public, anon, authenticated, service_role;

-- Functions run with the rights of their caller, so the caller needs the tables that they use. Sequences need no grant:
-- all of them belong to identity columns.
grant select, insert, update, delete on all tables in schema public to service_role;
grant execute on all functions in schema public to service_role;

grant select, delete on public.project to sakuin_member;
grant select, insert, delete on public.project_member to sakuin_member;
grant select, insert, update, delete on public.context_table, public.tool, public.mcp, public.mcp_binding
  to sakuin_member;
grant select on public.key_use to sakuin_member;
grant insert on public.outbox to sakuin_member;
grant execute on all functions in schema public to sakuin_member;

do $$
declare
  f record;
begin
  -- A role needs CREATE on the schema to become the owner of a function.
  grant create on schema public to sakuin_member;
  for f in
    select p.oid::regprocedure as signature, p.proname as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.proname like 'member\_%'
  loop
    -- These two run with the rights of postgres (see above).
    if f.name not in ('member_create_project', 'member_count_projects') then
      execute format('alter function %s owner to sakuin_member', f.signature);
    end if;
    execute format('grant execute on function %s to authenticated', f.signature);
  end loop;
  revoke create on schema public from sakuin_member;
end $$;

-- The same for what later migrations create. Such a migration must itself enable row level security on its tables, and
-- revoke its functions from public: the defaults of one schema cannot. tests/isolation/test_sql_rights.py checks both.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges in schema public grant select, insert, update, delete on tables to service_role;
alter default privileges in schema public grant execute on functions to service_role;
