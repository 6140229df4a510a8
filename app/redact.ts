// Secrets never leave (spec 6.5, I11): literal known ones and the shapes of well-known tokens are cut out of a text.

const tokenShapes = [
  /gh[opsur]_[A-Za-z0-9._-]{20,}/g,
  /github_pat_[A-Za-z0-9_]{20,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b(?:Bearer|Basic) [A-Za-z0-9._~+/=-]{16,}/g,
];
const shortestSecret = 6;
/** Minted tokens that are remembered; one is worth nothing after an hour. */
const tokensLimit = 200;

/** The secrets as they are known at the moment, shared by every sink. */
export interface Secrets extends Iterable<string> {
  /** For as long as the process lives. */
  keep(secret: string): void;
  /** A token of an hour: the newest ones are remembered. */
  note(token: string): void;
}

export function openSecrets(): Secrets {
  const kept = new Set<string>();
  const tokens = new Set<string>();
  return {
    keep: (secret) => void kept.add(secret),
    note: (token) => {
      tokens.add(token);
      const [oldest = ""] = tokens;
      if (tokens.size > tokensLimit) tokens.delete(oldest);
    },
    *[Symbol.iterator]() {
      yield* kept;
      yield* tokens;
    },
  };
}

export function redact(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, "[secret]");
  }
  for (const shape of tokenShapes) clean = clean.replace(shape, "[secret]");
  return clean;
}
