// Output (spec 6.3, 1.7; I5): budgets, limits, unsure outcomes and places that take nothing any more, on a forge whose
// answers are planned.
import { describe, expect, test } from "vitest";
import { conversationOf, ensureConversation } from "../../../app/ledger/conversations.ts";
import { accountOf, budgetOf } from "../../../app/ledger/forge-writes.ts";
import { changeMandate, listMandates } from "../../../app/ledger/mandates.ts";
import { nextOutboxAt, post, touchStatus, type NewMessage } from "../../../app/ledger/outbox.ts";
import { deliverMessages } from "../../../app/outbox/deliver.ts";
import { probeMessages } from "../../../app/outbox/probe.ts";
import { redrawOwn } from "../../../app/outbox/redraw.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../../../policies/durations.ts";
import { openIntake, textEvent, type Intake } from "../../fakes/intake.ts";
import { conversation, repository, write } from "../../fakes/network-forge.ts";

const github = { perSecond: 1, perMinute: 80, perHour: 500 };
const here = "github-7#1";

/** A conversation in which somebody has spoken, with nothing left to say. */
async function begin(): Promise<Intake> {
  const intake = openIntake();
  intake.world.clock.now = () => intake.clock.at;
  write(intake.world, { id: "11", body: "@holdfast help" });
  await intake.deliver("g", [textEvent("11")]);
  await intake.accept();
  await deliverMessages(intake.host);
  intake.world.ours.length = 0;
  intake.world.writeLimits = github;
  return intake;
}

function message(name: string, change: Partial<NewMessage> = {}): NewMessage {
  const payload = { body: name };
  return { key: name, conversationId: here, mandateId: null, kind: "tell", payload, ...change };
}

async function say({ host }: Intake, ...messages: NewMessage[]): Promise<void> {
  await host.ledger.write(async (tx) => {
    for (const one of messages) await post(tx, one);
  });
}

/** Delivers and probes all that is due, second by second. */
async function pass(intake: Intake, ms: number, stepMs = secondMs): Promise<void> {
  for (const end = intake.clock.at + ms; ; intake.clock.at += stepMs) {
    while ((await probeMessages(intake.host)) + (await deliverMessages(intake.host)) > 0);
    if (intake.clock.at >= end) return;
  }
}

function bodies({ world }: Intake): string[] {
  return world.ours.map(({ body }) => body.split("\n")[0] ?? "");
}

async function stateOf({ host }: Intake, key: string): Promise<string | undefined> {
  const row = await host.ledger.read((sql) =>
    sql.first<{ state: string }>("SELECT state FROM outbox WHERE key = ?", key),
  );
  return row?.state;
}

/** As many conversations as there are messages, so that none waits for another. */
async function sayApart(intake: Intake, count: number, kind: NewMessage["kind"]): Promise<void> {
  await intake.host.ledger.write(async (tx) => {
    for (let number = 2; number < count + 2; number += 1) {
      intake.world.conversations.set(number, conversation(number, "issue"));
      const { id } = await ensureConversation(tx, { id: "github-7" }, { number, kind: "issue" });
      await post(tx, message(`${kind} ${number}`, { conversationId: id, kind }));
    }
  });
}

