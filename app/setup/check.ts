// One thing that doctor looked at (spec 7.1): what was seen, and what to do where it is not as it should be.

export interface Check {
  readonly check: string;
  readonly status: "good" | "warning" | "problem";
  readonly seen: string;
  /** Null where nothing is to be done. */
  readonly help: string | null;
}

export function good(check: string, seen: string): Check {
  return { check, status: "good", seen, help: null };
}

export function warning(check: string, seen: string, help: string): Check {
  return { check, status: "warning", seen, help };
}

export function problem(check: string, seen: string, help: string): Check {
  return { check, status: "problem", seen, help };
}
