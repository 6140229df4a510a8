// Which files the next turn of a mandate begins with (spec 5.1, 7.1): those that are here, only where nobody has gone on
// from them elsewhere.
import { expect, test } from "vitest";
import { repositoryOf } from "../../../app/ledger/conversations.ts";
import { mandateOf } from "../../../app/ledger/mandates.ts";
import { keepState } from "../../../app/ledger/shared/saved-states.ts";
import { takeUpState } from "../../../app/turn/carrying.ts";
import type { CarriedState } from "../../../runners/runner.ts";
import { openBareHost } from "../../fakes/host.ts";
import { plant } from "../../fakes/ledger.ts";

const pack = Uint8Array.from([1, 2, 3]);
const whole = { commitHash: "c2", baseHash: "b1", pack };
const large = { commitHash: null, baseHash: null, pack: null };
const carried = { commit: "c2", base: "b1", pack };

/** What is unpacked in home `a`, which has these commits of the mandate; undefined for nothing. */
async function takenUp(
  saved: ({ home: string } & (typeof whole | typeof large)) | null,
  commitsHere: readonly string[],
): Promise<CarriedState | null | undefined> {
  const { host } = openBareHost();
  const { id } = await host.ledger.write((tx) => plant(tx));
  if (saved !== null) {
    await host.ledger.write((tx) => keepState(tx, { mandateId: id, ...saved }));
  }
  let unpacked: CarriedState | null | undefined;
  const runner: typeof host.runner = {
    ...host.runner,
    hasState: async ({ mandateId, commit }) => mandateId === id && commitsHere.includes(commit),
    unpackState: async ({ state }) => {
      unpacked = state;
    },
  };
  const context = await host.ledger.read(async (sql) => ({
    mandate: await mandateOf(sql, id),
    repository: await repositoryOf(sql, "r-1"),
  }));
  await takeUpState({ ...host, homeId: "a", runner }, context);
  return unpacked;
}

test.each([
  { it: "what nobody saved", saved: null, here: [], taken: undefined },
  { it: "what was saved here last", saved: { home: "a", ...whole }, here: ["c2"] },
  { it: "what is too large to be carried, and here", saved: { home: "a", ...large }, here: [] },
  { it: "what another saved", saved: { home: "b", ...whole }, here: ["c1"], taken: carried },
  {
    it: "what another saved once more",
    saved: { home: "b", ...whole },
    here: ["c2"],
    taken: carried,
  },
  {
    it: "what is too large and elsewhere",
    saved: { home: "b", ...large },
    here: ["c1"],
    taken: null,
  },
  {
    it: "what a copy of this home saved",
    saved: { home: "a", ...whole },
    here: ["c1"],
    taken: carried,
  },
])("$it", async ({ saved, here, taken }) => {
  expect(await takenUp(saved, here)).toEqual(taken);
});