describe("budgets", () => {
  test("one write a second, however many are due", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    await sayApart(intake, 10, "tell");
    await pass(intake, 0);
    expect(intake.world.ours).toHaveLength(1);
    await pass(intake, 4 * secondMs);
    expect(intake.world.ours.length).toBeGreaterThanOrEqual(3);
    expect(intake.world.ours.length).toBeLessThanOrEqual(5);
  });

  test("eighty a minute, five hundred an hour; what a person waits for comes first", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    intake.world.writeLimits = { ...github, perSecond: 100 };
    await sayApart(intake, 600, "tell");
    await say(intake, message("a block", { kind: "ask" }));
    await pass(intake, 0);
    expect(intake.world.ours).toHaveLength(80);
    expect(bodies(intake)[0]).toBe("a block");
    await pass(intake, 20 * minuteMs, 10 * secondMs);
    expect(intake.world.ours).toHaveLength(500);
  });

  test("edits of status comments leave a fifth of the hour to others", async () => {
    const { host } = await begin();
    await host.ledger.write(async (tx) => {
      for (let count = 0; count < 400; count += 1) {
        await tx.run(
          "INSERT INTO forge_write (account, at) VALUES ('a', ?)",
          tx.now - 30 * minuteMs,
        );
      }
      const ask = { limits: github, isUrgent: true };
      expect((await budgetOf(tx, "a", ask)).left).toBe(1);
      expect((await budgetOf(tx, "a", { ...ask, isUrgent: false })).left).toBe(0);
    });
  });

  test("what is held back is due when there is room, and not before: nothing spins", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    await sayApart(intake, 3, "tell");
    await pass(intake, 0);
    const nextAt = await intake.host.ledger.read(nextOutboxAt);
    expect(nextAt).toBeGreaterThan(intake.clock.at);
    expect(nextAt).toBeLessThanOrEqual(intake.clock.at + secondMs + 1);
  });

  test("a limit that the forge names holds its account alone, and is no try of the message", async () => {
    const intake = await begin();
    intake.world.repositories.set("8", { ...repository("8", "org/wall"), account: "56" });
    const until = intake.clock.at + 5 * minuteMs;
    intake.world.fates.push({ limitedUntil: until });
    await say(intake, message("held"));
    await pass(intake, minuteMs);
    expect(intake.world.ours).toEqual([]);
    await pass(intake, 5 * minuteMs);
    expect(bodies(intake)).toEqual(["held"]);
    const [row] = await intake.host.ledger.read((sql) =>
      sql.all<{ attempts: number }>("SELECT attempts FROM outbox WHERE key = 'held'"),
    );
    expect(row?.attempts).toBe(0);
    expect(accountOf({ connection: "github", account: "56" })).toBe("github 56");
  });
});

describe("unsure outcomes", () => {
  test("what arrived is adopted and not written again, also where the forge's clock is behind", async () => {
    const intake = await begin();
    intake.world.clock.behindMs = minuteMs;
    intake.world.fates.push("unsure-after");
    await say(intake, message("once"));
    await pass(intake, minuteMs);
    expect(bodies(intake)).toEqual(["once"]);
    expect(await stateOf(intake, "once")).toBe("sent");
  });

  test("what did not arrive is written after two looks, ten seconds apart, and no sooner", async () => {
    const intake = await begin();
    intake.world.fates.push("unsure-before");
    await say(intake, message("late"));
    await pass(intake, 19 * secondMs);
    expect(intake.world.ours).toEqual([]);
    await pass(intake, 3 * secondMs);
    expect(bodies(intake)).toEqual(["late"]);
  });

  test("a copied marker proves nothing", async () => {
    const intake = await begin();
    intake.world.fates.push("unsure-before");
    await say(intake, message("copied"));
    await pass(intake, secondMs);
    await say(intake, message("other", { conversationId: here }));
    intake.world.ours.push({
      id: "9",
      number: 1,
      body: "<!-- holdfast:copied:00 -->",
      at: intake.clock.at,
    });
    await pass(intake, minuteMs);
    expect(await stateOf(intake, "copied")).toBe("sent");
    expect(bodies(intake).filter((body) => body === "copied")).toHaveLength(1);
  });

  test("those of one conversation stay in order, whatever becomes of the first", async () => {
    const intake = await begin();
    intake.world.fates.push("unavailable", "unsure-before", "unavailable");
    await say(intake, message("first"), message("second"), message("third"));
    await pass(intake, 2 * minuteMs);
    expect(bodies(intake)).toEqual(["first", "second", "third"]);
  });
});

