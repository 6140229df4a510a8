// Globs in signals and checks (spec 3.4, 3.7): `*` is any text, `?` any one character, nothing else is special.

/** The whole text must fit. A mismatch goes back to the last star only: at worst pattern times text, never more. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let read = 0;
  let star = -1;
  let resume = 0;
  while (read < text.length) {
    const wanted = pattern[at];
    if (wanted === "*") {
      star = at;
      resume = read;
      at += 1;
    } else if (wanted === "?" || wanted === text[read]) {
      at += 1;
      read += 1;
    } else if (star >= 0) {
      resume += 1;
      read = resume;
      at = star + 1;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
