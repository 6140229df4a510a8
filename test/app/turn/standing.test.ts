// What must hold before a turn and a publish (spec 1.5, 1.7), on a forge that may say no, nothing, or something new.
import { describe, expect, test } from "vitest";
import { changeConversation } from "../../../app/ledger/conversations.ts";
import { claimEntries, queuedEntries, type Claim } from "../../../app/ledger/inbox.ts";
import { listMandates, mandateOf, type MandateRow } from "../../../app/ledger/mandates.ts";
import { claimedEntry } from "../../../app/turn/claimed.ts";
import { standing } from "../../../app/turn/standing.ts";
import { minuteMs, secondMs } from "../../../policies/durations.ts";
import { openIntake, textEvent, type Intake } from "../../fakes/intake.ts";
import { claimLimits } from "../../fakes/ledger.ts";
import { ada, conversation, write } from "../../fakes/network-forge.ts";

const pinned = "b".repeat(40);
const moved = "c".repeat(40);
const onHead = "tasks: { build: { on: head, steps: [{ run: make }] } }";

/** A mandate of ada's that is claimed, in a pull request where `isFork` says of which kind. */
async function claimed(
  pull: { isFork: boolean } | null = null,
): Promise<Intake & { claim: Claim }> {
  const intake = openIntake();
  if (pull !== null) {
    intake.policyText = onHead;
    intake.world.conversations.set(1, conversation(1, "pull"));
    showHead(intake, pinned, pull.isFork);
  }
  write(intake.world, { id: "11", body: "@holdfast run build" });
  await intake.deliver("g", [textEvent("11")]);
  await intake.accept();
  return { ...intake, claim: await claim(intake) };
}

function showHead(intake: Intake, headCommit: string, isFork: boolean): void {
  intake.world.pulls.set(1, {
    number: 1,
    state: "open",
    isDraft: false,
    author: ada,
    headCommit,
    headBranch: "topic",
    isFork,
    isHeadProtected: false,
    baseBranch: "main",
  });
}

async function claim({ host }: Intake): Promise<Claim> {
  const [only] = await host.ledger.write((tx) => claimEntries(tx, claimLimits));
  if (only === undefined) throw new Error("nothing could be claimed");
  return only;
}

async function stands({ host }: Intake, one: Claim): Promise<boolean> {
  const entry = await host.ledger.read((sql) => claimedEntry(sql, one));
  return (await standing(host, entry)) !== null;
}

async function mandate({ host }: Intake): Promise<MandateRow> {
  const [row] = await host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
  if (row === undefined) throw new Error("there is no mandate");
  return host.ledger.read((sql) => mandateOf(sql, row.id));
}

