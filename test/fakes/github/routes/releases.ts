// Routes of releases and packages (spec 3.4).

import { notFound } from "../refused.ts";
import { paged, param, repositoryOf, rowOf, type Call, type Reply, type Route } from "../route.ts";
import { packageVersionShape, releaseShape } from "../shapes/commits.ts";
import type { Release } from "../world.ts";

const base = "/repos/{owner}/{repo}/releases";
const contents = { access: "installation", needs: ["contents:read"] } as const;
const packages = { access: "installation", needs: ["packages:read"] } as const;
const versions = "packages/{package_type}/{package_name}/versions";

export const releaseRoutes: readonly Route[] = [
  { on: `GET ${base}`, ...contents, answer: listReleases },
  { on: `GET ${base}/latest`, ...contents, answer: readLatest },
  { on: `GET ${base}/tags/{tag...}`, ...contents, answer: readByTag },
  { on: `GET ${base}/{release_id}`, ...contents, answer: readRelease },
  { on: `GET /orgs/{org}/${versions}`, ...packages, answer: listVersions },
  { on: `GET /users/{username}/${versions}`, ...packages, answer: listVersions },
];

/** Newest first; drafts are for those alone who may write. */
function releasesOf(call: Call): Release[] {
  const repository = repositoryOf(call);
  const { credential, world } = call;
  const maySeeDrafts =
    credential.kind === "installation" && credential.token.permissions["contents"] === "write";
  return world.releases
    .filter((one) => one.repository === repository && (maySeeDrafts || !one.isDraft))
    .toReversed();
}

function listReleases(call: Call): Reply {
  return paged(call, releasesOf(call), { shape: (row) => releaseShape(call.world, row) });
}

function readLatest(call: Call): Reply {
  return answerWith(
    call,
    releasesOf(call).find(({ isDraft, isPrerelease }) => !isDraft && !isPrerelease),
  );
}

function readByTag(call: Call): Reply {
  const tag = param(call, "tag");
  return answerWith(
    call,
    releasesOf(call).find((one) => one.tag === tag && !one.isDraft),
  );
}

function readRelease(call: Call): Reply {
  return answerWith(call, rowOf(call, "release_id", releasesOf(call)));
}

function answerWith({ world }: Call, release: Release | undefined): Reply {
  if (release === undefined) throw notFound();
  return { body: releaseShape(world, release) };
}

/** Newest first, of the account that the token's installation is on. */
function listVersions(call: Call): Reply {
  const { credential, world, params } = call;
  const isOrganisation = params["org"] !== undefined;
  const login = params["org"] ?? params["username"];
  const rows = world.packages
    .filter(
      ({ type, name, repository: { owner } }) =>
        type === params["package_type"] &&
        name === params["package_name"] &&
        owner.login === login &&
        (owner.type === "Organization") === isOrganisation &&
        credential.kind === "installation" &&
        credential.token.installation.account === owner,
    )
    .toReversed();
  if (rows.length === 0) throw notFound();
  return paged(call, rows, { shape: (row) => packageVersionShape(world, row) });
}
