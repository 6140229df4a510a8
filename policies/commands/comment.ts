// A comment's commands (spec 1.4): found on the Markdown tree, read once into typed objects, all or none.
// Never throws and never runs anything; nobody reads the raw body for commands again.

import type { Command, CommandError, ParsedComment } from "./commands.ts";
import type { CommandLine } from "./grammar.ts";
import { readCommand } from "./grammar.ts";
import { refusedCodePoint, strip } from "./invisible.ts";
import { paragraphLines } from "./markdown.ts";

export interface MentionOption {
  /** Name the bot answers to, without `@`; `/holdfast` always works beside it. */
  readonly mention: string;
}

const parsedBytesLimit = 16 * 1024;
const commandsLimit = 10;

/** All commands of a comment's body. Takes what is there: hostile bodies may need a time limit around. */
export function parseComment(body: string, { mention }: MentionOption): ParsedComment {
  const source = body.replace(/^\uFEFF/, "");
  const limit = charactersWithin(source, parsedBytesLimit);
  const lines = linesOf(source);
  const paragraphs = paragraphLines(source.slice(0, limit));
  const opening = openingOf(mention);
  // The tree says where, the line itself what: at the limit it may go on.
  const starts = paragraphs.filter(({ index, prose }) =>
    [prose, lines[index]?.text ?? ""].every((line) => restAfter(opening, line) !== null),
  );
  const notes = hintsBeyond(limit, lines, opening);
  const none: ParsedComment = { commands: [], errors: [], mention: null, notes };
  if (starts.length === 0) {
    const inside = insideOf(mention);
    if (!paragraphs.some(({ prose }) => inside.test(prose))) return none;
    const { text, note } = strip(source, 1);
    return { ...none, mention: text, notes: note === null ? notes : [...notes, note] };
  }
  const tooMany = starts[commandsLimit];
  if (tooMany !== undefined) {
    const problem = `a comment holds at most ${commandsLimit} commands, this one ${starts.length}`;
    const suggestion = "use several comments";
    return { ...none, errors: [{ line: tooMany.index + 1, problem, suggestion }] };
  }
  const written = starts.map(({ index }, nth): CommandLine => {
    const { start, text } = lines[index] ?? { start: 0, text: "" };
    const next = lines[starts[nth + 1]?.index ?? lines.length]?.start ?? source.length;
    const following = source.slice(start + text.length, next);
    return { line: index + 1, rest: restAfter(opening, text) ?? "", following };
  });
  return { ...readAll(written, { mention, notes }), mention: null };
}

/**
 * Cheap and linear: false means that parsing would find neither command, hint nor mention.
 * True promises nothing.
 */
export function mayHoldCommand(body: string, mention: string): boolean {
  const opening = `(?:@${literal(mention)}|^\\uFEFF?[ \\t]*/holdfast)(?![\\w-])`;
  return new RegExp(opening, "im").test(body);
}

function readAll(
  written: readonly CommandLine[],
  { mention, notes }: { mention: string; notes: readonly string[] },
): Omit<ParsedComment, "mention"> {
  const commands: Command[] = [];
  const errors: CommandError[] = [];
  const told = [...notes];
  for (const line of written) {
    const reading = readCommand(line, mention);
    if (!reading.ok) errors.push(reading.error);
    else commands.push(reading.command);
    if (reading.ok && reading.note !== null) told.push(reading.note);
  }
  return { commands: errors.length === 0 ? commands : [], errors, notes: told };
}

interface SourceLine {
  readonly start: number;
  readonly text: string;
}

function linesOf(source: string): SourceLine[] {
  const lines: SourceLine[] = [];
  let start = 0;
  for (const end of source.matchAll(/\r\n|\r|\n/g)) {
    lines.push({ start, text: source.slice(start, end.index) });
    start = end.index + end[0].length;
  }
  return [...lines, { start, text: source.slice(start) }];
}

/** Logins know no case; without the `u` flag nothing but ASCII folds to ASCII. */
function openingOf(mention: string): RegExp {
  return new RegExp(`^[ \\t]*(?:@${literal(mention)}|/holdfast)`, "i");
}

function insideOf(mention: string): RegExp {
  return new RegExp(`(?<![\\w@/.-])@${literal(mention)}(?![\\w/-]|\\.\\w)`, "i");
}

function literal(mention: string): string {
  return mention.replace(/^@/, "").replace(/[^A-Za-z0-9]/g, (character) => `\\${character}`);
}

/**
 * The words after the mention where a line's first token is one, else null. A comma or colon may
 * follow it; a hidden character does not make it another name, the grammar names and refuses it.
 */
function restAfter(opening: RegExp, line: string): string | null {
  const [token] = opening.exec(line) ?? [];
  if (token === undefined) return null;
  const rest = line.slice(token.length);
  if (/^[,:](?:[ \t]|$)/.test(rest)) return rest.slice(1);
  const [next = " "] = rest;
  return next === " " || next === "\t" || refusedCodePoint(next) !== null ? rest : null;
}

function hintsBeyond(limit: number, lines: readonly SourceLine[], opening: RegExp): string[] {
  const beyond = lines.findIndex(({ start, text }) => {
    const token = opening.exec(text)?.[0].length ?? 0;
    return start + token > limit && restAfter(opening, text) !== null;
  });
  if (beyond === -1) return [];
  return [
    `line ${beyond + 1} begins like a command but lies beyond the first 16 KB, which is all that is ` +
      "read; write it in a new comment",
  ];
}

/** How many leading UTF-16 units fit into so many bytes of UTF-8. */
function charactersWithin(text: string, bytes: number): number {
  return new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read;
}
