// Routes of accounts, repositories and who may do what in them (spec 1.5, 6.2).

import { notFound } from "../refused.ts";
import { param, repositoryOf, type Call, type Reply, type Route } from "../route.ts";
import { publicUserShape, userShape } from "../shapes/accounts.ts";
import { fullRepositoryShape } from "../shapes/repositories.ts";
import { roleOf, type Account, type BaseRole } from "../world.ts";

const reads = { access: "installation", needs: ["metadata:read"] } as const;

export const repositoryRoutes: readonly Route[] = [
  { on: "GET /user/{account_id}", access: "public", answer: readAccount },
  { on: "GET /users/{username}", access: "public", answer: readUser },
  { on: "GET /repos/{owner}/{repo}", ...reads, answer: readRepository },
  {
    on: "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
    ...reads,
    answer: readPermission,
  },
];

function readAccount(call: Call): Reply {
  const id = Number(param(call, "account_id"));
  const account = call.world.accounts.find((one) => one.id === id);
  if (account === undefined) throw notFound();
  return { body: publicUserShape(call.world, account) };
}

function readUser(call: Call): Reply {
  return { body: publicUserShape(call.world, accountNamed(call)) };
}

function accountNamed(call: Call): Account {
  const login = param(call, "username").toLowerCase();
  const account = call.world.accounts.find((one) => one.login.toLowerCase() === login);
  if (account === undefined) throw notFound();
  return account;
}

function readRepository(call: Call): Reply {
  return { body: fullRepositoryShape(call.world, repositoryOf(call)) };
}

/** What each built-in role contains, and what the older field says of it. */
const roles = {
  none: { legacy: "none", flags: flags(0) },
  read: { legacy: "read", flags: flags(1) },
  triage: { legacy: "read", flags: flags(2) },
  write: { legacy: "write", flags: flags(3) },
  maintain: { legacy: "write", flags: flags(4) },
  admin: { legacy: "admin", flags: flags(5) },
} as const satisfies Record<BaseRole | "none", unknown>;

function flags(rank: number): Record<string, boolean> {
  const names = ["pull", "triage", "push", "maintain", "admin"];
  return Object.fromEntries(names.map((name, index) => [name, index < rank]));
}

function readPermission(call: Call): Reply {
  const account = accountNamed(call);
  const role = roleOf(call.world, repositoryOf(call), account);
  const { legacy, flags } = roles[role?.base ?? "none"];
  const role_name = role?.name ?? "";
  const user = { ...userShape(call.world, account), permissions: flags, role_name };
  return { body: { permission: legacy, role_name, user } };
}
