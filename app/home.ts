// The data folder of an installation (spec 7.2, 8.2): ledger, secrets, and who serves it.
// A second serving process is told who the first one is; commands read and write beside it.

import { createHash, randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Failure } from "../policies/failure.ts";
import { firstValue } from "./ledger/facts.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { takeLock, type Lock } from "./ledger/sqlite/lock.ts";
import { openLedger } from "./ledger/store/open.ts";
import { isPostgres, type Settings } from "./settings.ts";

const Holder = z.object({ pid: z.int(), since: z.int(), url: z.string().nullable() });
/** The serving process of a home. */
export type Holder = z.infer<typeof Holder>;

const Secrets = z.object({ markerKey: z.string().min(32), pageToken: z.string().min(32) });
export type Secrets = z.infer<typeof Secrets>;

export interface Home {
  readonly folder: string;
  /** Tells this home from others on the same ledger; nothing follows from it. */
  readonly id: string;
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  /** Who serves this home now; null when nobody does. */
  readonly holder: Holder | null;
  /** Tells others where the page of this serving process is. */
  announce(url: string): void;
  close(): Promise<void>;
}

/** A command looks for a moment whether the lock is held; who wants to serve waits that moment out. */
const probeMs = 1_500;

/**
 * Opens the home; `serve` also takes its lock. Throws Failure: `home-unwritable`, `home-held` (its cause is the
 * Holder), `persistence-unavailable`, `ledger-damaged`, `schema-newer`, `secrets-damaged`.
 */
export async function openHome(options: {
  settings: Settings;
  mode: "serve" | "use";
}): Promise<Home> {
  const { home: folder, ledgerUrl, timing } = options.settings;
  makeHome(folder);
  const waitMs = options.mode === "serve" ? probeMs : 0;
  const lock = takeLock(join(folder, "serving.lock"), waitMs);
  const holder = lock === null ? readHolder(folder) : null;
  if (options.mode === "serve" && lock === null) {
    throw new Failure("home-held", "never", {
      message: "another process serves it",
      cause: holder,
    });
  }
  if (options.mode === "use") lock?.release();
  const held = options.mode === "serve" ? lock : null;
  try {
    const own = readSecrets(folder);
    const ledger = await openLedger(ledgerUrl, { aheadMs: timing.clockAheadMs });
    return {
      folder,
      id: idOf(own),
      ledger,
      holder,
      secrets: await sharedSecrets(ledger, { ledgerUrl, own }),
      announce: (url) => writeHolder(folder, url),
      close: async () => {
        await ledger.close();
        if (held !== null) letGo(folder, held);
      },
    };
  } catch (error) {
    held?.release();
    throw error;
  }
}

/** Of the home's own token, which it does not give away. */
function idOf({ pageToken }: Secrets): string {
  return createHash("sha256").update(`home ${pageToken}`).digest("hex").slice(0, 16);
}

/** Whoever works on one ledger must know the others' comments by their marks: the first one's key is everybody's. */
async function sharedSecrets(
  ledger: Ledger,
  { ledgerUrl, own }: { ledgerUrl: string; own: Secrets },
): Promise<Secrets> {
  if (!isPostgres(ledgerUrl)) return own;
  const markerKey = await ledger.write((tx) => firstValue(tx, "marker-key", own.markerKey));
  return { ...own, markerKey };
}

function makeHome(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // One that was there before may be open to others; the ledger and the secrets in it are not for them.
    chmodSync(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    // What only root can write in spite of a read-only file system shows at the first file.
    const probe = join(folder, `.probe-${process.pid}`);
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    const message = `the data folder ${folder} cannot be written`;
    throw new Failure("home-unwritable", "never", { message, cause: error });
  }
}

function readHolder(folder: string): Holder | null {
  try {
    const text = readFileSync(join(folder, "serving.json"), "utf8");
    return Holder.parse(JSON.parse(text));
  } catch {
    // It is held, but has not said yet where it is.
    return { pid: 0, since: 0, url: null };
  }
}

function writeHolder(folder: string, url: string): void {
  const holder: Holder = { pid: process.pid, since: Date.now(), url };
  writeFileSync(join(folder, "serving.json"), JSON.stringify(holder), { mode: 0o600 });
}

function letGo(folder: string, lock: Lock): void {
  rmSync(join(folder, "serving.json"), { force: true });
  lock.release();
}

/** Made once per home, readable by its owner alone. */
function readSecrets(folder: string): Secrets {
  const file = join(folder, "secrets.json");
  if (!existsSync(file)) makeSecrets(file);
  try {
    return Secrets.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    const message = `${file} is damaged; remove it to have new secrets made`;
    throw new Failure("secrets-damaged", "never", { message, cause });
  }
}

/** Whole or not at all, however this process ends; where two make them at the same moment the first ones count. */
function makeSecrets(file: string): void {
  const secrets: Secrets = {
    markerKey: randomBytes(32).toString("hex"),
    pageToken: randomBytes(32).toString("hex"),
  };
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, JSON.stringify(secrets), { mode: 0o600, flush: true });
    linkSync(fresh, file);
  } catch (cause) {
    if (existsSync(file)) return;
    throw new Failure("home-unwritable", "later", { message: `${file} cannot be made`, cause });
  } finally {
    rmSync(fresh, { force: true });
  }
}
