// What the App may reach (spec 1.7, 6.2): installations that come, pause and go, and repositories in them.

import type { ForgeEvent } from "../../../../policies/events.ts";
import { by, idOf, type Payload, type ReadingOptions } from "./payload.ts";

interface Reach extends Payload {
  readonly repositories?: readonly { readonly id: number }[];
  readonly repositories_added?: readonly { readonly id: number }[];
  readonly repositories_removed?: readonly { readonly id: number }[];
}

type Change = Extract<ForgeEvent, { kind: "reach" }>["change"];

export function reachOf(
  name: "installation" | "installation_repositories" | "repository",
  payload: Payload,
  { connection }: ReadingOptions,
): ForgeEvent[] {
  const reach = payload as Reach;
  const account = String(reach.installation?.id ?? "");
  if (account === "") throw new Error("no installation");

  function told(change: Change, forgeIds: readonly string[] | null): ForgeEvent[] {
    if (forgeIds?.length === 0) return [];
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
  reach: Reach,
  told: (change: Change, forgeIds: readonly string[] | null) => ForgeEvent[],
): ForgeEvent[] {
  const { action = "" } = reach;
  switch (action) {
    case "created":
      return told("open", ids(reach.repositories));
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
  return (repositories ?? []).map((repository) => idOf({ ...repository, full_name: "" }));
}
