// The opponent of the intake (spec 8.5): Probot's own server with an empty handler, log level `warn`, which commits
// nothing. Prints its port; ends with its input.
import { generateKeyPairSync } from "node:crypto";
import { pino } from "pino";
import { Probot, Server } from "probot";
import { webhookSecret } from "../test/fakes/webhooks.ts";
import { eventKinds } from "./payloads.ts";

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const log = pino({ level: "warn" }, pino.destination(2));
const server = new Server({
  Probot: Probot.defaults({ appId: 1, privateKey, secret: webhookSecret, log }),
  log,
  host: "127.0.0.1",
  // A free one: Probot takes the number 0 for its default, 3000.
  port: "0" as unknown as number,
});
await server.load((app) => {
  app.on([...eventKinds], () => {});
});
await server.start();
process.stdin.resume().once("end", () => void server.stop());
console.log(server.port);
