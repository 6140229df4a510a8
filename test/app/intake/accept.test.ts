// Accepting what a forge tells (spec 1.4-1.7, 6.2; I4, I7, I8), on a forge behind a network.
import { describe, expect, test } from "vitest";
import type { Person } from "../../../app/forge/forge.ts";
import { findConversation, findRepository } from "../../../app/ledger/conversations.ts";
import { eventsOf } from "../../../app/ledger/history.ts";
import { listMandates, mandateOf } from "../../../app/ledger/mandates.ts";
import { dayMs, secondMs } from "../../../policies/durations.ts";
import type { ForgeEvent } from "../../../policies/events.ts";
import { buildPolicy, openIntake, textEvent, type Intake } from "../../fakes/intake.ts";
import {
  ada,
  connection,
  conversation,
  otherBot,
  repository,
  self,
  write,
} from "../../fakes/network-forge.ts";

const build = "@holdfast run build";
const by = { byId: "1", byName: "ada" };
const place = { connection, forgeId: "7", number: 1 };

async function said(
  intake: Intake,
  id: string,
  { body = build, author = ada }: { body?: string; author?: Person } = {},
): Promise<void> {
  write(intake.world, { id, body, author });
  await intake.deliver(`g-${id}`, [textEvent(id)]);
  await intake.accept();
}

async function reachNow({ host }: Intake): Promise<string | undefined> {
  return (await host.ledger.read((sql) => findRepository(sql, connection, "7")))?.reach;
}

function mandates({ host }: Intake) {
  return host.ledger.read((sql) => listMandates(sql, { limit: 100 }));
}

async function happens(intake: Intake, event: ForgeEvent): Promise<void> {
  await intake.deliver(`h-${JSON.stringify(event).length}-${Math.random()}`, [event]);
  await intake.accept();
}

describe("I4: one text, one action", () => {
  test("a redelivery, a replay under a new GUID and a second hook are one mandate", async () => {
    const intake = openIntake();
    await said(intake, "11");
    expect(await intake.deliver("g-11", [textEvent("11")])).toBe(false);
    await intake.deliver("replayed", [textEvent("11")]);
    await intake.deliver("second-hook", [textEvent("11")]);
    await intake.accept();
    expect(await intake.titles()).toEqual(["run build"]);
    expect(await intake.outcomes()).toEqual({
      "g-11": "commands",
      replayed: "duplicate",
      "second-hook": "duplicate",
    });
  });

  test("both hooks at once, unread yet, are one mandate", async () => {
    const intake = openIntake();
    write(intake.world, { id: "11", body: build });
    await intake.deliver("a", [textEvent("11")]);
    await intake.deliver("b", [textEvent("11")]);
    await intake.accept();
    expect(await intake.titles()).toHaveLength(1);
  });

  test("a replay days later asks nobody anything and is not answered", async () => {
    const intake = openIntake();
    await said(intake, "11");
    intake.clock.at += 2 * dayMs;
    const calls = intake.world.calls.length;
    await intake.deliver("late", [textEvent("11")]);
    await intake.accept();
    expect(intake.world.calls).toHaveLength(calls);
    expect(await intake.outcomes()).toMatchObject({ late: "duplicate" });
  });
});

describe("order and patience", () => {
  test("while the forge is silent later words of the conversation wait, others pass", async () => {
    const intake = openIntake();
    const { world, clock } = intake;
    world.conversations.set(2, conversation(2, "issue"));
    write(world, { id: "11", body: "@holdfast run build" });
    await intake.deliver("first", [textEvent("11")]);
    world.down.add("readText");
    await intake.accept();
    world.down.delete("readText");
    write(world, { id: "12", body: "@holdfast stop" });
    write(world, { id: "21", body: build, number: 2 });
    await intake.deliver("second", [textEvent("12")]);
    await intake.deliver("elsewhere", [textEvent("21", 2)]);
    await intake.accept();
    expect(await intake.outcomes()).toEqual({ elsewhere: "commands" });
    clock.at += secondMs;
    await intake.accept();
    const states = (await mandates(intake)).map(({ conversationId, status }) => [
      conversationId,
      status,
    ]);
    expect(states).toEqual([
      ["github-7#2", "queued"],
      ["github-7#1", "stopped"],
    ]);
  });

  test("a text that is not there yet is looked for three times more", async () => {
    const intake = openIntake();
    await intake.deliver("early", [textEvent("11")]);
    for (const waitMs of [0, 1, 2]) {
      intake.clock.at += waitMs * secondMs;
      await intake.accept();
    }
    expect(await intake.outcomes()).toEqual({});
    write(intake.world, { id: "11", body: build });
    intake.clock.at += 4 * secondMs;
    await intake.accept();
    expect(await intake.titles()).toEqual(["run build"]);
  });

  test("one that never comes is gone, and what the forge cannot say for three days is given up", async () => {
    const intake = openIntake();
    await intake.deliver("gone", [textEvent("404")]);
    for (let count = 0; count < 5; count += 1) {
      await intake.accept();
      intake.clock.at += 10 * secondMs;
    }
    expect(await intake.outcomes()).toEqual({ gone: "gone" });
    intake.world.down.add("readText");
    await intake.deliver("silent", [textEvent("11")]);
    await intake.accept();
    intake.clock.at += 3 * dayMs + secondMs;
    await intake.accept();
    expect(await intake.outcomes()).toMatchObject({ silent: "given-up" });
  });

  test("a body that is not what it promises ends alone", async () => {
    const intake = openIntake();
    await intake.deliver("bad", null);
    await said(intake, "11");
    expect(await intake.outcomes()).toMatchObject({ bad: "bad-delivery", "g-11": "commands" });
  });
});

