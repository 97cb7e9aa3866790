// Journeys on a fleet: two APIs, three workers and one PostgreSQL. `npm run journeys:postgres` runs all of them so.
process.env.JOURNEYS_ON = "postgres";
await import("./async-download.test.ts");

export {};
