// The other end of a fetch, a look or a push (spec 5.1, 6.5): where it is, and the token that opens it.
// A token is asked for at each use and handed to git alone; it is kept nowhere.

import { isAbsolute } from "node:path";
import { Failure } from "../../policies/failure.ts";
import type { Protocol } from "../environment.ts";
import type { GitOptions } from "../git.ts";

export type TokenSource = (use: "read" | "write") => Promise<string | null>;

export interface Remote {
  /** An absolute path or an https address, without credentials; http on this machine alone. */
  readonly source: string;
  readonly token?: TokenSource | undefined;
}

const httpsAddress = /^https:\/\/[^@\s]+$/;
const loopbackAddress = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?\/[^@\s]*$/;

/** How git may speak to the remote this once. Throws Failure `bad-source` and what the asked throws. */
export async function reach(
  remote: Remote,
  use: "read" | "write",
): Promise<Pick<GitOptions, "protocol" | "token">> {
  const protocol = protocolOf(remote.source);
  return protocol === "file" ? { protocol } : { protocol, token: await remote.token?.(use) };
}

/** True for a repository on this machine's disk. Throws Failure `bad-source`. */
export function isLocal(source: string): boolean {
  return protocolOf(source) === "file";
}

/** Decides by form alone, so that no host name is ever looked up as a path. Throws Failure `bad-source`. */
export function protocolOf(source: string): Protocol {
  if (isAbsolute(source)) return "file";
  if (httpsAddress.test(source)) return "https";
  if (loopbackAddress.test(source)) return "http";
  const message = "neither an absolute path nor an https URL";
  throw new Failure("bad-source", "never", { message });
}
