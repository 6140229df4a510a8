// The intake as a process of its own, so that its memory, log and CPU can be looked at from outside (spec 6.2, 8.5): a
// ledger on disk in the folder that is named, and one forge's webhooks. Prints its port; ends with its input.
import { join } from "node:path";
import { serve } from "../../app/http.ts";
import { receiveWebhooks } from "../../app/intake/receive.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { openLog } from "../../app/log.ts";
import { webhooks } from "./webhooks.ts";

const [folder = "."] = process.argv.slice(2);
const log = openLog("info", []);
const ledger = openSqlite({ file: join(folder, "ledger.sqlite"), now: Date.now });
const { route } = receiveWebhooks(webhooks, { ledger, log });
const serving = await serve({
  port: 0,
  host: "127.0.0.1",
  routes: [route],
  problem: (problem) => {
    if (problem.status === 500) log.error({ error: problem.error }, "a delivery failed");
    return { status: problem.status, body: "" };
  },
});
process.stdin.resume().once("end", () => {
  void serving.close().then(() => ledger.close());
});
console.log(new URL(serving.url).port);
