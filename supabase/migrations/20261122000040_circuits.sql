-- What all workers know of a vendor that fails: a circuit is closed until somebody opens it.

create table public.circuit (
  name text primary key,
  state text not null check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  failure_count integer not null default 0,
  -- Seconds since 1970, as the workers' clocks say.
  opened_at bigint,
  half_open_owner text,
  probe_lease_expiry bigint,
  changed_at timestamptz not null default now()
);
alter table public.circuit enable row level security;
revoke all on public.circuit from anon, authenticated;

-- Null for a circuit that was never opened.
create function public.read_circuit(p_name text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select to_jsonb(c) from circuit c where c.name = p_name
$$;

-- The outage began when the first worker said so: who comes later, or while somebody probes, changes nothing.
create function public.open_circuit(p_name text, p_failure_count integer, p_opened_at bigint) returns void
language sql set search_path = public, extensions as $$
  insert into circuit as c (name, state, failure_count, opened_at)
  values (p_name, 'OPEN', p_failure_count, p_opened_at)
  on conflict (name) do update set state = 'OPEN', failure_count = excluded.failure_count,
    opened_at = excluded.opened_at, half_open_owner = null, probe_lease_expiry = null, changed_at = now()
    where c.state = 'CLOSED'
$$;

-- True for the one worker that may ask the vendor: of an open circuit that it knows as it is, or of one whose prober
-- has not been heard of until its lease ended.
create function public.claim_probe(
  p_name text, p_owner text, p_opened_at bigint, p_lease_expiry bigint, p_now bigint
) returns boolean
language sql set search_path = public, extensions as $$
  with claimed as (
    update circuit c set state = 'HALF_OPEN', half_open_owner = p_owner, probe_lease_expiry = p_lease_expiry,
      changed_at = now()
    where c.name = p_name
      and ((c.state = 'OPEN' and c.opened_at = p_opened_at) or (c.state = 'HALF_OPEN' and c.probe_lease_expiry <= p_now))
    returning 1
  )
  select exists (select from claimed)
$$;

-- What the probe has shown: the circuit is open anew, or closed (null).
create function public.end_probe(p_name text, p_opened_at bigint) returns void
language sql set search_path = public, extensions as $$
  update circuit set state = case when p_opened_at is null then 'CLOSED' else 'OPEN' end, failure_count = 0,
    opened_at = p_opened_at, half_open_owner = null, probe_lease_expiry = null, changed_at = now()
  where name = p_name
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
