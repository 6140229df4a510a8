// What a transaction of the ledger was, told by its statements (spec 8.4): the names of the places between which a process
// can die.

/** Kinds of ledger writes by what they change; the first that fits names the write. */
export const writeKinds: readonly (readonly [string, RegExp])[] = [
  ["accept", /INSERT INTO command /],
  ["handle", /UPDATE delivery SET handled_at/],
  ["postpone", /UPDATE delivery SET attempts/],
  ["recover", /leases_lost = /],
  ["settle", /settlement_json = /],
  ["conclude", /UPDATE inbox SET state = \?, lease_until = \?, done_at/],
  ["begin", /INSERT INTO turn /],
  ["call", /INSERT INTO tool_call/],
  ["work", /prompt_given_at = /],
  ["phase", /UPDATE turn SET phase/],
  ["claim", /UPDATE inbox SET state = \?, fence = \?, worker/],
  ["recheck", /UPDATE wait SET state = 'claimed'/],
  ["send", /SET state = \?, lease_until = \?, intent_at = \?/],
  ["mark-unsure", /UPDATE outbox SET state = 'unsure'/],
  ["sent", /UPDATE outbox SET state = \?/],
  ["look", /UPDATE mandate/],
];

/** Null for one that is none of these. */
export function kindOf(statements: readonly string[]): string | null {
  const text = statements.join("\n");
  return writeKinds.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}
