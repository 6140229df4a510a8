// Who asks (spec 6.5, 8.4): the App with a JWT that is really verified, or an installation with a token that ends, is
// narrowed and may be revoked. Both formats of tokens are made; nothing here knows a route.

import { createVerify, randomBytes } from "node:crypto";
import { Refused } from "./refused.ts";
import {
  reaches,
  type App,
  type Installation,
  type Permissions,
  type Repository,
  type World,
} from "./world.ts";

export interface Token {
  readonly value: string;
  readonly installation: Installation;
  /** Null stands for all that the installation reaches. */
  readonly repositories: ReadonlySet<Repository> | null;
  readonly permissions: Permissions;
  /** Epoch ms. */
  readonly expiresAt: number;
  isRevoked: boolean;
}

export type Credential =
  | { readonly kind: "nobody" }
  | { readonly kind: "app"; readonly app: App }
  | { readonly kind: "installation"; readonly token: Token };

export interface Tokens {
  readonly minted: Token[];
  /** Makes tokens of the form `ghs_<appid>_<JWT>` from now on. */
  isLong: boolean;
  mint(token: Omit<Token, "value" | "expiresAt" | "isRevoked">): Token;
  find(value: string): Token | null;
}

const tokenMs = 60 * 60 * 1000;
/** GitHub allows no more, and this much of a clock that is ahead. */
const jwtSecondsLimit = 600;
const skewSeconds = 60;

export function openTokens(world: World): Tokens {
  const tokens: Tokens = {
    minted: [],
    isLong: false,
    mint: (wish) => {
      const value = tokens.isLong ? longToken(world) : `ghs_${letters(36)}`;
      const expiresAt = world.now() + tokenMs;
      const token = { ...wish, value, expiresAt, isRevoked: false };
      tokens.minted.push(token);
      return token;
    },
    find: (value) => {
      const token = tokens.minted.find((one) => one.value === value);
      if (token === undefined || token.isRevoked || token.installation.isGone) return null;
      return token.expiresAt > world.now() ? token : null;
    },
  };
  return tokens;
}

/** Throws Refused 401 for a credential that is not taken. */
export function credentialOf(
  world: World,
  tokens: Tokens,
  authorization: string | undefined,
): Credential {
  if (authorization === undefined) return { kind: "nobody" };
  const [scheme = "", value = ""] = authorization.split(" ");
  if (!/^(bearer|token)$/i.test(scheme)) throw new Refused(401, "Bad credentials");
  if (value.split(".").length === 3 && !value.startsWith("ghs_")) {
    verifyJwt(world, value);
    return { kind: "app", app: world.app };
  }
  const token = tokens.find(value);
  if (token === null) throw new Refused(401, "Bad credentials");
  return { kind: "installation", token };
}

export function covers({ installation, repositories }: Token, repository: Repository): boolean {
  if (!reaches(installation, repository)) return false;
  return repositories === null || repositories.has(repository);
}

const levels = ["read", "write", "admin"];

/** `wish` is like `issues:write`. */
export function permits(permissions: Permissions, wish: string): boolean {
  const [name = "", level = ""] = wish.split(":");
  const given = permissions[name];
  return given !== undefined && levels.indexOf(given) >= levels.indexOf(level);
}

function verifyJwt(world: World, jwt: string): void {
  const [head = "", claim = "", signature = ""] = jwt.split(".");
  const broken = new Refused(401, "A JSON web token could not be decoded");
  if (parse(head)?.["alg"] !== "RS256") throw broken;
  const verify = createVerify("RSA-SHA256").update(`${head}.${claim}`);
  if (!verify.verify(world.publicKey, signature, "base64url")) throw broken;
  const { iat, exp, iss } = parse(claim) ?? {};
  const now = Math.floor(world.now() / 1000);
  if (String(iss) !== String(world.app.id) && iss !== world.app.clientId) {
    throw new Refused(401, "Integration not found");
  }
  if (typeof iat !== "number" || iat > now + skewSeconds) {
    throw new Refused(401, "'Issued at' claim ('iat') must be an Integer in the past");
  }
  if (typeof exp !== "number" || exp <= now) {
    throw new Refused(401, "'Expiration time' claim ('exp') is too far in the past");
  }
  if (exp > now + jwtSecondsLimit + skewSeconds || exp - iat > jwtSecondsLimit + skewSeconds) {
    throw new Refused(401, "'Expiration time' claim ('exp') is too far in the future");
  }
}

function parse(part: string): Record<string, unknown> | null {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  } catch {
    return null;
  }
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

function letters(count: number): string {
  return [...randomBytes(count)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

function longToken({ app }: World): string {
  const head = Buffer.from(`{"alg":"ES256","typ":"JWT"}`).toString("base64url");
  const claim = Buffer.from(JSON.stringify({ sub: app.id, jti: letters(200) })).toString(
    "base64url",
  );
  return `ghs_${app.id}_${head}.${claim}.${randomBytes(96).toString("base64url")}`;
}
