-- Collections of notebooks, and everything that a search needs to know about their chunks.
--
-- Every table has row-level security: a transaction that has not named its collection (the setting sectile.collection) sees
-- no rows. Operators that a policy is to let through to an index must be leakproof, and only plain comparisons are: hence
-- lists of chunks by the hash of a word instead of an index of arrays.

CREATE TABLE sectile.collection (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    rules text NOT NULL,
    as_of bigint NOT NULL,
    revision bigint NOT NULL,
    notebooks bigint NOT NULL,
    chunks bigint NOT NULL,
    heading_words bigint NOT NULL,
    trail_words bigint NOT NULL,
    body_words bigint NOT NULL,
    -- The first number that was never used.
    next_chunk integer NOT NULL,
    next_block integer NOT NULL,
    -- Whether there is a graph of its vectors.
    has_graph boolean NOT NULL
);

CREATE TABLE sectile.notebook (
    collection bigint NOT NULL,
    path text COLLATE "C" NOT NULL,
    stamp bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (collection, path)
);

CREATE TABLE sectile.chunk (
    collection bigint NOT NULL,
    id integer NOT NULL,
    -- The group of lists that contains it.
    block integer NOT NULL,
    path text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    span_start bigint NOT NULL,
    span_end bigint NOT NULL,
    line bigint NOT NULL,
    digest bytea NOT NULL,
    notebook_digest bytea NOT NULL,
    headings bytea NOT NULL,
    heading_words integer NOT NULL,
    trail_words integer NOT NULL,
    body_words integer NOT NULL,
    square integer NOT NULL,
    vector halfvec(256) NOT NULL,
    words bytea NOT NULL,
    PRIMARY KEY (collection, id),
    UNIQUE (collection, path, number)
);
ALTER TABLE sectile.chunk ALTER COLUMN words SET STORAGE EXTERNAL;
CREATE INDEX chunk_digest ON sectile.chunk (collection, digest);

-- Number of chunks with each word or name (t) and each stem (s).
CREATE TABLE sectile.term (
    collection bigint NOT NULL,
    kind "char" NOT NULL,
    term bytea NOT NULL,
    stem bytea,
    chunks bigint NOT NULL,
    -- The number of chunks in which it is a word.
    words bigint NOT NULL,
    PRIMARY KEY (collection, kind, term)
);
CREATE INDEX term_stem ON sectile.term (collection, stem) WHERE stem IS NOT NULL;

-- Chunks by the hash of a word, name or stem, with its approximate weight there; chunks written together share a row.
CREATE TABLE sectile.posting (
    collection bigint NOT NULL,
    hash bigint NOT NULL,
    block integer NOT NULL,
    chunks integer[] NOT NULL,
    weights smallint[] NOT NULL,
    PRIMARY KEY (collection, hash, block)
);
ALTER TABLE sectile.posting ALTER COLUMN chunks SET STORAGE EXTERNAL;
ALTER TABLE sectile.posting ALTER COLUMN weights SET STORAGE EXTERNAL;

ALTER TABLE sectile.collection ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile.notebook ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile.chunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile.term ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile.posting ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY one_collection ON sectile.collection
    USING (name = current_setting('sectile.collection', true));
CREATE POLICY one_collection ON sectile.notebook
    USING (collection = (SELECT id FROM sectile.collection WHERE name = current_setting('sectile.collection', true)));
CREATE POLICY one_collection ON sectile.chunk
    USING (collection = (SELECT id FROM sectile.collection WHERE name = current_setting('sectile.collection', true)));
CREATE POLICY one_collection ON sectile.term
    USING (collection = (SELECT id FROM sectile.collection WHERE name = current_setting('sectile.collection', true)));
CREATE POLICY one_collection ON sectile.posting
    USING (collection = (SELECT id FROM sectile.collection WHERE name = current_setting('sectile.collection', true)));
