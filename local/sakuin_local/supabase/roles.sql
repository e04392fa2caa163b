-- What a Supabase project has before its first migration. Run as supabase_admin; :password is filled in by the caller.

create role anon nologin noinherit;
create role authenticated nologin noinherit;
create role service_role nologin noinherit bypassrls;
create role authenticator noinherit login password :password;
grant anon, authenticated, service_role to authenticator;

-- Hosted Supabase ends statements after these times. service_role has none of its own, so the authenticator's counts.
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';

-- The project's own role: it owns the database and applies the migrations, and it is no superuser.
create role postgres login createdb createrole bypassrls password :password;
grant anon, authenticated, service_role to postgres with admin option;
grant authenticator to postgres;
alter database postgres owner to postgres;
alter database postgres set search_path = "$user", public, extensions;

create schema extensions;
grant usage on schema extensions to anon, authenticated, service_role;
grant all on schema extensions to postgres;
-- Supabase lets `postgres` create it; here only a superuser may, so that a migration finds it there already.
create extension vector with schema extensions;

grant usage on schema public to anon, authenticated, service_role;
grant all on schema public to postgres;

-- What `postgres` creates in public is closed to the three roles, as on a hosted project of today: a migration grants what
-- they need. Only rights that the Data API does not use are still granted there, and a migration has to revoke them.
alter default privileges for role postgres in schema public
    grant truncate, references, trigger, maintain on tables to anon, authenticated, service_role;
alter default privileges for role postgres in schema public
    grant update on sequences to anon, authenticated, service_role;

create schema auth;
grant usage on schema auth to anon, authenticated, service_role, postgres;

create table auth.users (
    id uuid primary key default gen_random_uuid(),
    aud text,
    role text,
    email text unique,
    email_confirmed_at timestamptz,
    is_sso_user boolean not null default false,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    created_at timestamptz default now(),
    updated_at timestamptz default now()
);
grant all on auth.users to postgres;

create table auth.mfa_factors (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null,
    factor_type text not null default 'totp',
    status text not null default 'unverified'
);
create index mfa_factors_user_id_idx on auth.mfa_factors (user_id);
-- Hosted, too, nobody but its owner and who bypasses row level security sees a row.
alter table auth.mfa_factors enable row level security;
grant all on auth.mfa_factors to postgres;

create function auth.jwt() returns jsonb language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')
    )::jsonb
$$;

create function auth.uid() returns uuid language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
    )::uuid
$$;

create function auth.role() returns text language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.role', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
    )
$$;

create function auth.email() returns text language sql stable as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.email', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
    )
$$;

-- PostgREST learns of new tables and functions by itself.
create function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql as $$
begin
    notify pgrst, 'reload schema';
end $$;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_ddl_watch();
