// The pages without JavaScript (spec 7.4): what they say, that nothing of anybody becomes markup, and
// that a form writes once.
import { describe, expect, test } from "vitest";
import { addHold, record } from "../../../app/ledger/history.ts";
import { changeConnection } from "../../../app/ledger/incoming/connections.ts";
import { latestComments, listIssues } from "../../../app/ledger/issues.ts";
import { changeMandate, changeReach } from "../../../app/ledger/mandates.ts";
import { post } from "../../../app/ledger/outbox.ts";
import { showProcess } from "../../../app/ledger/shared/processes.ts";
import { armWait } from "../../../app/ledger/waits.ts";
import { redact } from "../../../app/redact.ts";
import { minuteMs } from "../../../policies/durations.ts";
import { allDeliveries } from "../../fakes/ledger.ts";
import { addSampleMandate, openSampleIssue, openSite, startAt, type Site } from "./site.ts";

const hostile = `</textarea></title><script>alert(1)</script>"'><img src=x onerror=alert(1)>`;

async function textOf(site: Site, path: string): Promise<string> {
  const answer = await site.get(path);
  expect(answer.status).toBe(200);
  return answer.text();
}

function commentsOf(site: Site, number: number) {
  return site.ledger.read((sql) => latestComments(sql, { repositoryId: "r-1", number }, 10));
}

describe("the dashboard", () => {
  test("tells a newcomer what to do", async () => {
    const page = await textOf(await openSite(), "/");
    expect(page).toContain("Nothing needs you.");
    expect(page).toContain("Open an issue");
  });

  test("shows what needs a person before what goes on by itself", async () => {
    const site = await openSite();
    await openSampleIssue(site, "Calm", "later");
    await openSampleIssue(site, "Urgent", "now");
    await addSampleMandate(site.ledger, 1, { title: "goes on" });
    const id = await addSampleMandate(site.ledger, 2, { title: "stands still" });
    const block = { status: "blocked", reason: "stalled", reasonText: "nothing new" } as const;
    await site.ledger.write((tx) => changeMandate(tx, id, block));
    const page = await textOf(site, "/");
    expect(page).toContain("1 mandate needs you. 1 goes on without you.");
    expect(page.indexOf("stands still")).toBeLessThan(page.indexOf("goes on</a>"));
    expect(page).toContain(`value="@holdfast continue ${id}"`);
  });

  test("shows one state alone, and says when there is none in it", async () => {
    const site = await openSite();
    await addSampleMandate(site.ledger, 1, { title: "mend the hinge" });
    expect(await textOf(site, "/?state=queued")).toContain("mend the hinge");
    const blocked = await textOf(site, "/?state=blocked");
    expect(blocked).not.toContain("mend the hinge");
    expect(blocked).toContain("No mandate is in this state.");
  });

  test("counts a wait down to its next look, and says what holds a mandate", async () => {
    const site = await openSite();
    const waiting = await addSampleMandate(site.ledger, 1);
    const held = await addSampleMandate(site.ledger, 2);
    await site.ledger.write(async (tx) => {
      await changeMandate(tx, waiting, { status: "waiting" });
      const wait = { reason: "the glue dries", nextStep: "look", everyMs: 300_000, signals: [] };
      const times = { dueAt: startAt + 300_000, deadlineAt: startAt + 7_200_000, subject: "" };
      await armWait(tx, { mandateId: waiting, turnId: null }, { ...wait, ...times });
      await addHold(tx, { scope: "mandate", subject: held, reason: "paused", byName: "ada" });
    });
    const page = await textOf(site, "/");
    expect(page).toMatch(/Next look <time datetime="2026-12-01T09:05:00.000Z"[^>]*>\s*in 5m/);
    expect(page).toContain("the glue dries");
    expect(page).toContain("ada paused it");
  });

  test("offers each task as a command and as a filled form", async () => {
    const tasks = [{ name: "rollout", inputs: ["TAG"] }];
    const view = { tasks, problems: ["line 3: no such key"], isUncommitted: true };
    const site = await openSite({ local: { tasks: async () => view } });
    const page = await textOf(site, "/");
    expect(page).toContain("@holdfast run rollout TAG=");
    expect(page).toContain("line 3: no such key");
    expect(page).toContain("is not committed yet");
    const link = /href="(\/new\?[^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const form = await textOf(site, link);
    expect(form).toMatch(/<textarea[^>]*>@holdfast run rollout TAG=<\/textarea>/);
  });
});

