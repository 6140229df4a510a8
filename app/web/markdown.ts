// Markdown of comments as safe HTML (spec 1.6, 7.4): a walk over the tree that knows no raw HTML,
// no image that loads and no unusual address. Text that is made to be slow is shown as it is
// written.

import type { fromMarkdown as parse } from "mdast-util-from-markdown";
import { fromMarkdown } from "mdast-util-from-markdown";
import { hashOf } from "../host.ts";
import { html, type Html, type HtmlValue } from "./html.ts";

type Node = ReturnType<typeof parse>["children"][number];
type Parent = Extract<Node, { children: unknown }>;

const parsedLimit = 16 * 1024;
const lineLimit = 1_000;
const depthLimit = 32;
const containerMarksLimit = 12;
const marksLimit = 1_500;
/** More than these and emphasis is switched off: `*a_` takes seconds otherwise. */
const emphasisMarksLimit = 300;
const cacheLimit = 500;

const cache = new Map<string, Html>();

/** Renders a text of at most 16 KB; what lies beyond follows as plain text. */
export function renderMarkdown(source: string): Html {
  const key = hashOf(source);
  const known = cache.get(key);
  if (known !== undefined) return known;
  const rendered = render(source);
  const [oldest] = cache.keys();
  if (cache.size >= cacheLimit && oldest !== undefined) cache.delete(oldest);
  cache.set(key, rendered);
  return rendered;
}

function render(source: string): Html {
  const head = source.slice(0, parsedLimit);
  if (isCostly(head)) return asWritten(source);
  const isCalm = count(head, /[*_]/g) <= emphasisMarksLimit;
  const options = isCalm ? {} : { extensions: [{ disable: { null: ["attention"] } }] };
  try {
    const { children } = fromMarkdown(head, options);
    const rest = source.slice(parsedLimit);
    return html`${blocks(children, 0)}${rest === "" ? null : asWritten(rest)}`;
  } catch {
    return asWritten(source);
  }
}

function isCostly(source: string): boolean {
  if (count(source, /[[\]<*_`!\\&]/g) > marksLimit) return true;
  const lines = source.split("\n");
  return lines.length > lineLimit || lines.some(isDeep);
}

const leadingMarks = /^[ \t]*(?:(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*/;

function isDeep(line: string): boolean {
  const marks = leadingMarks.exec(line)?.[0] ?? "";
  return count(marks, /[>*+-]|\d[.)]/g) > containerMarksLimit;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function asWritten(text: string): Html {
  return html`<pre class="as-written">${text}</pre>`;
}

function blocks(nodes: readonly Node[], depth: number): HtmlValue {
  return nodes.map((node) => element(node, depth));
}

function inside(node: Parent, depth: number): HtmlValue {
  return depth >= depthLimit ? "…" : blocks(node.children, depth + 1);
}

function element(node: Node, depth: number): HtmlValue {
  switch (node.type) {
    case "text":
      return references(node.value);
    case "paragraph":
      return html`<p>${inside(node, depth)}</p>`;
    case "strong":
      return html`<strong>${inside(node, depth)}</strong>`;
    case "emphasis":
      return html`<em>${inside(node, depth)}</em>`;
    case "delete":
      return html`<del>${inside(node, depth)}</del>`;
    case "inlineCode":
      return html`<code>${node.value}</code>`;
    case "code":
      return html`<pre><code>${node.value}</code></pre>`;
    case "blockquote":
      return html`<blockquote>${inside(node, depth)}</blockquote>`;
    case "heading":
      // The page has its own headings: those of a comment come below them.
      return html`<p class="heading h${node.depth}">${inside(node, depth)}</p>`;
    case "list":
      return node.ordered === true
        ? html`<ol start="${node.start ?? 1}">
            ${inside(node, depth)}
          </ol>`
        : html`<ul>
            ${inside(node, depth)}
          </ul>`;
    case "listItem":
      return html`<li>${inside(node, depth)}</li>`;
    case "link":
      return link(node.url, inside(node, depth));
    case "image":
      return link(node.url, `image: ${node.alt ?? ""}`);
    case "break":
      return html`<br />`;
    case "thematicBreak":
      return html`<hr />`;
    case "html":
      return isComment(node.value) ? null : node.value;
    case "definition":
    case "footnoteDefinition":
    case "footnoteReference":
    case "imageReference":
    case "linkReference":
    case "table":
    case "tableCell":
    case "tableRow":
    case "yaml":
      return "children" in node ? inside(node, depth) : null;
  }
}

/** Markers of ours and notes of others to themselves: nobody reads them on a forge either. */
function isComment(markup: string): boolean {
  return /^<!--[\s\S]*-->\s*$/.test(markup);
}

const base = "http://relative.invalid";
const schemes = ["http:", "https:", "mailto:"];

/** The words alone where the address is none that a person would follow from here. */
function link(address: string, words: HtmlValue): HtmlValue {
  const url = URL.parse(address, `${base}/`);
  if (url === null || !schemes.includes(url.protocol)) return words;
  const href = url.origin === base ? url.href.slice(base.length) : url.href;
  return html`<a href="${href}" rel="noopener nofollow">${words}</a>`;
}

const reference = /(?<![\w/&#])(#[1-9]\d{0,5}|m-[2-9a-z]{4,8})(?![\w-])/;

/** `#12` and `m-7k3f` lead to their pages. */
function references(text: string): HtmlValue {
  return text.split(reference).map((part, index) => {
    if (index % 2 === 0) return part;
    const page = part.startsWith("#") ? `/c/${part.slice(1)}` : `/m/${part}`;
    return html`<a href="${page}">${part}</a>`;
  });
}
