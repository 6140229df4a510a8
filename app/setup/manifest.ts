// The GitHub App that Holdfast needs (spec 6.6): app.yml with its reasons, and the manifest that GitHub makes an App
// from. app.yml is the one truth; nothing else lists a permission or an event.

import { readFileSync } from "node:fs";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";

export type Access = "read" | "write" | "admin";

export interface Permission {
  readonly name: string;
  readonly access: Access;
  readonly reason: string;
}

export interface AppEvent {
  readonly name: string;
  readonly reason: string;
}

/** What app.yml asks for. */
export interface AppWish {
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly Permission[];
  /** Those that an App subscribes to. */
  readonly events: readonly AppEvent[];
}

/** Events that come to every App; a manifest that names them is refused. */
export const unaskedEvents = ["installation", "installation_repositories"] as const;

/** Where GitHub posts webhooks to, below the installation's public address. */
export const webhookPath = "/api/github/webhooks";

export function readAppWish(): AppWish {
  const file = new URL("../../app.yml", import.meta.url);
  const document = parseDocument(readFileSync(file, "utf8"));
  const permissions = document.get("default_permissions");
  const events = document.get("default_events");
  if (!isMap(permissions) || !isSeq(events)) throw new Error("app.yml has lost its lists");
  return {
    name: String(document.get("name")),
    description: String(document.get("description")),
    permissions: permissions.items.map(({ key, value }) => {
      const { text, reason } = explained(value);
      return { name: explained(key).text, access: text as Access, reason };
    }),
    events: events.items.map((item) => {
      const { text, reason } = explained(item);
      return { name: text, reason };
    }),
  };
}

/** A value of app.yml with the comment behind it. */
function explained(node: unknown): { text: string; reason: string } {
  if (!isScalar(node)) throw new Error("app.yml has something else in place of a word");
  return { text: String(node.value), reason: (node.comment ?? "").trim() };
}

/** What GitHub's form of a new App is given. */
export function manifestFor(
  wish: AppWish,
  place: { readonly name: string; readonly url: string; readonly redirectUrl: string },
): object {
  return {
    name: place.name,
    description: wish.description,
    url: place.url,
    public: false,
    redirect_url: place.redirectUrl,
    hook_attributes: { url: `${place.url}${webhookPath}`, active: true },
    default_permissions: Object.fromEntries(
      wish.permissions.map(({ name, access }) => [name, access]),
    ),
    default_events: wish.events.map(({ name }) => name),
  };
}