describe("who is listened to", () => {
  test("our own texts and other bots' take no slot: nothing but the text is read", async () => {
    const intake = openIntake();
    await said(intake, "11", { author: self });
    await said(intake, "12", { body: "no command", author: otherBot });
    expect(await intake.outcomes()).toEqual({ "g-11": "own", "g-12": "bot" });
    expect(intake.world.calls).toEqual(["readText", "readText"]);
  });

  test("a bot is obeyed only where the policy file names its id", async () => {
    const intake = openIntake();
    await said(intake, "11", { author: otherBot });
    expect(await intake.titles()).toEqual([]);
    intake.policyText = `${buildPolicy}\nallowBots: [800]`;
    await said(intake, "12", { author: otherBot });
    expect(await intake.titles()).toEqual(["run build"]);
  });

  test("two bots that answer each other stop after one, until a person has written", async () => {
    const intake = openIntake();
    intake.policyText = `${buildPolicy}\nallowBots: [800, 801]`;
    await said(intake, "11", { author: otherBot });
    await said(intake, "12", { author: { ...otherBot, id: "801" } });
    expect(await intake.titles()).toHaveLength(1);
    expect(await intake.outcomes()).toMatchObject({ "g-12": "bot-again" });
    await said(intake, "13", { body: "thanks, go on" });
    await said(intake, "14", { author: otherBot });
    expect(await intake.titles()).toHaveLength(2);
  });

  test("a name that looks like ours is only a name: rights and bots go by number", async () => {
    const intake = openIntake();
    await said(intake, "11", { author: { id: "66", name: self.name, isBot: false } });
    expect(await intake.outcomes()).toEqual({ "g-11": "not-permitted" });
    expect(await intake.titles()).toEqual([]);
  });

  test("a comment that was edited before it was read runs nothing and is answered with a hint", async () => {
    const intake = openIntake();
    write(intake.world, { id: "11", body: build, at: 1_000, changedAt: 9_000 });
    await intake.deliver("edited-between", [textEvent("11")]);
    await intake.accept();
    expect(await intake.titles()).toEqual([]);
    expect(await intake.outcomes()).toEqual({ "edited-between": "edited-hint" });
  });

  test("where settings let nothing run, nothing is made and the person is told which setting", async () => {
    const intake = openIntake({ mayRun: () => false });
    await said(intake, "11");
    expect(await intake.titles()).toEqual([]);
    const [row] = await intake.host.ledger.read((sql) =>
      sql.all<{ payload: { body: string } }>("SELECT payload_json FROM outbox"),
    );
    expect(row?.payload.body).toContain("`repositories` in settings.yaml");
  });
});

