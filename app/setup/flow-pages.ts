// What the manifest flow shows in a browser (spec 7.1): the form with every permission and its reason, the end, and
// refusals. No page holds a key or a secret, and none runs a script.

import type { HttpAnswer } from "../http.ts";
import { securityHeaders } from "../web/access.ts";
import { html, markupOf, type HtmlValue } from "../web/html.ts";
import type { CreatedApp } from "./github-api.ts";
import type { AppWish } from "./manifest.ts";

/** `strict-origin` keeps the path of an address to ourselves and still tells GitHub whose form it gets. */
export function pageHeaders(web: string): Readonly<Record<string, string>> {
  return {
    ...securityHeaders,
    "referrer-policy": "strict-origin",
    "content-security-policy":
      `default-src 'none'; style-src 'unsafe-inline'; form-action ${new URL(web).origin}; ` +
      "base-uri 'none'; frame-ancestors 'none'",
  };
}

export function startPage(form: {
  readonly wish: AppWish;
  readonly name: string;
  readonly organisation: string | null;
  readonly action: string;
  readonly manifest: object;
}): HttpAnswer {
  const { wish, name, organisation, action, manifest } = form;
  const permissions = wish.permissions.map(
    ({ name: permission, access, reason }) =>
      html`<tr>
        <td><code>${permission}</code></td>
        <td>${access}</td>
        <td>${reason}</td>
      </tr>`,
  );
  const body = html`<p>
      GitHub will make the App <strong>${name}</strong> for
      ${organisation === null ? "your account" : organisation}, with these permissions and no
      others. Its keys come back to this machine alone.
    </p>
    <table>
      <tr>
        <th>Permission</th>
        <th>Access</th>
        <th>What for</th>
      </tr>
      ${permissions}
    </table>
    <form action="${action}" method="post">
      <input type="hidden" name="manifest" value="${JSON.stringify(manifest)}" />
      <button>Make the App on GitHub</button>
    </form>`;
  return page(200, "Set up GitHub", body);
}

export function donePage(app: CreatedApp): HttpAnswer {
  const body = html`<p>Its keys are stored on this machine. You can close this page.</p>
    <p>
      Next: <a href="${app.html_url}/installations/new">install it</a> where it shall work, then run
      <code>holdfast start</code>.
    </p>`;
  return page(200, `The App ${app.slug} is made`, body);
}

const deleteIt = "Delete the new App in GitHub's settings and run the command again.";

const refusals = {
  "foreign-host": [421, "Not this address", "Open the address that the command printed."],
  "not-here": [404, "Nothing here", "Open the address that the command printed."],
  "other-run": [403, "Not from this run", "Open the address that the command printed last."],
  over: [410, "This is over", "The command has ended or has what it needs; look at its terminal."],
  "no-code": [400, "Nothing came back", "GitHub sent no code; go back to the form and try again."],
  unavailable: [502, "GitHub did not answer", "Reload this page to ask it once more."],
  refused: [502, "GitHub did not take the code", `It works once and for an hour. ${deleteIt}`],
  kept: [409, "Nothing was replaced", `Other keys were stored in the meantime. ${deleteIt}`],
  lost: [500, "The keys were not stored", `See what the command says. ${deleteIt}`],
} as const satisfies Readonly<Record<string, readonly [number, string, string]>>;
export type Refusal = keyof typeof refusals;

export function refusalPage(refusal: Refusal): HttpAnswer {
  const [status, title, words] = refusals[refusal];
  return page(status, title, html`<p>${words}</p>`);
}

function page(status: number, title: string, body: HtmlValue): HttpAnswer {
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Holdfast</title>
        <link rel="icon" href="data:," />
        <style>
          body {
            max-width: 44rem;
            margin: 3rem auto;
            padding: 0 1rem;
            font:
              1rem/1.5 system-ui,
              sans-serif;
          }
          td,
          th {
            padding: 0.2rem 1rem 0.2rem 0;
            text-align: left;
            vertical-align: top;
          }
          button {
            margin-top: 1rem;
            padding: 0.5rem 1rem;
            font: inherit;
          }
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`;
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: markupOf(whole),
  };
}
