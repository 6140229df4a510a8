// The commands that serve (spec 7.1): `local`, `start` and `worker`.

import { InvalidArgumentError, type Command } from "commander";
import { said } from "../notices/terminal.ts";
import { example, type Carry, type Run } from "./words.ts";

/** Adds the commands that go on until they are asked to stop. */
export function addServing(program: Command, { run, carry }: { run: Run; carry: Carry }): void {
  addLocal(program, run);
  addStart(program, carry);
  addWorker(program, carry);
}

function addLocal(program: Command, run: Run): void {
  program
    .command("local")
    .argument("[repo]", "path of the repository", ".")
    .option("--port <number>", "port of the page, 0 for any free one (default: PORT or 4700)", port)
    .description("serve one local Git repository: issues, page, scheduler, all in this process")
    .addHelpText("after", example("holdfast local ~/src/tool --port 4800"))
    .action((repo: string, options: { port?: number }) =>
      run(async (settings) => {
        const { local } = await import("./serve.ts");
        await local(settings, { path: repo, port: options.port ?? settings.port ?? localPort });
        return said("");
      }),
    );
}

const localPort = 4_700;

function addStart(program: Command, carry: Carry): void {
  program
    .command("start")
    .option(
      "--port <number>",
      "port to listen on, 0 for any free one (default: PORT or 3000)",
      port,
    )
    .option(
      "--workers <number>",
      "turns at a time, 0 for none (default: the cores, at most 4)",
      count,
    )
    .description("serve GitHub: webhooks, scheduler, workers and pages in this process")
    .addHelpText("after", example("holdfast start --workers 2"))
    .action((asked: { port?: number; workers?: number }) =>
      carry(async (environment) => {
        const { start } = await import("./serve.ts");
        return start(environment, asked);
      }),
    );
}

function addWorker(program: Command, carry: Carry): void {
  program
    .command("worker")
    .option("--workers <number>", "turns at a time (default: the cores, at most 4)", count)
    .description("take turns from the PostgreSQL ledger that servers share, on any machine")
    .addHelpText("after", example("holdfast worker --workers 2"))
    .action((asked: { workers?: number }) =>
      carry(async (environment) => {
        const { worker } = await import("./serve.ts");
        return worker(environment, asked);
      }),
    );
}

function count(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) <= 64) return Number(text);
  throw new InvalidArgumentError("It must be a number from 0 to 64.");
}

function port(text: string): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number <= 65_535) return number;
  throw new InvalidArgumentError("It must be a number from 0 to 65535.");
}
