// The whole way in a real browser (spec 8.4): a person opens the printed address, comments, sees the status appear by
// itself and then the result, and reads the pull request. Once more without JavaScript.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { makeRepository, temporaryFolder } from "../fakes/repository.ts";
import { need } from "../system.ts";

const policy = `
tasks:
  hello:
    steps:
      - run: echo "Hello from Holdfast" > hello.txt
`;
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The product as a person starts it; gives the address it prints. */
async function startProduct(source: string): Promise<string> {
  const main = join(import.meta.dirname, "../../app/main.ts");
  const home = join(temporaryFolder(), "home");
  const product = spawn(process.execPath, [main, "local", source, "--port", "0"], {
    env: { PATH: process.env["PATH"] ?? "", HOLDFAST_HOME: home, LOG_LEVEL: "silent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    product.kill("SIGKILL");
    await once(product, "exit");
  });
  let printed = "";
  for await (const chunk of product.stdout) {
    printed += String(chunk);
    const address = /http:\/\/127\.0\.0\.1:\d+\/\?token=\w+/.exec(printed)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error(`the product ended without an address: ${printed}`);
}

async function openBrowser(path: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: path, args: flags });
  onTestFinished(() => browser.close());
  return browser;
}

test("a comment becomes a status and a result before the person's eyes", async (context) => {
  const browser = await openBrowser(need(context, "chromium"));
  const repository = makeRepository({ ".holdfast.yml": policy, "README.md": "hello\n" });
  const address = await startProduct(repository.path);
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));

  await page.goto(address);
  expect(page.url()).not.toContain("token");
  await page.getByRole("link", { name: "Try Holdfast here" }).click();
  await page.getByRole("textbox").fill("@holdfast run hello");
  await page.getByRole("button", { name: "Comment" }).click();

  await page
    .getByText(/^Holdfast m-\w+: run hello/)
    .first()
    .waitFor();
  const result = page.getByText(/m-\w+ is done, checked by rules/);
  await result.waitFor({ timeout: 20_000 });
  await page.getByRole("link", { name: "#2" }).first().click();
  await page.getByText("Hello from Holdfast").first().waitFor();
  expect(repository.git(["branch", "--list", "holdfast/*"])).toMatch(/holdfast\/m-\w+-run-hello/);
  expect(complaints).toEqual([]);
}, 60_000);

test("everything can be done without JavaScript", async (context) => {
  const browser = await openBrowser(need(context, "chromium"));
  const repository = makeRepository({ ".holdfast.yml": policy, "README.md": "hello\n" });
  const address = await startProduct(repository.path);
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();

  await page.goto(address);
  await page.getByRole("link", { name: "New issue" }).click();
  const [title, body] = await page.getByRole("textbox").all();
  await title?.fill("Say hello");
  await body?.fill("@holdfast run hello");
  await page.getByRole("button", { name: /open|create|submit/i }).click();
  await expect
    .poll(
      async () => {
        await page.reload();
        return page.getByText(/m-\w+ is done/).count();
      },
      { timeout: 20_000 },
    )
    .toBeGreaterThan(0);
}, 60_000);
