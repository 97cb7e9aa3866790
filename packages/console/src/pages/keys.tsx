import type { AdminKey, AdminMadeKey, AdminPage } from "@lazaret/contract/admin";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Table } from "../parts/lists.tsx";
import { Act, Code, Confirm, Loading, Problem, type Question, ViewerNote } from "../parts/notes.tsx";
import { Ago, Stranger } from "../parts/text-parts.tsx";
import { visible } from "../text.ts";
import { entriesOf, get, post } from "../wire/api.ts";
import { useLoad } from "../wire/load.ts";
import { CallbackKeys, CallbackTest } from "./callbacks.tsx";

export function KeysPage(): JSX.Element {
  const list = useLoad("keys", async (signal) =>
    entriesOf(await get<AdminKey[] | AdminPage<AdminKey>>("keys", {}, signal)),
  );
  const made = useSignal<AdminMadeKey | undefined>(undefined);
  return (
    <>
      <h1>Keys and callbacks</h1>
      <ViewerNote />
      <section class="card" aria-label="API keys">
        <h2>API keys</h2>
        <p class="dim">By name: the value of a key is shown once, when it is made, and never again.</p>
        <Problem problem={list.problem} retry={list.reload} />
        {!list.data && !list.problem && <Loading />}
        {list.data && <KeyTable keys={list.data} changed={list.reload} />}
        <MakeKey
          made={(key) => {
            made.value = key;
            list.reload();
          }}
        />
        {made.value && (
          <div class="note" role="status">
            <p>
              The secret of <b>{visible(made.value.key.name)}</b>, shown only now. Keep it where secrets are kept:
            </p>
            <Code text={made.value.secret} label="secret" />
          </div>
        )}
      </section>
      <CallbackKeys />
      <CallbackTest />
    </>
  );
}

const FROM = { made: "made key", settings: "settings", tenants_file: "tenants file" } as const;

function KeyTable({ keys, changed }: { keys: AdminKey[]; changed: () => void }): JSX.Element {
  const question = useSignal<Question | undefined>(undefined);
  const problem = useSignal<unknown>(undefined);
  const revoke = async (id: string): Promise<void> => {
    problem.value = undefined;
    await post("keys/revoke", { id }).catch((error: unknown) => {
      problem.value = error;
    });
    changed();
  };
  const ask = (key: AdminKey, id: string) => (): void => {
    question.value = {
      title: `Revoke ${visible(key.name)}?`,
      text: "Programs that use it are refused from now on. This cannot be taken back.",
      yes: "Revoke",
      danger: true,
      act: () => revoke(id),
    };
  };
  return (
    <>
      <Problem problem={problem.value} />
      <Table label="API keys" columns={["Name", "Tenant", "May", "Last used", "From", "Action"]}>
        {keys.map((key) => (
          <tr key={key.id ?? `${key.from}/${key.tenant}/${key.name}`} class={key.ended ? "ended" : ""}>
            <td data-name="Name">
              <Stranger text={key.name} />
              {key.ended && <div class="under bad">ended</div>}
            </td>
            <td data-name="Tenant">
              <Stranger text={key.tenant} />
            </td>
            <td data-name="May">{key.scopes.map(visible).join(", ")}</td>
            <td data-name="Last used">
              {key.last_used_at ? <Ago at={key.last_used_at} /> : <span class="dim">not known</span>}
            </td>
            <td data-name="From">
              {FROM[key.from]}
              {key.expires_at !== undefined && (
                <div class="under">
                  ends <Ago at={key.expires_at} />
                </div>
              )}
            </td>
            <td data-name="Action">
              {!key.ended && (
                <Act
                  danger
                  off={key.id === undefined && `It comes from the ${FROM[key.from]}: take it out there`}
                  onClick={ask(key, key.id ?? "")}
                >
                  Revoke
                </Act>
              )}
            </td>
          </tr>
        ))}
      </Table>
      <Confirm
        question={question.value}
        close={() => {
          question.value = undefined;
        }}
      />
    </>
  );
}

const SCOPES = ["scan", "objects", "read", "viewer", "admin"];

function MakeKey({ made }: { made: (key: AdminMadeKey) => void }): JSX.Element {
  const name = useSignal("");
  const tenant = useSignal("default");
  const days = useSignal("");
  const scopes = useSignal<ReadonlySet<string>>(new Set(["scan"]));
  const problem = useSignal<unknown>(undefined);
  const make = async (): Promise<void> => {
    problem.value = undefined;
    const expires = Number(days.value);
    const order = {
      name: name.value,
      tenant: tenant.value,
      scopes: [...scopes.value],
      ...(expires > 0 && { expires_days: expires }),
    };
    try {
      made(await post<AdminMadeKey>("keys", order));
      name.value = "";
    } catch (error) {
      problem.value = error;
    }
  };
  const toggle = (scope: string): void => {
    const after = new Set(scopes.value);
    if (!after.delete(scope)) after.add(scope);
    scopes.value = after;
  };
  return (
    <details>
      <summary>Make a key</summary>
      <div class="inline">
        <label class="field">
          <span>Name</span>
          <input
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="field">
          <span>Tenant</span>
          <input
            value={tenant.value}
            onInput={(event) => {
              tenant.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="field">
          <span>Ends after days (empty: never)</span>
          <input
            type="number"
            min="1"
            value={days.value}
            onInput={(event) => {
              days.value = event.currentTarget.value;
            }}
          />
        </label>
      </div>
      <fieldset class="row">
        <legend>It may</legend>
        {SCOPES.map((scope) => (
          <label class="check">
            <input type="checkbox" checked={scopes.value.has(scope)} onChange={() => toggle(scope)} /> {scope}
          </label>
        ))}
      </fieldset>
      <Act
        primary
        off={(!name.value && "Give it a name") || (scopes.value.size === 0 && "Choose what it may")}
        onClick={make}
      >
        Make the key
      </Act>
      <Problem problem={problem.value} />
    </details>
  );
}
