-- Members are invited by their e-mail address.
set search_path = public, extensions;

alter table public.project_member add column email text collate "C", add column is_invited boolean not null default false;
alter table public.project_member add constraint project_member_invited_check
  check (not is_invited or (email is not null and role <> 'owner'));
create unique index project_member_invited on public.project_member (email, project_id) where is_invited;

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
create or replace function public.list_projects() returns jsonb language sql as $$
  select accept_invitations();
  select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'role', m.role)
                            order by p.created_at, p.id), '[]')
  from project p left join project_member m on m.project_id = p.id and m.user_id = acting_user()
$$;

drop function public.list_members(uuid);

-- p_emails: with what was invited; the addresses are for owners. Version 1.0.0 reads no more members than it knows.
create function public.list_members(p_project uuid, p_emails boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(jsonb_build_object('user_id', m.user_id, 'role', m.role, 'since', m.created_at)
    || case when p_emails then jsonb_build_object('is_invited', m.is_invited, 'email',
              case when is_service() or p_project in (select acting_projects('owner')) then m.email end) else '{}' end
    order by m.created_at, m.user_id), '[]')
  from project_member m where m.project_id = p_project
$$;

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
reset search_path;
