// The nearest valid word to a mistyped one (spec 7.3), for every "did you mean".
// A suggestion is only shown; nothing ever acts on it.

/** The closest candidate, at most a third of the letters (and at least one) away; null when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > 64) return null;
  let best: { candidate: string; distance: number } | null = null;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    const isNear = distance <= Math.max(1, Math.floor(candidate.length / 3));
    if (isNear && (best === null || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate ?? null;
}

/** Letters to insert, remove, change or exchange with their neighbour. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      const isExchange = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + change,
        isExchange ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
