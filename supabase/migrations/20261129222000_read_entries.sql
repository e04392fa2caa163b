-- What entries are, and which filters endpoints fix, for those who administer them.
set search_path = public, extensions;

drop function public.read_entries(uuid);

-- What the entries of Tables are, by the id of the Table. Not in table_view: version 1.0.0 reads no more members than it
-- knows.
create function public.read_entries(p_tables uuid[]) returns jsonb language sql as $$
  select acting_user();
  select coalesce(jsonb_object_agg(t.id, t.entries), '{}') from context_table t
  where t.id = any (p_tables) and t.entries is not null
$$;

-- The fixed filter of each Tool of these endpoints, and the entries of its Table, by the ids of both. Not in mcp_view:
-- version 1.0.0 reads no more members than it knows.
create function public.read_filters(p_mcps uuid[]) returns jsonb language sql as $$
  select acting_user();
  select coalesce(jsonb_object_agg(x.mcp_id, x.tools), '{}') from (
    select b.mcp_id, jsonb_object_agg(b.tool_id, jsonb_build_object('filter', b.filter, 'entries', t.entries)) as tools
    from mcp_binding b join tool o on o.id = b.tool_id join context_table t on t.id = o.table_id
    where b.mcp_id = any (p_mcps) and (t.entries is not null or b.filter is not null) group by b.mcp_id) x
$$;

-- Sets what each table and function needs, whatever they had. Each migration ends with it: a function that is created
-- again has lost its settings.
create or replace function public.set_rights() returns void language plpgsql as $$
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
    'create_table', 'read_table', 'read_entries', 'read_document', 'list_tables', 'replace_table', 'change_table', 'delete_table', 'begin_upload',
    'check_node', 'create_tool', 'read_tool', 'list_tools', 'change_tool', 'reindex_tool', 'delete_tool',
    'create_mcp', 'read_mcp', 'list_mcps', 'read_filters', 'bind_tool', 'unbind_tool', 'rotate_mcp', 'change_mcp', 'delete_mcp'
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
reset search_path;
