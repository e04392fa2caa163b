-- A worker that dies between the flip and the sweep leaves rows of the older version in the store. Whoever comes next
-- for the same Table sweeps them, and the Table is not ready before.

create index node_unswept on public.node (table_id, fingerprint) where unswept;

-- The nodes that answer with what is wanted while rows of older versions may be in the store.
create function public.unswept_nodes(p_table uuid, p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'pointer_hash', n.pointer_hash, 'content_hash', n.content_hash, 'generation', n.generation)
    order by n.pointer_hash), '[]')
  from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.unswept
    and n.content_hash = n.wanted_hash
$$;

-- Whether anything that is to leave the store may still be there.
create function public.has_rows_to_sweep(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint and n.unswept)
    or exists (select from removed_chunk r where r.table_id = p_table and r.fingerprint = p_fingerprint)
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
