// HTML as values (spec 7.4): what is put into a template is text and is escaped, unless a template
// made it. There is no way to turn a string into markup.

class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Markup that only `html` can make. */
export type Html = Markup;

export type HtmlValue = Html | string | number | null | readonly HtmlValue[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A piece of a page. Values in attributes stand in quotes; null is nothing, a list its parts. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const pieces = parts.map((part, index) => part + markupOf(values[index] ?? null));
  return new Markup(pieces.join(""));
}

/** A part that is only there with its value. */
export function maybe<T>(value: T | null | undefined, part: (value: T) => HtmlValue): HtmlValue {
  return value === null || value === undefined ? null : part(value);
}

/** The markup itself, for the answer to a browser. */
export function markupOf(value: HtmlValue): string {
  if (value === null) return "";
  if (value instanceof Markup) return value.toString();
  if (Array.isArray(value)) return value.map(markupOf).join("");
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
