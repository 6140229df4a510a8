// What doctor says about the GitHub App (spec 7.1, 6.6): its keys here, and the App as GitHub shows it. Changes
// nothing; a GitHub that does not answer is a problem with something to do, never a crash.

import { statSync } from "node:fs";
import { secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { weakSecret } from "../../policies/weak-secret.ts";
import type { AppKeys } from "./app-file.ts";
import { fitChecks } from "./app-fit.ts";
import { good, problem, type Check } from "./check.ts";
import { AppSeen, isPrivateKey, openAppReader, type Answer } from "./github-api.ts";

export interface AppAsked {
  readonly keys: AppKeys;
  /** The public address of this installation; null where nobody told it. */
  readonly url: string | null;
  /** Files that hold keys: nobody else may read them. */
  readonly keyFiles: readonly string[];
  readonly now: () => number;
}

/** A claim of the App is refused when clocks are a minute apart. */
const clockMsLimit = 30 * secondMs;

export async function appChecks(asked: AppAsked): Promise<Check[]> {
  const { keys, now } = asked;
  const here = [secretCheck(keys), ...asked.keyFiles.flatMap(fileCheck)];
  if (!isPrivateKey(keys.privateKey)) return [...here, noKey];
  const reader = openAppReader(keys, now);
  try {
    const answer = await reader.read("/app");
    const there = [...here, ...clockCheck(answer, now()), appCheck(answer, keys)];
    const app = AppSeen.safeParse(answer.body);
    if (answer.status !== 200 || !app.success) return there;
    return [...there, ...(await fitChecks(reader, { app: app.data, url: asked.url, now: now() }))];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const help = "see to the network and to GHE_HOST, then try again; nothing is lost meanwhile";
    return [...here, problem("github app", "GitHub does not answer", help)];
  }
}

function secretCheck({ webhookSecret }: AppKeys): Check {
  const check = "github secret";
  const weak = weakSecret(webhookSecret);
  if (weak === null) return good(check, "the webhook secret cannot be guessed");
  const help =
    "make one with `openssl rand -hex 32` and set it on GitHub and here (WEBHOOK_SECRET or github.json)";
  return problem(check, `the webhook secret does not protect: ${weak}`, help);
}

const noKey = problem(
  "github key",
  "the private key is no RSA key in PEM form",
  "generate one in the App's settings on GitHub and give it as PRIVATE_KEY_PATH or PRIVATE_KEY",
);

function fileCheck(file: string): Check[] {
  const check = "github key file";
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  if ((stats.mode & 0o077) === 0) return [good(check, `${file} is its owner's alone`)];
  return [problem(check, `${file} is open to others (mode ${mode})`, `chmod 600 ${file}`)];
}

function clockCheck({ dateAt }: Answer, now: number): Check[] {
  if (dateAt === null) return [];
  const check = "github clock";
  const apartMs = Math.abs(now - dateAt);
  const seconds = Math.round(apartMs / secondMs);
  if (apartMs <= clockMsLimit) return [good(check, `${seconds} s from GitHub's`)];
  const help = "set this machine's clock right, for example with `timedatectl set-ntp true`";
  return [problem(check, `this machine's clock is ${seconds} s from GitHub's`, help)];
}

function appCheck({ status, body }: Answer, { appId }: AppKeys): Check {
  const check = "github app";
  const app = AppSeen.safeParse(body);
  if (status === 200 && app.success && String(app.data.id) === appId) {
    return good(check, `${app.data.name} (id ${appId}) answers`);
  }
  if (status === 200 && app.success) {
    const help = `set APP_ID to ${app.data.id}, or give the key of the App that is meant`;
    return problem(check, `the key is that of App ${app.data.id}, not of ${appId}`, help);
  }
  if (status === 401 || status === 404) {
    const seen = `GitHub does not take this key for App ${appId} (status ${status})`;
    const help =
      "see to the clock, to APP_ID, and to GHE_HOST; else generate a new key in the App's settings";
    return problem(check, seen, help);
  }
  const help = "try again later; if it stays, see GitHub's status page";
  return problem(check, `GitHub answers with status ${status}`, help);
}
