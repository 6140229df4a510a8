// Finds a Node that can run the sources (spec 8.6): the caller's own or the one npm brought along.
// Plain JavaScript for Node >= 18, because it runs before that Node is known; never installs.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The oldest Node that strips types and has node:sqlite without a warning, as package.json says. */
function oldest() {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return engines.node.replace(">=", "");
}

export function isSuitable(version) {
  const [major, minor] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = oldest().split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** Path of a Node that is new enough, or null. The caller's own wins: it needs no second process. */
export function suitableNode() {
  if (isSuitable(process.versions.node)) return process.execPath;
  try {
    const require = createRequire(import.meta.url);
    const manifest = require.resolve(`node-${process.platform}-${process.arch}/package.json`);
    const bundled = join(dirname(manifest), "bin", "node");
    return existsSync(bundled) ? bundled : null;
  } catch {
    return null;
  }
}

/** The one line a person reads where no suitable Node exists, on a Mac with an older one for example. */
export function howToGetNode() {
  const need = `Holdfast needs Node ${oldest()} or newer, this is ${process.versions.node}.`;
  const isBrought = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);
  return isBrought
    ? `${need} \`npm ci\` in ${root} brings one along.`
    : `${need} None comes along for ${process.platform}-${process.arch}: get it from https://nodejs.org.`;
}
