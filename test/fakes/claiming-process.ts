// A process of its own that claims and ends entries of a ledger file until none is left (spec 2.1; I2).
// Says `ready`, waits for a word, and prints the entries that it was given.
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { claimEntries, finishClaim } from "../../app/ledger/inbox.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { claimLimits, startAt } from "./ledger.ts";

const [file = "", worker = ""] = process.argv.slice(2);
const ledger = openSqlite({ file, now: () => startAt });
const claimed: number[] = [];
console.log("ready");
await once(process.stdin, "data");
while (await isAnythingLeft()) {
  const claims = await ledger.write((tx) => claimEntries(tx, { ...claimLimits, worker, slots: 1 }));
  for (const claim of claims) {
    await ledger.write((tx) => finishClaim(tx, claim));
    claimed.push(claim.entryId);
  }
  await setImmediate();
}
console.log(JSON.stringify(claimed));
await ledger.close();
process.exit();

async function isAnythingLeft(): Promise<boolean> {
  const open = await ledger.read((sql) =>
    sql.first("SELECT 1 AS one FROM inbox WHERE state IN ('queued', 'claimed')"),
  );
  return open !== undefined;
}
