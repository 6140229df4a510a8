// Our own model of what a forge tells us (spec 6.2): an event says what to re-read, never what is so.

export interface EventText {
  readonly connection: string;
  readonly forgeId: string;
  readonly kind: "issue" | "comment" | "review" | "inline-comment";
  readonly id: string;
}

export type ForgeEvent =
  /** A new text that may hold commands. */
  | { readonly kind: "text"; readonly text: EventText; readonly number: number }
  /** A text was changed; nothing runs because of it (1.4). */
  | { readonly kind: "edited"; readonly text: EventText; readonly number: number }
  /** The operator's own command, given on the machine itself (7.1). */
  | {
      readonly kind: "operator";
      readonly connection: string;
      readonly forgeId: string;
      readonly number: number;
      readonly command: string;
      readonly byName: string;
    };
