-- What people who signed in may do, themselves, with the token they were given: row level security decides.
--
-- The role `authenticated` reads and writes no table. It may call the functions `member_*` and nothing else. Those run
-- as `sakuin_member`, a role that nobody can log in as or switch to and that row level security binds: whatever a
-- function is told, it sees and writes only what the policies below give to the person of the token. So no column that
-- is the machine's own (hashes of keys, generations, statuses) can be reached but through a function that keeps it right.
--
-- A later migration that ends with `revoke execute on all functions` has to end with the last block of this file, too.

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_member') then
    create role sakuin_member nologin noinherit;
  end if;
end $$;
-- So that the owner of everything else can go on replacing what this role owns.
grant sakuin_member to postgres;
grant usage on schema public to sakuin_member;

revoke all on all tables in schema public from public, anon, authenticated;
revoke all on all sequences in schema public from public, anon, authenticated;

-- Who asks; null for everybody who did not sign in. As auth.uid(), which a migration cannot open to a role of its own.
create function public.acting_user() returns uuid
language sql stable set search_path = public, extensions as $$
  select case when c.claims->>'role' = 'authenticated' then (c.claims->>'sub')::uuid end
  from (select nullif(current_setting('request.jwt.claims', true), '')::jsonb as claims) c
$$;

-- ---------------------------------------------------------------- what is whose

grant select, insert on public.project_member to sakuin_member;
grant select, delete on public.project to sakuin_member;
grant select, insert, update, delete on public.context_table, public.tool, public.mcp, public.mcp_binding
  to sakuin_member;
grant insert on public.outbox to sakuin_member;
grant select on public.key_use to sakuin_member;
grant delete on public.project_member to sakuin_member;
create index project_member_user on public.project_member (user_id);

-- Who made a project, which counts against how many he may make; whom others make a member is asked nothing. Null for
-- those of an admin. Until now nothing but the time said so: whoever made a project became its member as it began.
alter table public.project add column created_by uuid;
create index project_creator on public.project (created_by);
update public.project p set created_by = m.user_id
from public.project_member m where m.project_id = p.id and m.created_at = p.created_at;

-- The projects of the person who asks. With the owner's rights, for a policy cannot ask its own table.
create function public.acting_projects() returns setof uuid
language sql stable security definer set search_path = public, extensions, pg_temp as $$
  select m.project_id from project_member m where m.user_id = acting_user()
$$;

-- The members of what is one's own are seen, made and removed.
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
  with check (exists (select from public.context_table t where t.id = tool.table_id and t.project_id = tool.project_id));
create policy own_endpoints on public.mcp to sakuin_member
  using (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()));
create policy own_bindings on public.mcp_binding to sakuin_member
  using (mcp_id in (select e.id from public.mcp e))
  with check (exists (select from public.mcp e join public.tool o on o.project_id = e.project_id
                      where e.id = mcp_binding.mcp_id and o.id = mcp_binding.tool_id));
create policy own_events on public.outbox for insert to sakuin_member
  with check (project_id in (select m.project_id from public.project_member m where m.user_id = acting_user()));
create index mcp_key on public.mcp (api_key_hash);
create index mcp_previous_key on public.mcp (previous_key_hash);
create policy own_keys on public.key_use for select to sakuin_member
  using (exists (select from public.mcp e where e.api_key_hash = key_use.key_hash)
         or exists (select from public.mcp e where e.previous_key_hash = key_use.key_hash));

-- ---------------------------------------------------------------- who is a member

create or replace function public.create_project(p_name text, p_user uuid) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  p project;
begin
  insert into project (name, created_by) values (p_name, p_user) returning * into p;
  if p_user is not null then
    insert into project_member (project_id, user_id) values (p.id, p_user);
  end if;
  return jsonb_build_object('id', p.id, 'name', p.name);
end $$;

-- Also those that he left: with a second account nobody would have a limit otherwise.
create function public.count_projects(p_user uuid) returns bigint
language sql stable set search_path = public, extensions as $$
  select count(*) from project p where p.created_by = p_user
$$;

create function public.list_members(p_project uuid, p_user uuid) returns jsonb
language plpgsql set search_path = public, extensions as $$
begin
  perform project_for(p_project, p_user);
  return (select coalesce(jsonb_agg(jsonb_build_object('user_id', m.user_id, 'since', m.created_at)
                                    order by m.created_at, m.user_id), '[]')
          from project_member m where m.project_id = p_project);
end $$;

create function public.remove_member(p_project uuid, p_user uuid, p_member uuid) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform project_for(p_project, p_user);
  -- Of two who remove each other one stays.
  perform pg_advisory_xact_lock(hashtextextended('members of ' || p_project, 0));
  -- Who was removed while he waited removes nobody.
  perform project_for(p_project, p_user);
  if not is_member(p_project, p_member) then
    raise exception 'There is no member %', p_member using errcode = 'P0002';
  end if;
  if not exists (select from project_member m where m.project_id = p_project and m.user_id <> p_member) then
    raise exception 'This is the last member: make another one first, or delete the project' using errcode = '23505';
  end if;
  delete from project_member where project_id = p_project and user_id = p_member;
