-- Members are invited by their e-mail address.
set search_path = public, extensions;

alter table public.project_member add column email text, add column is_invited boolean not null default false;
alter table public.project_member add constraint project_member_invited_check
  check (not is_invited or (email is not null and role <> 'owner'));
create unique index project_member_invited on public.project_member (email, project_id) where is_invited;

-- Makes the acting user a member of each project that invited the account's confirmed address in the last 30 days. An
-- identity provider (SSO) may claim any address: its accounts accept nothing. Runs as postgres, who may read auth.users.
create function public.accept_invitations() returns void language sql security definer as $$
  with accepted as (
    delete from project_member m using auth.users u
    where u.id = acting_user() and u.email_confirmed_at is not null and not u.is_sso_user
      and m.is_invited and m.email = lower(u.email)
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

select public.set_rights();
reset search_path;
