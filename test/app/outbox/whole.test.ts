// Texts that are told whole (spec 1.6) keep no secret, wherever they are cut (I11).
import { expect, test } from "vitest";
import { postWhole } from "../../../app/outbox/whole.ts";
import { redact } from "../../../app/redact.ts";
import { openBareHost } from "../../fakes/host.ts";
import { plant } from "../../fakes/ledger.ts";

test("a secret that a cut would run through is no longer there", async () => {
  const { host } = openBareHost();
  const key = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "c2VjcmV0".repeat(8),
    "-----END RSA PRIVATE KEY-----",
  ];
  const filler = Array.from({ length: 59_940 / 60 }, () => "x".repeat(59));
  const body = [...filler, ...key, "The end."].join("\n");
  const posted = await host.ledger.write(async (tx) => {
    const { id: mandateId, conversationId } = await plant(tx);
    const about = { key: "result m", conversationId, mandateId, kind: "tell" } as const;
    await postWhole(tx, { redact: (text) => redact(text, []) }, { ...about, body });
    await postWhole(tx, { redact: (text) => text }, { ...about, key: "bare m", body });
    return tx.all<{ key: string; payload: { body: string } }>(
      "SELECT key, payload_json FROM outbox",
    );
  });
  function told(prefix: string): string[] {
    return posted.filter(({ key }) => key.startsWith(prefix)).map(({ payload }) => payload.body);
  }
  expect(told("bare m")).toHaveLength(2);
  expect(told("result m").join("")).not.toContain("c2VjcmV0");
  expect(told("result m").join("")).toContain("The end.");
});
