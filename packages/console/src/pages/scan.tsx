import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { clientCode, curlFile, curlSource } from "../commands.ts";
import { droppedFiles } from "../dropped-files.ts";
import { Act, Code, Copy, Problem, ViewerNote } from "../parts/notes.tsx";
import { Size, Source, Stranger, Verdict } from "../parts/text-parts.tsx";
import { bytes, count, duration } from "../text.ts";
import { eicarFile, rows, type ScanRow, scanFiles, scanObject, scanUrl } from "../uploads.ts";
import { mayAct, session } from "../wire/api.ts";

const SHOWN = 200;

export function ScanPage(): JSX.Element {
  return (
    <>
      <h1>Scan</h1>
      <ViewerNote />
      <div class="scan-ways">
        <DropZone />
        <div class="stack">
          <UrlField />
          <ObjectField />
        </div>
      </div>
      <Rows />
    </>
  );
}

function DropZone(): JSX.Element {
  const over = useSignal(false);
  const problem = useSignal<unknown>(undefined);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    over.value = false;
    problem.value = undefined;
    if (!event.dataTransfer || !mayAct()) return;
    droppedFiles(event.dataTransfer).then(scanFiles, (error: unknown) => {
      problem.value = error;
    });
  };
  const drag = (event: DragEvent): void => {
    event.preventDefault();
    over.value = mayAct();
  };
  const leave = (): void => {
    over.value = false;
  };
  const picked = (event: Event & { currentTarget: HTMLInputElement }): void => {
    scanFiles([...(event.currentTarget.files ?? [])]);
    event.currentTarget.value = "";
  };
  const most = session.value?.limits.max_upload_bytes;
  return (
    <section
      class={over.value ? "drop over" : "drop"}
      aria-label="Files"
      onDragOver={drag}
      onDragLeave={leave}
      onDrop={drop}
    >
      <p class="drop-title">Drop files or folders here</p>
      <div class="row centre">
        <Act primary onClick={() => files.current?.click()}>
          Choose files
        </Act>
        <Act onClick={() => folder.current?.click()}>Choose a folder</Act>
        <Act onClick={() => scanFiles([eicarFile()])}>Try the EICAR test file</Act>
      </div>
      <p class="dim">
        {most !== undefined && `Up to ${bytes(most)} each. `}EICAR is harmless; every scanner calls it infected.
      </p>
      <input
        ref={files}
        class="offscreen"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="Files to scan"
        onChange={picked}
      />
      <input
        ref={folder}
        class="offscreen"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="Folder to scan"
        onChange={picked}
        {...{ webkitdirectory: true }}
      />
      <Problem problem={problem.value} />
    </section>
  );
}

function UrlField(): JSX.Element {
  const url = useSignal("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!mayAct() || !url.value) return;
    scanUrl(url.value);
    url.value = "";
  };
  return (
    <form class="card inline" onSubmit={submit}>
      <label class="field wide">
        <span>A link, fetched by the server</span>
        <input
          type="url"
          required
          placeholder="https://example.com/report.pdf"
          value={url.value}
          onInput={(event) => {
            url.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" disabled={!mayAct()}>
        Scan
      </button>
    </form>
  );
}

function ObjectField(): JSX.Element {
  const bucket = useSignal("");
  const key = useSignal("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (mayAct() && bucket.value && key.value) scanObject({ bucket: bucket.value, key: key.value });
  };
  return (
    <form class="card inline" onSubmit={submit}>
      <label class="field">
        <span>Bucket</span>
        <input
          required
          value={bucket.value}
          onInput={(event) => {
            bucket.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field wide">
        <span>Key of the object</span>
        <input
          required
          value={key.value}
          onInput={(event) => {
            key.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" disabled={!mayAct()}>
        Scan
      </button>
    </form>
  );
}

function Rows(): JSX.Element {
  const all = rows.value;
  if (all.length === 0) {
    return (
      <section class="teach">
        <h2>The same from a terminal</h2>
        <Code text={curlFile("report.pdf")} label="curl" />
        <h2>From a program</h2>
        <Code text={clientCode({ kind: "upload", name: "report.pdf" })} label="client code" />
      </section>
    );
  }
  const open = all.filter(({ state }) => state.at !== "done" && state.at !== "failed").length;
  return (
    <section aria-label="Scanned here">
      <p class="dim" role="status">
        {count(all.length)} given, {count(all.length - open)} finished
        {all.length > SHOWN && `; the newest ${SHOWN} are shown, all are under Activity`}
      </p>
      <ul class="scans">
        {all.slice(0, SHOWN).map((row) => (
          <Row key={row.id} row={row} />
        ))}
      </ul>
    </section>
  );
}

function Row({ row }: { row: ScanRow }): JSX.Element {
  return (
    <li class="scan-row">
      <div class="scan-what">
        <Source source={row.source} short />
        {row.size !== undefined && <Size size={row.size} />}
      </div>
      <div class="scan-state" aria-live="polite">
        <Progress row={row} />
      </div>
      <div class="scan-more">
        <Copy label="Copy as curl" text={() => curlSource(row.source)} />
        <Copy label="Copy as client code" text={() => clientCode(row.source)} />
        {row.state.at === "done" && row.state.result.sha256 && (
          <Copy label="Copy SHA-256" text={row.state.result.sha256} />
        )}
      </div>
    </li>
  );
}

function Progress({ row }: { row: ScanRow }): JSX.Element {
  const { state, size = 0 } = row;
  if (state.at === "waiting") return <span class="dim">waiting: three are sent at a time</span>;
  if (state.at === "sending") {
    return (
      <span class="sending">
        <progress max={Math.max(size, 1)} value={state.sent} aria-label="sent" /> {bytes(state.sent)} of {bytes(size)}{" "}
        sent
      </span>
    );
  }
  if (state.at === "scanning")
    return <span title="Engines give no percentage">scanning… (engines give no percentage)</span>;
  if (state.at === "failed") return <Problem problem={state.problem} />;
  const { verdict, finding, detail, member, type, ms, cached, sha256 } = state.result;
  return (
    <span class="outcome">
      <Verdict verdict={verdict} />
      {finding && <Stranger text={finding} />}
      {member && (
        <span class="dim">
          in <Stranger text={member} />
        </span>
      )}
      {detail && <Stranger text={detail} />}
      {type && <span class="dim">{type}</span>}
      <span class="dim number">
        {duration(ms)}
        {cached && ", known from before"}
      </span>
      {sha256 && (
        <code class="hash" title={sha256}>
          {sha256.slice(0, 12)}…
        </code>
      )}
    </span>
  );
}
