-- What the work costs, and for whom it is done.

-- ---------------------------------------------------------------- the day's embedding tokens

create table public.embedding_day (
  day date primary key,
  tokens bigint not null check (tokens >= 0)
);
alter table public.embedding_day enable row level security;
revoke all on public.embedding_day from anon, authenticated;

create function public.embedding_tokens_today() returns bigint
language sql stable set search_path = public, extensions as $$
  select coalesce((select tokens from embedding_day where day = (now() at time zone 'utc')::date), 0)
$$;

-- One row a day, added to in place: workers that add at the same time wait for each other a moment.
create function public.add_embedding_tokens(p_tokens bigint) returns void
language sql set search_path = public, extensions as $$
  insert into embedding_day as d (day, tokens) values ((now() at time zone 'utc')::date, p_tokens)
  on conflict (day) do update set tokens = d.tokens + excluded.tokens
$$;

-- Tables whose indexing waits for the next day.
create table public.table_wait (
  table_id uuid primary key references public.context_table on delete cascade,
  until timestamptz not null
);
alter table public.table_wait enable row level security;
revoke all on public.table_wait from anon, authenticated;

-- Lets a Table wait for the next day, and says why on its tools; `settle_table` takes the reason away.
create function public.indexing_waits(p_table uuid, p_reason text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table for update;
  if not found then return; end if;
  insert into table_wait (table_id, until)
  values (p_table, date_trunc('day', now() at time zone 'utc') at time zone 'utc' + interval '1 day')
  on conflict (table_id) do update set until = excluded.until;
  perform merge_status(o.id, jsonb_build_object('last_error', p_reason, 'heartbeat_at', now()))
  from tool o
  where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing');
end $$;

-- Tables whose work stopped: pending or indexing without a sign of life, and not because they wait.
create or replace function public.stuck_tables(p_seconds integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(distinct jsonb_build_object('project_id', o.project_id, 'table_id', o.table_id)), '[]')
  from tool o
  where o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
    and coalesce((o.metadata->'search_index'->>'heartbeat_at')::timestamptz,
                 (o.metadata->'search_index'->>'configured_at')::timestamptz) < now() - make_interval(secs => p_seconds)
    and not exists (select from table_wait w
                    where w.table_id = o.table_id and w.until > now() - make_interval(secs => p_seconds))
$$;

-- ---------------------------------------------------------------- whose work an event is

-- The id of the request, as the functions send it along to PostgREST.
create function public.id_of_request() returns text
language sql stable set search_path = public, extensions as $$
  select left(nullif(current_setting('request.headers', true), '')::json->>'x-request-id', 128)
$$;
alter table public.outbox add column request_id text default public.id_of_request();

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
