-- Who may do what. These roles reach the database through PostgREST:
--   service_role   the other Lambda functions. It bypasses row level security, but it needs grants.
--   sakuin_search  the function `mcp`. It may call the functions that searches need, and nothing else.
--   authenticated, anon  nothing. The function `api` calls for a user, as service_role with the user's id (acting_user).
--
-- The functions of the API run as sakuin_member, a role without login that row level security binds. They see and write
-- only what the policies allow: for the acting user the rows of their projects, by their role in each; else for
-- service_role all rows. Columns that are not for users (hashes of keys, generations, states) change only through
-- functions that keep them consistent.

-- ---------------------------------------------------------------- the role of members

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_member') then
    create role sakuin_member nologin noinherit;
  end if;
end $$;
-- The owner of everything else must be able to replace what this role owns.
grant sakuin_member to postgres;
grant usage on schema public to sakuin_member;

do $$ begin
  if not exists (select from pg_roles where rolname = 'sakuin_search') then
    create role sakuin_search nologin noinherit;
  end if;
end $$;
grant sakuin_search to authenticator;
grant usage on schema public to sakuin_search;

-- ---------------------------------------------------------------- row level security
-- Without a policy, a table has no rows for anybody but its owner and service_role.

-- Members see the members; owners add and change them, but change or remove no other owner; everybody may leave.
create policy see_members on public.project_member for select to sakuin_member
  using ((select is_service()) or project_id in (select acting_projects('viewer')));
create policy add_members on public.project_member for insert to sakuin_member
  with check ((select is_service()) or project_id in (select acting_projects('owner')));
create policy change_members on public.project_member for update to sakuin_member
  using ((select is_service())
         or project_id in (select acting_projects('owner')) and (role <> 'owner' or user_id = acting_user()))
  with check ((select is_service()) or project_id in (select acting_projects('owner')));
create policy remove_members on public.project_member for delete to sakuin_member
  using ((select is_service()) or user_id = acting_user()
         or project_id in (select acting_projects('owner')) and role <> 'owner');

create policy see_projects on public.project for select to sakuin_member
  using (deleted_at is null and ((select is_service()) or id in (select acting_projects('viewer'))));

-- Members see what belongs to their projects; editors change it.
do $$
declare
  t text;
