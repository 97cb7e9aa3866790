import { spawn } from "node:child_process";
import { once } from "node:events";
import { watchChild } from "../support/leftovers.ts";

/**
 * A script is what somebody would see in a terminal:
 *
 *     # A comment.
 *     $ lazaret scan bad.txt
 *     > further lines of the command
 *     infected  bad.txt  Eicar-Test-Signature
 *     ! 1 scanned (68 B): 0 clean, 1 infected, 0 not scanned, …
 *     [exit 1]
 *
 * Lines after `! ` are stderr, other lines stdout; empty lines do not count. `…` stands for anything in a line, `…` alone for any lines. Without
 * `[exit …]` the exit code is 0. Commands run one after the other in `sh`, in one folder.
 */
interface Step {
  line: number;
  command: string;
  stdout: string[];
  stderr: string[];
  exit: number;
}

export function parseScript(text: string): Step[] {
  const steps: Step[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const step = steps.at(-1);
    if (line === "" || line.startsWith("# ")) continue;
    if (line.startsWith("$ ")) {
      steps.push({ line: index + 1, command: line.slice(2), stdout: [], stderr: [], exit: 0 });
    } else if (!step) throw new Error(`line ${index + 1} comes before the first command`);
    else if (line.startsWith("> ")) step.command += `\n${line.slice(2)}`;
    else if (line.startsWith("! ")) step.stderr.push(line.slice(2));
    else if (/^\[exit \d+\]$/.test(line)) step.exit = Number(line.slice(6, -1));
    else step.stdout.push(line);
  }
  return steps;
}

/** What happened, if it is not what the script says. */
export async function runStep(
  step: Step,
  options: { cwd: string; env: Record<string, string> },
): Promise<string | undefined> {
  const child = spawn("sh", ["-c", step.command], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  if (child.pid) watchChild(child.pid);
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (part: string) => {
      said[name] += part;
    });
  }
  const [exit] = await once(child, "close");
  const asSaid =
    exit === step.exit &&
    pattern(step.stdout).test(dense(said.stdout)) &&
    pattern(step.stderr).test(dense(said.stderr));
  if (asSaid) return undefined;
  return `line ${step.line}: $ ${step.command}\nexit code ${exit}\n--- stdout\n${said.stdout}--- stderr\n${said.stderr}`;
}

function dense(text: string): string {
  return text.replace(/^\n+/gm, "");
}

function pattern(lines: readonly string[]): RegExp {
  const parts = lines.map((line) =>
    line === "…" ? "(?:.*\\n)*?" : `${line.split("…").map(RegExp.escape).join(".*")}\\n?`,
  );
  return new RegExp(`^${parts.join("")}$`);
}