describe("text from outside", () => {
  test("never becomes markup, wherever it is shown", async () => {
    const diff = `diff --git a/x b/${hostile}\n@@ -1 +1 @@\n+${hostile}\n`;
    const view = { tasks: [], problems: [hostile], isUncommitted: false };
    const site = await openSite({ diff: async () => diff, local: { tasks: async () => view } });
    const number = await openSampleIssue(site, hostile, hostile);
    await site.post(`/c/${number}`, { key: "comment one", body: hostile });
    const id = await addSampleMandate(site.ledger, number, { title: hostile, text: hostile });
    await site.ledger.write(async (tx) => {
      const text = { reasonText: hostile, nextStep: hostile };
      const checklist = [{ text: hostile, done: false }];
      await changeMandate(tx, id, { status: "blocked", reason: "stalled", ...text, checklist });
      await record(tx, hostile, { mandateId: id, facts: { [hostile]: hostile } });
      const conversationId = `r-1#${number}`;
      const message = { key: "k", conversationId, mandateId: id, kind: "tell" } as const;
      await post(tx, { ...message, payload: { body: hostile } });
    });
    const filled = `/new?${new URLSearchParams({ title: hostile, body: hostile }).toString()}`;
    for (const path of ["/", `/m/${id}`, `/c/${number}`, filled]) {
      const page = await textOf(site, path);
      expect(page).toContain("&lt;script&gt;");
      expect(page.match(/<script/g)).toHaveLength(1);
      expect(page).not.toContain("<img");
      expect(page.match(/<\/textarea>/g) ?? []).toHaveLength(
        (page.match(/<textarea/g) ?? []).length,
      );
    }
  });
});

describe("the record", () => {
  test("shows the exact words, the history and the changes", async () => {
    const diff = "diff --git a/door.txt b/door.txt\n@@ -1 +1 @@\n-open\n+shut\n";
    const site = await openSite({ diff: async () => diff });
    const number = await openSampleIssue(site, "Door", "it is open");
    const id = await addSampleMandate(site.ledger, number, { text: "do  mend\n the door" });
    await site.ledger.write((tx) =>
      record(tx, "head-moved", { mandateId: id, facts: { by: "ada" } }),
    );
    const page = await textOf(site, `/m/${id}`);
    expect(page).toContain("do  mend\n the door</blockquote>");
    expect(page).toContain("Head moved");
    expect(page).toContain("door.txt");
    expect(page).toContain(`<span class="added">+shut`);
  });

  test("is shown when its changes cannot be read", async () => {
    const site = await openSite({ diff: () => Promise.reject(new Error("git is gone")) });
    const id = await addSampleMandate(site.ledger, 1);
    const page = await textOf(site, `/m/${id}`);
    expect(page).toContain("The changes cannot be read right now.");
    expect(page).not.toContain("git is gone");
  });

  test("has a box for the answer of a mandate that asks", async () => {
    const site = await openSite();
    const number = await openSampleIssue(site, "Door", "it is open");
    const id = await addSampleMandate(site.ledger, number);
    await site.ledger.write((tx) => changeMandate(tx, id, { status: "waiting" }));
    expect(await textOf(site, `/m/${id}`)).toContain("Your answer");
    const form = { key: "an answer", before: `@holdfast reply ${id} `, body: "paint it\r\nred" };
    const answer = await site.post(`/m/${id}/comment`, form);
    expect(answer.headers.get("location")).toMatch(new RegExp(`^/c/${number}#comment-\\d+$`));
    const [comment] = await commentsOf(site, number);
    expect(comment?.body).toBe(`@holdfast reply ${id} paint it\nred`);
  });

  test.each(["/m/m-none", "/m/%00", "/c/7", "/c/1e1", "/c/0", "/c/-1"])(
    "%s is a small page that says so",
    async (path) => {
      const answer = await (await openSite()).get(path);
      expect(answer.status).toBe(404);
      expect(await answer.text()).toContain("There is no such page.");
    },
  );
});