begin
  foreach t in array array['context_table', 'tool', 'mcp', 'project_synonyms'] loop
    execute format('create policy see on public.%I for select to sakuin_member
      using ((select is_service()) or project_id in (select acting_projects(''viewer'')))', t);
    execute format('create policy change on public.%I to sakuin_member
      using ((select is_service()) or project_id in (select acting_projects(''editor'')))', t);
  end loop;
end $$;
create policy its_table on public.tool as restrictive to sakuin_member using (true)
  with check (exists (select from public.context_table t where t.id = tool.table_id and t.project_id = tool.project_id));

-- The endpoint and the Tool are visible only to those who may see their projects.
create policy see_bindings on public.mcp_binding for select to sakuin_member
  using (mcp_id in (select e.id from public.mcp e));
create policy change_bindings on public.mcp_binding to sakuin_member
  using (mcp_id in (select e.id from public.mcp e
                    where (select is_service()) or e.project_id in (select acting_projects('editor'))))
  with check (exists (select from public.mcp e join public.tool o on o.project_id = e.project_id
                      where e.id = mcp_binding.mcp_id and o.id = mcp_binding.tool_id
                        and ((select is_service()) or e.project_id in (select acting_projects('editor')))));

create policy see_keys on public.key_use for select to sakuin_member
  using (exists (select from public.mcp e where e.api_key_hash = key_use.key_hash)
         or exists (select from public.mcp e where e.previous_key_hash = key_use.key_hash));
create policy see_quotas on public.quota for select to sakuin_member using (true);

-- ---------------------------------------------------------------- grants
-- Hosted projects have different default grants, by their age. Until 2026 new tables and functions were open to all
-- three roles; since then service_role has no access to new tables either, but TRUNCATE, REFERENCES and TRIGGER are
-- still granted. Postgres itself lets everybody execute a new function. Therefore everything is revoked first, and
-- then granted by name.

-- Sets what each table and function needs, whatever they had. Each migration ends with it: a function that is created
-- again has lost its settings.
create function public.set_rights() returns void language plpgsql as $$
declare
  t regclass;
  f regprocedure;
  name regproc;
begin
  -- A table that has it is not locked.
  for t in
    select c.oid from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relrowsecurity
  loop
    execute format('alter table %s enable row level security', t);
  end loop;
  -- All functions find the same tables, whoever calls them. A table in a caller's pg_temp is found last.
  for f in select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosqlbody is null loop
    execute format('alter function %s set search_path = public, extensions, pg_temp', f);
  end loop;
  execute format('revoke temporary on database %I from public', current_database());
  revoke all on all tables in schema public from public, anon, authenticated, service_role;
  revoke all on all sequences in schema public from public, anon, authenticated, service_role;
  revoke all on all functions in schema public from public, anon, authenticated, service_role;

  -- Functions run with the rights of their caller, so the caller needs the tables that they use. Sequences need no
  -- grant: all of them belong to identity columns.
  grant select, insert, update, delete on all tables in schema public to service_role;
  grant execute on all functions in schema public to service_role;

  grant select on public.project, public.key_use, public.quota to sakuin_member;
  grant select, insert, update (role), delete on public.project_member to sakuin_member;
  grant select, insert, update, delete on public.context_table, public.tool, public.mcp, public.mcp_binding,
    public.project_synonyms to sakuin_member;
  grant execute on all functions in schema public to sakuin_member;

  -- The functions of the API. create_project runs with the rights of postgres (3_projects.sql). A role needs CREATE on
  -- the schema to become the owner of a function.
  grant create on schema public to sakuin_member;
  foreach name in array array[
    'list_projects', 'delete_project', 'add_member', 'invite_member', 'list_members', 'remove_member',
    'read_synonyms', 'replace_synonyms',
    'create_table', 'read_table', 'read_document', 'list_tables', 'replace_table', 'change_table', 'delete_table', 'begin_upload',
    'check_node', 'create_tool', 'read_tool', 'list_tools', 'change_tool', 'reindex_tool', 'delete_tool',
    'create_mcp', 'read_mcp', 'list_mcps', 'bind_tool', 'unbind_tool', 'rotate_mcp', 'change_mcp', 'delete_mcp'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('alter function %s owner to sakuin_member', name::regprocedure);
  end loop;
  revoke create on schema public from sakuin_member;

  -- What a search needs. These functions run with the rights of postgres: sakuin_search reads no table.
  foreach name in array array[
    'search_candidates', 'stored_candidates', 'chunks_to_show', 'has_terms', 'read_chunks', 'list_concepts', 'list_materials', 'filter_values', 'lexicon_entries',
    'library_places', 'read_page', 'find_text',
    'endpoint', 'endpoint_of_key', 'endpoint_of_user', 'table_lexicon_entries', 'table_term_frequencies', 'current_chunks',
    'objects_in_scope', 'entry_values',
    'index_versions', 'has_second_factor', 'search_keys', 'record_key_use', 'consume_quota', 'record_refused_question',
    'record_feedback', 'add_tokens', 'add_daily_counts'
  ]::regproc[] loop
    execute format('alter function %s security definer', name::regprocedure);
    execute format('grant execute on function %s to sakuin_search', name::regprocedure);
  end loop;
end $$;
select public.set_rights();

-- For what an operator creates by hand: the defaults of one schema cannot revoke functions from public, or enable row
-- level security. tests/isolation/test_sql_rights.py checks both.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges in schema public grant select, insert, update, delete on tables to service_role;
alter default privileges in schema public grant execute on functions to service_role;

reset search_path;
