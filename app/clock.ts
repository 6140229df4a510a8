// The clock that due times and leases are judged by (spec 3.5, 8.2): the machine's, except that it never goes back.

/** Steps back by less than this are the clock's ordinary corrections; it then stands still for a moment. */
const toleranceMs = 1_000;

/**
 * Epoch ms. After a jump backwards the time goes on from where it was until the process ends; a jump forwards is
 * followed, as after a sleep of the machine. `aheadMs` rehearses the future.
 */
export function openClock(machine: () => number, aheadMs: number): () => number {
  let offsetMs = aheadMs;
  let last = 0;
  return () => {
    const at = machine() + offsetMs;
    if (at < last - toleranceMs) offsetMs += last - at;
    last = Math.max(last, machine() + offsetMs);
    return last;
  };
}
