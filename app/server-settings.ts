// What `holdfast start` needs (spec 6.2, 7.2): environment, settings file and the App's keys, read together so that all
// problems are told at once. Names what is wrong, never a value.

import { createPrivateKey } from "node:crypto";
import { weakSecret } from "../policies/weak-secret.ts";
import type { AppKeys } from "./forge/github/app.ts";
import { readSettingsFile, type SettingsFile } from "./settings-file.ts";
import { homeOf, readSettings, type Settings } from "./settings.ts";
import { readAppKeys, type AppKeysDecision } from "./setup/app-keys.ts";
import { placeAt, placeOf } from "./setup/github-api.ts";

export interface ServerSettings {
  readonly settings: Settings;
  readonly file: SettingsFile;
  readonly keys: AppKeys;
  /** Of GitHub's web and git side, without closing slash. */
  readonly webUrl: string;
}

export type ServerSettingsDecision =
  | ({ readonly ok: true } & ServerSettings)
  | { readonly ok: false; readonly problems: readonly string[] };

/** Throws Failure `secrets-damaged` where the App's file is needed and cannot be read. */
export function readServerSettings(environment: NodeJS.ProcessEnv): ServerSettingsDecision {
  const home = homeOf(environment);
  const own = readSettings(environment);
  const read = readSettingsFile(home, environment);
  const app = readAppKeys(home, environment);
  const problems = [own, read].flatMap((one) => (one.ok ? [] : one.problems));
  problems.push(...keyProblems(app));
  if (!own.ok || !read.ok || !app.ok || app.keys === null || problems.length > 0) {
    return { ok: false, problems };
  }
  const { file } = read;
  const { appId, privateKey, webhookSecret, baseUrl } = app.keys;
  const place = baseUrl === undefined ? placeOf(null) : placeAt(baseUrl);
  return {
    ok: true,
    settings: { ...own.settings, timeZone: file.timeZone ?? own.settings.timeZone },
    file,
    keys: { appId: Number(appId), privateKey, webhookSecret, baseUrl: place.api },
    webUrl: place.web,
  };
}

/** Whoever could guess the secret could speak for GitHub: with a weak one nothing starts (6.2). */
function keyProblems(app: AppKeysDecision): readonly string[] {
  if (!app.ok) return app.problems;
  if (app.keys === null) {
    return ["there is no GitHub App: give APP_ID, or let `holdfast setup github` make one"];
  }
  const { privateKey, webhookSecret } = app.keys;
  const weakness = weakSecret(webhookSecret);
  return [
    ...(weakness === null ? [] : [`WEBHOOK_SECRET must not be used: ${weakness}`]),
    ...(isPrivateKey(privateKey) ? [] : ["PRIVATE_KEY must be a private key in PEM form"]),
  ];
}

/** With anything else GitHub would be asked in vain for ever. */
function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).type === "private";
  } catch {
    return false;
  }
}
