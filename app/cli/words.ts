// What the parts of the command line share: how a command is carried out, and how an example is shown in its help.

import type { Ending } from "../notices/terminal.ts";
import type { Settings } from "../settings.ts";

/** Carries out one command and remembers the exit code. */
export type Carry = (act: (environment: NodeJS.ProcessEnv) => Promise<Ending>) => Promise<void>;
/** The same for a command that needs no more than the environment's settings. */
export type Run = (act: (settings: Settings) => Promise<Ending>) => Promise<void>;

export function example(line: string): string {
  return `\nExample:\n  $ ${line}`;
}
