-- oldest: 1
-- What people look at: jobs that are done, and files that were not clean. Processes of before write nothing here, and nobody waits for it.
-- `trace` is a keyed digest, `sealed` what clients sent. Only the oldest ever go, so `seq` says how many there are.

CREATE TABLE history (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  submitted_at bigint NOT NULL,
  finished_at bigint NOT NULL,
  trace bytea,
  sealed bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE history ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX history_trace ON history (trace, id) WHERE trace IS NOT NULL;

CREATE TABLE findings (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  at bigint NOT NULL,
  sealed bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE findings ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX findings_time ON findings (at, id);
