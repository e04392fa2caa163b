-- Vectors belong to a model and a recipe. Another analyzer reads the same texts: it costs no embedding call, and
-- its vectors are compared with those from before.

create table public.vector_space (space text primary key);
alter table public.vector_space enable row level security;

-- The name of a space is made here and in sakuin.domain.recipe alike.
create function public.space_of(f public.index_fingerprint) returns text
language sql stable set search_path = public, extensions as $$
  select left(encode(sha256(convert_to(
    concat_ws(chr(31), f.model, f.dimensions, f.query_prefix, f.passage_prefix, f.recipe), 'UTF8')), 'hex'), 16)
$$;

insert into public.vector_space select distinct public.space_of(f) from public.index_fingerprint f;
alter table public.index_fingerprint add column space text references public.vector_space;
update public.index_fingerprint f set space = public.space_of(f);
alter table public.index_fingerprint alter column space set not null;
create index index_fingerprint_space on public.index_fingerprint (space);

alter table public.embedding_cache add column space text references public.vector_space;
update public.embedding_cache e set space = f.space from public.index_fingerprint f where f.fingerprint = e.fingerprint;
delete from public.embedding_cache e using public.embedding_cache twin
where twin.space = e.space and twin.text_hash = e.text_hash and twin.fingerprint < e.fingerprint;
alter table public.embedding_cache drop constraint embedding_cache_pkey, drop column fingerprint;
alter table public.embedding_cache add primary key (space, text_hash);

-- The sample of texts at random is looked for in the order of hashes, whatever they were built with.
drop index public.knowledge_chunks_sample;
create index knowledge_chunks_sample on public.knowledge_chunks (text_hash);

create function public.remember_fingerprint(p_fingerprint jsonb) returns void
language plpgsql set search_path = public, extensions as $$
declare
  f index_fingerprint;
begin
  f := jsonb_populate_record(null::index_fingerprint, p_fingerprint);
  f.space := space_of(f);
  f.created_at := now();
  insert into vector_space values (f.space) on conflict do nothing;
  insert into index_fingerprint values (f.*) on conflict do nothing;
end $$;

drop function public.missing_vectors(text, text[]);
create function public.missing_vectors(p_space text, p_text_hashes text[]) returns text[]
language sql stable set search_path = public, extensions as $$
  select coalesce(array_agg(h), '{}') from unnest(p_text_hashes) h
  where not exists (select from embedding_cache e where e.space = p_space and e.text_hash = h)
$$;

revoke all on all tables in schema public from anon, authenticated;
revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
