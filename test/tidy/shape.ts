// Sizes, names, opening comments and leftovers of our files, one rule a function.
// Each gives one sentence per offence, with what to do about it.
import { basename, dirname } from "node:path";
import type { File, Source } from "./project.ts";

const folderLimit = 14;
const openingLimit = 3;

const sizeLimits: readonly { folder: string; lines: number }[] = [
  { folder: "policies/", lines: 250 },
  { folder: "test/", lines: 600 },
  { folder: "", lines: 400 },
];

export function tooLong(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const limit = sizeLimits.find(({ folder }) => path.startsWith(folder))?.lines ?? 0;
    const lines = text.split("\n").length - 1;
    return lines > limit ? [`${path} has ${lines} lines of ${limit}: split it at a noun`] : [];
  });
}

export function tooFull(sources: readonly Source[]): string[] {
  const folders = Map.groupBy(sources, ({ path }) => dirname(path));
  return [...folders]
    .filter(([, files]) => files.length > folderLimit)
    .map(([folder, files]) => `${folder}/ has ${files.length} files of ${folderLimit}`);
}

const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|config))?\.(ts|js|mjs)$/;
/** Words that end a name without telling anything: the glossary has better ones. */
const emptyEnding =
  /^(common|context|data|handler|helpers?|info|item|job|manager|misc|processor|service|shared|types|utils?)$/;

export function badlyNamed(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path }) => {
    const name = basename(path);
    if (!kebabCase.test(name)) return [`${path} is not in kebab-case`];
    const words = name.replace(/\..*$/, "").split("-");
    const ending = words.at(-1) ?? "";
    const isEmpty = emptyEnding.test(ending) || words.join("-") === "index";
    return isEmpty ? [`${path}: "${ending}" says nothing, name what it is about`] : [];
  });
}

export function withoutOpening(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.split("\n");
    const start = lines[0]?.startsWith("#!") ? 1 : 0;
    const end = lines.findIndex((line, index) => index >= start && !line.startsWith("//"));
    const count = (end < 0 ? lines.length : end) - start;
    if (count >= 1 && count <= openingLimit) return [];
    return [`${path} opens with ${count} comment lines: say in 1 to ${openingLimit} what it is`];
  });
}

const reminder = /\b(TODO|FIXME|XXX|HACK)\b/;

export function looseEnds(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, comments }) =>
    comments
      .filter(({ value }) => reminder.test(value) && !/#\d+/.test(value))
      .map(({ value }) => `${path} leaves a reminder without an issue: ${value.trim()}`),
  );
}

/** Places of the machine a file was written on, which mean nothing on another. */
const foreignPlace = /(?<![\w.-])\/work\/|(?<![\w./-])\.\.\/shared(?![\w-])/;

export function foreignPlaces(files: readonly File[]): string[] {
  return files.flatMap(({ path, text }) => {
    const found = foreignPlace.exec(text)?.[0];
    return found === undefined ? [] : [`${path} names a place of one machine: ${found.trim()}`];
  });
}
