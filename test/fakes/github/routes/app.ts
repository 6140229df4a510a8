// Routes of the App itself (spec 6.2, 6.5): who it is, where it is installed, its tokens and its deliveries.

import { repositoriesOf } from "../acts/accounts.ts";
import { invalid, notFound, Refused } from "../refused.ts";
import { paged, param, repositoryOf, type Call, type Reply, type Route } from "../route.ts";
import { appShape, instant, installationShape } from "../shapes/accounts.ts";
import { repositoryShape } from "../shapes/repositories.ts";
import type { Attempt } from "../webhooks.ts";
import { installationOf, type Installation, type Permissions, type Repository } from "../world.ts";

export const appRoutes: readonly Route[] = [
  {
    on: "GET /app",
    access: "app",
    answer: ({ world }) => ({
      body: { ...appShape(world, world.app), installations_count: standing({ world }).length },
    }),
  },
  { on: "GET /app/hook/config", access: "app", answer: hookConfig },
  { on: "GET /app/hook/deliveries", access: "app", answer: listDeliveries },
  { on: "GET /app/hook/deliveries/{delivery_id}", access: "app", answer: readDelivery },
  { on: "POST /app/hook/deliveries/{delivery_id}/attempts", access: "app", answer: redeliver },
  { on: "GET /app/installations", access: "app", answer: listInstallations },
  { on: "GET /app/installations/{installation_id}", access: "app", answer: readInstallation },
  { on: "GET /repos/{owner}/{repo}/installation", access: "app", answer: repositoryInstallation },
  {
    on: "POST /app/installations/{installation_id}/access_tokens",
    access: "app",
    answer: mintToken,
  },
  { on: "GET /installation/repositories", access: "installation", answer: listRepositories },
  { on: "DELETE /installation/token", access: "installation", answer: revokeToken },
  { on: "POST /app-manifests/{code}/conversions", access: "public", answer: convertManifest },
  { on: "GET /rate_limit", access: "public", answer: rateLimit },
  { on: "GET /meta", access: "public", answer: () => ({ body: meta }) },
];

const meta = { verifiable_password_authentication: false, hooks: ["127.0.0.1/32"] };

function standing({ world }: Pick<Call, "world">): Installation[] {
  return world.installations.filter(({ isGone }) => !isGone);
}

function hookConfig({ webhooks }: Call): Reply {
  const url = webhooks.hook?.url;
  const secret = webhooks.hook === null ? {} : { secret: "********" };
  const rest = { content_type: "json", insecure_ssl: "0" };
  return { body: { ...rest, ...secret, ...(url !== undefined && { url }) } };
}

/** Newest first; the cursor is the id of the first delivery of the next page. */
function listDeliveries({ webhooks, url }: Call): Reply {
  const size = Number(url.searchParams.get("per_page") ?? 30);
  const cursor = url.searchParams.get("cursor");
  const status = url.searchParams.get("status");
  const all = webhooks.attempts
    .filter((attempt) => attempt.status !== 0)
    .filter((attempt) => status === null || (status === "success") === isOk(attempt))
    .toReversed();
  const start = cursor === null ? 0 : all.findIndex(({ id }) => `v1_${id}` === cursor);
  if (start < 0) throw invalid("Hook", { field: "cursor", message: "Invalid cursor" });
  const following = all[start + size];
  const body = all.slice(start, start + size).map(deliveryShape);
  if (following === undefined) return { body };
  const next = new URL(url);
  next.searchParams.set("cursor", `v1_${following.id}`);
  return { body, headers: { link: `<${next.href}>; rel="next"` } };
}

function isOk({ status }: Attempt): boolean {
  return status >= 200 && status < 300;
}

function deliveryShape(attempt: Attempt): Record<string, unknown> {
  const { id, guid, at, isRedelivery, status, event, action } = attempt;
  return {
    id,
    guid,
    delivered_at: new Date(at).toISOString(),
    redelivery: isRedelivery,
    duration: 0.1,
    status: isOk(attempt) ? "OK" : "Invalid HTTP Response: " + status,
    status_code: status,
    event,
    action,
    installation_id: attempt.installationId,
    repository_id: attempt.repositoryId,
    throttled_at: null,
  };
}

function readDelivery(call: Call): Reply {
  const id = Number(param(call, "delivery_id"));
  const attempt = call.webhooks.attempts.find((one) => one.id === id);
  if (attempt === undefined) throw notFound();
  const { headers, body } = attempt;
  const request = { headers, payload: JSON.parse(body) as unknown };
  return { body: { ...deliveryShape(attempt), request, response: { headers: {}, payload: "" } } };
}