describe("what happens without being said to us", () => {
  test("a deletion is noted and cancels nothing", async () => {
    const intake = openIntake();
    await said(intake, "11");
    const text = { connection, forgeId: "7", kind: "comment", id: "11" } as const;
    await happens(intake, { kind: "deleted", text, number: 1 });
    const [mandate] = await mandates(intake);
    expect(mandate?.status).toBe("queued");
    const kinds = await intake.host.ledger.read((sql) => eventsOf(sql, mandate?.id ?? ""));
    expect(kinds.map(({ kind }) => kind)).toContain("text-deleted");
  });

  test.each(["closed", "merged", "locked", "reopened"] as const)(
    "%s: nothing stops",
    async (change) => {
      const intake = openIntake();
      await said(intake, "11");
      await happens(intake, { kind: "conversation", ...place, ...by, change });
      expect((await mandates(intake)).map(({ status }) => status)).toEqual(["queued"]);
    },
  );

  test.each(["deleted", "transferred"] as const)(
    "%s: its mandates are stopped by whom the event names, and nothing revives",
    async (change) => {
      const intake = openIntake();
      await said(intake, "11");
      await happens(intake, { kind: "conversation", ...place, ...by, change });
      const [mandate] = await mandates(intake);
      expect(mandate?.status).toBe("stopped");
      const events = await intake.host.ledger.read((sql) => eventsOf(sql, mandate?.id ?? ""));
      expect(events.find(({ kind }) => kind === "stopped")?.facts).toEqual({ by: "ada" });
      await happens(intake, { kind: "conversation", ...place, ...by, change: "reopened" });
      expect((await mandates(intake))[0]?.status).toBe("stopped");
    },
  );

  test("an installation that is suspended holds, one that is gone stops, its return revives nothing", async () => {
    const intake = openIntake();
    await said(intake, "11");
    const reach = { kind: "reach", connection, account: "55", forgeIds: null, ...by } as const;
    await happens(intake, { ...reach, change: "suspended" });
    expect(await reachNow(intake)).toBe("suspended");
    expect((await mandates(intake))[0]?.status).toBe("queued");
    await happens(intake, { ...reach, change: "open", forgeIds: ["7"] });
    expect(await reachNow(intake)).toBe("open");
    await happens(intake, { ...reach, change: "gone" });
    expect((await mandates(intake))[0]?.status).toBe("stopped");
    await happens(intake, { ...reach, change: "open", forgeIds: ["7"] });
    expect((await mandates(intake))[0]?.status).toBe("stopped");
  });

  test("another account's end touches nothing here", async () => {
    const intake = openIntake();
    await said(intake, "11");
    const reach = { kind: "reach", connection, account: "56", forgeIds: null, ...by } as const;
    await happens(intake, { ...reach, change: "gone" });
    expect((await mandates(intake))[0]?.status).toBe("queued");
  });

  test("a repository that is renamed keeps its mandates and gets its new name at the next word", async () => {
    const intake = openIntake();
    await said(intake, "11");
    intake.world.repositories.set("7", repository("7", "org/gate"));
    await said(intake, "12");
    const row = await intake.host.ledger.read((sql) => findRepository(sql, connection, "7"));
    expect(row).toMatchObject({ name: "org/gate", source: "https://forge.example/org/gate.git" });
    expect(await mandates(intake)).toHaveLength(2);
  });

  test("who moved a head is kept with its conversation, and only where one is", async () => {
    const intake = openIntake();
    const moved = { kind: "head-moved", ...place, ...by, commit: "c".repeat(40) } as const;
    await happens(intake, moved);
    await said(intake, "11");
    await happens(intake, moved);
    const found = await intake.host.ledger.read((sql) => findConversation(sql, place));
    expect(found?.movedHead).toEqual({ commit: moved.commit, byId: "1" });
  });

  test("I7: no event makes a mandate, a right or a later deadline", async () => {
    const intake = openIntake();
    await said(intake, "11");
    const [before] = await mandates(intake);
    const nudge = {
      kind: "nudge",
      connection,
      forgeId: "7",
      event: "repository_dispatch",
    } as const;
    await happens(intake, { ...nudge, tag: null, branch: null, commit: null, number: 1 });
    await happens(intake, { kind: "conversation", ...place, ...by, change: "reopened" });
    const after = await intake.host.ledger.read((sql) => mandateOf(sql, before?.id ?? ""));
    expect(after).toEqual(before);
    expect(await mandates(intake)).toHaveLength(1);
  });
});

test("a pull request's command pins its head, an issue's none", async () => {
  const intake = openIntake();
  intake.policyText = "tasks: { build: { on: head, steps: [{ run: make }] } }";
  intake.world.conversations.set(1, conversation(1, "pull"));
  intake.world.pulls.set(1, {
    number: 1,
    state: "open",
    isDraft: false,
    author: ada,
    headCommit: "b".repeat(40),
    headBranch: "topic",
    isFork: false,
    isHeadProtected: false,
    baseBranch: "main",
  });
  await said(intake, "11");
  const [mandate] = await mandates(intake);
  expect(mandate?.pinnedHead).toEqual({
    pull: 1,
    commit: "b".repeat(40),
    branch: "topic",
    baseBranch: "main",
    isFork: false,
    mayPush: true,
  });
});
