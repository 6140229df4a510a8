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
  throw new TypeError(`field ${field} cannot be stored as ${typeof value}`);
}

/** Inserts one row. */
export async function insert(tx: Tx, table: string, row: object): Promise<void> {
  const { text, values } = insertion(table, row);
  await tx.run(text, ...values);
}

/** Inserts one row and gives the id that the database counted for it. */
export async function insertNumbered(tx: Tx, table: string, row: object): Promise<number> {
  const { text, values } = insertion(table, row);
  const inserted = await tx.first<{ id: number }>(`${text} RETURNING id`, ...values);
  if (inserted === undefined) throw new Error(`a row of ${table} that was just stored has no id`);
  return inserted.id;
}

/** Inserts a row unless one with its unique key is there already; true when it is new. */
export async function insertOnce(tx: Tx, table: string, row: object): Promise<boolean> {
  const { text, values } = insertion(table, row);
  return (await tx.run(`${text} ON CONFLICT DO NOTHING`, ...values)) > 0;
}

function insertion(table: string, row: object): { text: string; values: SqlValue[] } {
  const entries = Object.entries(row);
  const names = entries.map(([field]) => columnOf(field)).join(", ");
  const marks = entries.map(() => "?").join(", ");
  return {
    text: `INSERT INTO ${table} (${names}) VALUES (${marks})`,
    values: entries.map(([field, value]) => valueOf(field, value)),
  };
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
