// The one person of the local forge (spec 6.1): whoever works at this machine may do everything there.

import { userInfo } from "node:os";
import type { Person } from "./forge.ts";

/** Who works at this machine, as the local forge knows them. */
export function operator(): Person {
  try {
    return { id: "1", name: userInfo().username, isBot: false };
  } catch {
    // A user id without a name, as in many containers.
    return { id: "1", name: "operator", isBot: false };
  }
}