describe("writing", () => {
  test("I4: a form that is sent twice is one comment with one delivery", async () => {
    const site = await openSite();
    const number = await openSampleIssue(site, "Door", "it is open");
    const page = await textOf(site, `/c/${number}`);
    const key = /action="\/c\/1"[\s\S]*?name="key" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const answers = await Promise.all(
      [1, 2].map(() => site.post(`/c/${number}`, { key, body: "@holdfast status" })),
    );
    const places = answers.map((answer) => answer.headers.get("location"));
    expect(places).toEqual([places[0], places[0]]);
    expect(await commentsOf(site, number)).toHaveLength(1);
    const deliveries = await allDeliveries(site.ledger);
    expect(deliveries.map(({ payload }) => payload.kind)).toEqual(["text", "text"]);
  });

  test("each new form counts for itself", async () => {
    const site = await openSite();
    const number = await openSampleIssue(site, "Door", "it is open");
    await site.post(`/c/${number}`, { key: "one", body: "first" });
    await site.post(`/c/${number}`, { key: "two", body: "second" });
    const bodies = (await commentsOf(site, number)).map(({ body }) => body);
    expect(bodies).toEqual(["first", "second"]);
  });

  test("an issue that is opened twice is one issue", async () => {
    const site = await openSite();
    const form = { key: "an issue", title: "Door", body: "it is open" };
    const answers = [await site.post("/new", form), await site.post("/new", form)];
    expect(answers.map((answer) => answer.headers.get("location"))).toEqual(["/c/1", "/c/1"]);
    expect(await site.ledger.read((sql) => listIssues(sql, "r-1", 10))).toHaveLength(1);
  });

  test("what is refused comes back with its words and the reason", async () => {
    const site = await openSite();
    const number = await openSampleIssue(site, "Door", "it is open");
    const long = "x".repeat(70_000);
    const comment = await site.post(`/c/${number}`, { key: "one", body: long });
    expect(comment.status).toBe(422);
    const page = await comment.text();
    expect(page).toContain('role="alert">Nothing was written');
    expect(page).toContain(`${long}</textarea>`);
    const issue = await site.post("/new", { key: "two", title: "", body: "kept words" });
    expect(issue.status).toBe(422);
    expect(await issue.text()).toContain("kept words</textarea>");
  });

  test("a comment on what does not exist writes nothing", async () => {
    const site = await openSite();
    const answer = await site.post("/c/9", { key: "one", body: "hello" });
    expect(answer.status).toBe(404);
    const button = await site.post("/m/m-none/comment", { key: "two", body: "hello" });
    expect(button.status).toBe(404);
  });

  test("a body over the cap is refused as too large", async () => {
    const site = await openSite({ bodyBytesLimit: 10_000 });
    const answer = await site.post("/new", { title: "a", body: "x".repeat(20_000) });
    expect(answer.status).toBe(413);
    expect(await answer.text()).toContain("shorten it");
  });
});

