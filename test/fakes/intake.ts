// A host whose only forge is the one of network-forge.ts, with a policy file and the real parser: what the intake needs.
// Holds no expectation.
import type { Host } from "../../app/host.ts";
import { acceptDeliveries } from "../../app/intake/accept.ts";
import { readDeliveries } from "../../app/intake/reading.ts";
import { storeDelivery } from "../../app/ledger/incoming/deliveries.ts";
import { listMandates } from "../../app/ledger/mandates.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import type { ForgeEvent } from "../../policies/events.ts";
import { Failure } from "../../policies/failure.ts";
import type { Runner } from "../../runners/runner.ts";
import { openBareHost } from "./host.ts";
import { connection, openNetworkForge, type NetworkForge } from "./network-forge.ts";

export interface Intake {
  readonly host: Host;
  readonly world: NetworkForge;
  readonly clock: { at: number };
  /** The policy file of the repository. */
  policyText: string;
  /** Stores a delivery that speaks of these events; null is one that cannot be read. */
  deliver(guid: string, events: readonly ForgeEvent[] | null): Promise<boolean>;
  /** Reads and accepts until nothing is due any more. */
  accept(): Promise<void>;
  /** Word by GUID for what became of each delivery, open ones left out. */
  outcomes(): Promise<Record<string, string>>;
  titles(): Promise<string[]>;
}

export const buildPolicy = "tasks: { build: { steps: [{ run: make }] } }";

/** The body of a delivery is the JSON of its events: what a forge's own words mean is the adapters' matter. */
export function openIntake(change: Partial<Host> = {}): Intake {
  const bare = openBareHost();
  const world = openNetworkForge();
  const runner: Pick<Runner, "readPolicy" | "managedOutside"> = {
    readPolicy: async () => ({ commit: "a", text: intake.policyText, isUncommitted: false }),
    managedOutside: async () => new Set<string>(),
  };
  const host: Host = {
    ...bare.host,
    runner: runner as Runner,
    forges: new Map([[connection, world.forge]]),
    webhooks: new Map([
      [
        connection,
        {
          connection,
          path: "/hook",
          announced: () => null,
          isSigned: () => false,
          isWanted: () => true,
          read: async ({ body }) => {
            if (body === "") throw new Failure("bad-delivery", "never", { message: "no body" });
            return JSON.parse(body) as ForgeEvent[];
          },
        },
      ],
    ]),
    parse: async (body) => parseComment(body, { mention: "holdfast" }),
    ...change,
  };
  const { ledger } = host;
  const intake: Intake = {
    host,
    world,
    clock: bare.clock,
    policyText: buildPolicy,
    deliver: (guid, events) => {
      const body = events === null ? "" : JSON.stringify(events);
      return ledger.append((tx) => storeDelivery(tx, { connection, guid, event: "x", body }));
    },
    accept: async () => {
      while ((await readDeliveries(host)) + (await acceptDeliveries(host)) > 0);
    },
    outcomes: async () => {
      const rows = await ledger.read((sql) =>
        sql.all<{ guid: string; outcome: string }>(
          "SELECT guid, outcome FROM delivery WHERE handled_at IS NOT NULL ORDER BY id",
        ),
      );
      return Object.fromEntries(rows.map(({ guid, outcome }) => [guid, outcome]));
    },
    titles: async () => {
      const mandates = await ledger.read((sql) => listMandates(sql, { limit: 100 }));
      return mandates.map(({ title }) => title);
    },
  };
  return intake;
}

export function textEvent(id: string, number = 1): ForgeEvent {
  return { kind: "text", text: { connection, forgeId: "7", kind: "comment", id }, number };
}
