// A repository as GitHub prints it (spec 8.4), and the addresses of everything in it.

import { fullName, type Repository, type World } from "../world.ts";
import { apiUrl, instant, nodeId, userShape } from "./accounts.ts";

/** The API address of a repository under its name of today. */
export function repositoryUrl(world: World, repository: Repository): string {
  return `${apiUrl(world)}/repos/${fullName(repository)}`;
}

export function repositoryPage(world: World, repository: Repository): string {
  return `${world.origin}/${fullName(repository)}`;
}

/** Ends of addresses, as GitHub names them. */
const addresses = {
  forks_url: "/forks",
  keys_url: "/keys{/key_id}",
  collaborators_url: "/collaborators{/collaborator}",
  teams_url: "/teams",
  hooks_url: "/hooks",
  issue_events_url: "/issues/events{/number}",
  events_url: "/events",
  assignees_url: "/assignees{/user}",
  branches_url: "/branches{/branch}",
  tags_url: "/tags",
  blobs_url: "/git/blobs{/sha}",
  git_tags_url: "/git/tags{/sha}",
  git_refs_url: "/git/refs{/sha}",
  trees_url: "/git/trees{/sha}",
  statuses_url: "/statuses/{sha}",
  languages_url: "/languages",
  stargazers_url: "/stargazers",
  contributors_url: "/contributors",
  subscribers_url: "/subscribers",
  subscription_url: "/subscription",
  commits_url: "/commits{/sha}",
  git_commits_url: "/git/commits{/sha}",
  comments_url: "/comments{/number}",
  issue_comment_url: "/issues/comments{/number}",
  contents_url: "/contents/{+path}",
  compare_url: "/compare/{base}...{head}",
  merges_url: "/merges",
  archive_url: "/{archive_format}{/ref}",
  downloads_url: "/downloads",
  issues_url: "/issues{/number}",
  pulls_url: "/pulls{/number}",
  milestones_url: "/milestones{/number}",
  notifications_url: "/notifications{?since,all,participating}",
  labels_url: "/labels{/name}",
  releases_url: "/releases{/id}",
  deployments_url: "/deployments",
} as const;

export function repositoryShape(world: World, repository: Repository): Record<string, unknown> {
  const { id, name, owner, parent, isPrivate, isArchived, defaultBranch } = repository;
  const url = repositoryUrl(world, repository);
  const page = repositoryPage(world, repository);
  const openCount = world.issues.filter(
    (issue) => issue.repository === repository && issue.state === "open" && !issue.isDeleted,
  ).length;
  return {
    id,
    node_id: nodeId("Repository", id),
    name,
    full_name: fullName(repository),
    private: isPrivate,
    owner: userShape(world, owner),
    html_url: page,
    description: null,
    fork: parent !== null,
    url,
    ...Object.fromEntries(Object.entries(addresses).map(([key, end]) => [key, `${url}${end}`])),
    created_at: instant(repository.createdAt),
    updated_at: instant(repository.updatedAt),
    pushed_at: instant(repository.pushedAt),
    git_url: `git://${new URL(page).host}/${fullName(repository)}.git`,
    ssh_url: `git@${new URL(page).hostname}:${fullName(repository)}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: true,
    has_downloads: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: isArchived,
    disabled: false,
    open_issues_count: openCount,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: isPrivate ? "private" : "public",
    forks: 0,
    open_issues: openCount,
    watchers: 0,
    default_branch: defaultBranch,
  };
}

/** With what only the answer about one repository has. */
export function fullRepositoryShape(world: World, repository: Repository): Record<string, unknown> {
  const { parent } = repository;
  const source =
    parent === null
      ? {}
      : { parent: repositoryShape(world, parent), source: repositoryShape(world, parent) };
  const counts = { network_count: 0, subscribers_count: 0 };
  return { ...repositoryShape(world, repository), ...counts, ...source };
}
