// Access to the local pages (spec 7.4), asked over real HTTP: own address, token, cookie, origin.
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import type { HttpRequest } from "../../../app/http.ts";
import { listIssues } from "../../../app/ledger/issues.ts";
import { pageAccess } from "../../../app/web/access.ts";
import { openSite, token, type Site } from "./site.ts";

interface Ask {
  readonly method?: string;
  readonly path: string;
  /** `:port` stands for the port that was given. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers as they are, which `fetch` would not send. */
function ask(site: Site, { method = "GET", path, headers }: Ask): Promise<number> {
  const sent = Object.entries(headers).map(
    ([name, value]) => [name, value.replaceAll(":port", String(site.port))] as const,
  );
  return new Promise((resolve, reject) => {
    const options = { port: site.port, host: "127.0.0.1", method, path };
    const asking = httpRequest({ ...options, headers: Object.fromEntries(sent) }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asking.on("error", reject);
    asking.end(method === "POST" ? "title=a&body=b&key=c" : undefined);
  });
}

const host = "127.0.0.1::port";
const cookie = `holdfast-:port=${token}`;
const origin = "http://127.0.0.1::port";

test.each<[string, Ask, number]>([
  ["the dashboard with the cookie", { path: "/", headers: { host, cookie } }, 200],
  ["by the name localhost", { path: "/", headers: { host: "localhost::port", cookie } }, 200],
  ["HEAD with the cookie", { method: "HEAD", path: "/", headers: { host, cookie } }, 200],
  ["no cookie", { path: "/", headers: { host } }, 401],
  ["no cookie for a record", { path: "/m/m-2345", headers: { host } }, 401],
  ["no cookie for events", { path: "/events", headers: { host } }, 401],
  ["another cookie", { path: "/", headers: { host, cookie: "holdfast-:port=guess" } }, 401],
  ["an empty cookie", { path: "/", headers: { host, cookie: "holdfast-:port=" } }, 401],
  ["another port's cookie", { path: "/", headers: { host, cookie: `holdfast-1=${token}` } }, 401],
  ["the token", { path: `/?token=${token}`, headers: { host } }, 303],
  ["another token", { path: "/?token=guess", headers: { host } }, 403],
  ["another token with the cookie", { path: "/?token=guess", headers: { host, cookie } }, 403],
  ["an empty token", { path: "/?token=", headers: { host } }, 403],
  ["another Host", { path: "/", headers: { host: "evil.example", cookie } }, 421],
  ["another Host's token", { path: `/?token=${token}`, headers: { host: "evil.example" } }, 421],
  ["no port in the Host", { path: "/", headers: { host: "127.0.0.1", cookie } }, 421],
  ["another Host for a probe", { path: "/healthz", headers: { host: "evil.example" } }, 421],
  ["a probe without a cookie", { path: "/healthz", headers: { host } }, 200],
  ["readiness without a cookie", { path: "/readyz", headers: { host } }, 200],
  ["no such page", { path: "/nowhere", headers: { host, cookie } }, 404],
  ["a page outside the tree", { path: "/../package.json", headers: { host, cookie } }, 404],
  ["DELETE", { method: "DELETE", path: "/", headers: { host, cookie } }, 405],
])("%s", async (_, asked, status) => {
  expect(await ask(await openSite(), asked)).toBe(status);
});

test.each<[string, Record<string, string>, number]>([
  ["cookie and origin", { host, cookie, origin }, 303],
  [
    "by localhost throughout",
    { host: "localhost::port", cookie, origin: "http://localhost::port" },
    303,
  ],
  ["no origin", { host, cookie }, 403],
  ["an origin of null", { host, cookie, origin: "null" }, 403],
  ["another origin", { host, cookie, origin: "http://evil.example" }, 403],
  ["another port's origin", { host, cookie, origin: "http://127.0.0.1:1" }, 403],
  ["the other name's origin", { host, cookie, origin: "http://localhost::port" }, 403],
  ["the https origin", { host, cookie, origin: "https://127.0.0.1::port" }, 403],
  ["no cookie", { host, origin }, 401],
  ["another Host", { host: "evil.example", cookie, origin: "http://evil.example" }, 421],
])("a write with %s", async (_, headers, status) => {
  const site = await openSite();
  expect(await ask(site, { method: "POST", path: "/new", headers })).toBe(status);
  const issues = await site.ledger.read((sql) => listIssues(sql, "r-1", 10));
  expect(issues).toHaveLength(status === 303 ? 1 : 0);
});

test("a token in the address of a write is no way in", async () => {
  const site = await openSite();
  const path = `/new?token=${token}`;
  expect(await ask(site, { method: "POST", path, headers: { host, origin } })).toBe(401);
});

test("the address of a write takes no GET that would write", async () => {
  const site = await openSite();
  const answer = await site.get("/m/m-2345/comment?key=a&body=b");
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("POST");
});

test("the printed address becomes a cookie and a clean address", async () => {
  const site = await openSite();
  const answer = await fetch(site.url, { redirect: "manual" });
  expect(answer.headers.get("location")).toBe("/");
  expect(answer.headers.get("set-cookie")).toBe(
    `holdfast-${site.port}=${token}; Path=/; HttpOnly; SameSite=Strict`,
  );
});

test.each([
  [`/m/m-2345?all=&token=${token}`, "/m/m-2345?all="],
  [`//evil.example/?token=${token}`, "/evil.example/"],
  [`/\\evil.example?token=${token}`, "/evil.example"],
])("the token of %s leads to %s and to no other site", async (path, location) => {
  const site = await openSite();
  const answer = await fetch(site.baseUrl + path, { redirect: "manual" });
  expect(answer.headers.get("location")).toBe(location);
});

test.each(["/", "/nowhere", "/page.js", "/healthz", "/?token=guess"])(
  "%s is sent with the strict headers",
  async (path) => {
    const { headers } = await (await openSite()).get(path);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy.split("; ").sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "script-src 'self'",
      "style-src 'self'",
    ]);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("same-origin");
  },
);

