// Webhook intake (spec 8.5): 32 clients send real signed payloads. Ours has each committed on the disk before its 2xx;
// Probot's own server commits nothing. Both are processes of their own, and their rounds take turns.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isNoisy, measureFsync } from "./disk.ts";
import { applyLoad } from "./load.ts";
import { signedDeliveries } from "./payloads.ts";
import { atLeast, atMost, median, quantile, told, type Row } from "./row.ts";
import { startServer, type ServerProcess } from "./server-process.ts";

const oursProgram = new URL("../test/fakes/intake-process.ts", import.meta.url);
const probotProgram = new URL("./probot-process.ts", import.meta.url);
const clients = 32;
const roundsCount = 5;
const roundMs = 3_000;
const warmUpMs = 2_000;
const p99MsTarget = 75;

interface Round {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
}

export async function benchIntake(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast bench-"));
  const ours = await startServer(oursProgram, [folder]);
  const probot = await startServer(probotProgram, []);
  const rounds: { ours: Round; probot: Round }[] = [];
  const syncs: number[] = [];
  try {
    await Promise.all([run(ours, "warm-a", warmUpMs), run(probot, "warm-b", warmUpMs)]);
    for (let index = 0; index < roundsCount; index += 1) {
      syncs.push(...measureFsync(folder));
      const one = { ours: await run(ours, `a${index}`), probot: await run(probot, `b${index}`) };
      rounds.push(one);
    }
  } finally {
    await Promise.all([ours.end(), probot.end()]);
    rmSync(folder, { recursive: true });
  }
  return rowsOf(rounds, isNoisy(syncs));
}

const requests = signedDeliveries();

async function run(server: ServerProcess, idPrefix: string, forMs = roundMs): Promise<Round> {
  const cpuMsBefore = server.cpuMs();
  const load = await applyLoad({ port: server.port, clients, forMs, requests, idPrefix });
  return {
    perSecond: (load.answered * 1_000) / load.elapsedMs,
    p99Ms: quantile(load.latenciesMs, 0.99),
    cpuUs: ((server.cpuMs() - cpuMsBefore) * 1_000) / load.answered,
  };
}

function rowsOf(rounds: readonly { ours: Round; probot: Round }[], isDiskNoisy: boolean): Row[] {
  function measured(name: string, unit: string, key: keyof Round) {
    const ours = median(rounds.map((round) => round.ours[key]));
    const opponent = median(rounds.map((round) => round.probot[key]));
    return { name, unit, ours, opponent };
  }
  return [
    atLeast(measured("intake", "deliveries/s", "perSecond"), 1),
    atMost(measured("intake p99", "ms", "p99Ms"), p99MsTarget, isDiskNoisy),
    told(measured("intake cpu", "µs/delivery", "cpuUs")),
  ];
}
