// The keys of the GitHub App as they count (spec 7.2): Probot's variables, each of them before what `setup github`
// has stored in the home. Problems name variables and never a value.

import { readFileSync } from "node:fs";
import { readAppFile, type AppKeys } from "./app-file.ts";
import { placeOf } from "./github-api.ts";

export type AppKeysDecision =
  /** Null where no App is wanted. */
  | { readonly ok: true; readonly keys: AppKeys | null }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Throws Failure `secrets-damaged` where the file is needed and cannot be read. */
export function readAppKeys(home: string, environment: NodeJS.ProcessEnv): AppKeysDecision {
  const { APP_ID: appId, WEBHOOK_SECRET: webhookSecret } = environment;
  const problems: string[] = [];
  const privateKey = privateKeyIn(environment, problems);
  const given = [appId, privateKey, webhookSecret].filter(isSet);
  const stored = given.length === 3 ? null : readAppFile(home);
  if (given.length === 0 && problems.length === 0 && stored === null)
    return { ok: true, keys: null };
  const keys = {
    appId: pick(appId, stored?.appId),
    privateKey: pick(privateKey, stored?.privateKey),
    webhookSecret: pick(webhookSecret, stored?.webhookSecret),
  };
  if (!/^\d+$/.test(keys.appId)) problems.push("APP_ID must be the number of a GitHub App");
  if (keys.privateKey === "" && problems.every((one) => !one.startsWith("PRIVATE_KEY"))) {
    problems.push("PRIVATE_KEY or PRIVATE_KEY_PATH must be given");
  }
  if (keys.webhookSecret === "") problems.push("WEBHOOK_SECRET must be given");
  const api = baseUrlIn(environment, problems) ?? stored?.baseUrl;
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, keys: api === undefined ? keys : { ...keys, baseUrl: api } };
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}

function pick(given: string | undefined, stored: string | undefined): string {
  return isSet(given) ? given : (stored ?? "");
}

/** On one line, ends of lines stand as `\n`: many a service takes no others. */
function privateKeyIn(environment: NodeJS.ProcessEnv, problems: string[]): string | undefined {
  const { PRIVATE_KEY: key, PRIVATE_KEY_PATH: path } = environment;
  if (isSet(key)) return key.replaceAll("\\n", "\n");
  if (!isSet(path)) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch {
    problems.push("PRIVATE_KEY_PATH must name a file that can be read");
    return undefined;
  }
}

function baseUrlIn(environment: NodeJS.ProcessEnv, problems: string[]): string | undefined {
  const { GHE_HOST: host, GHE_PROTOCOL: protocol = "https" } = environment;
  if (!isSet(host)) return undefined;
  if (!/^[a-z\d.-]+(:\d{1,5})?$/i.test(host)) problems.push("GHE_HOST must be a host");
  if (protocol !== "https" && protocol !== "http") {
    problems.push("GHE_PROTOCOL must be https or http");
  }
  return placeOf(host, protocol).api;
}
