-- Removing a chunk no longer rewrites the lists of its words: a tombstone says that it is gone, until the lists are compacted.
-- A process that keeps lists and vectors in memory brings them up to date with the tombstones and chunks that are newer.

ALTER TABLE sectile.collection
    -- The number of its tombstones.
    ADD COLUMN tombstones bigint NOT NULL DEFAULT 0,
    -- The revision at which lists were last rewritten, which makes older copies of them useless.
    ADD COLUMN compacted bigint NOT NULL DEFAULT 0;

-- Removed chunks that are still in lists, and the revision without them.
CREATE TABLE sectile.tombstone (
    collection bigint NOT NULL,
    revision bigint NOT NULL,
    chunk integer NOT NULL,
    block integer NOT NULL,
    PRIMARY KEY (collection, revision, chunk)
);

ALTER TABLE sectile.tombstone ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one_collection ON sectile.tombstone
    USING (collection = (SELECT id FROM sectile.collection WHERE name = current_setting('sectile.collection', true)));

-- A role that may search so far may search from now on.
DO $$
DECLARE
    reader oid;
BEGIN
    FOR reader IN
        SELECT DISTINCT granted.grantee
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS granted
        WHERE c.oid = 'sectile.chunk'::regclass AND granted.privilege_type = 'SELECT' AND granted.grantee <> c.relowner
    LOOP
        IF reader = 0 THEN
            GRANT SELECT ON sectile.tombstone TO PUBLIC;
        ELSE
            EXECUTE format('GRANT SELECT ON sectile.tombstone TO %I', pg_get_userbyid(reader));
        END IF;
    END LOOP;
END
$$;