describe("probes", () => {
  test("readiness writes to the ledger", async () => {
    const site = await openSite();
    const answer = await site.get("/readyz");
    expect([answer.status, await answer.text()]).toEqual([200, "ready\n"]);
  });

  test("a ledger that takes no writes is not ready, and the page names no file", async () => {
    async function fail(): Promise<never> {
      throw new Error("/secret/place is full");
    }
    const broken = { write: fail, append: fail, read: fail, close: fail };
    const ledger = { ...broken, now: () => startAt, revision: () => 1 };
    const answer = await (await openSite({ ledger })).get("/readyz");
    expect([answer.status, await answer.text()]).toEqual([503, "persistence-unavailable\n"]);
  });

  test("health shows what is late", async () => {
    const site = await openSite();
    expect(await textOf(site, "/health")).toContain("Everything that waits has what moves it on.");
  });

  test("health tells how each connection is kept up, and which repositories are out of reach", async () => {
    const site = await openSite({ local: null });
    await site.ledger.write(async (tx) => {
      const heard = { lastDeliveryAt: startAt - 7_200_000, sweptAt: startAt, recovered: 3 };
      await changeConnection(tx, "github", heard);
    });
    const page = await textOf(site, "/health");
    expect(page).toMatch(/last delivery <time[^>]*>2h ago<.*just now<.*, 3 recovered/s);
    expect(page).toContain("Everything that waits has what moves it on.");
    await site.ledger.write(async (tx) => {
      await changeConnection(tx, "github", { sweptAt: startAt - 1_200_000 });
      await changeReach(tx, "r-1", "suspended");
    });
    const later = await textOf(site, "/health");
    expect(later).toContain("Needs a look");
    expect(later).toMatch(/Repositories suspended.*door/s);
  });

  test("health shows every process that shares the ledger, and which of them is missed", async () => {
    const site = await openSite();
    const worker = { id: "shed-9-beef", kind: "worker", version: "0.1.0", slots: 2 } as const;
    await site.ledger.write((tx) => showProcess(tx, worker));
    const page = await textOf(site, "/health");
    expect(page).toMatch(
      /Worker shed-9-beef.*0\.1\.0, 2 at a time, last seen <time[^>]*>just now/s,
    );
    expect(page).toContain("Everything that waits has what moves it on.");
    await site.ledger.write((tx) =>
      tx.run("UPDATE process SET seen_at = ?", tx.now - 2 * minuteMs),
    );
    expect(await textOf(site, "/health")).toContain("Needs a look");
  });

  test("a forge that does not answer is what readiness and health say", async () => {
    const site = await openSite({ local: null, isHeld: async () => "forge-unreachable" });
    const answer = await site.get("/readyz");
    expect([answer.status, await answer.text()]).toEqual([503, "forge-unreachable\n"]);
    expect(await textOf(site, "/health")).toContain("webhooks are kept");
  });
});

describe("where conversations are at their forges", () => {
  test("mandates are named by repository, lead to the forge, and nothing can be written", async () => {
    const site = await openSite({ local: null });
    const id = await addSampleMandate(site.ledger, 7, { title: "mend the hinge" });
    const block = { status: "blocked", reason: "stalled", reasonText: "nothing new" } as const;
    await site.ledger.write((tx) => changeMandate(tx, id, block));
    for (const path of ["/", `/m/${id}`]) {
      const page = await textOf(site, path);
      expect(page).toContain("door#7");
      expect(page).toContain(`href="http://127.0.0.1:4700/c/7"`);
      expect(page).not.toContain("<form");
      expect(page).not.toContain("/new");
    }
    expect((await site.get("/c/7")).status).toBe(404);
    expect((await site.post(`/m/${id}/comment`, { body: "@holdfast stop" })).status).toBe(404);
  });
});

test("I11: no secret is on a page", async () => {
  const site = await openSite({ redact: (text) => redact(text, ["s3cret-1"]) });
  await addSampleMandate(site.ledger, 1, { title: "use s3cret-1 to log in" });
  const page = await textOf(site, "/");
  expect(page).toContain("use [secret] to log in");
  expect(page).not.toContain("s3cret-1");
});

test("a page that fails says so with a number for the log and nothing else", async () => {
  const site = await openSite({
    local: { tasks: () => Promise.reject(new Error("secret words")) },
  });
  const answer = await site.get("/");
  const page = await answer.text();
  expect(answer.status).toBe(500);
  expect(page).toMatch(/The log names it as [0-9a-f]{8}\./);
  expect(page).not.toContain("secret words");
});
