// Brings what the tests need beyond npm where it can, on Debian as root, and else says how to get
// it (spec 8.6). The table is test/system.ts; a missing need fails or skips its test there.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { howToGet, needs } from "../test/system.ts";

const installMsLimit = 10 * 60_000;

function missing() {
  return Object.values(needs).filter((need) => need.find() === null);
}

function mayInstall() {
  return existsSync("/usr/bin/apt-get") && process.getuid?.() === 0;
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status } = spawnSync("apt-get", ["-q", ...args], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: installMsLimit,
  });
  return status === 0;
}

function install(packageNames) {
  console.log(`Installing for the tests: ${packageNames.join(", ")} (apt-get).`);
  // An old package list is often good enough where the network is not.
  apt("update");
  return apt("install", "-y", "--no-install-recommends", ...packageNames);
}

const wanted = missing().map((need) => need.packageName);
if (wanted.length > 0 && mayInstall() && !install(wanted))
  console.error("apt-get did not succeed.");
for (const need of missing()) {
  console.error(howToGet(need));
  if (need.isRequired) process.exitCode = 1;
}
