// The command line (spec 7.1): what there is, how it is called, and exit codes: 0 good, 1 failed, 2 wrong usage.
// Each command loads its own part alone, so that help and small ones start at once; a stack trace is for the log.

import { readFile } from "node:fs/promises";
import { styleText } from "node:util";
import { Command, CommanderError, Option } from "commander";
import { commandTable, type Keyword } from "../../policies/commands/commands.ts";
import type { Home } from "../home.ts";
import { readManifest } from "../manifest.ts";
import {
  complaintText,
  failed,
  lineOf,
  misused,
  troubleOf,
  type Ending,
} from "../notices/terminal.ts";
import type { Settings } from "../settings.ts";
import type { NudgeAsked } from "./nudge.ts";
import { addServing } from "./serving.ts";
import type { SetupAsked } from "./setup.ts";
import { example, type Carry, type Run } from "./words.ts";

/** Runs one command; gives the exit code of the process. */
export async function runCommandLine(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  let exitCode = 0;
  const program = programFor(async (act) => {
    exitCode = tell(await endingOf(act, { name: args[0] ?? "", environment }));
  });
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}

async function endingOf(
  act: Parameters<Carry>[0],
  { name, environment }: { name: string; environment: NodeJS.ProcessEnv },
): Promise<Ending> {
  try {
    return await act(environment);
  } catch (error) {
    const { openLog } = await import("../log.ts");
    const { readSettings } = await import("../settings.ts");
    const decision = readSettings(environment);
    const level = decision.ok ? decision.settings.logLevel : "info";
    openLog(level, []).debug({ error }, "the command failed");
    return troubleOf(`\`holdfast ${name}\` failed.`, error);
  }
}

async function withSettings(
  environment: NodeJS.ProcessEnv,
  act: Parameters<Run>[0],
): Promise<Ending> {
  const { readSettings } = await import("../settings.ts");
  const decision = readSettings(environment);
  if (decision.ok) return act(decision.settings);
  const help = "correct or unset what is named";
  return misused("The environment does not fit.", decision.problems.join("; "), help);
}

function tell(ending: Ending): number {
  if (!ending.ok) {
    const [what = "", ...rest] = complaintText(ending).split("\n");
    console.error([styleText("red", what, { stream: process.stderr }), ...rest].join("\n"));
    return ending.exitCode;
  }
  if (ending.text !== "") console.log(ending.text);
  return ending.exitCode;
}

async function withHome(settings: Settings, use: (home: Home) => Promise<Ending>): Promise<Ending> {
  const { openHome } = await import("../home.ts");
  const home = await openHome({ settings, mode: "use" });
  try {
    return await use(home);
  } finally {
    await home.close();
  }
}

function programFor(carry: Carry): Command {
  function run(act: Parameters<Run>[0]): Promise<void> {
    return carry((environment) => withSettings(environment, act));
  }
  const program = new Command("holdfast")
    .description("Works on what people ask for in issues and pull requests, and never goes quiet.")
    .version(readManifest().version)
    .exitOverride()
    .configureHelp({ subcommandTerm })
    .showHelpAfterError("(`--help` shows how it is used)");
  addServing(program, { run, carry });
  addComment(program, run);
  addShowing(program, run);
  for (const row of orders) addOrder(program, run, row);
  addHolding(program, run);
  addNudge(program, run);
  addExplain(program, run);
  addDoctor(program, run);
  addSetup(program, run);
  addLedger(program, run);
  return program;
}

/** In the list every command has options, so that none need to be told. */
function subcommandTerm(command: Command): string {
  const args = command.usage().replace(/^\[options\] ?/, "");
  return `${command.name()} ${args}`.trim();
}

const keyHelp = "name of this request: the same one again does nothing more";
const jsonHelp = "print JSON";

interface CommentOptions {
  readonly title?: string;
  readonly repo?: string;
  readonly key?: string;
}

