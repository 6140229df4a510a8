// Lists of GitHub, page by page (spec 6.2): bounded, so that a list without end is only not read to its end.

import type { RepositoryRef } from "../forge.ts";
import type { Call, Client } from "./client.ts";

export const pageSize = 100;
/** More pages than this are not read. */
const pagesLimit = 10;

/** Rows from page `first` on; empty where what is listed does not exist. Throws Failure. */
export async function readPages<T>(
  client: Client,
  ref: RepositoryRef,
  { call, first = 1 }: { call: (page: number) => Call<readonly T[]>; first?: number },
): Promise<T[]> {
  const rows: T[] = [];
  for (let page = first; page < first + pagesLimit; page += 1) {
    const found = await client.read(ref, call(page));
    rows.push(...(found ?? []));
    if (found === null || found.length < pageSize) break;
  }
  return rows;
}
