import type { AdminFinding, AdminJob, AdminPage } from "@lazaret/contract/admin";
import type { JSX } from "preact";
import { address, href } from "../address.ts";
import { Empty, Loading, Problem } from "../parts/notes.tsx";
import { Stranger } from "../parts/text-parts.tsx";
import { get } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";
import { FindingTable } from "./findings.tsx";
import { JobTable } from "./jobs.tsx";

const SHOWN = 20;

/** Who searches has a trace id or a name, and does not know whether it was a job or an upload. */
export function SearchPage(): JSX.Element {
  const { q = "" } = address.value.query;
  const { data, problem, loading, reload } = useLoad(q, async (signal) => {
    const [jobs, findings] = await Promise.all([
      get<AdminPage<AdminJob>>("jobs", { q, limit: SHOWN }, signal),
      get<AdminPage<AdminFinding>>("findings", { q, limit: SHOWN }, signal),
    ]);
    return { jobs, findings };
  });
  const nothing = data && data.jobs.entries.length === 0 && data.findings.entries.length === 0;
  return (
    <>
      <h1>
        Search: <Stranger text={q} />
      </h1>
      <Problem problem={problem} retry={reload} />
      {!data && loading && <Loading />}
      {nothing && (
        <Empty title={data.jobs.next || data.findings.next ? "Nothing among the newest ones" : "Nothing found"}>
          <p>
            Trace ids, buckets and keys, hosts, names of files, SHA-256 and findings are searched. Jobs that are done
            are kept for a day, findings for longer; a clean upload leaves no entry. Only jobs have a trace id: look for
            an upload by the X-Request-Id of its answer, its file's name or its SHA-256.
          </p>
        </Empty>
      )}
      {data && (data.jobs.entries.length > 0 || data.jobs.next) && (
        <section>
          <h2>Jobs</h2>
          {data.jobs.entries.length > 0 && <JobTable jobs={data.jobs.entries} />}
          {data.jobs.next && <a href={href("/jobs", { q })}>More under Activity</a>}
        </section>
      )}
      {data && (data.findings.entries.length > 0 || data.findings.next) && (
        <section>
          <h2>Findings</h2>
          {data.findings.entries.length > 0 && <FindingTable findings={data.findings.entries} />}
          {data.findings.next && <a href={href("/findings", { q })}>More under Findings</a>}
        </section>
      )}
    </>
  );
}
