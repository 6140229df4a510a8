// The local forge of every repository that this home has ever served (spec 6.1): what one of them waits for goes on
// while the page shows another. Each call goes to the forge of the repository that it names.

import type { Forge, RepositoryRef } from "./forge.ts";
import { openLocalForge, type LocalForge, type LocalForgeOptions } from "./local.ts";

export type LocalRepositoriesOptions = Pick<LocalForgeOptions, "ledger" | "owner" | "self"> & {
  /** Where conversations are shown, without closing slash; null for a repository that has no page now. */
  readonly pageOf: (forgeId: string) => string | null;
};

/** One forge for all repositories of connection `local`; row and forge id are the same there. */
export function openLocalRepositories(options: LocalRepositoriesOptions): Forge {
  const { ledger, owner, self, pageOf } = options;

  function of({ forgeId }: Pick<RepositoryRef, "forgeId">): LocalForge {
    const ids = { repositoryRowId: forgeId, repositoryForgeId: forgeId };
    return openLocalForge({ ledger, owner, self, ...ids, baseUrl: () => pageOf(forgeId) });
  }

  const { connection, capabilities, commentLimit } = of({ forgeId: "" });
  return {
    connection,
    capabilities,
    commentLimit,
    self,
    readText: (ref) => of(ref).readText(ref),
    readConversation: (ref) => of(ref).readConversation(ref),
    listTexts: (ref, limit) => of(ref).listTexts(ref, limit),
    permissionOf: (ref, personId) => of(ref).permissionOf(ref, personId),
    createComment: (ref, body) => of(ref).createComment(ref, body),
    editComment: (ref, id, body) => of(ref).editComment(ref, id, body),
    listOwnComments: (ref, since) => of(ref).listOwnComments(ref, since),
    react: (ref, content) => of(ref).react(ref, content),
    findPull: (ref, head) => of(ref).findPull(ref, head),
    createPull: (ref, pull) => of(ref).createPull(ref, pull),
    editPull: (ref, number, change) => of(ref).editPull(ref, number, change),
  };
}
