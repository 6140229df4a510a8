// Output (spec 6.3, 1.7; I5): budgets, limits, unsure outcomes and places that take nothing any more, on a forge whose
// answers are planned.
import { describe, expect, test } from "vitest";
import {
  conversationOf,
  ensureConversation,
  saveRepository,
} from "../../../app/ledger/conversations.ts";
import { healthOf } from "../../../app/ledger/facts.ts";
import { accountOf, budgetOf } from "../../../app/ledger/forge-writes.ts";
import { changeMandate, listMandates } from "../../../app/ledger/mandates.ts";
import {
  changeMessage,
  markUnsure,
  nextOutboxAt,
  post,
  repost,
  takeMessages,
  touchStatus,
  type NewMessage,
} from "../../../app/ledger/outbox.ts";
import { deliverMessages } from "../../../app/outbox/deliver.ts";
import { probeMessages } from "../../../app/outbox/probe.ts";
import { redrawOwn } from "../../../app/outbox/redraw.ts";
import { postWhole } from "../../../app/outbox/whole.ts";
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

describe("how long a message is tried", () => {
  async function failing(intake: Intake, key: string): Promise<void> {
    intake.world.down.add("createComment");
    intake.world.down.add("editComment");
    await say(intake, message(key));
  }

  test("three days at least, then it is dead and shown", async () => {
    const intake = await begin();
    await failing(intake, "never");
    await pass(intake, 3 * dayMs, 10 * minuteMs);
    expect(await stateOf(intake, "never")).toBe("pending");
    await pass(intake, dayMs, 10 * minuteMs);
    expect(await stateOf(intake, "never")).toBe("dead");
    const { undelivered } = await intake.host.ledger.read(healthOf);
    expect(undelivered).toBe(1);
  });

  test("longer while its mandate is unfinished", async () => {
    const intake = await begin();
    write(intake.world, { id: "12", body: "@holdfast run build" });
    await intake.deliver("m", [textEvent("12")]);
    await intake.accept();
    await pass(intake, minuteMs);
    const [mandate] = await intake.host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
    intake.world.down.add("createComment");
    await say(intake, message("patient", { mandateId: mandate?.id ?? "" }));
    await pass(intake, 5 * dayMs, 20 * minuteMs);
    expect(await stateOf(intake, "patient")).toBe("pending");
  });

  test("an old comment that is drawn anew gets three days of its own", async () => {
    const intake = await begin();
    await say(intake, message("old"));
    await pass(intake, secondMs);
    intake.clock.at += 30 * dayMs;
    intake.world.down.add("editComment");
    const earlier = { conversationId: here, prefix: "old", since: 0 };
    await intake.host.ledger.write((tx) => repost(tx, earlier, { body: "new" }));
    await pass(intake, dayMs, 10 * minuteMs);
    expect(await stateOf(intake, "old")).toBe("pending");
    intake.world.down.clear();
    await pass(intake, hourMs, minuteMs);
    expect(bodies(intake)).toEqual(["new"]);
  });

  test("a forge that does not say what arrived is asked less and less, and once for all", async () => {
    const intake = await begin();
    intake.world.writeLimits = { ...github, perSecond: 100 };
    await sayApart(intake, 5, "tell");
    intake.world.fates.push(...Array.from({ length: 5 }, () => "unsure-after" as const));
    intake.world.down.add("listOwnComments");
    intake.world.calls.length = 0;
    await pass(intake, hourMs, 10 * secondMs);
    const looks = intake.world.calls.filter((name) => name === "listOwnComments");
    expect(looks.length).toBeLessThan(20);
    intake.world.down.clear();
    await pass(intake, hourMs, minuteMs);
    expect(intake.world.ours).toHaveLength(5);
    expect(await stateOf(intake, "tell 2")).toBe("sent");
  });
});