function redeliver(call: Call): Reply {
  const attempt = call.webhooks.redeliver(Number(param(call, "delivery_id")));
  if (attempt === null) throw notFound();
  return { status: 202, body: {} };
}

function listInstallations(call: Call): Reply {
  return paged(call, standing(call), { shape: (one) => installationShape(call.world, one) });
}

function installationNamed(call: Call): Installation {
  const id = Number(param(call, "installation_id"));
  const found = standing(call).find((one) => one.id === id);
  if (found === undefined) throw notFound();
  return found;
}

function readInstallation(call: Call): Reply {
  return { body: installationShape(call.world, installationNamed(call)) };
}

function repositoryInstallation(call: Call): Reply {
  const found = installationOf(call.world, repositoryOf(call));
  if (found === null) throw notFound();
  return { body: installationShape(call.world, found) };
}

/** Narrowed to repositories and permissions that the installation has; asking for more is 422. */
function mintToken(call: Call): Reply {
  const { world, tokens, body } = call;
  const installation = installationNamed(call);
  if (installation.isSuspended) throw new Refused(403, "This installation has been suspended");
  const repositories = narrowed(call, installation);
  const permissions = (body["permissions"] ?? installation.permissions) as Permissions;
  for (const [name, level] of Object.entries(permissions)) {
    const given = installation.permissions[name];
    if (given === undefined || (level === "write" && given === "read")) {
      throw new Refused(422, "The permissions requested are not granted to this installation.");
    }
  }
  // Every installation can read metadata.
  const granted: Permissions = { metadata: "read", ...permissions };
  const token = tokens.mint({ installation, repositories, permissions: granted });
  const shown = [...(repositories ?? [])].map((repository) => repositoryShape(world, repository));
  return {
    status: 201,
    body: {
      token: token.value,
      expires_at: instant(token.expiresAt),
      permissions: granted,
      repository_selection: repositories === null ? "all" : "selected",
      ...(repositories !== null && { repositories: shown }),
    },
  };
}

function narrowed({ world, body }: Call, installation: Installation): Set<Repository> | null {
  const ids = body["repository_ids"] as number[] | undefined;
  const names = body["repositories"] as string[] | undefined;
  if (ids === undefined && names === undefined) return null;
  const reached = repositoriesOf(world, installation);
  const wanted = [
    ...(ids ?? []).map((id) => reached.find((one) => one.id === id)),
    ...(names ?? []).map((name) => reached.find((one) => one.name === name)),
  ];
  return new Set(
    wanted.map((repository) => {
      if (repository !== undefined) return repository;
      const message = "There is at least one repository that does not exist or is not accessible";
      throw new Refused(422, message);
    }),
  );
}

function listRepositories(call: Call): Reply {
  const { world, credential } = call;
  if (credential.kind !== "installation") throw notFound();
  const { installation, repositories } = credential.token;
  const rows = repositoriesOf(world, installation).filter(
    (one) => repositories === null || repositories.has(one),
  );
  const selection = installation.repositories === null ? "all" : "selected";
  return paged(call, rows, {
    shape: (row) => ({ ...repositoryShape(world, row), permissions: appsOwn }),
    wrap: (page) => ({
      total_count: rows.length,
      repository_selection: selection,
      repositories: page,
    }),
  });
}

const appsOwn = { admin: false, maintain: false, push: false, triage: false, pull: false };

function revokeToken({ credential }: Call): Reply {
  if (credential.kind === "installation") credential.token.isRevoked = true;
  return { status: 204 };
}

/** Each code works once. */
const usedCodes = new WeakMap<object, Set<string>>();

function convertManifest(call: Call): Reply {
  const { world, webhooks } = call;
  const code = param(call, "code");
  const used = usedCodes.get(world) ?? new Set();
  usedCodes.set(world, used);
  if (used.has(code)) throw notFound();
  used.add(code);
  const secrets = {
    client_id: world.app.clientId,
    client_secret: "c".repeat(40),
    webhook_secret: webhooks.hook?.secret ?? "w".repeat(40),
    pem: world.privateKey,
  };
  return { status: 201, body: { ...appShape(world, world.app), ...secrets } };
}

function rateLimit({ world }: Call): Reply {
  const reset = Math.floor(world.now() / 1000) + 3600;
  const rate = { limit: 5000, used: 0, remaining: 5000, reset };
  return { body: { resources: { core: rate, search: rate }, rate } };
}
