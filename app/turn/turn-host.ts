// What a running turn asks of the host (spec 2.1, 2.5): phases, calls and progress, each durable before the work goes on
// and each under the turn's claim, so that nothing is recorded for a holder whose lease is lost (I2).

import type { TaskProgress } from "../../policies/tasks.ts";
import type { CallRecord, TurnHost } from "../../runners/runner.ts";
import type { Host } from "../host.ts";
import { hashOf } from "../host.ts";
import { isLive, StaleClaim } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { keepState } from "../ledger/shared/saved-states.ts";
import { changeTurn, saveCall, type ToolCallRow, type TurnRow } from "../ledger/turns.ts";
import { stateHere, type NewState } from "./carrying.ts";
import type { ClaimedEntry } from "./claimed.ts";
import { commit } from "./persist.ts";

/** Of long output the ledger keeps its hash, its length, and this many characters of head and tail together. */
const keptTextLimit = 4_096;

export function turnHost(
  host: Host,
  { mandate, claim }: ClaimedEntry,
  { turn, signal }: { turn: TurnRow; signal: AbortSignal },
): TurnHost {
  function write(change: (tx: Tx) => Promise<void>): Promise<void> {
    return commit(host, async (tx) => {
      if (!(await isLive(tx, claim))) throw new StaleClaim(claim);
      await change(tx);
    });
  }

  function save(call: CallRecord, progress: TaskProgress | null, state?: NewState): Promise<void> {
    return write(async (tx) => {
      await saveCall(tx, callRow(turn.id, call));
      if (progress !== null && mandate.task !== null) {
        await changeMandate(tx, mandate.id, { task: { ...mandate.task, progress } });
      }
      if (state !== undefined) await keepState(tx, state);
      // The first turn names the base only at its end, and others may have to go on from here before.
      const base = state?.baseHash ?? null;
      if (base !== null) await changeMandate(tx, mandate.id, { baseCommit: base });
      await touchStatus(tx, mandate, host.timing.statusThrottleMs);
    });
  }

  return {
    now: () => host.ledger.now(),
    signal,
    phase: (phase) =>
      write(async (tx) => {
        await changeTurn(tx, turn.id, { phase });
        await touchStatus(tx, mandate, host.timing.statusThrottleMs);
      }),
    workBegins: () => write((tx) => changeTurn(tx, turn.id, { promptGivenAt: tx.now })),
    callStarted: (call, progress) => save(call, progress),
    callFinished: async (call, progress) => {
      const isSaved = call.step !== null && progress?.[call.step]?.state === "succeeded";
      const state = isSaved ? await stateHere(host, { mandateId: mandate.id, isSaved }) : undefined;
      await save(call, progress, state);
    },
  };
}

function callRow(turnId: number, call: CallRecord): ToolCallRow {
  const { text, isError, ...known } = call;
  const half = keptTextLimit / 2;
  const isLong = text.length > keptTextLimit;
  return {
    ...known,
    turnId,
    failed: isError ? 1 : 0,
    textHead: isLong ? text.slice(0, half) : text,
    textTail: isLong ? text.slice(-half) : "",
    textLength: text.length,
    textHash: call.finishedAt === null ? null : hashOf(text),
  };
}
