import type { AdminFinding, AdminFindingGroup, AdminPage } from "@lazaret/contract/admin";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { address, href, setQuery } from "../address.ts";
import { Choice, Exports, Pager, SPANS, sinceOf, Table, Typed } from "../parts/lists.tsx";
import { Copy, Empty, Loading, Problem } from "../parts/notes.tsx";
import { Ago, Size, Source, Stranger, Verdict } from "../parts/text-parts.tsx";
import { count } from "../text.ts";
import { entriesOf, get, type Query } from "../wire/api.ts";
import { listen, paused } from "../wire/live.ts";
import { useLoad } from "../wire/load.ts";

const READ_AGAIN_MS = 5000;
const PAGE = 100;
const GROUPS = { "": "one by one", finding: "by finding", bucket: "by bucket", day: "by day" } as const;

export function FindingsPage(): JSX.Element {
  const { query } = address.value;
  const by = query.by && query.by in GROUPS ? query.by : "";
  const filters: Query = {
    verdict: query.verdict,
    finding: query.finding,
    bucket: query.bucket,
    source: query.source,
    key: query.key,
    q: query.q,
    until: query.until,
    since: query.since ?? sinceOf(query.span),
  };
  return (
    <>
      <h1>Findings</h1>
      <p class="dim">Everything that was not clean, whichever way it came in. Clean files leave no entry.</p>
      <div class="row spread">
        <fieldset class="segments" aria-label="Grouped">
          {Object.entries(GROUPS).map(([value, text]) => (
            <button type="button" aria-pressed={value === by} onClick={() => setQuery({ by: value || undefined })}>
              {text}
            </button>
          ))}
        </fieldset>
        <Exports path="findings/export" query={filters} />
      </div>
      <div class="filters">
        <Typed name="q" label="Search" placeholder="name, trace id, SHA-256, host" wide />
        <Choice name="verdict" label="Verdict" options={{ "": "both", infected: "infected", no: "not scanned" }} />
        <Choice name="source" label="Source" options={{ "": "any", upload: "upload", url: "link", object: "object" }} />
        <Typed name="finding" label="Finding" />
        <Typed name="bucket" label="Bucket" />
        <Choice name="span" label="Time" options={SPANS} />
      </div>
      {by === "" ? <OneByOne filters={filters} /> : <Grouped by={by} filters={filters} />}
    </>
  );
}

function placeOf(filters: Query): string {
  return JSON.stringify([{ ...filters, since: address.value.query.span }, address.value.query]);
}

function OneByOne({ filters }: { filters: Query }): JSX.Element {
  const { after } = address.value.query;
  const list = useLoad<AdminPage<AdminFinding>>(
    placeOf(filters),
    (signal) => get("findings", { ...filters, limit: PAGE, after }, signal),
    { everyMs: after ? undefined : READ_AGAIN_MS },
  );
  const { reload } = list;
  useEffect(
    () =>
      listen((events) => {
        if (!paused.value && events.some(({ type }) => type === "finding" || type === "reset")) reload();
      }),
    [reload],
  );
  const filtered = Object.values(filters).some(Boolean);
  return (
    <section aria-label="Findings, one by one">
      <Problem problem={list.problem} retry={reload} />
      {!list.data && list.loading && <Loading />}
      {list.data?.entries.length === 0 && (
        <Empty title={filtered ? "Nothing fits these filters" : "Nothing was found"}>
          {!filtered && (
            <p>
              To see one, send the harmless EICAR test file from <a href="#/">Scan</a>.
            </p>
          )}
        </Empty>
      )}
      {list.data && list.data.entries.length > 0 && <FindingTable findings={list.data.entries} />}
      <Pager next={list.data?.next} />
    </section>
  );
}

const DONE = { delete: "deleted", tag: "tagged", no: "nothing" } as const;

/** Whether the client of a job was told, its page says: its callback may have failed. */
function doneAbout({ action, job_id: job, source }: AdminFinding): string {
  if (action) return DONE[action];
  if (job) return "reported by its job";
  return source.kind === "object" ? "nothing" : "told the client";
}

export function FindingTable({ findings }: { findings: AdminFinding[] }): JSX.Element {
  return (
    <Table label="Findings" columns={["Verdict", "Finding", "Where", "Size", "Done", "Key", "When"]}>
      {findings.map((finding) => (
        <tr key={finding.id}>
          <td data-name="Verdict">
            <Verdict verdict={finding.verdict} />
          </td>
          <td data-name="Finding">
            <Stranger text={finding.finding} short />
            {finding.detail && (
              <div class="under">
                <Stranger text={finding.detail} short />
              </div>
            )}
          </td>
          <td data-name="Where" class="grow">
            {finding.job_id ? (
              <a href={href(`/jobs/${encodeURIComponent(finding.job_id)}`)}>
                <Source source={finding.source} short />
              </a>
            ) : (
              <Source source={finding.source} short />
            )}
            {finding.member && (
              <div class="under">
                inside: <Stranger text={finding.member} short />
              </div>
            )}
            {finding.trace_id && (
              <div class="under">
                trace id <Stranger text={finding.trace_id} short />
              </div>
            )}
            {finding.request_id && (
              <div class="under">
                request id <Stranger text={finding.request_id} short />
              </div>
            )}
          </td>
          <td data-name="Size">
            <Size size={finding.size} />
            {finding.sha256 && (
              <div class="under">
                <Copy label="SHA-256" what={finding.sha256.slice(0, 12)} text={finding.sha256} />
              </div>
            )}
          </td>
          <td data-name="Done" class="one-line">
            {doneAbout(finding)}
          </td>
          <td data-name="Key">{finding.key ? <Stranger text={finding.key} short /> : <span class="dim">–</span>}</td>
          <td data-name="When">
            <Ago at={finding.at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Grouped({ by, filters }: { by: string; filters: Query }): JSX.Element {
  const { data, problem, loading, reload } = useLoad(
    placeOf(filters),
    async (signal) =>
      entriesOf(
        await get<AdminFindingGroup[] | AdminPage<AdminFindingGroup>>("findings/groups", { ...filters, by }, signal),
      ),
    { everyMs: READ_AGAIN_MS },
  );
  return (
    <section aria-label={`Findings by ${by}`}>
      <Problem problem={problem} retry={reload} />
      {!data && loading && <Loading />}
      {data?.length === 0 && <Empty title="Nothing to group" />}
      {data && data.length > 0 && (
        <>
          <Table label={`Findings by ${by}`} columns={[by, "How many", "Infected", "First seen", "Last seen"]}>
            {data.map((group) => (
              <tr key={group.name}>
                <td data-name={by} class="grow">
                  <a href={groupHref(by, group)}>
                    <Stranger text={group.name || "without one"} />
                  </a>
                </td>
                <td data-name="How many" class="number">
                  {count(group.count)}
                </td>
                <td data-name="Infected" class="number">
                  {count(group.infected)}
                </td>
                <td data-name="First seen">
                  <Ago at={group.first_at} />
                </td>
                <td data-name="Last seen">
                  <Ago at={group.last_at} />
                </td>
              </tr>
            ))}
          </Table>
          <p class="dim">Of the newest 10,000.</p>
        </>
      )}
    </section>
  );
}

function groupHref(by: string, group: AdminFindingGroup): string {
  const { query } = address.value;
  const rest = { ...query, by: undefined, after: undefined };
  if (by !== "day") return href("/findings", { ...rest, [by]: group.name });
  return href("/findings", {
    ...rest,
    span: undefined,
    since: String(group.first_at),
    until: String(group.last_at + 1),
  });
}
