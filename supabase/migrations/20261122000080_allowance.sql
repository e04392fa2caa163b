-- How many searches each holder has taken of his minute: a key of /mcp by its hash, an endpoint by its id, for whoever
-- may rotate its key would begin a new minute with each. What a crash loses here nobody misses, hence unlogged.

create unlogged table public.allowance (
  holder text primary key,
  minute timestamptz not null,
  taken integer not null
);
alter table public.allowance enable row level security;
revoke all on public.allowance from anon, authenticated;

-- Grants p_wanted searches of this minute, or a quarter of what is left if that is less.
create function public.take_allowance(p_holder text, p_wanted integer, p_per_minute integer) returns jsonb
language plpgsql set search_path = public, extensions as $$
declare
  now_is timestamptz := clock_timestamp();
  this_minute timestamptz := date_trunc('minute', now_is);
  spent integer;
  granted integer;
begin
  insert into allowance as known values (p_holder, this_minute, 0)
  on conflict (holder) do update set
    minute = greatest(known.minute, excluded.minute),
    taken = case when known.minute < excluded.minute then 0 else known.taken end
  returning taken into spent;
  granted := least(p_wanted, ceil(greatest(p_per_minute - spent, 0) / 4.0)::integer);
  update allowance set taken = taken + granted where holder = p_holder;
  return jsonb_build_object(
    'searches', granted,
    'seconds', 60 - extract(epoch from now_is - this_minute)
  );
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
