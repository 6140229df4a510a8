// The accounts side by side (spec 6.3): of each one message after the other, so that a slow forge holds up its own alone.
// Never more than one group of an account at a time.

import { secondMs } from "../../policies/durations.ts";
import type { Host } from "../host.ts";

/** While one account is slow, others are looked for this often. */
const lookAgainMs = secondMs;

export interface Work<Row> {
  /** Rows that are due, without those of busy accounts; none where nothing is. */
  readonly take: (busy: ReadonlySet<string>) => Promise<readonly Row[]>;
  /** Works on rows of one account. */
  readonly work: (rows: readonly Row[]) => Promise<void>;
}

/** Works until nothing more is due; returns how many rows were taken. Throws the first error when all have ended. */
export async function sideBySide<Row extends { readonly account: string }>(
  host: Pick<Host, "sleep">,
  { take, work }: Work<Row>,
): Promise<number> {
  const busy = new Map<string, Promise<void>>();
  const errors: unknown[] = [];
  let count = 0;
  for (;;) {
    const rows = errors.length > 0 ? [] : await take(new Set(busy.keys())).catch(note);
    count += rows.length;
    for (const [account, group] of Map.groupBy(rows, (row) => row.account))
      busy.set(account, serve(account, group));
    if (busy.size === 0) break;
    await Promise.race([...busy.values(), host.sleep(lookAgainMs)]);
  }
  if (errors.length > 0) throw errors[0];
  return count;

  async function serve(account: string, rows: readonly Row[]): Promise<void> {
    await work(rows).catch(note);
    busy.delete(account);
  }

  function note(error: unknown): readonly Row[] {
    errors.push(error);
    return [];
  }
}
