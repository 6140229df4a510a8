// `holdfast ledger copy` (spec 7.1): the ledger of a home moves to PostgreSQL, with the saved states of unfinished work,
// so that any machine may go on with it. The file stays as it was.

import { basename, dirname, resolve } from "node:path";
import { openRunner } from "../../runners/runner.ts";
import { violations } from "../doctor.ts";
import { openHome, type Home } from "../home.ts";
import { firstValue } from "../ledger/facts.ts";
import type { Ledger, Tx } from "../ledger/ledger.ts";
import { findMandate } from "../ledger/mandates.ts";
import { keepState } from "../ledger/shared/saved-states.ts";
import { copyLedger } from "../ledger/store/copy.ts";
import { openLedger } from "../ledger/store/open.ts";
import { failed, misused, said, type Ending } from "../notices/terminal.ts";
import { isPostgres, type Settings } from "../settings.ts";

const nothing = "Nothing was copied.";
const ledgerName = "ledger.sqlite";

/** Throws Failure as opening a home does, and `ledger-not-empty`. */
export async function copy(
  settings: Settings,
  { from, to }: { from: string; to: string | undefined },
): Promise<Ending> {
  const file = resolve(from.replace(/^file:/, ""));
  if (basename(file) !== ledgerName) {
    return misused(
      nothing,
      `${file} is no ${ledgerName}`,
      "name the file in the home of the old ledger",
    );
  }
  const url = to ?? settings.ledgerUrl;
  if (!isPostgres(url) || !URL.canParse(url)) {
    const help = "give the postgres:// address of an empty database, or set DATABASE_URL to it";
    return misused(nothing, "there is no PostgreSQL to copy to", help);
  }
  const old = { ...settings, home: dirname(file), ledgerUrl: `file:${file}` };
  // Nobody may serve it meanwhile: what it wrote after the copy would be missing.
  const home = await openHome({ settings: old, mode: "serve" });
  try {
    const target = await openLedger(url);
    try {
      return await copyHome(home, target);
    } finally {
      await target.close();
    }
  } finally {
    await home.close();
  }
}

async function copyHome(home: Home, target: Ledger): Promise<Ending> {
  const states = { count: 0 };
  const copied = await copyLedger(
    { from: home.ledger, to: target },
    {
      onTable: ({ table, rows }) => process.stderr.write(`${table}: ${rows}\n`),
      finish: async (tx) => {
        // Comments of before are known by it.
        await firstValue(tx, "marker-key", home.secrets.markerKey);
        states.count = await keepStates(tx, home);
      },
    },
  );
  const before = new Set(await brokenIn(home.ledger));
  const wrong = (await brokenIn(target)).filter((one) => !before.has(one));
  if (wrong.length > 0) {
    const help = "report this, and go on with the old ledger: it is as it was";
    return failed("The copy is not as the old ledger is.", wrong.join("; "), help);
  }
  const rows = copied.reduce((sum, one) => sum + one.rows, 0);
  return said(
    [
      `Copied ${rows} rows of ${copied.length} tables, and the saved files of ${states.count} unfinished mandates.`,
      "From now on start every process with DATABASE_URL set to that address.",
      `${home.folder} stays as it was: keep it until you trust the new one, and do not serve it without DATABASE_URL.`,
    ].join("\n"),
  );
}

/** What doctor would say, but for what is only late: nobody works on either. */
async function brokenIn(ledger: Ledger): Promise<string[]> {
  const found = await ledger.read((sql) => violations(sql, ledger.now()));
  return found
    .filter(({ isLate }) => !isLate)
    .map(({ invariant, subject, what }) => `${invariant} ${subject}: ${what}`);
}

/** The files of what is not finished, so that another machine may take it up as well. */
async function keepStates(tx: Tx, { folder, id: home }: Home): Promise<number> {
  const runner = openRunner({ home: folder, environment: {} });
  let count = 0;
  for (const mandateId of await runner.kept()) {
    const mandate = await findMandate(tx, mandateId);
    if (mandate === undefined || mandate.endedAt !== null) continue;
    const state = await runner.packState(mandateId);
    if (state === null) continue;
    const { commit: commitHash, base: baseHash, pack } = state;
    await keepState(tx, { mandateId, home, commitHash, baseHash, pack });
    count += 1;
  }
  return count;
}
