-- Tables and endpoints with their entries and filters in one call, for those who administer them.
set search_path = public, extensions;

drop function public.read_table(uuid);
drop function public.read_document(uuid);
drop function public.list_tables(uuid);
drop function public.read_mcp(uuid);
drop function public.list_mcps(uuid);

-- p_entries: with what its entries are. Version 1.0.0 reads no more members than it knows.
create function public.read_table(p_table uuid, p_entries boolean default false) returns jsonb language sql as $$
  select table_view(t) || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end
  from table_for(p_table, false) t
$$;

-- A Table with its document: {data: JSON text, or null; data_key: its key in the bucket, or null}.
create function public.read_document(p_table uuid, p_entries boolean default false) returns jsonb language sql as $$
  -- As text, so that no JSON library changes the document.
  select table_view(t) || jsonb_build_object('data', to_json(t.data::text), 'data_key', t.data_key)
    || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end
  from table_for(p_table, false) t
$$;

create function public.list_tables(p_project uuid, p_entries boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(table_view(t)
    || case when p_entries then jsonb_build_object('entries', t.entries) else '{}' end order by t.name, t.id), '[]')
  from context_table t where t.project_id = p_project
$$;

-- The fixed filter of each Tool of an endpoint, and the entries of its Table, by the id of the Tool; null if there are none.
create function public.filters_of(p_mcp uuid) returns jsonb language sql stable as $$
  select jsonb_object_agg(b.tool_id, jsonb_build_object('filter', b.filter, 'entries', t.entries))
  from mcp_binding b join tool o on o.id = b.tool_id join context_table t on t.id = o.table_id
  where b.mcp_id = p_mcp and (t.entries is not null or b.filter is not null)
$$;

-- p_filters: with filters_of it. Version 1.0.0 reads no more members than it knows.
create function public.read_mcp(p_mcp uuid, p_filters boolean default false) returns jsonb language sql as $$
  select mcp_view(mcp_for(p_mcp, false))
    || case when p_filters then jsonb_build_object('filters', filters_of(p_mcp)) else '{}' end
$$;

create function public.list_mcps(p_project uuid, p_filters boolean default false) returns jsonb language sql as $$
  select check_project(p_project, 'viewer');
  select coalesce(jsonb_agg(mcp_view(m)
    || case when p_filters then jsonb_build_object('filters', filters_of(m.id)) else '{}' end
    order by m.name, m.id), '[]') from mcp m where m.project_id = p_project
$$;

select public.set_rights();
reset search_path;
