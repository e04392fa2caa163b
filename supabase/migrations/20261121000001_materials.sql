-- Materials and their knowledge chunks: what the indexer writes, one transaction a page version.

create schema if not exists extensions;
create extension if not exists vector with schema extensions;

-- What an index was built with. Vectors of two fingerprints are never compared.
create table public.index_fingerprint (
  fingerprint text primary key,
  model text not null,
  dimensions integer not null,
  query_prefix text not null,
  passage_prefix text not null,
  recipe text not null,
  analyzer text not null,
  created_at timestamptz not null default now()
);

-- One row a material, also after its page is gone (a tombstone keeps late events out).
-- `sequencer` orders the events of one key and is compared as bytes, padded on the right by the writer.
create table public.material (
  material text collate "C" primary key,
  bucket text not null,
  key text not null,
  sequencer text collate "C" not null,
  version_id text,
  status text not null check (status in ('ready', 'failed', 'deleted')),
  error text,
  generation bigint not null default 1,
  indexed_sequencer text collate "C",
  indexed_version_id text,
  fingerprint text references public.index_fingerprint,
  chunks_count integer not null default 0,
  indexed_at timestamptz,
  updated_at timestamptz not null default now()
);

create table public.knowledge_chunks (
  id text primary key,
  material text collate "C" not null references public.material,
  anchor text collate "C" not null,
  title text not null,
  content text not null,
  learns text[] not null check (cardinality(learns) between 3 and 5),
  learns_source text not null check (learns_source in ('author', 'model', 'provisional', 'written')),
  learns_given text[],
  type text not null check (type in ('rule', 'method', 'definition', 'example', 'tip')),
  embedding extensions.vector(1536) not null,
  category text,
  level text,
  prerequisites text[] not null,
  position integer not null,
  content_hash text not null,
  text_hash text not null,
  illustrates text[] not null,
  terms text[] not null,
  title_terms text[] not null,
  fingerprint text not null references public.index_fingerprint,
  generation bigint not null,
  check (id = material || '#' || anchor)
);

create index knowledge_chunks_embedding on public.knowledge_chunks using hnsw (embedding extensions.vector_cosine_ops);
create index knowledge_chunks_terms on public.knowledge_chunks using gin (terms);
create index knowledge_chunks_material on public.knowledge_chunks (material, anchor);

-- Vectors by the hash of the text they stand for: the same text is embedded once, and a page's own
-- transaction carries no vectors.
create table public.embedding_cache (
  fingerprint text not null references public.index_fingerprint,
  text_hash text not null,
  embedding extensions.vector(1536) not null,
  created_at timestamptz not null default now(),
  primary key (fingerprint, text_hash)
);

create table public.learns_cache (
  cache_key text primary key,
  learns jsonb not null,
  created_at timestamptz not null default now()
);

-- The keys that become a material which another key owns (NFC and NFD spellings), each with its own fence.
create table public.waiting_source (
  key text primary key,
  material text collate "C" not null references public.material,
  bucket text not null,
  sequencer text collate "C" not null,
  version_id text,
  deleted boolean not null,
  since timestamptz not null default now()
);
create index waiting_source_material on public.waiting_source (material);

-- What became of each uploaded version, for the one who waits for it.
create table public.receipt (
  key text not null,
  version_id text not null,
  outcome text not null,
  reason text,
  at timestamptz not null default now(),
  primary key (key, version_id)
);
create index receipt_at on public.receipt (at);

alter table public.index_fingerprint enable row level security;
alter table public.material enable row level security;
alter table public.knowledge_chunks enable row level security;
alter table public.embedding_cache enable row level security;
alter table public.learns_cache enable row level security;
alter table public.waiting_source enable row level security;
alter table public.receipt enable row level security;

-- The library belongs to the functions alone: no policy lets another role in, and no grant does either.
revoke all on all tables in schema public from anon, authenticated;
