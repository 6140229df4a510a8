// The program (spec 7.1): runs the command line and ends with its exit code. The only file with effects on import.

import { runCommandLine } from "./cli/cli.ts";

// `holdfast log … | head` closes the pipe early; that is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});
process.exitCode = await runCommandLine(process.argv.slice(2), process.env);
