-- Bodies of Tables that nobody needs any more are removed from their bucket: which folders of it to look through.

-- A Table's folder, since its body changed, was announced, or since the Table is gone.
create table public.left_body (
  folder text primary key,
  table_id uuid not null,
  since timestamptz not null default now()
);
create index left_body_since on public.left_body (since);
alter table public.left_body enable row level security;
revoke all on public.left_body from anon, authenticated;

create function public.folder_of_bodies(t public.context_table) returns text
language sql immutable set search_path = public, extensions as $$
  select 'tables/' || t.project_id || '/' || t.id || '/'
$$;

-- What came by upload until now.
insert into public.left_body (folder, table_id)
select folder_of_bodies(t), t.id from public.context_table t where t.upload > 0;

create function public.leave_bodies() returns trigger
language plpgsql set search_path = public, extensions as $$
begin
  -- An address to upload to that was given out before outlives its Table by minutes.
  insert into left_body (folder, table_id) values (folder_of_bodies(old), old.id)
  on conflict (folder) do update set since = case when tg_op = 'DELETE' then now() else left_body.since end;
  return null;
end $$;
create trigger leave_bodies after update of upload, imported_upload, data_key on public.context_table
  for each row when (new.upload > 0) execute function public.leave_bodies();
create trigger leave_bodies_of_the_deleted after delete on public.context_table
  for each row when (old.upload > 0) execute function public.leave_bodies();

-- Folders to look through, the longest known first: [{folder, keep}], `keep` the body that the Table has now. A Table
-- that is gone needs nothing after p_gone seconds; of others a message may still import what came p_left seconds ago.
create function public.left_bodies(p_gone integer, p_left integer, p_limit integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('folder', x.folder, 'keep', x.data_key, 'gone', x.gone) order by x.since), '[]')
  from (
    select l.folder, l.since, t.data_key, t.id is null as gone
    from left_body l left join context_table t on t.id = l.table_id
    where l.since < now() - make_interval(secs => case when t.id is null then p_gone else p_left end)
    order by l.since limit p_limit) x
$$;

-- Looked through, but for p_keep. With p_again something in it is too young yet; a Table that has another body by now
-- is looked through once more.
create function public.bodies_removed(p_folder text, p_keep text, p_again boolean) returns void
language sql set search_path = public, extensions as $$
  update left_body l set since = now() where l.folder = p_folder and p_again;
  delete from left_body l where l.folder = p_folder and not p_again
    and not exists (select from context_table t where t.id = l.table_id and t.data_key is distinct from p_keep)
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
