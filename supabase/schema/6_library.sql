-- What the library is: what its owner says of it and of its folders, and what is in them.

-- What its owner says of the library ('') or of a folder. Only an admin key writes it; nothing of a page gets here.
create table public.library_description (
  folder text collate "C" primary key check (char_length(folder) <= 500),
  description text not null check (octet_length(description) between 1 and 400)
);

-- What is in the library, or in the folder p_in (with a slash at its end), and in its first p_limit described folders, by
-- name: [{folder, description, pages, types, languages: {code: pages}, changed_at}]. Of ten languages at most; what is no
-- code of a language is left out. With p_filter only of explanations that pass it.
create function public.library_places(
  p_limit integer, p_in text default null, p_filter public.page_filter default null
) returns jsonb language sql stable as $$
  with place as (
    -- '0' follows '/': the names between them are those in the folder.
    select p.folder, case when p.folder = '' then '' else p.folder || '/' end as lowest,
      case when p.folder = '' then chr(1114111) else p.folder || '0' end as beyond
    from (select coalesce(rtrim(p_in, '/'), '') collate "C" as folder
          union
          (select d.folder from library_description d where p_in is null or starts_with(d.folder || '/', p_in)
           order by d.folder limit p_limit)) p
  ), page as materialized (
    select m.material, m.changed_at, k.id is not null as is_there, k.language
    from material m left join lateral (
      select c.id, c.language from knowledge_chunks c
      where c.material = m.material and passes(c, p_filter) order by c.position limit 1) k on true
    where m.material >= coalesce(p_in, '') and m.material < coalesce(rtrim(p_in, '/') || '0', chr(1114111))
      and not starts_with(m.material, '_sakuin/') and (p_filter is null or k.id is not null)
  ), counted as materialized (
    select p.folder, g.language, count(*) filter (where g.is_there) as pages, max(g.changed_at) as changed_at
    from place p join page g on g.material >= p.lowest and g.material < p.beyond
    group by p.folder, g.language
  )
  select jsonb_agg(jsonb_build_object(
    'folder', p.folder, 'description', d.description,
    'pages', (select coalesce(sum(c.pages), 0) from counted c where c.folder = p.folder),
    'changed_at', (select max(c.changed_at) from counted c where c.folder = p.folder),
    'languages', (select coalesce(jsonb_object_agg(c.language, c.pages), '{}') from (
      select o.language, o.pages from counted o
      where o.folder = p.folder and o.pages > 0 and o.language ~ '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})?$'
      order by o.pages desc, o.language limit 10) c),
    'types', (select coalesce(jsonb_agg(x.type order by x.place), '[]')
              from unnest(array['rule', 'method', 'definition', 'example', 'tip']) with ordinality as x(type, place)
              where exists (select from knowledge_chunks k
                            where k.type = x.type and k.material >= p.lowest and k.material < p.beyond
                              and passes(k, p_filter)))) order by p.folder)
  from place p left join library_description d using (folder)
$$;
