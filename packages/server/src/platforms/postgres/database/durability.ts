import type { Connections } from "./connections.ts";

interface Weakness {
  error: string;
  hint: string;
}

const off: Readonly<Record<string, string>> = {
  fsync: "a power cut damages the database",
  full_page_writes: "a power cut damages the database",
  synchronous_commit: "a crash of the server loses jobs that were acknowledged",
};

/** How the server is set up to lose what it has acknowledged. Throws `DatabaseUnavailable`. */
export async function weaknessesOf({ query }: Pick<Connections, "query">): Promise<Weakness[]> {
  const settings = await query<{ name: string }>(
    "SELECT name FROM unnest($1::text[]) AS name WHERE current_setting(name) = 'off'",
    [Object.keys(off)],
  );
  const [standbys] = await query<{ unheard: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_stat_replication) AND (current_setting('synchronous_standby_names') = ''
       OR current_setting('synchronous_commit') IN ('off', 'local')) AS unheard`,
  );
  return [
    ...settings.map(({ name }) => ({
      error: `the job database has ${name} = off: ${off[name]}`,
      hint: `set ${name} = on there`,
    })),
    ...(standbys?.unheard
      ? [
          {
            error:
              "the job database has standbys, and no commit waits for one: a failover loses jobs that were acknowledged",
            hint: "set synchronous_standby_names = 'ANY 1 (*)' there, and synchronous_commit = on",
          },
        ]
      : []),
  ];
}
