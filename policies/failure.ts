// Failures of the world (style of errors: refusal = value, failure = this, bug = assert).
// Made only in adapters and runners; its text goes to the log and never to a person or a model (I12).

export type Retry = "now" | "later" | "never";

/** Something outside went wrong. `code` is a short stable word, `retry` tells the rule what may be tried again. */
export class Failure extends Error {
  readonly code: string;
  readonly retry: Retry;

  constructor(code: string, retry: Retry, options: { message: string; cause?: unknown }) {
    super(options.message, { cause: options.cause });
    this.name = "Failure";
    this.code = code;
    this.retry = retry;
  }
}
