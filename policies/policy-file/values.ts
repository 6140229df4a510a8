// Values that several sections of the policy file share (spec 7.3): durations, names, ids of people.
// Texts of problems name what is wanted and never repeat what was written.

import * as z from "zod";
import { formatDuration, parseDuration } from "../durations.ts";

/** A duration as people write it, read into milliseconds; out of bounds is refused, never clamped. */
export function duration(bounds: { minMs: number; maxMs: number }) {
  const wanted = `a duration from ${formatDuration(bounds.minMs)} to ${formatDuration(bounds.maxMs)}, such as 30m or 1h30m`;
  return z
    .string({ error: `expected ${wanted}` })
    .transform((text, context) => {
      const durationMs = parseDuration(text);
      if (durationMs !== null && durationMs >= bounds.minMs && durationMs <= bounds.maxMs) {
        return durationMs;
      }
      context.issues.push({ code: "custom", message: `expected ${wanted}`, input: text });
      return z.NEVER;
    })
    .describe(`A duration, ${formatDuration(bounds.minMs)} to ${formatDuration(bounds.maxMs)}`);
}

/** Names of tasks and grants, as they are written in a command line. */
export const Name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: "a name has 1 to 64 letters, digits, dots, dashes or underscores",
});

/** The forge's numeric id of an account: logins can be renamed and taken over (spec 1.5). */
export const AccountId = z.int().positive();

/** Variables that change how a shell, the loader, Git or the host itself behaves belong to the host. */
const reserved =
  /^(?:PATH|HOME|SHELL|IFS|ENV|PWD|TMPDIR|USER|LOGNAME|LANG|TZ|TERM|(?:LD|DYLD|LC|GIT|SSH|BASH|NODE|NPM|PYTHON|PERL|RUBY|HOLDFAST)(?:_.*)?)$/i;

export const VariableName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, {
    error: "a variable has 1 to 64 letters, digits or underscores and begins with a letter",
  })
  .refine((name) => !isReservedVariable(name), { error: "this variable belongs to the host" });

/** Whether a task may not set this environment variable; `BASH_ENV` and `LD_PRELOAD` would run other code. */
function isReservedVariable(name: string): boolean {
  return reserved.test(name) || name.toUpperCase() === "BASHOPTS";
}
