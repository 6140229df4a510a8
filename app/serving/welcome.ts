// The first issue of a local repository (spec 8.6): says what can be tried, with a task that is ready to run.

import type { PolicyFile } from "../../policies/policy-file.ts";
import { taskExample } from "../../policies/tasks.ts";
import type { Person } from "../forge/forge.ts";
import { addIssue, listIssues } from "../ledger/issues.ts";
import type { Ledger } from "../ledger/ledger.ts";

interface Newcomer {
  readonly repository: { readonly id: string };
  readonly policy: PolicyFile;
  readonly self: Person;
  readonly mention: string;
}

/** Opens it where the repository has no issue yet; its number, or null. */
export function welcome(ledger: Ledger, newcomer: Newcomer): Promise<number | null> {
  const { repository, policy, self, mention } = newcomer;
  return ledger.write(async (tx) => {
    const known = await listIssues(tx, repository.id, 1);
    if (known.length > 0) return null;
    const title = "Try Holdfast here";
    const issue = { repositoryId: repository.id, title, body: bodyFor(policy, mention) };
    return addIssue(tx, issue, self);
  });
}

function bodyFor(policy: PolicyFile, mention: string): string {
  const tasks = Object.entries(policy.tasks).map(([name, task]) => taskExample(name, task));
  const [first] = tasks;
  if (first === undefined) return withoutTasks(mention);
  return [
    `This repository declares ${tasks.length === 1 ? "a task" : `${tasks.length} tasks`} in \`.holdfast.yml\`.`,
    "Write this as a comment below, on a line of its own:",
    `    @${mention} run ${first}`,
    "Holdfast answers with 👀 and a status comment, works in a checkout of its own, and shows what changed as a branch and a pull request.",
    `\`@${mention} help\` lists what you may ask for, \`@${mention} status\` what is going on.`,
  ].join("\n\n");
}

function withoutTasks(mention: string): string {
  return [
    "This repository has no tasks yet. Put this into a file `.holdfast.yml` at its top and commit it:",
    [
      "```yaml",
      "tasks:",
      "  hello:",
      "    steps:",
      '      - run: echo "Hello from Holdfast" > hello.txt',
      "```",
    ].join("\n"),
    "Then write this as a comment below, on a line of its own:",
    `    @${mention} run hello`,
    "The file `hello.txt` then comes on a branch of its own and as a pull request here; your working folder is not touched.",
  ].join("\n\n");
}
