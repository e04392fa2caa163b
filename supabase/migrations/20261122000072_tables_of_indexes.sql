-- A Table is walked for every index that is kept. Its tools speak of the one that answers; what is built beside it is
-- noted here and nowhere else.

-- A row a Table and fingerprint: the generation that was walked to its end, when somebody last worked at it, why it
-- does not get on, and the generation that was given up, if it is.
create table public.table_plan (
  table_id uuid not null references public.context_table on delete cascade,
  fingerprint text not null,
  generation bigint not null default -1,
  skipped_nodes jsonb not null default '[]',
  error text,
  failed_generation bigint,
  heartbeat_at timestamptz not null default now(),
  primary key (table_id, fingerprint)
);
alter table public.table_plan enable row level security;
revoke all on public.table_plan from anon, authenticated;
insert into public.table_plan (table_id, fingerprint, generation, skipped_nodes)
select t.id, t.planned_fingerprint, t.planned_generation, t.skipped_nodes
from public.context_table t where t.planned_fingerprint is not null;

create function public.note_plan(p_table uuid, p_fingerprint text, p_error text, p_failed bigint) returns void
language sql set search_path = public, extensions as $$
  insert into table_plan as p (table_id, fingerprint, error, failed_generation)
  values (p_table, p_fingerprint, p_error, p_failed)
  on conflict (table_id, fingerprint) do update set
    heartbeat_at = now(), error = excluded.error, failed_generation = excluded.failed_generation
$$;

-- A walk of this generation begins; false if a newer one has come. Tools hear only of the index that answers.
create function public.walk_started(p_table uuid, p_fingerprint text, p_generation bigint) returns boolean
language plpgsql set search_path = public, extensions as $$
begin
  if tables_answer(p_fingerprint) then
    if not indexing_started(p_table, p_generation) then return false; end if;
  else
    perform from context_table t where t.id = p_table and t.generation = p_generation for share;
    if not found then return false; end if;
  end if;
  perform note_plan(p_table, p_fingerprint, null, null);
  return true;
end $$;

-- As before, and what was planned is noted by fingerprint: the Table's own columns are of the index that answers.
create or replace function public.unwant_nodes(
  p_table uuid, p_fingerprint text, p_generation bigint, p_kept text[], p_skipped jsonb
) returns jsonb language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for update;
  if not found then return null; end if;
  perform lock_words(p_table, p_fingerprint);
  with removed as (
    delete from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
      and not exists (select from unnest(p_kept) kept where kept = n.pointer_hash) returning n.pointer_hash
  ), rows as (
    delete from chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint
      and c.pointer_hash = any (array(select r.pointer_hash from removed r)) returning c.turbopuffer_doc_id
  )
  insert into removed_chunk (table_id, fingerprint, turbopuffer_doc_id, generation)
  select p_table, p_fingerprint, r.turbopuffer_doc_id, p_generation from rows r where r.turbopuffer_doc_id is not null
  on conflict (table_id, fingerprint, turbopuffer_doc_id) do update set generation = excluded.generation;
  insert into table_plan (table_id, fingerprint, generation, skipped_nodes)
  values (p_table, p_fingerprint, p_generation, p_skipped)
  on conflict (table_id, fingerprint) do update set
    generation = excluded.generation, skipped_nodes = excluded.skipped_nodes, error = null, failed_generation = null,
    heartbeat_at = now();
  if tables_answer(p_fingerprint) then
    update context_table set planned_generation = p_generation, planned_fingerprint = p_fingerprint,
      skipped_nodes = p_skipped
    where id = p_table;
  end if;
  return (select coalesce(jsonb_object_agg(x.generation, x.ids), '{}') from (
            select r.generation, jsonb_agg(r.turbopuffer_doc_id) as ids from removed_chunk r
            where r.table_id = p_table and r.fingerprint = p_fingerprint group by r.generation) x);
end $$;

-- Whether a Table answers whole with a fingerprint: walked to the end, each string stored as it is wanted.
create function public.table_whole(p_table uuid, p_fingerprint text) returns boolean
language sql stable set search_path = public, extensions as $$
  select exists (select from table_plan p join context_table t on t.id = p.table_id and t.generation = p.generation
                 where p.table_id = p_table and p.fingerprint = p_fingerprint)
    and not exists (select from node n where n.table_id = p_table and n.fingerprint = p_fingerprint
                    and n.content_hash is distinct from n.wanted_hash)
    and not exists (select from unstored_chunks c where c.table_id = p_table and c.fingerprint = p_fingerprint)
    and not has_rows_to_sweep(p_table, p_fingerprint)
