// How rows travel between TypeScript and SQL: camelCase fields, snake_case columns, JSON kept as text in `*_json`.
// The only place that builds statements from field names.

import type { SqlValue, Tx } from "./ledger.ts";

/** Fields stored as JSON text. A field is JSON in every table or in none. */
const jsonFields: ReadonlySet<string> = new Set([
  "answer",
  "binding",
  "ceilings",
  "check",
  "checklist",
  "counters",
  "end",
  "ended",
  "events",
  "facts",
  "grant",
  "movedHead",
  "payload",
  "permissions",
  "pinnedHead",
  "policy",
  "problems",
  "receiptReasons",
  "report",
  "settlement",
  "signals",
  "task",
]);

export type Row = Record<string, unknown>;

const columns = new Map<string, string>();
const fields = new Map<string, { name: string; isJson: boolean }>();

function columnOf(field: string): string {
  let column = columns.get(field);
  if (column === undefined) {
    column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (jsonFields.has(field)) column += "_json";
    columns.set(field, column);
  }
  return column;
}

function fieldOf(column: string): { name: string; isJson: boolean } {
  let field = fields.get(column);
  if (field === undefined) {
    const isJson = column.endsWith("_json");
    const stem = isJson ? column.slice(0, -"_json".length) : column;
    const name = stem.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    field = { name, isJson };
    fields.set(column, field);
  }
  return field;
}

/** One database row as an object of ours. */
export function rowFrom(raw: Row): Row {
  const row: Row = {};
  for (const [column, value] of Object.entries(raw)) {
    const field = fieldOf(column);
    row[field.name] = field.isJson && typeof value === "string" ? JSON.parse(value) : value;
  }
  return row;
}

function valueOf(field: string, value: unknown): SqlValue {
  if (value === null || value === undefined) return null;
  if (jsonFields.has(field)) return JSON.stringify(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" || typeof value === "number") return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`field ${field} cannot be stored as ${typeof value}`);
}

/** Inserts one row. */
export async function insert(tx: Tx, table: string, row: object): Promise<void> {
  const { text, values } = insertion(table, [row]);
  await tx.run(text, ...values);
}

/** Inserts one row and gives the id that the database counted for it. */
export async function insertNumbered(tx: Tx, table: string, row: object): Promise<number> {
  const { text, values } = insertion(table, [row]);
  const inserted = await tx.first<{ id: number }>(`${text} RETURNING id`, ...values);
  if (inserted === undefined) throw new Error(`a row of ${table} that was just stored has no id`);
  return inserted.id;
}

/** Inserts a row unless one with its unique key is there already; true when it is new. */
export async function insertOnce(tx: Tx, table: string, row: object): Promise<boolean> {
  return (await insertEach(tx, table, [row])) > 0;
}

/** Inserts rows of the same fields, but for those whose unique key is there already; returns how many are new. */
export async function insertEach(tx: Tx, table: string, rows: readonly object[]): Promise<number> {
  let count = 0;
  for (const portion of portions(rows)) {
    const { text, values } = insertion(table, portion);
    count += await tx.run(`${text} ON CONFLICT DO NOTHING`, ...values);
  }
  return count;
}

/** The fields are those of the first row. */
function insertion(table: string, rows: readonly object[]): { text: string; values: SqlValue[] } {
  const fields = Object.keys(rows[0] ?? {});
  const row = `(${marksFor(fields)})`;
  return {
    text: `INSERT INTO ${table} (${fields.map(columnOf).join(", ")}) VALUES ${rows.map(() => row).join(", ")}`,
    values: rows.flatMap((one) => fields.map((field) => valueOf(field, (one as Row)[field]))),
  };
}

/** As many placeholders as there are values, for a list of them. */
export function marksFor(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

const portionLimit = 256;

/**
 * The same items in lists whose lengths are powers of two: statements over lists are kept prepared, and so there are only
 * a few of each.
 */
export function portions<T>(items: readonly T[]): T[][] {
  const lists: T[][] = [];
  for (let from = 0; from < items.length;) {
    const left = Math.min(items.length - from, portionLimit);
    const length = 2 ** Math.floor(Math.log2(left));
    lists.push(items.slice(from, from + length));
    from += length;
  }
  return lists;
}

/** Changes the rows that match all of `where`; returns how many. */
export async function update(
  tx: Tx,
  table: string,
  change: { set: object; where: object },
): Promise<number> {
  const set = Object.entries(change.set);
  const where = Object.entries(change.where);
  const assignments = set.map(([field]) => `${columnOf(field)} = ?`).join(", ");
  const conditions = where.map(([field]) => `${columnOf(field)} = ?`).join(" AND ");
  return tx.run(
    `UPDATE ${table} SET ${assignments} WHERE ${conditions}`,
    ...[...set, ...where].map(([field, value]) => valueOf(field, value)),
  );
}

/** Changes the rows with these ids. */
export async function updateEach(
  tx: Tx,
  table: string,
  change: { set: object; ids: readonly (string | number)[] },
): Promise<void> {
  const set = Object.entries(change.set);
  const assignments = set.map(([field]) => `${columnOf(field)} = ?`).join(", ");
  const values = set.map(([field, value]) => valueOf(field, value));
  for (const ids of portions(change.ids)) {
    const text = `UPDATE ${table} SET ${assignments} WHERE id IN (${marksFor(ids)})`;
    await tx.run(text, ...values, ...ids);
  }
}
