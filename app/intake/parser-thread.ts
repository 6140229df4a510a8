// The thread behind parser.ts (spec 1.4): parses one comment after another and posts what it found.
// Holds no state; it may be terminated at any moment.

import { parentPort } from "node:worker_threads";
import type { MentionOption } from "../../policies/commands/comment.ts";
import { parseComment } from "../../policies/commands/comment.ts";

export interface ParseRequest {
  readonly body: string;
  readonly options: MentionOption;
}

// A first parse in cold code takes many times longer; it must not be some person's comment.
parseComment("@warm do it by 15:00\n\n> quoted\n\n- item `code` [link](/a)\n", { mention: "warm" });

parentPort?.on("message", ({ body, options }: ParseRequest) => {
  parentPort?.postMessage(parseComment(body, options));
});
// The first message only says that requests may come.
parentPort?.postMessage(null);