describe("behind a public address", () => {
  const publicUrl = "https://holdfast.example";
  const mayPass = pageAccess({ token, port: () => 3_000, publicUrl, open: ["/healthz"] });

  function request(change: Partial<HttpRequest>, headers: Record<string, string>): HttpRequest {
    const query = new URLSearchParams();
    return { method: "GET", path: "/", query, ...change, header: (name) => headers[name] };
  }

  const there = { host: "holdfast.example" };
  const bearer = { authorization: `Bearer ${token}` };
  const post = { method: "POST" } as const;

  test.each<[string, [Partial<HttpRequest>, Record<string, string>], number | null]>([
    ["the bearer", [{}, { ...there, ...bearer }], null],
    ["the bearer on this machine", [{}, { host: "127.0.0.1:3000", ...bearer }], null],
    ["the bearer by IPv6", [{}, { host: "[::1]:3000", ...bearer }], null],
    ["another bearer", [{}, { ...there, authorization: `Bearer ${token}x` }], 401],
    ["another scheme", [{}, { ...there, authorization: `Basic ${token}` }], 401],
    ["an empty bearer", [{}, { ...there, authorization: "Bearer " }], 401],
    ["nothing", [{}, there], 401],
    ["nothing for a probe", [{ path: "/healthz" }, there], null],
    ["another port of it", [{}, { host: "holdfast.example:3000", ...bearer }], 421],
    ["a name below it", [{}, { host: "a.holdfast.example", ...bearer }], 421],
    ["a write from its pages", [post, { ...there, ...bearer, origin: publicUrl }], null],
    ["a write from elsewhere", [post, { ...there, ...bearer, origin: "https://e.example" }], 403],
    ["a write without TLS", [post, { ...there, ...bearer, origin: "http://" + there.host }], 403],
    ["a write without an origin", [post, { ...there, ...bearer }], 403],
  ])("%s", (_, [change, headers], status) => {
    expect(mayPass(request(change, headers))?.status ?? null).toBe(status);
  });

  test("the cookie is for TLS alone", () => {
    const answer = mayPass(request({ query: new URLSearchParams({ token }) }, there));
    expect(answer?.headers?.["set-cookie"]).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
  });
});
