// The operator's settings file (spec 7.2): `settings.yaml` in the home, or the one that HOLDFAST_SETTINGS names. What it
// may say caps every repository's policy; all its problems are told together.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { parseYamlFile, problemLine } from "../policies/yaml-file.ts";
import { isTimeZone } from "./settings.ts";

const Count = z.int().positive();
/** More turns at a time than this belong on more machines. */
const workersLimit = 64;

const eitherName = { error: "expected owner/name or a number" };
const RepositoryName = z.union(
  [z.string().regex(/^[\w.-]+\/[\w.-]+$/, eitherName), z.int().positive(eitherName)],
  eitherName,
);

/** Every key, with what holds where it is not given. */
const SettingsFile = z.strictObject({
  /** Repositories that may run tasks, by `owner/name` or by the forge's number; the number survives a new owner. */
  repositories: z.array(RepositoryName).prefault([]),
  /** Turns that run at the same time in this process. */
  workers: z.int().min(0).max(workersLimit).optional(),
  /** Of times such as `by 15:00`, in place of the system's. */
  timeZone: z
    .string()
    .refine(isTimeZone, { error: "expected a time zone such as Europe/Berlin" })
    .optional(),
  /** Who may ring at waits through `POST /api/nudges`; of each token only its SHA-256 is known here. */
  nudgeTokens: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[\w-]{1,50}$/, { error: "expected a word" }),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, { error: "expected 64 hexadecimal digits" }),
        repositories: z.array(
          z.string().regex(/^[\w.-]+\/[\w.-]+$/, { error: "expected owner/name" }),
        ),
      }),
    )
    .prefault([]),
  github: z
    .strictObject({
      /** What one installation may write; GitHub asks for no more than the defaults. */
      writes: z
        .strictObject({
          perSecond: Count.prefault(1),
          perMinute: Count.prefault(80),
          perHour: Count.prefault(500),
        })
        .prefault({}),
    })
    .prefault({}),
});
export type SettingsFile = z.infer<typeof SettingsFile>;

export type SettingsFileDecision =
  | { readonly ok: true; readonly file: SettingsFile }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the file that the environment names, else the home's; none means the defaults. */
export function readSettingsFile(
  home: string,
  environment: NodeJS.ProcessEnv,
): SettingsFileDecision {
  const { HOLDFAST_SETTINGS: named = "" } = environment;
  const path = named === "" ? join(home, "settings.yaml") : named;
  if (named === "" && !existsSync(path)) return { ok: true, file: SettingsFile.parse({}) };
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return { ok: false, problems: [`${path} cannot be read`] };
  }
  const read = parseYamlFile(text, { name: path, schema: SettingsFile });
  return read.ok
    ? { ok: true, file: read.value }
    : { ok: false, problems: read.problems.map(problemLine) };
}
