// Who may do what on GitHub (spec 1.5): by numeric id, by the role's name and what it comes down to.
import { expect, test } from "vitest";
import { openPeople, personOf } from "../../../../app/forge/github/people.ts";
import type { Level } from "../../../../policies/authority.ts";
import { minuteMs } from "../../../../policies/durations.ts";
import { door, mockGitHub, place, type Mocked } from "./mocked.ts";

const asking = "/repos/org/door/collaborators/ada/permission";
const none = { pull: false, triage: false, push: false, maintain: false, admin: false };

async function begin(): Promise<Mocked & { levelOf: (id: string) => Promise<Level> }> {
  const mocked = mockGitHub();
  mocked.mintAll();
  mocked.github.get("/repositories/42").optionally().reply(200, place);
  const people = openPeople(mocked.client, () => mocked.clock.at);
  return { ...mocked, levelOf: (id) => people.levelOf(door, id) };
}

function answer(role_name: string, permissions: object = none, id = 5): object {
  return { permission: "write", role_name, user: { id, login: "ada", permissions } };
}

const pull = { ...none, pull: true };
const triage = { ...pull, triage: true };
const push = { ...triage, push: true };
const maintain = { ...push, maintain: true };

test.each<[role: string, permissions: object, level: Level]>([
  ["admin", { ...maintain, admin: true }, "admin"],
  ["maintain", maintain, "maintain"],
  ["write", push, "write"],
  ["triage", triage, "triage"],
  ["read", pull, "read"],
  ["none", none, "none"],
  ["", none, "none"],
  ["release manager", { ...maintain, admin: true }, "admin"],
  ["release manager", maintain, "maintain"],
  ["release manager", push, "write"],
  ["release manager", triage, "triage"],
  ["release manager", pull, "read"],
  ["release manager", none, "none"],
  ["owner", {}, "none"],
])("role %j with %j is %s", async (role, permissions, level) => {
  const { github, levelOf } = await begin();
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(200, answer(role, permissions));
  expect(await levelOf("5")).toBe(level);
});

test("a name that changed hands between two questions gives no right", async () => {
  const { github, levelOf } = await begin();
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(200, answer("admin", maintain, 6));
  expect(await levelOf("5")).toBe("none");
});

test("an account that is gone, and one that is no collaborator, have no right", async () => {
  const { github, levelOf } = await begin();
  github.get("/user/6").reply(404, {});
  expect(await levelOf("6")).toBe("none");
  github.get("/repositories/42").reply(200, place);
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(404, {});
  expect(await levelOf("5")).toBe("none");
});

test.each(["", "0", "-5", "ada", "5/../6", "5?x", "1e3", "9".repeat(17)])(
  "%j is nobody's id and is not asked for",
  async (id) => {
    const { levelOf } = await begin();
    expect(await levelOf(id)).toBe("none");
  },
);

test("a right is believed for a minute and then asked for again", async () => {
  const { github, clock, levelOf } = await begin();
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(200, answer("write"));
  expect(await levelOf("5")).toBe("write");
  clock.at += minuteMs - 1;
  expect(await levelOf("5")).toBe("write");
  clock.at += 1;
  github.get("/repositories/42").reply(200, place);
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(200, answer("read"));
  expect(await levelOf("5")).toBe("read");
});

test("a right that could not be read is no right and no answer", async () => {
  const { github, levelOf } = await begin();
  github.get("/user/5").reply(502, {});
  await expect(levelOf("5")).rejects.toMatchObject({ code: "unavailable" });
  github.get("/user/5").reply(200, { id: 5, login: "ada" });
  github.get(asking).reply(200, answer("write"));
  expect(await levelOf("5")).toBe("write");
});

test.each([
  [{ id: 1, login: "ada", type: "User" }, false],
  [{ id: 2, login: "ada[bot]", type: "User" }, false],
  [{ id: 3, login: "ada", type: "Bot" }, true],
])("%j: a bot is one by its type, not by its name", (account, isBot) => {
  expect(personOf(account)).toEqual({ id: String(account.id), name: account.login, isBot });
});

test("the text of an account that was deleted is the ghost's", () => {
  expect(personOf(null)).toMatchObject({ name: "ghost", isBot: false });
});
