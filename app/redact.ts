// Secrets never leave (spec 6.5, I11): literal known ones and the shapes of well-known tokens are cut out of a text.

const tokenShapes = [
  /gh[opsur]_[A-Za-z0-9._-]{20,}/g,
  /github_pat_[A-Za-z0-9_]{20,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b(?:Bearer|Basic) [A-Za-z0-9._~+/=-]{16,}/g,
];
const shortestSecret = 6;

/** `secrets` may grow while it is used: tokens are minted all the time. */
export function redact(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, "[secret]");
  }
  for (const shape of tokenShapes) clean = clean.replace(shape, "[secret]");
  return clean;
}
