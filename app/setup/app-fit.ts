// How the App on GitHub fits what Holdfast needs (spec 7.1, 6.6): permissions, events, webhook, installations and the
// latest deliveries, each with what to do. Reads only.

import { minuteMs } from "../../policies/durations.ts";
import { good, problem, warning, type Check } from "./check.ts";
import { eventDifferences, permissionDifferences, type Differences } from "./differences.ts";
import {
  DeliverySeen,
  HookSeen,
  InstallationSeen,
  type AppReader,
  type AppSeen,
} from "./github-api.ts";
import { readAppWish, webhookPath, type AppWish } from "./manifest.ts";

export interface Fit {
  readonly app: AppSeen;
  /** The public address of this installation; null where nobody told it. */
  readonly url: string | null;
  readonly now: number;
}

const recentMs = 24 * 60 * minuteMs;

/** Throws Failure `unavailable` where GitHub stops answering. */
export async function fitChecks(reader: AppReader, fit: Fit): Promise<Check[]> {
  const wish = readAppWish();
  const { app } = fit;
  const permissions = permissionDifferences(wish, app.permissions);
  return [
    ...differenceChecks("github permissions", permissions, app),
    ...differenceChecks("github events", eventDifferences(wish, app.events), app),
    ...(await hookChecks(reader, fit)),
    ...(await installationChecks(reader, wish, fit)),
    ...(await deliveryChecks(reader, fit)),
  ];
}

function differenceChecks(
  check: string,
  { missing, superfluous }: Differences,
  app: AppSeen,
): Check[] {
  const place = `at ${settingsAddress(app)}/permissions`;
  const checks: Check[] = [];
  if (missing.length > 0) {
    const help = `add them ${place}; new permissions are then accepted in each installation`;
    checks.push(problem(check, `missing: ${missing.join(", ")}`, help));
  }
  if (superfluous.length > 0) {
    const seen = `more than is needed: ${superfluous.join(", ")}`;
    checks.push(warning(check, seen, `take them away ${place}`));
  }
  return checks.length > 0 ? checks : [good(check, "those of app.yml and no others")];
}

/** Where the App is changed by its owner. */
function settingsAddress({ html_url: page, owner, slug }: AppSeen): string {
  const web = URL.parse(page)?.origin ?? "https://github.com";
  const place = owner?.type === "Organization" ? `/organizations/${owner.login}` : "";
  return `${web}${place}/settings/apps/${slug}`;
}

/** GitHub tells no App whether its hook is active: that shows in the deliveries. */
async function hookChecks(reader: AppReader, { app, url }: Fit): Promise<Check[]> {
  const check = "github webhook";
  const { status, body } = await reader.read("/app/hook/config");
  const hook = HookSeen.safeParse(body);
  if (status !== 200 || !hook.success) return [unread(check)];
  const faults = hookFaults(hook.data, url);
  const help = `mend it at ${settingsAddress(app)}`;
  if (faults.length > 0) return faults.map((fault) => problem(check, fault, help));
  if (url !== null) return [good(check, `posts to ${hook.data.url}`)];
  const seen = `posts to ${hook.data.url}, and nothing says whether that is here`;
  return [warning(check, seen, "set HOLDFAST_URL to the public address of this installation")];
}

function hookFaults(hook: HookSeen, url: string | null): string[] {
  const faults: string[] = [];
  const address = hook.url === "" ? "not set" : hook.url;
  const wanted = `${url?.replace(/\/+$/, "") ?? ""}${webhookPath}`;
  if (url !== null && hook.url !== wanted) {
    faults.push(`its address is ${address} and has to be ${wanted}`);
  } else if (!hook.url.endsWith(wanted)) {
    faults.push(`its address is ${address} and has to end in ${wanted}`);
  }
  if (hook.content_type !== "json") faults.push("its content type is not application/json");
  if (String(hook.insecure_ssl) !== "0") faults.push("it verifies no certificate");
  return faults;
}

async function installationChecks(
  reader: AppReader,
  wish: AppWish,
  { app }: Fit,
): Promise<Check[]> {
  const check = "github installations";
  const all = await reader.readAll("/app/installations", InstallationSeen);
  if (all === null) return [unread(check)];
  if (all.length === 0) {
    return [
      problem(
        check,
        "the App is installed nowhere",
        `install it: ${app.html_url}/installations/new`,
      ),
    ];
  }
  const checks = all.flatMap((one) => installationCheck(wish, one));
  return checks.length > 0 ? checks : [good(check, all.map(nameOf).join(", "))];
}

function nameOf({ account, id }: InstallationSeen): string {
  return account?.login ?? `installation ${id}`;
}

function installationCheck(wish: AppWish, one: InstallationSeen): Check[] {
  const check = `github installation ${nameOf(one)}`;
  if (one.suspended_at !== null && one.suspended_at !== undefined) {
    const help = `unsuspend it at ${one.html_url}, or uninstall it there`;
    return [warning(check, "it is suspended: its mandates are held", help)];
  }
  const { missing } = permissionDifferences(wish, one.permissions);
  if (missing.length === 0) return [];
  const seen = `it has not accepted: ${missing.join(", ")}`;
  return [problem(check, seen, `accept the new permissions at ${one.html_url}`)];
}

/** The latest deliveries, without those that arrived at a later attempt. */
async function deliveryChecks(reader: AppReader, { now }: Fit): Promise<Check[]> {
  const check = "github deliveries";
  const { status, body } = await reader.read("/app/hook/deliveries?per_page=100");
  const parsed = DeliverySeen.array().safeParse(body);
  if (status !== 200 || !parsed.success) return [unread(check)];
  const recent = parsed.data.filter(({ delivered_at: at }) => Date.parse(at) > now - recentMs);
  const arrived = new Set(recent.filter(isArrived).map(({ guid }) => guid));
  const lost = recent.filter(({ guid }) => !arrived.has(guid));
  const [latest] = lost;
  if (latest === undefined) {
    return [good(check, recent.length === 0 ? "none in the last day" : "the last ones arrived")];
  }
  const count = new Set(lost.map(({ guid }) => guid)).size;
  const seen = `${count} of the last ${recent.length} did not arrive, the latest with status ${latest.status_code}`;
  const help =
    "see that the server runs and that its public address leads to it; a running server asks for them again";
  return [warning(check, seen, help)];
}

function isArrived({ status_code: status }: DeliverySeen): boolean {
  return status >= 200 && status < 400;
}

function unread(check: string): Check {
  return problem(check, "GitHub did not say", "try again later");
}
