// One step of a task as the policy file declares it (spec 5.6), checked and read into plain JSON.
// Says nothing about when a step runs; that is tasks.ts.

import * as z from "zod";
import { dayMs, hourMs, minuteMs, secondMs } from "../durations.ts";
import { duration, VariableName } from "./values.ts";

const SignalName = z.string().regex(/^[a-z_]{1,64}(?:\.[a-z_]{1,64})?$/, {
  error: "an event is written like release.published",
});
const SignalFields = z.strictObject({
  event: SignalName,
  repository: z.string().min(1).max(200).optional(),
  tag: z.string().min(1).max(200).optional(),
});
const Signal = z
  .union([SignalName, SignalFields])
  .transform((signal) => (typeof signal === "string" ? { event: signal } : signal));

const StepWait = z
  .strictObject({
    every: duration({ minMs: minuteMs, maxMs: 24 * hourMs }),
    for: duration({ minMs: 2 * minuteMs, maxMs: 7 * dayMs }),
    signals: z.array(Signal).max(20).prefault([]),
  })
  .transform((wait) => ({ everyMs: wait.every, forMs: wait.for, signals: wait.signals }));

const Run = z
  .union([z.string().min(1).max(10_000), z.array(z.string().max(10_000)).min(1).max(100)])
  .refine((run) => !JSON.stringify(run).includes("\\u0000"), { error: "a command holds no NUL" })
  .describe("Text is run by /bin/sh -c; a list is a program with its arguments, without a shell");

export const Secrets = z.array(VariableName).max(20);

/** One step as declared. `agent:` is known to the grammar and refused until a later version. */
export const Step = z
  .strictObject({
    run: Run.optional(),
    wait: StepWait.optional(),
    repeat: z.literal("safe").optional(),
    timeout: duration({ minMs: secondMs, maxMs: 24 * hourMs }).optional(),
    network: z.boolean().prefault(false),
    secrets: Secrets.prefault([]),
    agent: z.string().optional(),
  })
  .transform(({ run, timeout, agent, ...rest }, context) => {
    if (run !== undefined && agent === undefined) {
      return { ...rest, run, timeoutMs: timeout ?? null };
    }
    const [key, message] =
      agent === undefined
        ? ["run", "is missing"]
        : ["agent", "handing a step over to an agent is not in this version"];
    context.issues.push({ code: "custom", message, path: [key], input: run });
    return z.NEVER;
  });
export type Step = z.infer<typeof Step>;
