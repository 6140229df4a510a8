// A process of its own that claims that many entries of a ledger, one by one (spec 2.1; I2).
// Says `ready`, waits for a word, and prints the entries that it was given.
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { claimEntries } from "../../app/ledger/inbox.ts";
import { openLedger } from "../../app/ledger/store/open.ts";
import { claimLimits, startAt } from "./ledger.ts";

const [url = "", worker = "", count = ""] = process.argv.slice(2);
const ledger = await openLedger(url, { now: () => startAt });
const claimed: number[] = [];
console.log("ready");
await once(process.stdin, "data");
while (claimed.length < Number(count)) {
  const claims = await ledger.write((tx) => claimEntries(tx, { ...claimLimits, worker, slots: 1 }));
  claimed.push(...claims.map(({ entryId }) => entryId));
  await setImmediate();
}
console.log(JSON.stringify(claimed));
await ledger.close();
process.exit();
