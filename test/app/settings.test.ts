// The environment (spec 7.2): what it may say, and that every problem is told at once and without a value.
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeOf, readSettings, type Settings } from "../../app/settings.ts";

const home = "/srv/holdfast";
const ownLedger = `file:${join(home, "ledger.sqlite")}`;
const sharedLedger = "postgres://holdfast:word@base.example:5433/ledger?sslmode=require";

function read(environment: Readonly<Record<string, string>>): Settings {
  const decision = readSettings({ HOLDFAST_HOME: home, ...environment });
  if (!decision.ok) throw new Error(decision.problems.join("\n"));
  return decision.settings;
}

test("with nothing said it listens on this machine alone and is called holdfast", () => {
  expect(read({})).toMatchObject({
    home,
    port: null,
    host: "127.0.0.1",
    publicUrl: null,
    mention: "holdfast",
    isMentionChosen: false,
    logLevel: "info",
    script: null,
  });
});

test("an empty variable is an unset one", () => {
  const names = ["PORT", "HOST", "LOG_LEVEL", "HOLDFAST_URL", "HOLDFAST_MENTION", "TZ"];
  const later = ["HOLDFAST_TIMING", "HOLDFAST_SCRIPT", "REDIS_URL", "DATABASE_URL"];
  const empty = Object.fromEntries([...names, ...later].map((name) => [name, ""]));
  expect(read(empty)).toEqual(read({}));
});

test.each<[string, string, Partial<Settings>]>([
  ["PORT", "0", { port: 0 }],
  ["HOST", "0.0.0.0", { host: "0.0.0.0" }],
  ["HOLDFAST_URL", "https://holdfast.example/", { publicUrl: "https://holdfast.example" }],
  ["HOLDFAST_URL", "https://holdfast.example:8443", { publicUrl: "https://holdfast.example:8443" }],
  ["HOLDFAST_URL", "http://127.0.0.1:3000", { publicUrl: "http://127.0.0.1:3000" }],
  ["HOLDFAST_MENTION", "Robo-1", { mention: "Robo-1", isMentionChosen: true }],
  ["HOLDFAST_MENTION", "holdfast", { mention: "holdfast", isMentionChosen: true }],
  ["TZ", "Europe/Berlin", { timeZone: "Europe/Berlin" }],
  ["DATABASE_URL", ownLedger, { ledgerUrl: ownLedger }],
  ["DATABASE_URL", sharedLedger, { ledgerUrl: sharedLedger }],
])("%s may be %s", (name, value, expected) => {
  expect(read({ [name]: value })).toMatchObject(expected);
});

test("a time zone that only the system understands is left to it", () => {
  expect(read({ TZ: ":/etc/localtime" }).timeZone).toBe(
    Intl.DateTimeFormat().resolvedOptions().timeZone,
  );
});

const wrong = [
  ["PORT", "65536"],
  ["PORT", "http"],
  ["PORT", "1.5"],
  ["LOG_LEVEL", "chatty"],
  ["HOLDFAST_URL", "holdfast.example"],
  ["HOLDFAST_URL", "http://holdfast.example"],
  ["HOLDFAST_URL", "https://holdfast.example/path"],
  ["HOLDFAST_URL", "https://holdfast.example/?query"],
  ["HOLDFAST_URL", "https://name:word@holdfast.example"],
  ["HOLDFAST_URL", "ftp://127.0.0.1"],
  ["HOLDFAST_MENTION", "@holdfast"],
  ["HOLDFAST_MENTION", "two words"],
  ["HOLDFAST_TIMING", "{sweep"],
  ["HOLDFAST_TIMING", '{"sweepMs":"soon"}'],
  ["HOLDFAST_TIMING", '{"sweep":5}'],
  ["REDIS_URL", "http://:canary@cache"],
  ["DATABASE_URL", "mysql://:canary@base"],
  ["DATABASE_URL", "postgres://:canary@:base"],
  ["DATABASE_URL", "file:/elsewhere/ledger.sqlite"],
  ["WEBHOOK_PROXY_URL", "https://smee.example/canary"],
] as const;

test.each(wrong)("%s may not be %s", (name, value) => {
  const decision = readSettings({ HOLDFAST_HOME: home, [name]: value });
  if (decision.ok) throw new Error("it was taken");
  expect(decision.problems).toHaveLength(1);
  expect(decision.problems[0]).toMatch(new RegExp(`^${name}\\b`));
  expect(decision.problems[0]).not.toContain(value);
});

test("all problems are told at once, and none of them tells a value", () => {
  const environment = { HOLDFAST_HOME: home, ...Object.fromEntries(wrong) };
  const decision = readSettings(environment);
  if (decision.ok) throw new Error("it was taken");
  const names = decision.problems.map((problem) => /^\w+/.exec(problem)?.[0]);
  expect(new Set(names)).toEqual(new Set(wrong.map(([name]) => name)));
  expect(decision.problems.join()).not.toContain("canary");
});

test.each([
  [{ HOLDFAST_HOME: "/srv/a", XDG_DATA_HOME: "/srv/b" }, "/srv/a"],
  [{ HOLDFAST_HOME: "", XDG_DATA_HOME: "/srv/b" }, "/srv/b/holdfast"],
])("the home of %j is %s", (environment, expected) => {
  expect(homeOf(environment)).toBe(expected);
});
