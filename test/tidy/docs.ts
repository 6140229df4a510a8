// Documents against code and against each other: reason codes both ways, every document linked,
// every relative link alive. Each rule gives one sentence per offence.
import { join } from "node:path";
import type { File } from "./project.ts";

/** Compares the codes of the code with the first column of the table under a heading about reasons. */
export function reasonGaps(codes: readonly string[], document: string): string[] {
  const documented = codesIn(document);
  const missing = codes.filter((code) => !documented.includes(code));
  const dead = documented.filter((code) => !codes.includes(code));
  const twice = documented.filter((code, index) => documented.indexOf(code) !== index);
  return [
    ...missing.map((code) => `reason ${code} is not documented`),
    ...dead.map((code) => `reason ${code} is documented and does not exist`),
    ...twice.map((code) => `reason ${code} is documented twice`),
  ];
}

function codesIn(document: string): string[] {
  const section = document.split(/^#+ /m).filter((part) => /^[^\n]*reason/i.test(part));
  const rows = section.join("\n").matchAll(/^\|\s*`([a-z-]+)`\s*\|/gm);
  return [...rows].map(([, code]) => code ?? "");
}

export function unlinkedDocuments(files: readonly File[]): string[] {
  const linked = new Set(files.flatMap((file) => linksOf(file).filter((to) => to !== file.path)));
  return files
    .filter(({ path }) => path.startsWith("docs/") && !linked.has(path))
    .map(({ path }) => `${path} is linked from no other document`);
}

export function deadLinks(files: readonly File[], exists: (path: string) => boolean): string[] {
  return files.flatMap((file) =>
    linksOf(file)
      .filter((target) => !exists(target))
      .map((target) => `${file.path} links to ${target}, which does not exist`),
  );
}

function linksOf({ path, text }: File): string[] {
  if (!path.endsWith(".md")) return [];
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? "");
  return targets
    .filter((target) => !/^([a-z]+:|#)/.test(target))
    .map((target) => join(path, "..", target.replace(/#.*$/, "")));
}
