#!/usr/bin/env node
// The command `holdfast` (spec 7.1): runs app/main.ts on a Node that is new enough (spec 8.6).
// Plain JavaScript, since an old Node reads it first; decides nothing else.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { howToGetNode, root, suitableNode } from "../scripts/suitable-node.mjs";

const main = join(root, "app", "main.ts");
const node = suitableNode();

if (node === null) {
  console.error(howToGetNode());
  process.exitCode = 1;
} else if (node === process.execPath) {
  await import(pathToFileURL(main).href);
} else {
  runWith(node);
}

function runWith(program) {
  // The channel tells the child when this process is killed: it must not go on unseen.
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(program, [main, ...process.argv.slice(2)], { stdio });
  function forward(signalName) {
    child.kill(signalName);
  }
  for (const signalName of ["SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signalName, forward);
  // A terminal sends Ctrl-C to the child as well; handing it on would count as a second one.
  process.on("SIGINT", process.stdin.isTTY ? () => {} : forward);
  child.on("error", (error) => {
    console.error(`${program} did not start: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (exitCode, signalName) => {
    if (signalName === null) process.exit(exitCode ?? 1);
    process.removeAllListeners(signalName);
    process.kill(process.pid, signalName);
  });
}
