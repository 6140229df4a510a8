// The index of the agent's own `.git`, read as data (spec 5.2): it may only widen what counts as tracked.
// Never hands a path to anyone that could leave the checkout or reach into a `.git`.

export interface IndexEntry {
  /** Bytes of the path, one character each (latin1). */
  path: string;
  mode: number;
  oid: string;
}

export type ParsedIndex = { ok: true; entries: IndexEntry[] } | { ok: false; why: string };

const headerLength = 12;
const fixedLength = 62;
const extendedFlag = 0x4000;
// An entry has at least 62 bytes and an extension 8; both bound the loops by the file itself.
const unreadableExtensions = new Set(["link", "sdir"]);

/** Entries of a version 2, 3 or 4 index, stages collapsed, unsafe paths left out. Never throws. */
export function parseIndex(bytes: Buffer): ParsedIndex {
  if (bytes.length < headerLength + 20) return { ok: false, why: "too short" };
  if (bytes.toString("latin1", 0, 4) !== "DIRC") return { ok: false, why: "no index" };
  const version = bytes.readUInt32BE(4);
  if (version < 2 || version > 4) return { ok: false, why: `version ${version}` };
  const entries = new Map<string, IndexEntry>();
  let at = headerLength;
  let previous = "";
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const read = readEntry(bytes, { at, version, previous });
    if (read === null) return { ok: false, why: "cut short" };
    if (isSafePath(read.entry.path)) entries.set(read.entry.path, read.entry);
    previous = read.entry.path;
    at = read.end;
  }
  const foreign = findExtension(bytes, at);
  if (foreign !== null) return { ok: false, why: `extension ${foreign}` };
  return { ok: true, entries: [...entries.values()] };
}

/** True for a path that git itself would take into an index on Linux. */
export function isSafePath(path: string): boolean {
  if (path.includes("\0")) return false;
  return path.split("/").every((part) => {
    return part !== "" && part !== "." && part !== ".." && part.toLowerCase() !== ".git";
  });
}

interface Cursor {
  at: number;
  version: number;
  previous: string;
}

function readEntry(bytes: Buffer, cursor: Cursor): { entry: IndexEntry; end: number } | null {
  const { at, version, previous } = cursor;
  if (at + fixedLength > bytes.length) return null;
  const mode = bytes.readUInt32BE(at + 24);
  const oid = bytes.toString("hex", at + 40, at + 60);
  const isExtended = (bytes.readUInt16BE(at + 60) & extendedFlag) !== 0;
  if (isExtended && version === 2) return null;
  let from = at + fixedLength + (isExtended ? 2 : 0);
  let kept = "";
  if (version === 4) {
    const dropped = readOffset(bytes, from);
    if (dropped === null || dropped.value > previous.length) return null;
    kept = previous.slice(0, previous.length - dropped.value);
    from = dropped.end;
  }
  const to = bytes.indexOf(0, from);
  if (to < 0) return null;
  const entry = { path: kept + bytes.toString("latin1", from, to), mode, oid };
  // Before version 4 an entry ends with one to eight NULs on a multiple of eight from its start.
  const end = version === 4 ? to + 1 : at + ((to - at + 8) & ~7);
  return { entry, end };
}

/** The variable-length number of pack files, in which every continuation adds one. */
function readOffset(bytes: Buffer, start: number): { value: number; end: number } | null {
  let value = 0;
  for (let at = start; at < Math.min(start + 4, bytes.length); at += 1) {
    const byte = bytes.readUInt8(at);
    value = at === start ? byte & 127 : ((value + 1) << 7) | (byte & 127);
    if ((byte & 128) === 0) return { value, end: at + 1 };
  }
  return null;
}

/** The first extension that moves entries elsewhere, so that the list read so far is not the whole. */
function findExtension(bytes: Buffer, start: number): string | null {
  let at = start;
  while (at + 8 + 20 <= bytes.length) {
    const name = bytes.toString("latin1", at, at + 4);
    if (unreadableExtensions.has(name)) return name;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return null;
}
