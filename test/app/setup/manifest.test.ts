// app.yml against spec 6.6, the manifest made from it and the tables of docs/operations.md, in both directions.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { manifestFor, readAppWish, unaskedEvents } from "../../../app/setup/manifest.ts";

const wish = readAppWish();

const wanted = {
  metadata: "read",
  issues: "write",
  pull_requests: "write",
  checks: "write",
  statuses: "read",
  actions: "read",
  contents: "write",
  packages: "read",
  deployments: "read",
};

const events =
  "issues issue_comment pull_request pull_request_review pull_request_review_comment check_run " +
  "check_suite status workflow_run release registry_package deployment_status push create " +
  "repository_dispatch installation installation_repositories repository";

test("app.yml asks for the least: these permissions and events, and no others", () => {
  const permissions = wish.permissions.map(({ name, access }) => [name, access]);
  expect(Object.fromEntries(permissions)).toEqual(wanted);
  expect(permissions).toHaveLength(Object.keys(wanted).length);
  const all = [...wish.events.map(({ name }) => name), ...unaskedEvents];
  expect(all.toSorted()).toEqual(events.split(" ").toSorted());
});

test("each of them has its reason", () => {
  const all = [...wish.permissions, ...wish.events];
  expect(all.filter(({ reason }) => !/\w+ \w+/.test(reason))).toEqual([]);
});

test("the manifest names what app.yml names, and the webhook's own path", () => {
  const place = {
    name: "bot",
    url: "https://a.example",
    redirectUrl: "http://127.0.0.1:1/callback",
  };
  expect(manifestFor(wish, place)).toEqual({
    name: "bot",
    description: wish.description,
    url: "https://a.example",
    public: false,
    redirect_url: "http://127.0.0.1:1/callback",
    hook_attributes: { url: "https://a.example/api/github/webhooks", active: true },
    default_permissions: wanted,
    default_events: events.split(" ").filter((name) => !name.startsWith("installation")),
  });
});

function rowsUnder(heading: string): string[][] {
  const text = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("docs/operations.md shows the same permissions for the same reasons", () => {
  const rows = wish.permissions.map(({ name, access, reason }) => [`\`${name}\``, access, reason]);
  expect(rowsUnder("Permissions")).toEqual(rows);
});

test("docs/operations.md shows the same events, and those that come unasked", () => {
  const rows = wish.events.map(({ name, reason }) => [`\`${name}\``, reason]);
  const shown = rowsUnder("Events");
  expect(shown.slice(0, rows.length)).toEqual(rows);
  const rest = shown.slice(rows.length).map(([name]) => name);
  expect(rest).toEqual(unaskedEvents.map((name) => `\`${name}\``));
});
