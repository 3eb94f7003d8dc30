-- Tenants of a desk: the files of each, the journal and the ids of its documents.
--
-- Every table has row-level security: a transaction that has not named its tenant (the setting sectile.tenant) sees no rows.
-- Only the list of tenants can be read as a whole, by a transaction that names '*', which is not the name of a tenant.

CREATE TABLE sectile_desk.tenant (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9_-]{1,32}$'),
    revision bigint NOT NULL,
    -- The id of the commit that made the revision.
    commit text COLLATE "C" NOT NULL,
    -- Before this revision, removed files and ids of commits may be forgotten.
    known_from bigint NOT NULL,
    files bigint NOT NULL,
    bytes bigint NOT NULL
);

-- A file that was removed keeps its row for a while, without a digest.
CREATE TABLE sectile_desk.file (
    tenant text COLLATE "C" NOT NULL REFERENCES sectile_desk.tenant ON DELETE CASCADE,
    path text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    digest bytea,
    length bigint NOT NULL,
    modified bigint NOT NULL,
    bytes bytea,
    PRIMARY KEY (tenant, path)
);
CREATE INDEX file_revision ON sectile_desk.file (tenant, revision);

-- The journal and the ids. They only grow, until they are replaced.
CREATE TABLE sectile_desk.log (
    tenant text COLLATE "C" NOT NULL REFERENCES sectile_desk.tenant ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    replaced_at bigint NOT NULL,
    length bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE TABLE sectile_desk.log_part (
    tenant text COLLATE "C" NOT NULL REFERENCES sectile_desk.tenant ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    -- The offset of the first byte.
    start bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (tenant, name, start)
);

-- The newest commits, by which one that is sent twice is recognized.
CREATE TABLE sectile_desk.made (
    tenant text COLLATE "C" NOT NULL REFERENCES sectile_desk.tenant ON DELETE CASCADE,
    revision bigint NOT NULL,
    commit text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, revision)
);

ALTER TABLE sectile_desk.tenant ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile_desk.file ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile_desk.log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile_desk.log_part ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sectile_desk.made ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY one_tenant ON sectile_desk.tenant
    USING (name = current_setting('sectile.tenant', true));
CREATE POLICY all_tenants ON sectile_desk.tenant FOR SELECT
    USING (current_setting('sectile.tenant', true) = '*');
CREATE POLICY one_tenant ON sectile_desk.file
    USING (tenant = current_setting('sectile.tenant', true));
CREATE POLICY one_tenant ON sectile_desk.log
    USING (tenant = current_setting('sectile.tenant', true));
CREATE POLICY one_tenant ON sectile_desk.log_part
    USING (tenant = current_setting('sectile.tenant', true));
CREATE POLICY one_tenant ON sectile_desk.made
    USING (tenant = current_setting('sectile.tenant', true));