test("a sender who comes back late changes nothing that somebody else took meanwhile", async () => {
  const { host, clock } = await begin();
  await host.ledger.write((tx) => post(tx, message("contended")));
  const options = {
    leaseMs: 30 * secondMs,
    statusThrottleMs: 20 * secondMs,
    limitsOf: () => null,
    busy: new Set<string>(),
  };
  const [late] = await host.ledger.write((tx) => takeMessages(tx, options));
  if (late === undefined) throw new Error("nothing was taken");
  const old = { id: late.id, state: "sending", intentAt: late.intentAt } as const;
  clock.at += minuteMs;
  await host.ledger.write(async (tx) => {
    await markUnsure(tx, 0);
    await changeMessage(tx, { ...old, state: "unsure" }, { state: "pending" });
    const [now] = await takeMessages(tx, options);
    expect(now?.intentAt).toBe(clock.at);
    expect(await changeMessage(tx, old, { state: "dead" })).toBe(false);
  });
});

test("an account whose forge hangs does not hold up another", async () => {
  const intake = await begin();
  const { ledger } = intake.host;
  const [source, defaultBranch, name] = ["https://forge.example/w.git", "main", "org/wall"];
  const wall = { id: "github-8", connection: "github", forgeId: "8", account: "56" };
  await ledger.write((tx) => saveRepository(tx, { ...wall, name, source, defaultBranch }));
  const there = await ledger.write((tx) =>
    ensureConversation(tx, { id: "github-8" }, { number: 2, kind: "issue" }),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  const { forge } = intake.world;
  const hanging: typeof forge = Object.assign(Object.create(forge) as typeof forge, {
    createComment: async (...given: Parameters<typeof forge.createComment>) => {
      if (given[0].forgeId === "7") await promise;
      else resolve();
      return forge.createComment(...given);
    },
  });
  const host = { ...intake.host, forges: new Map([["github", hanging]]) };
  await say(intake, message("hangs"), message("flows", { conversationId: there.id }));
  expect(await deliverMessages(host)).toBe(2);
  expect(bodies(intake).toSorted()).toEqual(["flows", "hangs"]);
});

describe("long texts", () => {
  const lines = Array.from({ length: 3_000 }, (_, line) => `Line ${line} says ${"so ".repeat(15)}`);

  test("that must be read whole follow in numbered comments, in order and complete", async () => {
    const intake = await begin();
    const about = {
      key: "result m-1",
      conversationId: here,
      mandateId: null,
      kind: "tell",
    } as const;
    for (const _ of ["decided", "decided again"]) {
      await intake.host.ledger.write((tx) =>
        postWhole(tx, intake.host, { ...about, body: lines.join("\n") }),
      );
    }
    await pass(intake, minuteMs);
    const count = intake.world.ours.length;
    expect(count).toBeGreaterThan(2);
    expect(bodies(intake)).toEqual(
      Array.from({ length: count }, (_, index) => `*(${index + 1} of ${count})*`),
    );
    const told = intake.world.ours.flatMap(({ body }) => body.split("\n"));
    expect(told.filter((line) => line.startsWith("Line "))).toHaveLength(lines.length);
    expect(intake.world.ours.every(({ body }) => body.length <= 65_536)).toBe(true);
  });

  test("that are answers are shortened, and say so", async () => {
    const intake = await begin();
    await say(intake, message("long", { payload: { body: lines.join("\n") } }));
    await pass(intake, secondMs);
    const body = intake.world.ours[0]?.body ?? "";
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body).toContain("*Shortened: the record has all of it.*");
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
    const { undelivered } = await intake.host.ledger.read(healthOf);
    // The notice that waits for its day is counted beside what was given up.
    const states = await intake.host.ledger.read((sql) =>
      sql.all<{ state: string }>("SELECT state FROM outbox"),
    );
    expect(undelivered).toBe(states.filter(({ state }) => state === "dead").length + 1);
    intake.world.fates.length = 0;
    await pass(intake, hourMs, minuteMs);
    expect(bodies(intake).filter((body) => body.includes("blocked"))).toEqual([]);
    await pass(intake, dayMs, hourMs);
    expect(bodies(intake).filter((body) => body.includes("is blocked"))).toHaveLength(1);
  });

  test("the notice of a mandate that was stopped is not tried for ever", async () => {
    const intake = await begin();
    intake.clock.at += hourMs;
    const id = await planted(intake);
    await pass(intake, minuteMs);
    await intake.host.ledger.write((tx) => changeMandate(tx, id, { status: "stopped" }));
    await say(intake, message("moot", { kind: "ask", mandateId: id }));
    intake.world.fates.push(...Array.from({ length: 20 }, () => "closed" as const));
    await pass(intake, 2 * dayMs, hourMs);
    expect(await stateOf(intake, "moot")).toBe("pending");
    await pass(intake, 2 * dayMs, hourMs);
    expect(await stateOf(intake, "moot")).toBe("dead");
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

describe("comments that are found missing when they are to be edited", () => {
  async function missing(): Promise<Intake> {
    const intake = await begin();
    await say(intake, message("answer"));
    await pass(intake, minuteMs);
    intake.world.ours.length = 0;
    return intake;
  }

  function drawAnew({ host }: Intake, body: string): Promise<boolean> {
    const earlier = { conversationId: here, prefix: "answer", since: 0 };
    return host.ledger.write((tx) => repost(tx, earlier, { body }));
  }

  test("are written anew, and not doubled when that is unsure (I5)", async () => {
    const intake = await missing();
    await drawAnew(intake, "anew");
    intake.world.fates.push("fine", "unsure-after");
    await pass(intake, 2 * minuteMs);
    expect(bodies(intake)).toEqual(["anew"]);
    expect(await stateOf(intake, "answer")).toBe("sent");
  });

  test("are left alone the second time", async () => {
    const intake = await missing();
    await drawAnew(intake, "anew");
    await pass(intake, minuteMs);
    intake.world.ours.length = 0;
    await drawAnew(intake, "once more");
    await pass(intake, minuteMs);
    expect(bodies(intake)).toEqual([]);
    expect(await stateOf(intake, "answer")).toBe("sent");
  });

  test("an unsure comment that changed meanwhile is adopted and then edited", async () => {
    const intake = await begin();
    intake.world.fates.push("unsure-after");
    await say(intake, message("answer"));
    await pass(intake, secondMs);
    await drawAnew(intake, "by now");
    await pass(intake, minuteMs);
    expect(bodies(intake)).toEqual(["by now"]);
  });
});

test("a status in which nothing visible changed costs no write of the budget", async () => {
  const intake = await begin();
  intake.clock.at += hourMs;
  write(intake.world, { id: "12", body: "@holdfast run build" });
  await intake.deliver("m", [textEvent("12")]);
  await intake.accept();
  const [mandate] = await intake.host.ledger.read((sql) => listMandates(sql, { limit: 1 }));
  if (mandate === undefined) throw new Error("there is no mandate");
  await pass(intake, minuteMs);
  intake.world.calls.length = 0;
  const before = await written(intake);
  await intake.host.ledger.write((tx) => touchStatus(tx, mandate, 0));
  await pass(intake, minuteMs);
  expect(intake.world.calls).not.toContain("editComment");
  expect(await written(intake)).toBe(before);
});

async function written({ host }: Intake): Promise<number | undefined> {
  const row = await host.ledger.read((sql) =>
    sql.first<{ count: number }>("SELECT COUNT(*) AS count FROM forge_write"),
  );
  return row?.count;
}

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
      // What a person did and an end ask for at once, everything else in good time.
      await touchStatus(tx, mandate, count % 2 === 0 ? 0 : 20 * secondMs);
    });
    await pass(intake, secondMs);
  }
  const edits = intake.world.calls.filter((name) => name === "editComment");
  expect(edits.length).toBeGreaterThanOrEqual(2);
  expect(edits.length).toBeLessThanOrEqual(3);
});
