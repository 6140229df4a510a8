// A unified diff for reading (spec 7.4): one part per file, lines by what happened to them. Asks
// for it once for each state of a mandate, and never shows more than a browser takes well.

import type { MandateRow } from "../ledger/mandates.ts";
import { html, type Html, type HtmlValue } from "./html.ts";

const lineLimit = 3_000;
const lineLengthLimit = 1_000;
const keptLimit = 16;

export type ReadDiff = (mandate: Pick<MandateRow, "id" | "changedAt">) => Promise<string | null>;

/** Pages are made anew with every change of the ledger; git is asked when this mandate changed. */
export function keepDiffs(read: (mandateId: string) => Promise<string | null>): ReadDiff {
  const kept = new Map<string, Promise<string | null>>();
  return ({ id, changedAt }) => {
    const key = `${id} ${changedAt}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const [oldest] = kept.keys();
    if (kept.size >= keptLimit && oldest !== undefined) kept.delete(oldest);
    const diff = read(id);
    kept.set(key, diff);
    diff.catch(() => kept.delete(key));
    return diff;
  };
}

/** The part of a page that shows what a mandate changed; it never fails the page. */
export async function diffPart(
  read: ReadDiff,
  mandate: Pick<MandateRow, "id" | "changedAt">,
): Promise<Html> {
  try {
    return renderDiff(await read(mandate));
  } catch {
    return html`<p class="quiet">
      The changes cannot be read right now. Look at the branch with git.
    </p>`;
  }
}

function renderDiff(diff: string | null): Html {
  if (diff === null || diff.trim() === "") {
    return html`<p class="quiet">Nothing is changed on its branch.</p>`;
  }
  const lines = diff.replace(/\n$/, "").split("\n");
  const files = filesOf(lines.slice(0, lineLimit)).map(renderFile);
  const more = lines.length - lineLimit;
  if (more <= 0) return html`${files}`;
  return html`${files}
    <p class="quiet">${more} more lines are not shown. Look at the branch with git.</p>`;
}

interface DiffFile {
  readonly name: string;
  readonly lines: string[];
}

function filesOf(lines: readonly string[]): DiffFile[] {
  const files: DiffFile[] = [];
  for (const line of lines) {
    if (line.startsWith("diff --git ") || files.length === 0) {
      files.push({ name: / b\/(.+)$/.exec(line)?.[1] ?? "changes", lines: [] });
    }
    files.at(-1)?.lines.push(line);
  }
  return files;
}

function renderFile({ name, lines }: DiffFile): Html {
  const start = lines.findIndex((line) => line.startsWith("@@"));
  const body = lines.slice(Math.max(0, start));
  const added = body.filter((line) => line.startsWith("+")).length;
  const removed = body.filter((line) => line.startsWith("-")).length;
  return html`<details class="diff" id="diff-${name}" open>
    <summary>
      <code>${name}</code> <span class="added">+${added}</span>
      <span class="removed">−${removed}</span>
    </summary>
    <pre>${body.map(renderLine)}</pre>
  </details>`;
}

function renderLine(line: string): HtmlValue {
  const kind = { "+": "added", "-": "removed", "@": "hunk" }[line.slice(0, 1)] ?? "same";
  return html`<span class="${kind}">${line.slice(0, lineLengthLimit)}${"\n"}</span>`;
}
