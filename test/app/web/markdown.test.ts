// Markdown of comments as HTML (spec 1.6, 7.4): what people mean is shown, what attacks is text, and
// what would take long is not parsed.
import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { markupOf } from "../../../app/web/html.ts";
import { renderMarkdown } from "../../../app/web/markdown.ts";

function render(source: string): string {
  return markupOf(renderMarkdown(source));
}

test.each([
  ["a *b* **c** `d<e`", "<p>a <em>b</em> <strong>c</strong> <code>d&lt;e</code></p>"],
  ["> quoted", "<blockquote><p>quoted</p></blockquote>"],
  ["3. a\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'],
  ["```sh\na <b\n```", "<pre><code>a &lt;b</code></pre>"],
  ["# Title", '<p class="heading h1">Title</p>'],
  ["see #12 and m-7k3f", '<p>see <a href="/c/12">#12</a> and <a href="/m/m-7k3f">m-7k3f</a></p>'],
  ["a#12 x/m-7k3f #0 m-7k3f-x", "<p>a#12 x/m-7k3f #0 m-7k3f-x</p>"],
  ["[a](https://b.example/)", '<p><a href="https://b.example/" rel="noopener nofollow">a</a></p>'],
  ["[a](/c/1#top)", '<p><a href="/c/1#top" rel="noopener nofollow">a</a></p>'],
  [
    "![a](https://b.example/i.png)",
    '<p><a href="https://b.example/i.png" rel="noopener nofollow">image: a</a></p>',
  ],
  ["a <!-- hidden --> b", "<p>a  b</p>"],
  ["<!-- hidden -->", ""],
])("%j becomes %s", (source, wanted) => {
  expect(render(source).replace(/>\s+</g, "><")).toBe(wanted.replace(/>\s+</g, "><"));
});

test.each([
  "[a](javascript:alert(1))",
  "[a](JAVA&#x73;cript:alert(1))",
  "[a](data:text/html,x)",
  "[a](vbscript:x)",
  "[a](file:///etc/passwd)",
  "[a](\u0001javascript:alert(1))",
  "![a](javascript:alert(1))",
  "<javascript:alert(1)>",
])("%s leads nowhere", (source) => {
  expect(render(source)).not.toContain("<a ");
});

test.each([
  "<script>alert(1)</script>",
  "a <img src=x onerror=alert(1)>",
  "<!-- --><script>alert(1)</script>",
  '[a](https://b.example/"onclick="x)',
  "`</code><script>`",
])("%s is shown as text", (source) => {
  expect(render(source)).not.toMatch(/<(script|img)|" onclick|"onclick/);
});

describe("text that is made to be slow is shown as it is written", () => {
  test.each([
    ["*a_", 5_000],
    ["> ", 8_000],
    ["> - ", 4_000],
    ["1. ", 5_000],
    ["[", 16_000],
    ["[a](", 4_000],
    ["[a][b]", 3_000],
    ["<", 16_000],
    ["`a``", 4_000],
    ["- a\n", 4_000],
    ["[x]: /u\n", 2_000],
    ["a\n", 8_000],
  ])("%j times %i", (unit, count) => {
    expect(render(unit.repeat(count))).toMatch(/^<pre class="as-written">/);
  });

  test("emphasis is given up before the text is", () => {
    const source = `**bold** ${"a_ ".repeat(400)}`;
    expect(render(source)).toContain("**bold**");
    expect(render("**bold** and more")).toContain("<strong>bold</strong>");
  });

  test("what lies beyond 16 KB follows as plain text", () => {
    const source = `**bold**\n\n${"word ".repeat(4_000)}**end**`;
    expect(render(source)).toContain("<strong>bold</strong>");
    expect(render(source)).toMatch(/<pre class="as-written">[\s\S]*\*\*end\*\*<\/pre>$/);
  });

  test("lists within lists end somewhere", () => {
    const lines = Array.from({ length: 120 }, (_, depth) => `${"  ".repeat(depth)}- a`);
    expect(render(lines.join("\n"))).toContain("…");
  });
});

test("whatever is written, only our own few tags come out", () => {
  const parts = [
    "<",
    ">",
    "[",
    "](",
    ")",
    "`",
    "*",
    "_",
    "\n",
    "- ",
    "&#60;",
    '"',
    "'",
    "javascript:",
    "script",
  ];
  const source = array(oneof(constantFrom(...parts), string({ maxLength: 8 })), {
    maxLength: 60,
  });
  const allowed = /^<\/?(p|em|strong|del|code|pre|blockquote|ol|ul|li|a|br|hr)[ >/]/;
  const href = /href="(?!https?:|mailto:|[/#?])/;
  assert(
    property(source, (pieces) => {
      const rendered = render(pieces.join(""));
      const tags = rendered.match(/<[^>]*>?/g) ?? [];
      return tags.every((tag) => allowed.test(tag)) && !href.test(rendered);
    }),
  );
});