describe("a place that takes no comment any more", () => {
  async function planted(intake: Intake): Promise<string> {
    write(intake.world, { id: "12", body: "@holdfast run build" });
    await intake.deliver("m", [textEvent("12")]);
    await intake.accept();
    const [mandate] = await intake.host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
    return mandate?.id ?? "";
  }

  test("blocks what is at rest there, and tries to tell it every day", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    const id = await planted(intake);
    intake.world.fates.push(...Array.from({ length: 6 }, () => "closed" as const));
    await pass(intake, minuteMs);
    const [mandate] = await intake.host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
    expect(mandate).toMatchObject({ id, status: "blocked", reason: "conversation-gone" });
    const { goneAt } = await intake.host.ledger.read((sql) => conversationOf(sql, here));
    expect(goneAt).not.toBeNull();
    intake.world.fates.length = 0;
    await pass(intake, hourMs, minuteMs);
    expect(bodies(intake).filter((body) => body.includes("blocked"))).toEqual([]);
    await pass(intake, dayMs, hourMs);
    expect(bodies(intake).filter((body) => body.includes("is blocked"))).toHaveLength(1);
  });

  test("a word from there is tried at once", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    await planted(intake);
    intake.world.fates.push(...Array.from({ length: 6 }, () => "closed" as const));
    await pass(intake, minuteMs);
    intake.world.fates.length = 0;
    write(intake.world, { id: "13", body: "@holdfast status" });
    await intake.deliver("s", [textEvent("13")]);
    await intake.accept();
    await pass(intake, minuteMs);
    expect(bodies(intake).filter((body) => body.includes("is blocked"))).toHaveLength(1);
    const { goneAt } = await intake.host.ledger.read((sql) => conversationOf(sql, here));
    expect(goneAt).toBeNull();
  });

  test("a text that the forge refuses for what it says is dead and closes nothing", async () => {
    const intake = await begin();
    intake.world.fates.push("refused");
    await say(intake, message("too long"));
    await pass(intake, minuteMs);
    expect(await stateOf(intake, "too long")).toBe("dead");
    const { goneAt } = await intake.host.ledger.read((sql) => conversationOf(sql, here));
    expect(goneAt).toBeNull();
  });
});

describe("comments that somebody else changed", () => {
  test("are drawn again once, and then left as they are", async () => {
    const intake = await begin();
    await say(intake, message("ours"));
    await pass(intake, 0);
    const [comment] = intake.world.ours;
    for (const words of ["theirs", "theirs again"]) {
      if (comment !== undefined) comment.body = words;
      const own = { conversationId: here, forgeId: comment?.id ?? "", change: "edited" } as const;
      await intake.host.ledger.write((tx) => redrawOwn(tx, own));
      await pass(intake, minuteMs);
    }
    expect(bodies(intake)).toEqual(["theirs again"]);
  });

  test("one that was deleted is written again", async () => {
    const intake = await begin();
    await say(intake, message("ours"));
    await pass(intake, 0);
    const [gone] = intake.world.ours.splice(0, 1, { id: "x", number: 9, body: "", at: 0 });
    const own = { conversationId: here, forgeId: gone?.id ?? "", change: "deleted" } as const;
    await intake.host.ledger.write((tx) => redrawOwn(tx, own));
    await pass(intake, minuteMs);
    expect(bodies(intake)).toEqual(["", "ours"]);
  });
});

test("a burst of changes is at most one edit of the status comment in twenty seconds", async () => {
  const intake = await begin();
  intake.clock.at += hourMs;
  write(intake.world, { id: "12", body: "@holdfast run build" });
  await intake.deliver("m", [textEvent("12")]);
  await intake.accept();
  const [mandate] = await intake.host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
  if (mandate === undefined) throw new Error("there is no mandate");
  await pass(intake, 30 * secondMs);
  intake.world.calls.length = 0;
  for (let count = 0; count < 40; count += 1) {
    await intake.host.ledger.write(async (tx) => {
      await changeMandate(tx, mandate.id, { nextStep: `step ${count}` });
      await touchStatus(tx, mandate, 20 * secondMs);
    });
    await pass(intake, secondMs);
  }
  const edits = intake.world.calls.filter((name) => name === "editComment");
  expect(edits.length).toBeGreaterThanOrEqual(1);
  expect(edits.length).toBeLessThanOrEqual(3);
});