describe("right and place", () => {
  test("who still has the right goes on, and nothing is written", async () => {
    const intake = await claimed();
    const before = await mandate(intake);
    expect(await stands(intake, intake.claim)).toBe(true);
    expect(await mandate(intake)).toEqual(before);
  });

  test("who has lost it is blocked", async () => {
    const intake = await claimed();
    intake.world.levels.set(ada.id, "triage");
    expect(await stands(intake, intake.claim)).toBe(false);
    expect(await mandate(intake)).toMatchObject({ status: "blocked", reason: "authority-revoked" });
  });

  test.each(["readConversation", "permissionOf"])(
    "where the forge does not answer %s nothing begins, and it is asked again",
    async (name) => {
      const intake = await claimed();
      intake.world.down.add(name);
      expect(await stands(intake, intake.claim)).toBe(false);
      const { id, status } = await mandate(intake);
      const [entry] = await intake.host.ledger.read((sql) => queuedEntries(sql, id));
      expect(status).toBe("queued");
      expect(entry?.availableAt).toBe(intake.clock.at + 30 * secondMs);
      intake.world.down.delete(name);
      intake.clock.at += 30 * secondMs;
      expect(await stands(intake, await claim(intake))).toBe(true);
    },
  );

  test("a place that closed while something ran in it begins nothing more (1.7)", async () => {
    const intake = await claimed();
    await intake.host.ledger.write((tx) =>
      changeConversation(tx, intake.claim.conversationId, { goneAt: tx.now }),
    );
    expect(await stands(intake, intake.claim)).toBe(false);
    expect(await mandate(intake)).toMatchObject({ status: "blocked", reason: "conversation-gone" });
  });

  test("a place that is missing three times in ten minutes is gone, and the mandate stopped", async () => {
    const intake = await claimed();
    intake.world.conversations.delete(1);
    expect(await stands(intake, intake.claim)).toBe(false);
    for (const expected of ["queued", "stopped"]) {
      intake.clock.at += 3 * minuteMs;
      expect(await stands(intake, await claim(intake))).toBe(false);
      expect((await mandate(intake)).status).toBe(expected);
    }
  });

  test("a place that comes back goes on", async () => {
    const intake = await claimed();
    const here = conversation(1, "issue");
    intake.world.conversations.delete(1);
    await stands(intake, intake.claim);
    intake.clock.at += 3 * minuteMs;
    intake.world.conversations.set(1, here);
    expect(await stands(intake, await claim(intake))).toBe(true);
  });

  test("where the operator's settings no longer let anything run it is blocked", async () => {
    const intake = await claimed();
    const entry = await intake.host.ledger.read((sql) => claimedEntry(sql, intake.claim));
    expect(await standing({ ...intake.host, mayRun: () => false }, entry)).toBeNull();
    expect(await mandate(intake)).toMatchObject({ status: "blocked", reason: "not-permitted" });
  });
});

describe("a pull request's head", () => {
  test("that is where it was goes on", async () => {
    const intake = await claimed({ isFork: false });
    expect(await stands(intake, intake.claim)).toBe(true);
  });

  test.each([
    ["the repository's own branch, by whom nobody told", { isFork: false }, null, "pinned"],
    ["the repository's own branch, by a writer", { isFork: false }, ada.id, "pinned"],
    ["a fork, by somebody who may write here", { isFork: true }, ada.id, "pinned"],
    ["a fork, by its owner", { isFork: true }, "66", "blocked"],
    ["a fork, by whom nobody told", { isFork: true }, null, "blocked"],
  ] as const)("moved: %s", async (...[, pull, byId, expected]) => {
    const intake = await claimed(pull);
    showHead(intake, moved, pull.isFork);
    if (byId !== null) {
      await intake.host.ledger.write((tx) =>
        changeConversation(tx, intake.claim.conversationId, { movedHead: { commit: moved, byId } }),
      );
    }
    expect(await stands(intake, intake.claim)).toBe(expected === "pinned");
    const after = await mandate(intake);
    expect(after.pinnedHead?.commit).toBe(expected === "pinned" ? moved : pinned);
    expect(after.reason).toBe(expected === "pinned" ? null : "head-moved");
  });

  test("an event about another commit tells nothing about this one", async () => {
    const intake = await claimed({ isFork: true });
    showHead(intake, moved, true);
    await intake.host.ledger.write((tx) =>
      changeConversation(tx, intake.claim.conversationId, {
        movedHead: { commit: "d".repeat(40), byId: ada.id },
      }),
    );
    expect(await stands(intake, intake.claim)).toBe(false);
  });

  test("`continue` pins it anew, and the work goes on", async () => {
    const intake = await claimed({ isFork: true });
    showHead(intake, moved, true);
    await stands(intake, intake.claim);
    const { id } = await mandate(intake);
    write(intake.world, { id: "12", body: `@holdfast continue ${id}` });
    await intake.deliver("c", [textEvent("12")]);
    await intake.accept();
    expect((await mandate(intake)).pinnedHead?.commit).toBe(moved);
    expect(await stands(intake, await claim(intake))).toBe(true);
  });
});
