// The program (spec 7.1): runs the command line and ends with its exit code. The only file with effects on import.

import { runCommandLine } from "./cli/cli.ts";

// `holdfast log … | head` closes the pipe early; that is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});
// bin/holdfast.js was killed: whoever did so means this process, which ends as if asked to.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
process.exitCode = await runCommandLine(process.argv.slice(2), process.env);
