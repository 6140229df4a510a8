// Installs the packages when they are missing or not those of the lock file (spec 8.6), so that
// `npm start` and `npm test` alone are enough on a fresh clone. Plain JavaScript for Node >= 18.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { howToGetNode, root, suitableNode } from "./suitable-node.mjs";

/** Packages by path, with what identifies each one's content; npm writes the second file last. */
function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(join(root, lockFile), "utf8")).packages;
  } catch {
    return {};
  }
}

/** npm's own record of what it installed tells more than a stamp: `npm ci` by hand counts too. */
function isInstalled() {
  const locked = Object.entries(packagesOf("package-lock.json")).filter(([path]) => path !== "");
  const installed = packagesOf("node_modules/.package-lock.json");
  return locked.every(([path, wanted]) => {
    const found = installed[path];
    if (found === undefined) return wanted.optional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

function install() {
  console.log(
    "Installing the packages of package-lock.json (npm ci), about a minute the first time.",
  );
  const npm = process.env.npm_execpath;
  const [program, args] = npm === undefined ? ["npm", ["ci"]] : [process.execPath, [npm, "ci"]];
  const { error, status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  if (error === undefined && status === 0) return;
  console.error(`npm ci did not succeed${error === undefined ? "" : `: ${error.message}`}.`);
  process.exit(1);
}

if (!isInstalled()) install();
if (suitableNode() === null) {
  console.error(howToGetNode());
  process.exit(1);
}
