// `holdfast setup github` (spec 7.1, 6.6): makes the GitHub App by the manifest flow and keeps its keys in the home.
// Prints addresses and what to do next, never a key or a secret.

import { existsSync } from "node:fs";
import { formatDuration, minuteMs } from "../../policies/durations.ts";
import { openHome } from "../home.ts";
import { failed, lineOf, misused, said, type Ending } from "../notices/terminal.ts";
import type { Settings } from "../settings.ts";
import { appFileOf, writeAppFile, type AppKeys } from "../setup/app-file.ts";
import { placeOf, type CreatedApp, type GitHubPlace } from "../setup/github-api.ts";
import { createApp, type FlowEnd } from "../setup/manifest-flow.ts";
import { readAppWish } from "../setup/manifest.ts";

const flowMsLimit = 10 * minuteMs;

export interface SetupAsked {
  readonly url?: string | undefined;
  readonly org?: string | undefined;
  readonly name?: string | undefined;
  readonly ghe?: string | undefined;
  readonly gheProtocol?: string | undefined;
  readonly force?: boolean | undefined;
}

/** Resolves when the keys are stored, or when it was ended or ten minutes are over. */
export async function setupGitHub(settings: Settings, asked: SetupAsked): Promise<Ending> {
  const wish = readAppWish();
  const name = asked.name ?? wish.name;
  const complaint = misfit(asked, name);
  if (complaint !== null) return misused("Nothing was set up.", ...complaint);
  await (await openHome({ settings, mode: "use" })).close();
  const file = appFileOf(settings.home);
  const mayReplace = asked.force ?? false;
  if (existsSync(file) && !mayReplace) {
    const help = "`holdfast doctor` checks it; --force replaces it with a new App's keys";
    return failed("Nothing was set up.", `${file} holds the keys of an App already`, help);
  }
  const place = placeOf(asked.ghe ?? null, asked.gheProtocol);
  const ending = endings();
  const end = await createApp({
    place,
    wish,
    name,
    url: new URL(asked.url ?? "").origin,
    organisation: asked.org ?? null,
    signal: AbortSignal.any([ending.signal, AbortSignal.timeout(flowMsLimit)]),
    onListening: (address) => process.stdout.write(invitation(address)),
    keep: (app) => writeAppFile(settings.home, keysOf(app, { place, asked }), { mayReplace }),
  }).finally(ending.release);
  return end.ok ? said(next(end.app, file)) : unfinished(end.why);
}

/** Why the request does not fit and what would. */
function misfit({ url, org, ghe }: SetupAsked, name: string): [why: string, help: string] | null {
  if (url === undefined || !isPublicAddress(url)) {
    const why = "GitHub needs the public address of this installation to send webhooks to";
    return [why, "give it as --url https://holdfast.example, without a path (or as HOLDFAST_URL)"];
  }
  if (org !== undefined && !/^[a-z\d][a-z\d-]{0,38}$/i.test(org)) {
    return [`${lineOf(org)} is no name of an organisation`, "give its login, as in its address"];
  }
  if (ghe !== undefined && !/^[a-z\d.-]+(:\d{1,5})?$/i.test(ghe)) {
    return [`${lineOf(ghe)} is no host`, "give the Enterprise Server as --ghe git.example"];
  }
  if (!/^[a-z\d](?:[a-z\d -]{0,32}[a-z\d])?$/i.test(name)) {
    const help = "use at most 34 letters, digits, spaces and dashes";
    return [`${lineOf(name)} cannot be the name of an App`, help];
  }
  return null;
}

/** Webhooks carry what people wrote: they travel encrypted, unless they stay on this machine. */
function isPublicAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["/", ""].includes(url.pathname) || url.search + url.hash !== "")
    return false;
  if (url.username + url.password !== "") return false;
  const isLoopback = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback);
}

function keysOf(
  app: CreatedApp,
  { place, asked }: { place: GitHubPlace; asked: SetupAsked },
): AppKeys {
  return {
    appId: String(app.id),
    privateKey: app.pem,
    webhookSecret: app.webhook_secret,
    ...(asked.ghe === undefined ? {} : { baseUrl: place.api }),
  };
}

/** Ctrl-C and SIGTERM, for as long as it is asked for them. */
function endings(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  function end(): void {
    controller.abort();
  }
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, end);
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of signals) process.off(signal, end);
    },
  };
}

function invitation(address: string): string {
  const port = new URL(address).port;
  return [
    "Open this address in a browser on this machine, signed in to GitHub:",
    "",
    `  ${address}`,
    "",
    `From another machine, first run there: ssh -L ${port}:127.0.0.1:${port} <this machine>`,
    `It works once, for ${formatDuration(flowMsLimit)}. Ctrl-C ends it.`,
    "",
  ].join("\n");
}

function next(app: CreatedApp, file: string): string {
  return [
    `The App ${app.slug} (id ${app.id}) is made; its keys are in ${file}, readable by you alone.`,
    "",
    "Next:",
    `  1. Install it where it shall work: ${lineOf(app.html_url)}/installations/new`,
    "  2. Start the server: holdfast start",
    "  3. See whether everything fits: holdfast doctor",
  ].join("\n");
}

const deleteIt = "delete the new App in GitHub's settings, then run it again";

const unfinishedWords: Readonly<
  Record<Extract<FlowEnd, { ok: false }>["why"], readonly [why: string, help: string]>
> = {
  ended: ["it was ended before GitHub sent anybody back", "run it again when you have the time"],
  refused: ["GitHub did not take the code that came back", deleteIt],
  kept: ["other keys were stored in the meantime, and they were not replaced", deleteIt],
};

function unfinished(why: keyof typeof unfinishedWords): Ending {
  return failed("GitHub is not set up.", ...unfinishedWords[why]);
}
