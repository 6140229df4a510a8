// What a nudge from outside any forge is about (spec 3.4).

import { expect, test } from "vitest";
import { NudgeRequest, nudgeEventOf } from "../../policies/nudge-request.ts";

const place = { connection: "github", forgeId: "7" };
const commit = "c".repeat(40);

test.each([
  [undefined, { tag: null, branch: null, commit: null }],
  ["v1", { tag: "v1", branch: "v1", commit: null }],
  ["refs/tags/v1", { tag: "v1", branch: null, commit: null }],
  ["refs/heads/a/b", { tag: null, branch: "a/b", commit: null }],
  [commit, { tag: null, branch: null, commit }],
  [`refs/tags/${commit}`, { tag: commit, branch: null, commit: null }],
])("the reference %s", (ref, about) => {
  const request = NudgeRequest.parse({ repository: "org/door", event: "registry.pushed", ref });
  expect(nudgeEventOf(request, place)).toEqual({
    ...place,
    kind: "nudge",
    event: "registry.pushed",
    number: null,
    ...about,
  });
});

test("names the mandate that it is for, and no other", () => {
  const request = { repository: "org/door", event: "registry.pushed", mandate: "m-7k3f" };
  expect(nudgeEventOf(NudgeRequest.parse(request), place)).toMatchObject({ mandateId: "m-7k3f" });
});
