-- oldest: 1
-- Whose something is. Processes of before write and read what is the default tenant's, and count in `usage`.

ALTER TABLE callback_failures ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT 'default';
CREATE INDEX callback_failures_tenant ON callback_failures (tenant, seq);
-- By URL alone, a tenant that asks for another's URL would wait for the other's rows to be passed over.
DROP INDEX callback_failures_url;
CREATE INDEX callback_failures_url ON callback_failures (tenant, url, seq);

CREATE TABLE usage_by_key (
  month text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  accepted bigint NOT NULL,
  files bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (month, tenant, key)
) WITH (fillfactor = 50);

-- Keys and tenants are few, and read whole when the version is another. In clear: the operator's words, and digests of secrets.
CREATE TABLE access_keys (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  content text NOT NULL,
  expires_at bigint,
  last_used_at bigint
);
CREATE TABLE tenants (name text COLLATE "C" PRIMARY KEY, content text NOT NULL);
CREATE TABLE access_version (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version bigint NOT NULL);
INSERT INTO access_version (version) VALUES (0);

-- What each process counts, in place of what it said before.
CREATE TABLE shared_counts (process text COLLATE "C" PRIMARY KEY, at bigint NOT NULL, content text NOT NULL)
  WITH (fillfactor = 50);

-- Only ever added to, and swept.
CREATE TABLE audit (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, content text NOT NULL);
CREATE INDEX audit_age ON audit (at);
