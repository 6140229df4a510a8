// Which lines of a comment may hold a command (spec 1.4): those of top-level paragraphs in the Markdown
// tree, without what GitHub reads as table or footnote. Knows nothing of mentions and keywords.

import type { Paragraph } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";

export interface ParagraphLine {
  /** Index of the line in the source, from 0. */
  readonly index: number;
  /** The line, each character of code, links, images and HTML in it replaced by `notProse`. */
  readonly prose: string;
}

/** U+FFFC, the object replacement character: no mention begins, ends or continues with it. */
const notProse = "\uFFFC";

const containerMarksLimit = 32;
const firstMark = /^[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))/;
const leadingMarks = /^[ \t]*(?:(?:>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$))[ \t]*)*/;
const mark = /[>*+-]|\d[.)]/g;
const thematicBreak = /^[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)$/;
const tableDelimiter = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const footnoteDefinition = /^[ \t]*\[\^[^\]\s]+\]:/;
const lineEnd = /\r\n|\r|\n/;

/** The lines of all top-level paragraphs, in order. Emphasis is switched off: `*a_` blows it up. */
export function paragraphLines(source: string): ParagraphLine[] {
  const shallow = source
    .split(/(\r\n|\r|\n)/)
    .map(withoutDepth)
    .join("");
  const tree = fromMarkdown(shallow, { extensions: [{ disable: { null: ["attention"] } }] });
  const paragraphs = tree.children.filter((node) => node.type === "paragraph");
  const lines = shallow.split(lineEnd);
  const prose = proseOf(shallow, paragraphs).split(lineEnd);
  return paragraphs.flatMap((paragraph) =>
    rangeOf(paragraph, lines).map((index) => ({ index, prose: prose[index] ?? "" })),
  );
}

/**
 * A line with more than the allowed container marks keeps only its first, so that the lines around it
 * are read as before (a lazy continuation stays one) but nobody descends a thousand levels.
 */
function withoutDepth(line: string): string {
  const marks = leadingMarks.exec(line)?.[0] ?? "";
  if (marks.length <= containerMarksLimit || thematicBreak.test(line)) return line;
  const count = marks.match(mark)?.length ?? 0;
  return count > containerMarksLimit ? `${firstMark.exec(line)?.[0] ?? ">"} skipped` : line;
}

/** The source, inline code, links, images and HTML in paragraphs blanked out, positions kept. */
function proseOf(source: string, paragraphs: readonly Paragraph[]): string {
  let prose = "";
  let done = 0;
  for (const child of paragraphs.flatMap((paragraph) => paragraph.children)) {
    const start = child.position?.start.offset ?? 0;
    const end = child.position?.end.offset ?? source.length;
    if (child.type === "text" || child.type === "break") continue;
    prose += source.slice(done, start) + source.slice(start, end).replace(/[^\r\n]/g, notProse);
    done = end;
  }
  return prose + source.slice(done);
}

/** A table begins on the line above its delimiter row and, like a footnote, lasts to the end. */
function rangeOf(paragraph: Paragraph, lines: readonly string[]): number[] {
  const range: number[] = [];
  const first = (paragraph.position?.start.line ?? 1) - 1;
  const last = (paragraph.position?.end.line ?? 0) - 1;
  for (let index = first; index <= last; index += 1) {
    const below = index < last ? (lines[index + 1] ?? "") : "";
    const isTable = /[|:]/.test(below) && tableDelimiter.test(below);
    if (isTable || footnoteDefinition.test(lines[index] ?? "")) break;
    range.push(index);
  }
  return range;
}
