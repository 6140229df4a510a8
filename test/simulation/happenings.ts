// What happens around the conversations of a simulated world without being said to us (spec 1.7, 3.4, 6.2): events that
// arrive as raw deliveries, some of them twice. None of them may make, end or extend anything by itself.

import type { Webhooks } from "../../app/forge/webhooks.ts";
import { storeDelivery } from "../../app/ledger/incoming/deliveries.ts";
import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import type { ForgeEvent } from "../../policies/events.ts";
import type { World } from "./world.ts";

const place = { connection: "local", forgeId: "1" } as const;
const by = { byId: "1", byName: "alice" } as const;
const nothing = { tag: null, branch: null, commit: null, number: null };

/** The body of a delivery is the JSON of its events: what a forge's own words mean is the adapters' matter. */
export const simulatedWebhooks: Webhooks = {
  connection: "local",
  path: "",
  announced: () => null,
  isSigned: () => false,
  isWanted: () => true,
  read: async ({ body }) => JSON.parse(body) as ForgeEvent[],
};

/** Tells an event under this GUID, as the intake would. */
export async function deliver(
  world: World,
  { guid, events }: { guid: string; events: readonly ForgeEvent[] },
): Promise<void> {
  const body = JSON.stringify(events);
  const raw = { connection: "local", guid, event: "simulated", body };
  await world.ledger.write((tx) => storeDelivery(tx, raw));
  world.trace(`delivery ${guid}: ${events.map(({ kind }) => kind).join(", ")}`);
  world.ring();
}

export async function happen(world: World): Promise<void> {
  const { dice } = world;
  const number = dice.pick(world.numbers);
  const what = dice.pick(["nudge", "burst", "conversation", "suspended"] as const);
  const name = `${what} ${world.now} ${dice.between(0, 1_000_000)}`;
  switch (what) {
    case "nudge":
      return twice(world, name, [nudge(world)]);
    case "burst":
      for (let count = dice.between(2, 30); count > 0; count -= 1) {
        await deliver(world, { guid: `${name} ${count}`, events: [nudge(world)] });
      }
      return;
    case "conversation": {
      const change = dice.pick(["closed", "reopened", "locked", "unlocked", "merged"] as const);
      return twice(world, name, [{ kind: "conversation", ...place, number, ...by, change }]);
    }
    case "suspended": {
      await deliver(world, { guid: name, events: [reach("suspended")] });
      const later = dice.pick([secondMs, minuteMs, 3 * hourMs]);
      world.after(later, () => deliver(world, { guid: `${name} over`, events: [reach("open")] }));
      return;
    }
  }
}

async function twice(world: World, guid: string, events: readonly ForgeEvent[]): Promise<void> {
  await deliver(world, { guid, events });
  if (world.dice.chance(0.3)) await deliver(world, { guid: `${guid} again`, events });
}

function nudge({ dice, history }: World): ForgeEvent {
  history.nudgeCount += 1;
  const event = dice.pick(["release.published", "release.edited", "push", "check_run.completed"]);
  return { kind: "nudge", ...place, ...nothing, event, tag: dice.pick(["v1", null]) };
}

function reach(change: "suspended" | "open"): ForgeEvent {
  return { kind: "reach", connection: "local", account: "local", forgeIds: ["1"], ...by, change };
}
