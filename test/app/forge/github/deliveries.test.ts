// Deliveries that failed, by GitHub's own list (spec 6.2): page by page with a cursor, no further back than it is asked
// or than GitHub keeps them.
import { expect, test } from "vitest";
import { failedDeliveries, redeliver } from "../../../../app/forge/github/deliveries.ts";
import { dayMs, hourMs } from "../../../../policies/durations.ts";
import { api, mockGitHub } from "./mocked.ts";

const now = Date.parse("2026-12-01T12:00:00Z");
const path = "/app/hook/deliveries?per_page=100";

/** An hour ago. */
function attempt(id: number, guid: string, status_code: number) {
  const delivered_at = new Date(now - hourMs).toISOString();
  return { id, guid, delivered_at, status_code, redelivery: false };
}

function failedAgo(hours: number, guid: string) {
  return { ...attempt(9, guid, 500), delivered_at: new Date(now - hours * hourMs).toISOString() };
}

function next(cursor: string) {
  return { link: `<${api}/api/v3${path}&cursor=${cursor}>; rel="next"` };
}

test("those that arrived at another attempt are left out, each is told by its newest", async () => {
  const { probot, github } = mockGitHub();
  github
    .get(path)
    .reply(
      200,
      [attempt(9, "b", 500), attempt(8, "a", 202), attempt(7, "c", 0), attempt(6, "b", 504)],
      next("v1_5"),
    )
    .get(`${path}&cursor=v1_5`)
    .reply(200, [attempt(5, "a", 502), attempt(4, "d", 404), attempt(3, "e", 200)]);
  const found = await failedDeliveries(probot, { since: 0, now });
  expect(found.map(({ id, guid }) => [id, guid])).toEqual([
    ["9", "b"],
    ["7", "c"],
    ["4", "d"],
  ]);
  expect(found[0]?.at).toBe(now - hourMs);
});

test("pages before the instant are not read", async () => {
  const { probot, github } = mockGitHub();
  github.get(path).reply(200, [failedAgo(1, "a"), failedAgo(5, "b")], next("v1_7"));
  const found = await failedDeliveries(probot, { since: now - 3 * hourMs, now });
  expect(found.map(({ guid }) => guid)).toEqual(["a"]);
});

test("what GitHub does not keep is not asked for", async () => {
  const { probot, github } = mockGitHub();
  github.get(path).reply(200, [failedAgo(71, "a"), failedAgo(73, "b")], next("v1_7"));
  const found = await failedDeliveries(probot, { since: now - 30 * dayMs, now });
  expect(found.map(({ guid }) => guid)).toEqual(["a"]);
});

test("a list without end is left at a bound", async () => {
  const { probot, github } = mockGitHub();
  github.get(path).reply(200, [attempt(9, "a", 200)], next("x"));
  github
    .get(`${path}&cursor=x`)
    .times(29)
    .reply(200, [attempt(9, "a", 200)], next("x"));
  expect(await failedDeliveries(probot, { since: 0, now })).toEqual([]);
});

test("a page that fails is no empty page", async () => {
  const { probot, github } = mockGitHub();
  github.get(path).reply(200, [attempt(9, "a", 500)], next("x"));
  github.get(`${path}&cursor=x`).reply(502, {});
  const found = failedDeliveries(probot, { since: 0, now });
  await expect(found).rejects.toMatchObject({ code: "unavailable" });
});

test.each([
  [404, "refused"],
  [422, "refused"],
  [502, "unsure"],
])("asking again that is answered %i is %s", async (status, code) => {
  const { probot, github } = mockGitHub();
  github.post("/app/hook/deliveries/9/attempts").reply(status, {});
  await expect(redeliver(probot, "9", now)).rejects.toMatchObject({ code });
});

test("asking again is one call", async () => {
  const { probot, github } = mockGitHub();
  github.post("/app/hook/deliveries/9/attempts").reply(202, {});
  await expect(redeliver(probot, "9", now)).resolves.toBeUndefined();
});
