-- Drops what the functions before 20261129200000 called. A call that began with those still needs it: this waits, at most a
-- minute, for all transactions that began earlier.
set search_path = public, extensions;

do $$
declare
  started constant timestamptz := clock_timestamp();
begin
  for attempt in 1..600 loop
    perform pg_stat_clear_snapshot();
    exit when not exists (
      select from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend' and a.xact_start < started);
    perform pg_sleep(.1);
  end loop;
end $$;

drop function public.similar_table_words(uuid, text, text);
drop function public.similar_table_words(uuid, text, text, bigint[]);
drop function public.passing_words(uuid, text, jsonb);
drop function public.similar_words(text);
drop function public.passes(public.knowledge_chunks, text, text, text, text, text);
drop function public.vector_in_language(text, integer, extensions.halfvec, text);
drop function public.sampled_cosines(extensions.halfvec, text, integer);
drop function public.nearest_chunks(extensions.halfvec, text, integer, text, bigint, boolean, text, text, text, text, text);
drop function public.nearest_by_language(extensions.halfvec, text, integer, integer, json, bigint, boolean, text, text, text, text, text);
drop function public.question_terms(jsonb, text[], bigint, integer);
drop function public.matching_chunks(jsonb, public.posting_hits, text[], integer[], integer, bigint, text, text, text, text, text);
drop function public.with_illustrated(text[], text, text, text, text, text, text);
drop function public.candidates_of(text[], text[], jsonb, public.posting_hits, extensions.halfvec, text, text, text, text, text, text, text);

select public.set_rights();
reset search_path;
