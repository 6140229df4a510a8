// Accounts, Apps and installations as GitHub prints them (spec 8.4). Full objects, held to the description at every
// answer; nothing is looked up here.

import type { RestEndpointMethodTypes } from "@octokit/rest";
import type { Account, App, Installation, World } from "../world.ts";

/** What an operation of GitHub answers, by the names Octokit gives it. */
export type Answer<
  Area extends keyof RestEndpointMethodTypes,
  Name extends keyof RestEndpointMethodTypes[Area],
> = RestEndpointMethodTypes[Area][Name] extends { response: { data: infer Data } } ? Data : never;

export function apiUrl(world: World): string {
  return `${world.origin}/api/v3`;
}

/** To the second, as everywhere on GitHub. */
export function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

export function nodeId(kind: string, id: number): string {
  return Buffer.from(`${kind}:${id}`).toString("base64");
}

export type SimpleUser = NonNullable<Answer<"issues", "getComment">["user"]>;

export function userShape(world: World, account: Account): SimpleUser {
  const { id, login, type } = account;
  const url = `${apiUrl(world)}/users/${encodeURIComponent(login)}`;
  const page = type === "Bot" ? `apps/${login.replace("[bot]", "")}` : encodeURIComponent(login);
  return {
    login,
    id,
    node_id: nodeId(type, id),
    avatar_url: `${world.origin}/avatars/u/${id}?v=4`,
    gravatar_id: "",
    url,
    html_url: `${world.origin}/${page}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    user_view_type: "public",
    site_admin: false,
  };
}

export function publicUserShape(world: World, account: Account): Record<string, unknown> {
  return {
    ...userShape(world, account),
    name: null,
    company: null,
    blog: "",
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: instant(0),
    updated_at: instant(0),
  };
}

export type AppShape = NonNullable<Answer<"apps", "getAuthenticated">>;

export function appShape(world: World, app: App): AppShape {
  const { id, slug, name, clientId } = app;
  return {
    id,
    slug,
    node_id: nodeId("App", id),
    client_id: clientId,
    owner: userShape(world, app.owner),
    name,
    description: null,
    external_url: "https://app.example",
    html_url: `${world.origin}/apps/${slug}`,
    created_at: instant(0),
    updated_at: instant(0),
    permissions: { ...app.permissions },
    events: [...app.events],
  };
}

export function installationShape(
  world: World,
  installation: Installation,
): Answer<"apps", "getInstallation"> {
  const { id, account, createdAt } = installation;
  const url = `${apiUrl(world)}/app/installations/${id}`;
  const at = instant(createdAt);
  return {
    id,
    account: userShape(world, account),
    repository_selection: installation.repositories === null ? "all" : "selected",
    access_tokens_url: `${url}/access_tokens`,
    repositories_url: `${apiUrl(world)}/installation/repositories`,
    html_url: `${world.origin}/settings/installations/${id}`,
    app_id: world.app.id,
    app_slug: world.app.slug,
    target_id: account.id,
    target_type: account.type === "Organization" ? "Organization" : "User",
    permissions: { ...installation.permissions },
    events: [...world.app.events],
    created_at: at,
    updated_at: at,
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: installation.isSuspended ? userShape(world, account) : null,
    suspended_at: installation.isSuspended ? at : null,
  };
}