end $$;

-- ---------------------------------------------------------------- what they may ask for
-- Each says who asks by himself; none takes a user. What the API checks before it calls them is checked here again,
-- for a token also opens PostgREST itself.

create function public.fitting(p_text text, p_most integer, p_what text) returns text
language plpgsql immutable set search_path = public, extensions as $$
begin
  if length(p_text) > p_most or p_text !~ '\S' then
    raise exception '% has 1 to % characters, not only space', p_what, p_most using errcode = '22023';
  end if;
  return p_text;
end $$;

-- What hash_of_key makes: whoever sets a hash cannot set anything else.
create function public.fitting_hash(p_hash text) returns text
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_hash ~ '^[0-9a-f]{64}$' then
    return p_hash;
  end if;
  raise exception 'A hash is 64 digits of hex' using errcode = '22023';
end $$;

-- A key that was replaced must not open for ever.
create function public.fitting_overlap(p_seconds integer) returns integer
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_seconds between 0 and 604800 then
    return p_seconds;
  end if;
  raise exception 'An overlap has 0 to 604800 seconds' using errcode = '22023';
end $$;

-- The deployment's own limits are known to the API. Whoever goes past it meets ten times their defaults.
create function public.check_room(p_there bigint, p_most bigint, p_what text) returns void
language plpgsql immutable set search_path = public, extensions as $$
begin
  if p_there >= p_most then
    raise exception 'There is room for % %', p_most, p_what using errcode = '22023';
  end if;
end $$;

-- For the functions that are told null by an admin.
create function public.signed_in() returns uuid
language plpgsql stable set search_path = public, extensions as $$
begin
  if acting_user() is null then
    raise exception 'Sign in' using errcode = '42501';
  end if;
  return acting_user();
end $$;

-- The owner's rights, not a member's: the first member of a project cannot be its member yet.
create function public.member_create_project(p_name text) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select check_room(count_projects(signed_in()), 1000, 'projects');
  select create_project(fitting(p_name, 200, 'A name'), signed_in()) $$;

-- The owner's rights here, too: a project that somebody made may be no longer his.
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
  select check_room((select count(*) from project_member m where m.project_id = p_project and m.user_id <> p_member), 10000,
                    'members');
  select add_member(p_project, signed_in(), p_member) $$;

create function public.member_list_members(p_project uuid) returns jsonb
language sql security definer set search_path = public, extensions, pg_temp as $$
  select list_members(p_project, signed_in()) $$;

create function public.member_remove_member(p_project uuid, p_member uuid) returns void
language sql security definer set search_path = public, extensions, pg_temp as $$
  select remove_member(p_project, signed_in(), p_member) $$;

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

-- ---------------------------------------------------------------- what belongs together
-- Also for those whom no policy binds, the workers and a platform's own connection.

-- A Tool is of its Table's project.
create unique index context_table_of_project on public.context_table (id, project_id);
alter table public.tool add constraint tool_of_its_project foreign key (table_id, project_id)
  references public.context_table (id, project_id) on delete cascade not valid;

-- An uploaded body is read from the Table's own folder.
alter table public.context_table add constraint body_of_its_table
  check (data_key is null or starts_with(data_key, 'tables/' || project_id || '/' || id || '/')) not valid;

-- A worker that was told of another project writes nothing: it remembers where it will write before it does.
create function public.refuse_foreign_namespace() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  if exists (select from context_table t where t.id = new.table_id
             and not starts_with(new.namespace, 'project_' || t.project_id || '_table_' || t.id)) then
    raise exception 'This table is of another project' using errcode = '22023';
  end if;
  return new;
end $$;
create trigger refuse_foreign_namespace before insert on public.table_namespace
  for each row execute function public.refuse_foreign_namespace();

-- ---------------------------------------------------------------- rights
-- A row that somebody was allowed to change books its consequences with the owner's rights: triggers write what is the
-- machine's own, and cannot be called by themselves.
do $$
declare
  f regprocedure;
begin
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prorettype = 'trigger'::regtype
  loop
    execute format('alter function %s security definer', f);
  end loop;
end $$;

-- The last block: who may call what.
revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role, sakuin_member;
do $$
declare
  f regprocedure;
begin
  grant create on schema public to sakuin_member;
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'member\_%'
  loop
    if f not in ('public.member_create_project(text)'::regprocedure, 'public.member_count_projects()'::regprocedure) then
      execute format('alter function %s owner to sakuin_member', f);
    end if;
    execute format('grant execute on function %s to authenticated', f);
  end loop;
  revoke create on schema public from sakuin_member;
end $$;
