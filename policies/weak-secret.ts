// Whether a webhook secret can be guessed (spec 6.2): with a weak one nothing starts.

/** Fewer characters than this can be tried out. */
const shortest = 16;

/** Defaults and examples of programs and documents, which everybody knows. */
const known = [
  "development",
  "it's a secret to everybody",
  "my-webhook-secret",
  "webhook-secret",
  "your-webhook-secret",
  "supersecretsecret",
  "replace-me-please",
  "changemechangeme",
  "1234567890123456",
  "0123456789abcdef",
];

/** Why a secret must not be used, without naming it; null for one that may be. */
export function weakSecret(secret: string): string | null {
  if (secret.trim() === "") return "it is empty";
  if (known.includes(secret.trim().toLowerCase())) return "it is a known default";
  if (secret.trim().length < shortest) return `it has fewer than ${shortest} characters`;
  if (new Set(secret.trim()).size === 1) return "it is one character repeated";
  return null;
}
