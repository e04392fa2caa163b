-- What the words of a Table say of a question to one of its tools.

-- The Table of an enabled tool, if it can be reached through this endpoint now; null if not.
create function public.reachable_table(p_mcp uuid, p_tool uuid) returns uuid
language sql stable set search_path = public, extensions as $$
  select o.table_id
  from mcp m
  join mcp_binding b on b.mcp_id = m.id and b.status = 'enabled'
  join tool o on o.id = b.tool_id and o.enabled and o.project_id = m.project_id
  where m.id = p_mcp and m.status = 'enabled' and o.id = p_tool
$$;

-- The words of a Table whose reading is near: see near_words, which does the same for pages.
create function public.near_table_words(p_table uuid, p_fingerprint text, p_reading text) returns jsonb
language sql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
  with asked as materialized (
    select sound_of(p_reading) as sound, length(sound_of(p_reading)) as width,
           case when length(p_reading) >= 7 then 2 else 1 end as slips
  ),
  around as (
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and left(r.sound, 1) = left(a.sound, 1)
      and length(r.sound) between a.width - a.slips and a.width + a.slips
    union
    select r.* from asked a, table_reading r
    where r.table_id = p_table and r.fingerprint = p_fingerprint and right(r.sound, 1) = right(a.sound, 1)
      and length(r.sound) between a.width - a.slips and a.width + a.slips
  ),
  measured as (
    select r.written, r.chunks, case when is_swapped(r.sound, a.sound) then 1 else greatest(1, r.edits) end as distance
    from (select n.*, levenshtein_less_equal(n.sound, a.sound, 2) as edits from around n, asked a) r, asked a
    where r.edits <= a.slips or r.edits = 2 and is_swapped(r.sound, a.sound)
  )
  select jsonb_agg(w.written order by w.place) from (
    select m.written, row_number() over (order by min(m.distance), max(m.chunks) desc, m.written) as place
    from measured m group by m.written) w
  where w.place <= 5
$$;

-- What the words of a tool's Table say of a question, as look_up_words does for pages: {written, near}. Nothing for
-- a tool that cannot be reached now.
create function public.table_words(p_mcp uuid, p_tool uuid, p_fingerprint text, p_readings text[], p_words jsonb)
returns jsonb language plpgsql stable set search_path = public, extensions set jit = off set enable_seqscan = off as $$
declare
  asked uuid := reachable_table(p_mcp, p_tool);
begin
  return jsonb_build_object(
    'written', (
      select coalesce(jsonb_object_agg(w.reading, w.forms), '{}') from (
        select r.reading, jsonb_agg(r.written order by r.place) as forms from (
          select t.reading, t.written, row_number() over (partition by t.reading order by t.chunks desc, t.written) as place
          from table_reading t
          where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = any (p_readings)) r
        where r.place <= 5 group by r.reading) w),
    'near', (
      select coalesce(jsonb_object_agg(w.word, w.forms), '{}') from (
        select u.word, near_table_words(asked, p_fingerprint, u.reading) as forms from (
          select e.key as word, e.value as reading from jsonb_each_text(p_words) e
          where length(e.value) between 4 and 40 and not exists (
            select from table_reading t
            where t.table_id = asked and t.fingerprint = p_fingerprint and t.reading = e.value)
          order by e.key limit 8) u) w
      where w.forms is not null));
end $$;

revoke execute on all functions in schema public from public, anon, authenticated;
grant execute on all functions in schema public to service_role;
