import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Route, Router, Switch } from "wouter-preact";
import { address, useFragment } from "./address.ts";
import { startKeyboard } from "./keyboard.ts";
import { ActivityPage } from "./pages/activity.tsx";
import { BucketsPage } from "./pages/buckets.tsx";
import { DeadLettersPage } from "./pages/dead-letters.tsx";
import { EnginesPage } from "./pages/engines.tsx";
import { FindingsPage } from "./pages/findings.tsx";
import { JobPage } from "./pages/job.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { LoginPage } from "./pages/login.tsx";
import { ScanPage } from "./pages/scan.tsx";
import { SearchPage } from "./pages/search.tsx";
import { SettingsPage } from "./pages/settings.tsx";
import { Empty, Loading, Problem } from "./parts/notes.tsx";
import { Shell } from "./shell.tsx";
import { readSession, session } from "./wire/api.ts";

export function App(): JSX.Element {
  const problem = useSignal<unknown>(undefined);
  const start = (): void => {
    problem.value = undefined;
    // Who comes with a link is asked for nothing else first.
    if (hasLink()) session.value = null;
    else
      readSession().catch((error: unknown) => {
        problem.value = error;
      });
  };
  // Once.
  useEffect(start, []);
  useEffect(startKeyboard, []);
  if (session.value === undefined) {
    return <main class="alone">{problem.value ? <Problem problem={problem.value} retry={start} /> : <Loading />}</main>;
  }
  // A link that logs in does so also where somebody is logged in already.
  if (session.value === null || hasLink()) return <LoginPage />;
  return (
    <Router hook={useFragment}>
      <Shell>
        <Pages />
      </Shell>
    </Router>
  );
}

function hasLink(): boolean {
  return address.value.path === "/login" && Boolean(address.value.query.link);
}

function Pages(): JSX.Element {
  useSignalEffect(() => {
    // A new page begins at its top, and screen readers begin there, too.
    const { path } = address.value;
    scrollTo(0, 0);
    const title = document.querySelector("h1")?.textContent;
    document.title = title ? `${title} · Lazaret` : `Lazaret ${path}`;
  });
  return (
    <Switch>
      <Route path="/" component={ScanPage} />
      <Route path="/login" component={ScanPage} />
      <Route path="/jobs" component={ActivityPage} />
      <Route path="/jobs/:id">{({ id }) => <JobPage id={id} />}</Route>
      <Route path="/findings" component={FindingsPage} />
      <Route path="/dead-letters" component={DeadLettersPage} />
      <Route path="/engines" component={EnginesPage} />
      <Route path="/buckets" component={BucketsPage} />
      <Route path="/keys" component={KeysPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route path="/search" component={SearchPage} />
      <Route>
        <Empty page title="There is no such page">
          <p>
            Go to <a href="#/">Scan</a> or <a href="#/jobs">Activity</a>.
          </p>
        </Empty>
      </Route>
    </Switch>
  );
}
