// How much the bot says at most (spec 6.3): refusals, hints and answers are counted and end in one last word; what
// people wait for is not.
import { expect, test } from "vitest";
import { post } from "../../../../app/ledger/outbox.ts";
import { dayMs, hourMs } from "../../../../policies/durations.ts";
import { openIntake, textEvent, type Intake } from "../../../fakes/intake.ts";
import { write } from "../../../fakes/network-forge.ts";

async function told({ host }: Intake): Promise<string[]> {
  const rows = await host.ledger.read((sql) =>
    sql.all<{ payload: { body: string } }>(
      "SELECT payload_json FROM outbox WHERE kind = 'tell' ORDER BY id",
    ),
  );
  return rows.map(({ payload }) => payload.body);
}

/** Everybody of this number asks once for something that they may not do. */
async function crowd(intake: Intake, { from, count }: { from: number; count: number }) {
  for (let id = from; id < from + count; id += 1) {
    const author = { id: String(id), name: `stranger-${id}`, isBot: false };
    write(intake.world, { id: String(id), body: "@holdfast do it", author });
    await intake.deliver(`g-${id}`, [textEvent(String(id))]);
    await intake.accept();
  }
}

test("a crowd without rights gets twenty refusals an hour, then one last word and silence", async () => {
  const intake = openIntake();
  await crowd(intake, { from: 1_000, count: 30 });
  const first = await told(intake);
  expect(first).toHaveLength(21);
  expect(first.at(-1)).toContain("20");
  await intake.host.ledger.write((tx) =>
    post(tx, {
      key: "result m-1",
      conversationId: "github-7#1",
      mandateId: null,
      kind: "tell",
      payload: { body: "what people wait for" },
    }),
  );
  expect((await told(intake)).at(-1)).toBe("what people wait for");
  intake.clock.at += hourMs + 1;
  await crowd(intake, { from: 2_000, count: 1 });
  expect(await told(intake)).toHaveLength(23);
});

test("one person gets one refusal a day, however often he asks", async () => {
  const intake = openIntake();
  const author = { id: "1000", name: "stranger", isBot: false };
  for (const id of ["1", "2", "3"]) {
    write(intake.world, { id, body: "@holdfast do it", author });
    await intake.deliver(`g-${id}`, [textEvent(id)]);
    await intake.accept();
  }
  expect(await told(intake)).toHaveLength(1);
  intake.clock.at += dayMs;
  write(intake.world, { id: "4", body: "@holdfast do it", author });
  await intake.deliver("g-4", [textEvent("4")]);
  await intake.accept();
  expect(await told(intake)).toHaveLength(2);
});
