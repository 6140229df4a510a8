// Patterns of task inputs (spec 5.6): a small regular language, matched in linear time whatever it is given.
// A backtracking engine must never see one: text from a comment is run against it.

/** One step of the compiled pattern; `to` are the states reached from here. */
type State =
  | { readonly kind: "one"; readonly accepts: RegExp; readonly to: number }
  | { readonly kind: "fork"; readonly to: readonly number[] }
  | { readonly kind: "end" };

/** A compiled pattern; it always covers the whole text. */
export interface Pattern {
  readonly states: readonly State[];
  readonly start: number;
}

export type PatternResult =
  | { readonly ok: true; readonly pattern: Pattern }
  | { readonly ok: false; readonly problem: string };

const stateLimit = 2_000;
const repeatLimit = 1_000;

/**
 * Compiles literals, `.`, classes, groups, `|` and `* + ? {n} {n,} {n,m}`. `^` and `$` at the ends are allowed and
 * change nothing; look-around, back references and other group kinds are refused.
 */
export function compilePattern(source: string): PatternResult {
  const text = source.replace(/^\^/, "").replace(/(?<!\\)\$$/, "");
  const reader: Reader = { text, at: 0, states: [{ kind: "end" }], problem: null };
  try {
    // The engine only judges the syntax here; it is never run.
    void new RegExp(`^(?:${text})$`);
  } catch {
    return { ok: false, problem: "not a valid regular expression" };
  }
  const start = alternatives(reader)(0);
  if (reader.problem === null && reader.at < text.length) reader.problem = "unexpected `)`";
  if (reader.problem !== null) return { ok: false, problem: reader.problem };
  return { ok: true, pattern: { states: reader.states, start } };
}

/** Follows all ways at once: time is the text's length times the pattern's size. */
export function matches(pattern: Pattern, text: string): boolean {
  let reached = closure(pattern, [pattern.start]);
  for (const letter of text.split("")) {
    const next: number[] = [];
    for (const at of reached) {
      const state = pattern.states[at];
      if (state?.kind === "one" && state.accepts.test(letter)) next.push(state.to);
    }
    if (next.length === 0) return false;
    reached = closure(pattern, next);
  }
  return reached.has(0);
}

function closure(pattern: Pattern, from: readonly number[]): Set<number> {
  const reached = new Set<number>();
  const open = [...from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (reached.has(at)) continue;
    reached.add(at);
    const state = pattern.states[at];
    if (state?.kind === "fork") open.push(...state.to);
  }
  return reached;
}

interface Reader {
  readonly text: string;
  at: number;
  readonly states: State[];
  problem: string | null;
}

/** Part of a pattern: given the state that follows it, adds its own and gives its first. */
type Part = (next: number) => number;

function alternatives(reader: Reader): Part {
  const choices = [sequence(reader)];
  while (reader.text[reader.at] === "|") {
    reader.at += 1;
    choices.push(sequence(reader));
  }
  const [only] = choices;
  if (only !== undefined && choices.length === 1) return only;
  return (next) => add(reader, { kind: "fork", to: choices.map((choice) => choice(next)) });
}

function sequence(reader: Reader): Part {
  const parts: Part[] = [];
  while (reader.problem === null && reader.at < reader.text.length) {
    if ("|)".includes(reader.text[reader.at] ?? "")) break;
    parts.push(repeated(reader, atom(reader)));
  }
  return (next) => parts.reduceRight((following, part) => part(following), next);
}

function atom(reader: Reader): Part {
  const rest = reader.text.slice(reader.at);
  if (rest.startsWith("(")) return group(reader, rest);
  const found = /^(?:\[(?:\\.|[^\]\\])*\]|\\[dDwWsS]|\\[^\w\s]|[^\\^$[\]])/.exec(rest)?.[0];
  if (found === undefined) {
    reader.problem = `\`${rest.slice(0, 2)}\` is not supported in a pattern`;
    return (next) => next;
  }
  reader.at += found.length;
  const accepts = new RegExp(`^${found}$`);
  return (next) => add(reader, { kind: "one", accepts, to: next });
}

function group(reader: Reader, rest: string): Part {
  if (rest.startsWith("(?") && !rest.startsWith("(?:")) {
    reader.problem = "look-around and named groups are not supported in a pattern";
  }
  reader.at += rest.startsWith("(?:") ? 3 : 1;
  const inner = alternatives(reader);
  reader.at += 1;
  return inner;
}

function repeated(reader: Reader, part: Part): Part {
  const rest = reader.text.slice(reader.at);
  const found = /^(?:[*+?]|\{(\d{1,9})(,?)(\d{0,9})\})/.exec(rest);
  if (found === null) return part;
  reader.at += found[0].length;
  if ("?*+".includes(reader.text[reader.at] ?? "-")) {
    reader.problem = "lazy quantifiers are not supported in a pattern";
  }
  const counts = { "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] }[found[0]];
  const min = counts?.[0] ?? Number(found[1]);
  const upper = found[2] === "" ? min : found[3] === "" ? Infinity : Number(found[3]);
  const max = counts?.[1] ?? upper;
  if (min > repeatLimit || (max > repeatLimit && max !== Infinity)) {
    reader.problem = `a pattern repeats a part at most ${repeatLimit} times`;
    return part;
  }
  return (next) => unrolled(reader, part, { min, max, next });
}

function unrolled(
  reader: Reader,
  part: Part,
  { min, max, next }: { min: number; max: number; next: number },
): number {
  let at = max === Infinity ? loop(reader, part, next) : next;
  const optionalCount = max === Infinity ? 0 : max - min;
  for (let count = 0; count < optionalCount && reader.problem === null; count += 1) {
    at = add(reader, { kind: "fork", to: [part(at), next] });
  }
  for (let count = 0; count < min && reader.problem === null; count += 1) at = part(at);
  return at;
}

function loop(reader: Reader, part: Part, next: number): number {
  const at = add(reader, { kind: "fork", to: [next] });
  reader.states[at] = { kind: "fork", to: [part(at), next] };
  return at;
}

function add(reader: Reader, state: State): number {
  if (reader.states.length >= stateLimit) {
    reader.problem = "the pattern is too large";
    return 0;
  }
  return reader.states.push(state) - 1;
}
