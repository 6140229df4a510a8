// What the fake GitHub answers instead of what was asked for (spec 8.4): a status and GitHub's kind of words.

export class Refused extends Error {
  readonly status: number;
  readonly errors: readonly Readonly<Record<string, string>>[];

  constructor(status: number, message: string, errors: Refused["errors"] = []) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

export function notFound(): Refused {
  return new Refused(404, "Not Found");
}

export function invalid(resource: string, error: { field: string; message: string }): Refused {
  return new Refused(422, "Validation Failed", [{ resource, code: "custom", ...error }]);
}