$$;

-- What was given up stays so until all of it is there: another batch of the same Table may still come.
create function public.settle_index(p_table uuid, p_fingerprint text) returns boolean
language plpgsql set search_path = public, extensions as $$
declare
  done boolean;
begin
  if not exists (select from context_table t where t.id = p_table) then return false; end if;
  done := case when tables_answer(p_fingerprint) then settle_table(p_table, p_fingerprint)
               else table_whole(p_table, p_fingerprint) end;
  update table_plan p set heartbeat_at = now(), error = case when not done then p.error end,
    failed_generation = case when not done then p.failed_generation end
  where p.table_id = p_table and p.fingerprint = p_fingerprint
    -- Every batch of a Table comes here.
    and (p.heartbeat_at < now() - interval '2 seconds' or done and p.error is not null);
  return done;
end $$;

create function public.walk_failed(p_table uuid, p_fingerprint text, p_generation bigint, p_error text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform from context_table t where t.id = p_table and t.generation = p_generation for share;
  if not found then return; end if;
  perform note_plan(p_table, p_fingerprint, p_error, p_generation);
  if tables_answer(p_fingerprint) then
    perform indexing_failed(p_table, p_generation, p_error);
  end if;
end $$;

-- A reindex compares every index with the store; the last one is that which answers.
create function public.index_compared(p_table uuid, p_fingerprint text, p_generation bigint) returns void
language sql set search_path = public, extensions as $$
  select store_compared(p_table, p_generation) where tables_answer(p_fingerprint)
$$;

-- As before; of an index that does not answer, its plan hears what becomes of its work, and no tool does.
create or replace function public.note_work(p_table uuid, p_fingerprint text, p_status jsonb) returns void
language plpgsql set search_path = public, extensions as $$
begin
  if p_fingerprint is null or tables_answer(p_fingerprint) then
    perform merge_status(o.id, p_status || jsonb_build_object('heartbeat_at', now()))
    from tool o
    where o.table_id = p_table and o.enabled and o.metadata->'search_index'->>'state' in ('pending', 'indexing');
  else
    update table_plan p set heartbeat_at = now(), error = coalesce(p_status->>'last_error', p.error)
    where p.table_id = p_table and p.fingerprint = p_fingerprint;
  end if;
end $$;

-- Tables that have something to be indexed.
create view public.indexed_table with (security_invoker = true) as
  select t.id, t.project_id, t.generation, t.updated_at from context_table t
  where (t.data is not null or t.data_key is not null)
    and exists (select from tool o where o.table_id = t.id and o.enabled);
revoke all on public.indexed_table from anon, authenticated;

-- Tables whose work for this index stopped: no sign of life, and nothing speaks for them. Of the index that answers
-- their tools wait; of another they were asked for, and neither whole nor given up. Of any index also those of which
-- something is there that no tool asks for.
create or replace function public.stuck_tables(p_fingerprint text, p_seconds integer) returns jsonb
language sql stable set search_path = public, extensions as $$
  with still as (
    select o.table_id from tool o
    where tables_answer(p_fingerprint) and o.enabled
      and o.metadata->'search_index'->>'state' in ('pending', 'indexing')
      and coalesce(moment_of(o.metadata->'search_index'->>'heartbeat_at'),
                   moment_of(o.metadata->'search_index'->>'configured_at')) < now() - make_interval(secs => p_seconds)
    union
    select t.id from table_plan p join indexed_table t on t.id = p.table_id
    where not tables_answer(p_fingerprint) and p.fingerprint = p_fingerprint
      and p.failed_generation is distinct from t.generation
      -- A change is asked for by its event.
      and greatest(p.heartbeat_at, t.updated_at) < now() - make_interval(secs => p_seconds)
      and not table_whole(t.id, p_fingerprint)
    union
    select t.id from context_table t
    where t.updated_at < now() - make_interval(secs => p_seconds)
      and not exists (select from tool o where o.table_id = t.id and o.enabled)
      and (exists (select from node n where n.table_id = t.id and n.fingerprint = p_fingerprint)
           or exists (select from removed_chunk r where r.table_id = t.id and r.fingerprint = p_fingerprint))
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', t.project_id, 'table_id', t.id) order by t.id), '[]')
  from still s join context_table t on t.id = s.table_id
  where not has_work(t.id, p_fingerprint)
$$;

-- Tables that an index which does not answer has never been asked for, noted as asked for: with those that are under
-- way p_limit at most. Also those that were given up so long ago. What stands still in between is started again.
create function public.tables_to_build(p_fingerprint text, p_seconds integer, p_limit integer) returns jsonb
language sql set search_path = public, extensions as $$
  with under_way as materialized (
    select count(*) as n from table_plan p join indexed_table t on t.id = p.table_id
    where p.fingerprint = p_fingerprint and p.failed_generation is distinct from t.generation
      and not table_whole(t.id, p_fingerprint)
  ), unbuilt as materialized (
    select t.id, t.project_id from indexed_table t
    left join table_plan p on p.table_id = t.id and p.fingerprint = p_fingerprint
    where not tables_answer(p_fingerprint) and not has_work(t.id, p_fingerprint)
      and (p.table_id is null
           or p.failed_generation = t.generation and p.heartbeat_at < now() - make_interval(secs => p_seconds))
    order by t.id limit greatest(p_limit - (select n from under_way), 0)
  ), noted as (
    insert into table_plan (table_id, fingerprint) select u.id, p_fingerprint from unbuilt u
    on conflict (table_id, fingerprint) do update set heartbeat_at = now()
  )
  select coalesce(jsonb_agg(jsonb_build_object('project_id', u.project_id, 'table_id', u.id) order by u.id), '[]')
  from unbuilt u
$$;

-- An index goes when it is dropped, not when another one is whole: nobody is wanted anew by the side.
drop function public.want_outdated_tables(text);

-- What Tables still hold for indexes that are not kept: [{project_id, table_id, fingerprints: [{fingerprint, suffix}]}].
create or replace function public.leftover_fingerprints(p_fingerprint text) returns jsonb
language sql stable set search_path = public, extensions as $$
  select coalesce(jsonb_agg(jsonb_build_object('project_id', l.project_id, 'table_id', l.id, 'fingerprints', l.others)), '[]')
  from (
    select t.project_id, t.id, jsonb_agg(jsonb_build_object('fingerprint', f.fingerprint, 'suffix', f.suffix)) as others
    from context_table t cross join table_fingerprint f
    where f.fingerprint <> p_fingerprint and not tables_kept(f.fingerprint)
      and (exists (select from node n where n.table_id = t.id and n.fingerprint = f.fingerprint)
           or exists (select from table_plan p where p.table_id = t.id and p.fingerprint = f.fingerprint))
    group by t.id
  ) l
$$;

-- As before, and its plan.
create or replace function public.forget_fingerprint(p_table uuid, p_fingerprint text) returns void
language plpgsql set search_path = public, extensions as $$
begin
  perform lock_words(p_table, p_fingerprint);
  delete from chunks where table_id = p_table and fingerprint = p_fingerprint;
  delete from node where table_id = p_table and fingerprint = p_fingerprint;
  delete from table_reading where table_id = p_table and fingerprint = p_fingerprint;
  delete from table_plan where table_id = p_table and fingerprint = p_fingerprint;
end $$;

-- The namespaces that nobody needs any more, of one Table or of all: their Table is gone, or their index is not kept
-- and the Table holds no records of theirs.
create or replace function public.abandoned_namespaces(p_fingerprint text, p_table uuid) returns jsonb
language sql set search_path = public, extensions as $$
  with judged as materialized (
    select s.namespace, s.gone_at, t.id is null or s.fingerprint <> p_fingerprint and not tables_kept(s.fingerprint)
      and not exists (select from node n where n.table_id = t.id and n.fingerprint = s.fingerprint) as abandoned
    from table_namespace s left join context_table t on t.id = s.table_id
    where p_table is null or s.table_id = p_table
  ), noted as (
    update table_namespace s set gone_at = case when j.abandoned then now() end
    from judged j where j.namespace = s.namespace and j.abandoned = (s.gone_at is null)
  )
  select coalesce(jsonb_agg(j.namespace order by j.namespace), '[]') from judged j where j.abandoned
$$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
