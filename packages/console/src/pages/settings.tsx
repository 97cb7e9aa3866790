import type { AdminAuditEntry, AdminDoctor, AdminPage, AdminSettings, AdminTask } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { address } from "../address.ts";
import { Pager, Table, Tasks } from "../parts/lists.tsx";
import { Empty, Loading, Problem } from "../parts/notes.tsx";
import { Ago, Stranger } from "../parts/text-parts.tsx";
import { visible } from "../text.ts";
import { entriesOf, get, session, urlOf } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";

const AUDIT_PAGE = 50;

export function SettingsPage(): JSX.Element {
  return (
    <>
      <h1>Settings</h1>
      <About />
      <Doctor />
      <AllTasks />
      <SettingsTable />
      <Audit />
    </>
  );
}

function About(): JSX.Element | null {
  const { installation, api_url } = session.value ?? {};
  if (!installation) return null;
  return (
    <section class="card" aria-label="This installation">
      <dl class="facts">
        <dt>Installation</dt>
        <dd>{visible(installation.name)}</dd>
        <dt>Version</dt>
        <dd>{installation.version}</dd>
        <dt>Runs on</dt>
        <dd>
          {installation.platform}, role {installation.role}, engine {installation.engine}
        </dd>
        <dt>API for clients</dt>
        <dd>{api_url && visible(api_url)}</dd>
        <dt>For a report of a problem</dt>
        <dd>
          <a href={urlOf("support-bundle")} download="lazaret-support.json">
            Support bundle
          </a>{" "}
          <span class="dim">version, settings and checks as JSON, without secrets</span>
        </dd>
      </dl>
    </section>
  );
}

function Doctor(): JSX.Element {
  const { data, problem, loading, reload } = useLoad<AdminDoctor>("doctor", (signal) => get("doctor", {}, signal));
  return (
    <section class="card" aria-label="Checks">
      <div class="row spread">
        <h2>Checks</h2>
        <button type="button" onClick={reload} disabled={loading}>
          Check again
        </button>
      </div>
      <Problem problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      <ul class="checks" aria-live="polite">
        {data?.checks.map(({ name, ok, warn, detail, hint }) => (
          <li class={ok ? (warn ? "warn" : "good") : "bad"}>
            <b>
              {ok ? (warn ? "!" : "✔") : "✖"} {visible(name)}
            </b>{" "}
            {visible(detail)}
            {hint && <p class="hint">{visible(hint)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function AllTasks(): JSX.Element | null {
  const { data, reload } = useLoad(
    "tasks",
    async (signal) => entriesOf(await get<AdminTask[] | AdminPage<AdminTask>>("tasks", {}, signal)),
    { everyMs: 5000 },
  );
  return <Tasks tasks={data ?? []} changed={reload} />;
}

function SettingsTable(): JSX.Element {
  const { data, problem, reload } = useLoad<AdminSettings>("settings", (signal) => get("settings", {}, signal));
  const wanted = useSignal("");
  const changedOnly = useSignal(false);
  const rows = data?.settings.filter(
    ({ name, variable, doc, value, default: usual }) =>
      (!changedOnly.value || value !== usual) &&
      `${name} ${variable} ${doc}`.toLowerCase().includes(wanted.value.toLowerCase()),
  );
  return (
    <section aria-label="All settings">
      <h2>All settings</h2>
      <Problem problem={problem} retry={reload} />
      <div class="filters">
        <label class="field wide">
          <span>Filter</span>
          <input
            type="search"
            value={wanted.value}
            onInput={(event) => {
              wanted.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={changedOnly.value}
            onChange={() => {
              changedOnly.value = !changedOnly.value;
            }}
          />{" "}
          only those that differ from the default
        </label>
      </div>
      {!rows && !problem && <Loading />}
      {rows?.length === 0 && <Empty title="No such setting" />}
      {rows && rows.length > 0 && (
        <Table label="All settings" columns={["Setting", "Value", "From", "What it does"]}>
          {rows.map((setting) => (
            <tr key={setting.variable}>
              <td data-name="Setting">
                <code class="wrap">{setting.variable}</code>
              </td>
              <td data-name="Value">
                {setting.secret && setting.value ? (
                  <span title="a secret">••••••</span>
                ) : (
                  <Stranger text={setting.value || "–"} />
                )}
                {setting.value !== setting.default && !setting.secret && (
                  <div class="under">default {setting.default ? <Stranger text={setting.default} /> : "none"}</div>
                )}
              </td>
              <td data-name="From">{visible(setting.origin)}</td>
              <td data-name="What it does" class="grow">
                <Doc text={setting.doc} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** Our own words, with names in backticks. */
function Doc({ text }: { text: string }): JSX.Element {
  return <>{text.split("`").map((piece, index) => (index % 2 === 1 ? <code>{piece}</code> : piece))}</>;
}

function Audit(): JSX.Element {
  const { after } = address.value.query;
  const { data, problem, reload } = useLoad<AdminPage<AdminAuditEntry>>(after ?? "", (signal) =>
    get("audit", { limit: AUDIT_PAGE, after }, signal),
  );
  return (
    <section aria-label="Audit log">
      <h2>Who did what</h2>
      <Problem problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data?.entries.length === 0 && <Empty title="Nothing was changed yet" />}
      {data && data.entries.length > 0 && (
        <Table label="Audit log" columns={["When", "Who", "What", "On", "From"]}>
          {data.entries.map((entry) => (
            <tr>
              <td data-name="When">
                <Ago at={entry.at} />
              </td>
              <td data-name="Who">
                <Stranger text={entry.who} short />
                {entry.tenant !== "default" && (
                  <div class="under">
                    <Stranger text={entry.tenant} short />
                  </div>
                )}
              </td>
              <td data-name="What">
                <Stranger text={entry.what} />
              </td>
              <td data-name="On" class="grow">
                <Stranger text={entry.on} short />
                {entry.details && (
                  <div class="under">
                    <Stranger
                      text={Object.entries(entry.details)
                        .map(([name, value]) => `${name}: ${value}`)
                        .join(", ")}
                      short
                    />
                  </div>
                )}
              </td>
              <td data-name="From">
                <Stranger text={entry.from} short />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager next={data?.next} />
    </section>
  );
}
