// Text from outside made harmless before the bot repeats it (spec 1.6): no mention rings, no line commands
// a bot, no HTML, nothing hidden. Never trusts that a forge reads Markdown exactly as we do.

import { visible } from "../../policies/commands/invisible.ts";

const lineLimit = 200;
const quoteLimit = 4_000;
/** Between `@` and a name it silences the mention, also where an entity or a backslash would not. */
const zeroWidthSpace = "\u200B";
const fenceLine = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const ownFence = /^((?:> )?)(`{3,})$/;
const commandStart = /^([\s>*+\-\d.)]*)([/!])(?=\S)/;
/** No fence is longer than a quote, so that two of them and half a part as a line fit into a part. */
const splitLimit = 20_000;

/** One line of outside text as literal words, for use within a line of ours. At most `limit` characters. */
export function plain(text: string, limit = lineLimit): string {
  const words = literal(text, limit);
  return words.replace(/^[#>+=/!:-]/, "\\$&").replace(/^(\d+)([.)])/, "$1\\$2");
}

/** One line of outside text as inline code; empty text stays empty. At most `limit` characters. */
export function code(text: string, limit = lineLimit): string {
  const content = oneLine(text, limit);
  if (content === "") return "";
  const run = "`".repeat(longestRun(content) + 1);
  const gap = content.startsWith("`") || content.endsWith("`") ? " " : "";
  return `${run}${gap}${content}${gap}${run}`;
}

/**
 * Outside text of many lines as a block quote: paragraphs, lists and code stay, links and images become
 * words. No line of it begins a line of the comment. At most `limit` characters; empty stays empty.
 */
export function quote(text: string, limit = quoteLimit): string {
  const whole = clean(text).trim();
  const kept = cut(whole, limit);
  if (kept === "") return "";
  const lines = blocksOf(kept.split("\n"));
  if (kept !== whole) lines.push("", `*(cut to ${limit} characters)*`);
  return lines.map((line) => (line === "" ? ">" : `> ${line}`)).join("\n");
}

/** Text as a code block that nothing in it can end. Its lines begin at the margin: for words of ours. */
export function fence(text: string): string {
  const content = clean(text).replace(/\n+$/, "");
  const run = "`".repeat(Math.max(3, longestRun(content) + 1));
  return `${run}\n${content}\n${run}`;
}

/** One line of outside text for a title or subject, where Markdown has no meaning. */
export function titleOf(text: string, limit: number): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  const kept = cut(line, limit - 1);
  return silence(kept === line ? line : `${kept}…`);
}

/** A link with outside words on an address of the forge or of ours; other addresses leave the words alone. */
export function link(words: string, url: string): string {
  const target = clean(url).replace(/[\s()<>\\[\]`]/g, percentOf);
  const isOurs = /^(?:https?:\/\/|\/(?!\/))/i.test(target);
  return isOurs ? `[${literal(words, lineLimit)}](${target})` : plain(words);
}

/**
 * A comment of ours as parts of at most `limit` characters (at least 20,000), cut between lines; a code block
 * that goes on is closed and opened again. A line that fits no part is repeated as quoted literal text.
 */
export function split(text: string, limit: number): string[] {
  if (text.length <= limit) return [text];
  const room = Math.max(limit, splitLimit);
  const parts: string[] = [];
  let lines: string[] = [];
  let open: string | null = null;
  let size = 0;
  for (const line of text.split("\n").flatMap((one) => fitting(one, room))) {
    const after: string | null = openAfter(line, open);
    if (size + line.length + (after?.length ?? 0) + 1 > room) {
      parts.push(closed(lines, open));
      lines = open === null ? [] : [open];
      size = open === null ? 0 : open.length + 1;
    }
    lines.push(line);
    size += line.length + 1;
    open = after;
  }
  parts.push(closed(lines, open));
  return parts.filter((part) => part !== "");
}

function openAfter(line: string, open: string | null): string | null {
  if (open !== null) return line === open ? null : open;
  return ownFence.test(line) ? line : null;
}

function closed(lines: readonly string[], open: string | null): string {
  const text = lines.join("\n").trim();
  return open === null ? text : `${text}\n${open}`;
}

function fitting(line: string, room: number): string[] {
  if (line.length <= room / 2) return [line];
  const size = Math.floor(room / 6);
  const characters = Array.from(line);
  const chunks: string[] = [];
  for (let at = 0; at < characters.length; at += size) {
    chunks.push(`> ${plain(characters.slice(at, at + size).join(""), size)}`);
  }
  return chunks;
}

function literal(text: string, limit: number): string {
  const escaped = oneLine(text, limit).replace(/[\\`*[\]<&~|$]/g, "\\$&");
  return silence(escaped.replace(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, "\\_"));
}

function clean(text: string): string {
  return visible(text.toWellFormed().replace(/\r\n?/g, "\n"));
}

function oneLine(text: string, limit: number): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  const kept = cut(line, limit);
  return kept === line ? line : `${kept}… (cut to ${limit} characters)`;
}

/** Whole code points, so that half a character is never left behind. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = Array.from(text.slice(0, 2 * limit + 2));
  return characters.length <= limit ? text : characters.slice(0, limit).join("").trimEnd();
}

/** Code blocks are printed anew with a fence of ours, so that what is code here is code for everyone. */
function blocksOf(lines: readonly string[]): string[] {
  const printed: string[] = [];
  let block: { readonly mark: string; readonly lines: string[] } | null = null;
  for (const line of lines) {
    const mark = fenceLine.exec(line);
    if (block === null && mark?.[1] !== undefined) block = { mark: mark[1], lines: [] };
    else if (block === null) printed.push(prose(line));
    else if (mark?.[1]?.startsWith(block.mark) === true && mark[2]?.trim() === "") {
      printed.push(...fence(block.lines.join("\n")).split("\n"));
      block = null;
    } else block.lines.push(line);
  }
  if (block !== null) printed.push(...fence(block.lines.join("\n")).split("\n"));
  return printed;
}

/** Inline code is printed anew as well; every backtick left over is escaped and can pair with none. */
function prose(line: string): string {
  const tokens = line.split(/(`+)/);
  let text = "";
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    const end = at % 2 === 1 ? tokens.indexOf(token, at + 1) : -1;
    if (end === -1) {
      text += silence(token.replace(/[\\`<&[$]/g, "\\$&"));
    } else {
      text += code(tokens.slice(at + 1, end).join(""), quoteLimit);
      at = end;
    }
  }
  return text.replace(commandStart, "$1\\$2");
}

function silence(text: string): string {
  return text.replace(/@(?=\S)/g, `@${zeroWidthSpace}`);
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

function percentOf(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `%${point.toString(16).toUpperCase().padStart(2, "0")}`;
}
