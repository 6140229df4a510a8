// The larger sections of the policy file (spec 7.3): every key, its bounds and its default.
// Read values carry units in their names (`deadlineMs`); the file itself is written in people's words.

import * as z from "zod";
import { isAtLeast, levels, type Level } from "../authority.ts";
import { commandTable, type Keyword } from "../commands/commands.ts";
import { dayMs, hourMs, minuteMs } from "../durations.ts";
import { AccountId, duration } from "./values.ts";

const keywords = [...new Set(commandTable.map((row) => row.keyword))];

/** The least level that some form of this command needs by default. */
function defaultLevel(keyword: Keyword): Level {
  const needs = commandTable.filter((row) => row.keyword === keyword).map((row) => row.needs);
  return levels.find((level) => needs.includes(level)) ?? "admin";
}

const AskedLevel = z.enum(["read", "triage", "write", "maintain", "admin"], {
  error: "expected read, triage, write, maintain or admin",
});

const Permission = z
  .union([
    AskedLevel,
    z.strictObject({ level: AskedLevel.optional(), users: z.array(AccountId).min(1).optional() }),
  ])
  .transform((asked) => (typeof asked === "string" ? { level: asked } : asked));

export const Permissions = z
  .partialRecord(z.enum(keywords), Permission)
  .superRefine((asked, context) => {
    for (const keyword of keywords) {
      const level = asked[keyword]?.level;
      const needed = defaultLevel(keyword);
      if (level === undefined || isAtLeast(level, needed)) continue;
      const message = `${keyword} needs ${needed}; a policy file may only ask for more`;
      context.addIssue({ code: "custom", path: [keyword], message });
    }
  });

export const Limits = z
  .strictObject({
    deadline: duration({ minMs: minuteMs, maxMs: 30 * dayMs }).prefault("24h"),
    deadlineMax: duration({ minMs: minuteMs, maxMs: 30 * dayMs }).prefault("30d"),
    turnWall: duration({ minMs: minuteMs, maxMs: 24 * hourMs }).prefault("60m"),
    turns: z.int().min(1).max(100_000).optional(),
    tokens: z.int().min(1).optional(),
    cost: z.number().positive().optional(),
    concurrency: z.int().min(1).max(64).prefault(2),
  })
  .refine((limits) => limits.deadline <= limits.deadlineMax, {
    path: ["deadline"],
    error: "is longer than deadlineMax",
  })
  .transform((limits) => ({
    deadlineMs: limits.deadline,
    deadlineMsLimit: limits.deadlineMax,
    turnWallMs: limits.turnWall,
    turns: limits.turns ?? null,
    tokens: limits.tokens ?? null,
    cost: limits.cost ?? null,
    concurrency: limits.concurrency,
  }));

export const Stall = z
  .strictObject({
    limit: z.int().min(1).max(100).prefault(20),
    thinkLimit: z.int().min(0).max(100).optional(),
  })
  .transform((stall) => ({ limit: stall.limit, thinkLimit: stall.thinkLimit ?? null }));

export const Children = z.strictObject({
  limit: z.int().min(0).max(4).prefault(4),
  depth: z.int().min(0).max(3).prefault(3),
});

export const Waits = z
  .strictObject({
    everyMin: duration({ minMs: minuteMs, maxMs: 24 * hourMs }).prefault("1m"),
    forMax: duration({ minMs: 2 * minuteMs, maxMs: 7 * dayMs }).prefault("7d"),
  })
  .transform((waits) => ({ everyMinMs: waits.everyMin, aheadMaxMs: waits.forMax }));

export const Nudges = z.strictObject({
  events: z
    .array(z.enum(["release", "package", "check", "status", "workflow"]))
    .prefault(["release", "package", "check", "status", "workflow"]),
});

export const Review = z.strictObject({
  auto: z.enum(["opened", "synchronize"]).optional(),
  required: z.enum(["publish", "merge", "none"]).optional(),
  rounds: z.int().min(1).max(3).prefault(3),
  rebuttals: z.int().min(0).max(5).prefault(5),
});

export const Publish = z.strictObject({
  on: z.enum(["completed", "request"]).prefault("completed"),
  to: z.enum(["head", "branch"]).prefault("head"),
  paths: z.array(z.string().min(1).max(500)).min(1).max(200).prefault(["**"]),
  filesLimit: z.int().min(1).max(3_000).prefault(300),
  bytesLimit: z.int().min(1).max(100_000_000).prefault(5_000_000),
});
