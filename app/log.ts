// The log: static messages, values as fields, known secrets removed on the way out (spec 6.5, style of logs).

import { pino, type DestinationStream, type Logger } from "pino";
import { redact } from "./redact.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** Writes JSON lines to standard error, so that standard output stays the commands' own. */
export function openLog(level: string, secrets: Iterable<string>): Log {
  const stream: DestinationStream = {
    write: (line: string) => {
      process.stderr.write(redact(line, secrets));
    },
  };
  return pino({ level, base: null, serializers: { error: pino.stdSerializers.err } }, stream);
}
