// Live pages (spec 7.4): an open page hears of every change of the ledger, whoever made it.
import { expect, test } from "vitest";
import { record } from "../../../app/ledger/history.ts";
import { openSite, type Site } from "./site.ts";

async function* revisionsOf(answer: Response): AsyncGenerator<string> {
  let text = "";
  for await (const chunk of (answer.body ?? new ReadableStream()).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) yield data;
    }
  }
}

async function next(revisions: AsyncGenerator<string>): Promise<string> {
  const { value } = await revisions.next();
  return String(value);
}

async function shownRevision(site: Site): Promise<string> {
  const page = await (await site.get("/")).text();
  return /data-revision="([^"]+)"/.exec(page)?.[1] ?? "";
}

test("a page that is current hears its own revision, and another one after a change", async () => {
  const site = await openSite();
  const shown = await shownRevision(site);
  const answer = await site.get("/events");
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const revisions = revisionsOf(answer);
  expect(await next(revisions)).toBe(shown);
  await site.ledger.write((tx) => record(tx, "note", {}));
  const changed = await next(revisions);
  expect(changed).not.toBe(shown);
  expect(await shownRevision(site)).toBe(changed);
});

test("every open page hears of a change", async () => {
  const site = await openSite();
  const pages = [1, 2, 3].map(async () => revisionsOf(await site.get("/events")));
  const open = await Promise.all(pages);
  await Promise.all(open.map(next));
  await site.ledger.write((tx) => record(tx, "note", {}));
  expect(new Set(await Promise.all(open.map(next))).size).toBe(1);
});

test("closing the server ends what pages listen to", async () => {
  const site = await openSite();
  const revisions = revisionsOf(await site.get("/events"));
  await next(revisions);
  await site.close();
  expect((await revisions.next()).done).toBe(true);
});

test("two starts never show the same revision", async () => {
  const [one, other] = [await openSite(), await openSite()];
  expect(await shownRevision(one)).not.toBe(await shownRevision(other));
});
