// What a bench tells (spec 8.5): one row per measurement, ours beside a named opponent of the same run. Judges the
// ratio; an absolute time only where the disk was quiet enough to tell.

export interface Row {
  readonly name: string;
  readonly ours: number;
  readonly opponent: number;
  readonly unit: string;
  /** Ours by the opponent's. */
  readonly ratio: number;
  /** Of the ratio, or of `ours` in its unit; null for what is told and not judged. */
  readonly target: number | null;
  /** Null where nothing was judged. */
  readonly met: boolean | null;
  /** The disk was too slow for absolute times while this ran. */
  readonly noisy?: true;
}

interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly opponent: number;
}

/** A rate that must be at least `target` times the opponent's. */
export function atLeast(measured: Measured, target: number): Row {
  const row = rowOf(measured, target);
  return { ...row, met: row.ratio >= target };
}

/** A time or size that must be at most `target` times the opponent's. */
export function below(measured: Measured, target: number): Row {
  const row = rowOf(measured, target);
  return { ...row, met: row.ratio <= target };
}

/** A time of ours that must be at most `target` in its unit, whatever the opponent's is. */
export function atMost(measured: Measured, target: number, isNoisy: boolean): Row {
  const row = rowOf(measured, target);
  return isNoisy ? { ...row, noisy: true } : { ...row, met: measured.ours <= target };
}

/** Told beside the others, and not judged. */
export function told(measured: Measured): Row {
  return rowOf(measured, null);
}

function rowOf({ name, unit, ours, opponent }: Measured, target: number | null): Row {
  const ratio = rounded(ours / opponent, 3);
  return {
    name,
    ours: rounded(ours, 1),
    opponent: rounded(opponent, 1),
    unit,
    ratio,
    target,
    met: null,
  };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that this share of all is below; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
