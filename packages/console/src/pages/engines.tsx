import type { AdminEngine, AdminEngines, AdminSelfTest } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Act, Loading, Problem, ViewerNote } from "../parts/notes.tsx";
import { Ago } from "../parts/text-parts.tsx";
import { count, duration, visible } from "../text.ts";
import { get, post } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";

const READ_AGAIN_MS = 5000;
const DAY = 86_400_000;

export function EnginesPage(): JSX.Element {
  const { data, problem, reload } = useLoad<AdminEngines>("engines", (signal) => get("engines", {}, signal), {
    everyMs: READ_AGAIN_MS,
  });
  return (
    <>
      <h1>Engines</h1>
      <Problem problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && (
        <>
          <dl class="tiles">
            <Tile name="ready to scan" value={data.ready ? "✔ yes" : "✖ no"} kind={data.ready ? "good" : "bad"} />
            <Tile name="engine" value={data.engine} />
            <Tile name="slots busy" value={`${data.scans.under_way} of ${data.scans.slots}`} />
            <Tile name="waiting for one" value={count(data.scans.waiting)} />
            <Tile name="95 % within" value={data.p95_ms === undefined ? "–" : duration(data.p95_ms)} />
            <Tile name="errors, 24 h" value={count(data.errors_24h)} kind={data.errors_24h > 0 ? "bad" : ""} />
          </dl>
          <div class="cards">
            {data.engines.map((engine) => (
              <EngineCard engine={engine} warnDays={data.warn_days} alarmDays={data.alarm_days} />
            ))}
            <Others others={data.others} />
          </div>
          <SelfTest />
        </>
      )}
    </>
  );
}

function Tile({ name, value, kind = "" }: { name: string; value: string; kind?: string }): JSX.Element {
  return (
    <div class={`tile ${kind}`}>
      <dt>{name}</dt>
      <dd class="number">{visible(value)}</dd>
    </div>
  );
}

function UpDown({ ok, in_use: inUse }: AdminEngine): JSX.Element {
  if (!inUse) return <b class="warn">! not in use</b>;
  return ok ? <b class="good">✔ up</b> : <b class="bad">✖ down</b>;
}

function EngineCard({
  engine,
  warnDays,
  alarmDays,
}: {
  engine: AdminEngine;
  warnDays: number;
  alarmDays: number;
}): JSX.Element {
  return (
    <section class="card" aria-label={engine.name}>
      <div class="row spread">
        <h2>{engine.name}</h2>
        <UpDown {...engine} />
      </div>
      <p>{visible(engine.detail)}</p>
      <dl class="facts">
        {engine.version && (
          <>
            <dt>Version</dt>
            <dd>{visible(engine.version)}</dd>
          </>
        )}
        {engine.signatures && (
          <>
            <dt>Signatures</dt>
            <dd>{visible(engine.signatures)}</dd>
          </>
        )}
      </dl>
      {engine.signatures_at !== undefined && (
        <Age at={engine.signatures_at} warnDays={warnDays} alarmDays={alarmDays} />
      )}
      {engine.problems.map(({ problem, cure }) => (
        <div class="problem">
          <div>
            <strong>{visible(problem)}</strong>
            <p>{visible(cure)}</p>
          </div>
        </div>
      ))}
    </section>
  );
}

function Age({ at, warnDays, alarmDays }: { at: number; warnDays: number; alarmDays: number }): JSX.Element {
  const days = (Date.now() - at) / DAY;
  const [kind, word] =
    days >= alarmDays
      ? ["bad", "alarm: update them now"]
      : days >= warnDays
        ? ["warn", "getting old"]
        : ["good", "fresh"];
  return (
    <div class={`age ${kind}`}>
      <meter
        aria-label="age of the signatures in days"
        min={0}
        max={alarmDays}
        low={warnDays}
        high={alarmDays - 0.01}
        optimum={0}
        value={Math.min(days, alarmDays)}
      />
      <span>
        signatures of <Ago at={at} />: {word}
        <span class="dim">
          {" "}
          (warning at {warnDays} days, alarm at {alarmDays})
        </span>
      </span>
    </div>
  );
}

function Others({ others }: { others: AdminEngines["others"] }): JSX.Element | null {
  if (others.length === 0) return null;
  return (
    <section class="card" aria-label="Besides the engines">
      <h2>Besides the engines</h2>
      <ul class="checks">
        {others.map(({ name, ok, detail, hint }) => (
          <li class={ok ? "good" : "bad"}>
            <b>
              {ok ? "✔" : "✖"} {visible(name)}
            </b>{" "}
            {visible(detail)}
            {hint && <p class="hint">{visible(hint)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function SelfTest(): JSX.Element {
  const result = useSignal<AdminSelfTest | undefined>(undefined);
  const problem = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const run = async (): Promise<void> => {
    busy.value = true;
    problem.value = undefined;
    try {
      result.value = await post<AdminSelfTest>("engines/self-test");
    } catch (error) {
      problem.value = error;
    }
    busy.value = false;
  };
  return (
    <section class="card" aria-label="Self-test">
      <div class="row spread">
        <h2>Self-test</h2>
        <Act primary busy={busy.value} onClick={run}>
          Run the self-test
        </Act>
      </div>
      <p class="dim">Sends the EICAR test file and a clean one through the real engine.</p>
      <ViewerNote />
      <div aria-live="polite">
        {result.value && (
          <>
            <p>{result.value.ok ? <b class="good">✔ passed</b> : <b class="bad">✖ failed</b>}</p>
            <ul class="checks">
              {result.value.checks.map(({ name, ok, detail, ms }) => (
                <li class={ok ? "good" : "bad"}>
                  <b>
                    {ok ? "✔" : "✖"} {visible(name)}
                  </b>{" "}
                  {visible(detail)} <span class="dim number">{duration(ms)}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      <Problem problem={problem.value} retry={run} />
    </section>
  );
}
