// What the App may reach (spec 1.7, 6.2): installations that come, pause and go, and repositories in them.

import type { ForgeEvent } from "../../../../policies/events.ts";
import { by, idOf, Reach, type ReadingOptions } from "./payload.ts";

type Change = Extract<ForgeEvent, { kind: "reach" }>["change"];

export function reachOf(
  name: "installation" | "installation_repositories" | "repository",
  payload: unknown,
  { connection }: ReadingOptions,
): ForgeEvent[] {
  const reach = Reach.parse(payload);

  function told(change: Change, forgeIds: readonly string[] | null): ForgeEvent[] {
    if (forgeIds?.length === 0) return [];
    const account = idOf(reach.installation);
    return [{ kind: "reach", connection, account, ...by(reach), change, forgeIds }];
  }

  switch (name) {
    case "installation":
      return installationOf(reach, told);
    case "installation_repositories":
      return [
        ...told("open", ids(reach.repositories_added)),
        ...told("gone", ids(reach.repositories_removed)),
      ];
    case "repository":
      // A new name or owner is looked up at the next use; only the end takes anything away.
      return reach.action === "deleted" ? told("gone", [idOf(reach.repository)]) : [];
  }
}

function installationOf(
  { action, repositories }: Reach,
  told: (change: Change, forgeIds: readonly string[] | null) => ForgeEvent[],
): ForgeEvent[] {
  switch (action ?? "") {
    case "created":
      return told("open", ids(repositories));
    case "unsuspend":
    case "new_permissions_accepted":
      return told("open", null);
    case "suspend":
      return told("suspended", null);
    case "deleted":
      return told("gone", null);
    default:
      return [];
  }
}

function ids(repositories: Reach["repositories"]): string[] {
  return (repositories ?? []).map(idOf);
}