function addComment(program: Command, run: Run): void {
  program
    .command("comment")
    .argument("<conversation>", "#12, 12, or `new` to open an issue")
    .argument("<text...>", "what to write; `-` reads standard input")
    .option("--title <title>", "title of a new issue (default: the first line of the text)")
    .option("--repo <path>", "which repository (default: the one of the current folder)")
    .option("--key <key>", keyHelp)
    .description("write a comment on the local forge, or open an issue")
    .addHelpText("after", example('holdfast comment 12 "@holdfast run hello"'))
    .action((conversation: string, words: string[], options: CommentOptions) =>
      run((settings) =>
        withHome(settings, async (home) => {
          const text = words.join(" ") === "-" ? await standardInput() : words.join(" ");
          const { title, repo, key } = options;
          const { comment } = await import("./act.ts");
          return comment(home, { conversation, text, title, repo, key });
        }),
      ),
    );
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

function addShowing(program: Command, run: Run): void {
  program
    .command("status")
    .argument("[id]", "a mandate, such as m-7k3f")
    .option("--json", jsonHelp)
    .description("what is going on, or how one mandate stands")
    .addHelpText("after", example("holdfast status m-7k3f"))
    .action((id: string | undefined, { json = false }: { json?: boolean }) =>
      run(async (settings) => {
        const { showStatus } = await import("./show.ts");
        return withHome(settings, (home) => showStatus(home, { id, json }));
      }),
    );
  program
    .command("log")
    .argument("<id>", "a mandate, such as m-7k3f")
    .option("--json", jsonHelp)
    .description("everything about one mandate: turns, calls, evidence, waits, notices")
    .addHelpText("after", example("holdfast log m-7k3f --json"))
    .action((id: string, { json = false }: { json?: boolean }) =>
      run(async (settings) => {
        const { showLog } = await import("./show.ts");
        return withHome(settings, (home) => showLog(home, { id, json }));
      }),
    );
}

interface OrderRow {
  readonly keyword: Keyword;
  readonly about: string;
  readonly rest?: string;
}

const orders: readonly OrderRow[] = [
  { keyword: "stop", about: "revoke a mandate; nothing of it goes on" },
  { keyword: "continue", about: "unblock a mandate with fresh attempts" },
  { keyword: "retry", about: "make a new mandate from the same request" },
  { keyword: "check", about: "look again now at what a mandate waits for" },
  { keyword: "recover", about: "grant one recovery after an interruption" },
  {
    keyword: "extend",
    about: "give a mandate a later deadline or higher ceilings",
    rest: "<change...>",
  },
];

function addOrder(program: Command, run: Run, { keyword, about, rest }: OrderRow): void {
  const order = program.command(keyword).argument("<id>", "a mandate, such as m-7k3f");
  if (rest !== undefined)
    order.argument(rest, "3d for a deadline counted from now, or turns=N, tokens=N, cost=N");
  order
    .option("--key <key>", keyHelp)
    .description(about)
    .addHelpText("after", example(exampleOf(keyword)))
    .action((id: string, ...given: unknown[]) => {
      const words = rest === undefined ? [] : (given[0] as string[]);
      const { key } = order.opts<{ key?: string }>();
      return run(async (settings) => {
        const { command } = await import("./act.ts");
        const order = { keyword, id, rest: words, key };
        return withHome(settings, (home) => command(home, settings, order));
      });
    });
}

function exampleOf(keyword: Keyword): string {
  return `holdfast ${commandTable.find((row) => row.keyword === keyword)?.example ?? keyword}`;
}

interface HoldOptions {
  readonly all?: boolean;
  readonly key?: string;
}

function addHolding(program: Command, run: Run): void {
  const rows = [
    ["pause", "hold a mandate, or everything; discards nothing, deadlines go on"],
    ["resume", "end a pause"],
  ] as const;
  for (const [keyword, about] of rows) {
    program
      .command(keyword)
      .argument("[id]", "a mandate, such as m-7k3f")
      .option("--all", "the whole installation")
      .option("--key <key>", keyHelp)
      .description(about)
      .addHelpText("after", example(`holdfast ${keyword} --all`))
      .action((id: string | undefined, { all = false, key }: HoldOptions) =>
        run(async (settings) => {
          if (all === (id !== undefined)) return unclear(keyword);
          const { command, holdAll } = await import("./act.ts");
          return withHome(settings, (home) =>
            id === undefined
              ? holdAll(home, settings, keyword)
              : command(home, settings, { keyword, id, rest: [], key }),
          );
        }),
      );
  }
}

function addNudge(program: Command, run: Run): void {
  program
    .command("nudge")
    .argument("<repository>", "owner/name, or the path of a local one")
    .argument("<event>", "as waits name it, such as release.published")
    .option("--ref <ref>", "the tag, branch or commit that it is about")
    .option("--mandate <id>", "ring at this mandate alone")
    .option("--key <key>", keyHelp)
    .description("ring at waits: they look now instead of later; nothing else follows from it")
    .addHelpText("after", example("holdfast nudge org/door release.published --ref v1.2.3"))
    .action((repository: string, event: string, asked: NudgeAsked) =>
      run(async (settings) => {
        const { ring } = await import("./nudge.ts");
        return withHome(settings, (home) => ring(home, { repository, event }, asked));
      }),
    );
}

function unclear(keyword: string): Ending {
  const why = "it needs either the id of a mandate or --all";
  return misused(
    "Nothing was done.",
    why,
    `\`holdfast ${keyword} <id>\` or \`holdfast ${keyword} --all\``,
  );
}

function addExplain(program: Command, run: Run): void {
  program
    .command("explain")
    .argument("[file]", "a file with the text of a comment (default: standard input)", "-")
    .option("--repo <path>", "the repository whose policy file counts (default: the current one)")
    .option("--json", jsonHelp)
    .description("dry run of a comment: how it is read, who may, what would happen")
    .addHelpText("after", example("echo '@holdfast run hello' | holdfast explain"))
    .action((file: string, { repo, json = false }: { repo?: string; json?: boolean }) =>
      run(async (settings) => {
        const body = file === "-" ? await standardInput() : await readText(file);
        if (body === null) {
          const why = `${lineOf(file)} cannot be read`;
          return failed(
            "Nothing was explained.",
            why,
            "name a text file, or `-` for standard input",
          );
        }
        const { explain } = await import("./explain.ts");
        return explain(settings, { body, repo, json, now: Date.now() });
      }),
    );
}

function readText(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}

function addDoctor(program: Command, run: Run): void {
  program
    .command("doctor")
    .option("--json", jsonHelp)
    .description("check what Holdfast stands on, then every invariant of the ledger")
    .addHelpText("after", example("holdfast doctor --json"))
    .action(({ json = false }: { json?: boolean }) =>
      run(async (settings) => {
        const { doctor } = await import("./operate.ts");
        return doctor(settings, { json });
      }),
    );
}

function addLedger(program: Command, run: Run): void {
  program
    .command("ledger")
    .description("move the ledger of an installation")
    .addHelpText("after", example("holdfast ledger copy ~/.local/share/holdfast/ledger.sqlite"))
    .command("copy")
    .argument("<from>", "the file ledger.sqlite of a home that nobody serves now")
    .argument("[to]", "postgres:// address of an empty database (default: DATABASE_URL)")
    .description("copy a ledger from SQLite to PostgreSQL; the file stays as it is")
    .addHelpText("after", example("holdfast ledger copy ~/.local/share/holdfast/ledger.sqlite"))
    .action((from: string, to: string | undefined) =>
      run(async (settings) => {
        const { copy } = await import("./ledger.ts");
        return copy(settings, { from, to });
      }),
    );
}

function addSetup(program: Command, run: Run): void {
  program
    .command("setup")
    .description("set a connection to a forge up")
    .addHelpText("after", example("holdfast setup github --url https://holdfast.example"))
    .command("github")
    .addOption(
      new Option("--url <address>", "public address of this installation").env("HOLDFAST_URL"),
    )
    .option("--org <login>", "the organisation that will own the App (default: you)")
    .option("--name <name>", "name of the App (default: holdfast)")
    .addOption(
      new Option("--ghe <host>", "an Enterprise Server (default: github.com)").env("GHE_HOST"),
    )
    .addOption(
      new Option("--ghe-protocol <protocol>")
        .choices(["https", "http"])
        .env("GHE_PROTOCOL")
        .hideHelp(),
    )
    .option("--force", "replace the keys of another App")
    .description("make a GitHub App with the least rights, and keep its keys in the home")
    .addHelpText("after", example("holdfast setup github --url https://holdfast.example"))
    .action((asked: SetupAsked) =>
      run(async (settings) => {
        const { setupGitHub } = await import("./setup.ts");
        return setupGitHub(settings, asked);
      }),
    );
}
