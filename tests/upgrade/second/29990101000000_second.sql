-- A migration as a version after 1.0 may have it. It changes a table and two functions that searches call meanwhile.

-- A table: columns with a default, so that functions of the version before still write rows.
alter table public.material add column language text not null default '';
alter table public.knowledge_chunks add column reviewed_at timestamptz;

-- A function with one more argument. The one before goes in the same transaction: PostgREST could not choose between
-- two that fit.
alter function public.search_candidates(text, jsonb, text, integer, integer, integer, text, text, text, text, text, text, text[])
  rename to matching_candidates;
create function public.search_candidates(
  p_embedding text, p_slots jsonb, p_space text, p_depth integer, p_sample integer,
  p_posting_budget integer, p_expected text default null, p_type text default null, p_category text default null,
  p_level text default null, p_material text default null, p_in text default null, p_folders text[] default '{""}',
  p_language text default ''
) returns json language sql as $$
  select (matching_candidates(p_embedding, p_slots, p_space, p_depth, p_sample, p_posting_budget, p_expected, p_type,
                              p_category, p_level, p_material, p_in, p_folders)::jsonb
          || jsonb_build_object('language', p_language))::json
$$;

-- An event of the outbox: one more member.
alter table public.outbox add column priority integer not null default 0;

select public.set_rights();
