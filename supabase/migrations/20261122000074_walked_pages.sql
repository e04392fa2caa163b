-- One walk for many events: a page that was walked for a generation, and whose next page is in the queue, is not walked
-- again because another event of the same changes comes.

-- So many strings of this generation were walked, and when.
alter table public.table_plan
  add column walked_generation bigint,
  add column walked_nodes integer not null default 0,
  add column walked_at timestamptz;

-- Whether a page has to be walked. p_heard: an event says so; whoever asks for a walk by name gets it, from the start.
-- A quarter of an hour later an event begins again what is still not whole: by then messages of the walk may be lost.
create function public.walk_wanted(
  p_table uuid, p_fingerprint text, p_generation bigint, p_skip integer, p_heard boolean
) returns boolean language plpgsql set search_path = public, extensions as $$
declare
  present bigint;
  compares boolean;
  at timestamptz;
begin
  select t.generation, t.check_store into present, compares from context_table t where t.id = p_table;
  -- Who walks it finds that it is gone, and takes away what is left.
  if present is null then return true; end if;
  if p_generation <> present then return false; end if;
  if p_skip = 0 and not p_heard then
    update table_plan p set walked_generation = null where p.table_id = p_table and p.fingerprint = p_fingerprint;
    return true;
  end if;
  select p.walked_at into at from table_plan p
  where p.table_id = p_table and p.fingerprint = p_fingerprint and p.walked_generation = present
    and p.walked_nodes > p_skip;
  if at is null or compares then return true; end if;
  return at < now() - interval '15 minutes' and not (
    table_whole(p_table, p_fingerprint) and not has_rows_to_sweep(p_table, p_fingerprint)
    and not exists (select from tool o where o.table_id = p_table and o.enabled and tables_answer(p_fingerprint)
                    and o.metadata->'search_index'->>'state' is distinct from 'ready'));
end $$;

-- A page is done: what it planned is in the queue, and so is the next page, or the walk has ended.
create function public.page_walked(p_table uuid, p_fingerprint text, p_generation bigint, p_nodes integer) returns void
language sql set search_path = public, extensions as $$
  update table_plan p set walked_generation = p_generation, walked_at = now(),
    walked_nodes = case when p.walked_generation = p_generation then greatest(p.walked_nodes, p_nodes) else p_nodes end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    and p_generation >= coalesce(p.walked_generation, p_generation)
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
