-- oldest: 1
-- Whose something is. Processes of before write and read what is the default tenant's, and count in `usage`.

ALTER TABLE callback_failures ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT 'default';
CREATE INDEX callback_failures_tenant ON callback_failures (tenant, seq);

CREATE TABLE usage_by_key (
  month text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  files bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (month, tenant, key)
) WITH (fillfactor = 50);
