// Invisible, bidirectional and tag characters (spec 1.4): refused in a command's own words, stripped
// from a request's text and reported. Never judges visible look-alikes.

// Format and control characters, and all that Unicode lets a font leave out. Braille blank is visible
// by name alone. Tab and line ends are none of these.
const hidden = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]|(?![\t\n\r])\p{Cc}/u;
/** Spaces that look like the ASCII one and are none: harmless in prose, not between arguments. */
const oddSpace = /(?! )\p{Zs}/u;
const hiddenAll = new RegExp(hidden, "gu");
const refused = new RegExp(`${hidden.source}|${oddSpace.source}`, "u");
const oddSpaces = new RegExp(oddSpace, "gu");
// The selector that makes a symbol an emoji is what every phone writes.
const emojiSelector = /(?<=\p{Emoji})[\uFE0E\uFE0F]/gu;

/** The first character that a keyword, id or argument must not hold, as `U+200B`; else null. */
export function refusedCodePoint(text: string): string | null {
  const found = refused.exec(text);
  return found === null ? null : codePointName(found[0]);
}

/** What a person sees: nothing hidden, each odd space an ordinary one. */
export function visible(text: string): string {
  return text.replace(hiddenAll, "").replace(oddSpaces, " ");
}

/** Trimmed text without its hidden characters, and a note on which were left out, if any. */
export function strip(text: string, line: number): { text: string; note: string | null } {
  const kept = new Set(Array.from(text.matchAll(emojiSelector), (match) => match.index));
  const found: string[] = [];
  const stripped = text.replace(hiddenAll, (character: string, at: number) => {
    if (kept.has(at)) return character;
    found.push(codePointName(character));
    return "";
  });
  const names = [...new Set(found)].slice(0, 5).join(", ");
  const note = `left out ${found.length} invisible characters (${names}) of the text from line ${line}`;
  return { text: stripped.trim(), note: found.length === 0 ? null : note };
}

function codePointName(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
