// Cuts the vendored subset of GitHub's published OpenAPI description (spec 8.4) that the fake GitHub is held to.
// Run by hand when the source's version changes: `node scripts/openapi-subset.mjs <api.github.com.json> <version>`,
// with the file taken out of `npm pack @octokit/openapi`, which at 385 MB is never a dependency.

import { readFileSync, writeFileSync } from "node:fs";

const target = new URL("../test/fakes/github/openapi.json", import.meta.url);

/** What Holdfast calls, and what its tests look at. */
const operations = `
GET /app
GET /app/hook/config
GET /app/hook/deliveries
GET /app/hook/deliveries/{delivery_id}
POST /app/hook/deliveries/{delivery_id}/attempts
POST /app-manifests/{code}/conversions
GET /app/installations
GET /app/installations/{installation_id}
POST /app/installations/{installation_id}/access_tokens
GET /installation/repositories
DELETE /installation/token
GET /meta
GET /orgs/{org}/packages/{package_type}/{package_name}/versions
GET /rate_limit
GET /repos/{owner}/{repo}
GET /repos/{owner}/{repo}/branches/{branch}
POST /repos/{owner}/{repo}/check-runs
GET /repos/{owner}/{repo}/check-runs/{check_run_id}
PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}
GET /repos/{owner}/{repo}/collaborators/{username}/permission
GET /repos/{owner}/{repo}/commits/{ref}
GET /repos/{owner}/{repo}/commits/{ref}/check-runs
GET /repos/{owner}/{repo}/commits/{ref}/status
GET /repos/{owner}/{repo}/git/matching-refs/{ref}
GET /repos/{owner}/{repo}/git/ref/{ref}
GET /repos/{owner}/{repo}/installation
GET /repos/{owner}/{repo}/issues
GET /repos/{owner}/{repo}/issues/comments
GET /repos/{owner}/{repo}/issues/comments/{comment_id}
PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}
DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}
GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
GET /repos/{owner}/{repo}/issues/{issue_number}
GET /repos/{owner}/{repo}/issues/{issue_number}/comments
POST /repos/{owner}/{repo}/issues/{issue_number}/comments
GET /repos/{owner}/{repo}/issues/{issue_number}/reactions
POST /repos/{owner}/{repo}/issues/{issue_number}/reactions
GET /repos/{owner}/{repo}/pulls
POST /repos/{owner}/{repo}/pulls
GET /repos/{owner}/{repo}/pulls/comments
GET /repos/{owner}/{repo}/pulls/comments/{comment_id}
GET /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions
POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions
GET /repos/{owner}/{repo}/pulls/{pull_number}
PATCH /repos/{owner}/{repo}/pulls/{pull_number}
GET /repos/{owner}/{repo}/pulls/{pull_number}/comments
POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies
GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews
POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews
GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}
GET /repos/{owner}/{repo}/releases
GET /repos/{owner}/{repo}/releases/latest
GET /repos/{owner}/{repo}/releases/tags/{tag}
GET /repos/{owner}/{repo}/releases/{release_id}
GET /repos/{owner}/{repo}/tags
GET /user/{account_id}
GET /users/{username}
GET /users/{username}/packages/{package_type}/{package_name}/versions
`
  .trim()
  .split("\n");

/** Keywords that say nothing about the form of a value. */
const prose = new Set(["description", "summary", "title", "example", "examples", "externalDocs"]);
/** Keywords whose members are names of ours to keep, whatever they are called. */
const maps = new Set(["properties", "patternProperties", "definitions"]);

const [path, version] = process.argv.slice(2);
if (path === undefined || version === undefined) {
  console.error("usage: node scripts/openapi-subset.mjs <api.github.com.json> <version>");
  process.exit(2);
}
const source = JSON.parse(readFileSync(path, "utf8"));

// The list wants each account to be a user and an enterprise at once; the answer about one installation is right.
const installations = source.paths["/app/installations"].get.responses["200"];
installations.content["application/json"].schema.items = {
  $ref: "#/components/schemas/installation",
};

const schemas = {};
const paths = {};
for (const operation of operations) {
  const [method, template] = operation.split(" ");
  const found = source.paths[template]?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`${operation} is not in the description`);
  paths[template] ??= {};
  paths[template][method.toLowerCase()] = cutOperation(found);
}
const description = {
  openapi: source.openapi,
  info: {
    title: "GitHub REST API, cut by scripts/openapi-subset.mjs",
    version: `@octokit/openapi ${version}`,
  },
  paths,
  components: { schemas: sortMembers(schemas) },
};
writeFileSync(target, `${JSON.stringify(description)}\n`);

function cutOperation({ operationId, parameters = [], requestBody, responses }) {
  const body = requestBody && resolve(requestBody);
  return {
    operationId,
    parameters: parameters.map(resolve).map((parameter) => ({
      name: parameter.name,
      in: parameter.in,
      ...(parameter.required && { required: true }),
      schema: cutSchema(parameter.schema),
    })),
    ...(body && { requestBody: { required: body.required === true, content: cutContent(body) } }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => {
        const content = cutContent(resolve(response));
        return [status, { description: "", ...(content && { content }) }];
      }),
    ),
  };
}

/** JSON alone: nothing else is asked for or answered. */
function cutContent({ content }) {
  const schema = content?.["application/json"]?.schema;
  return schema && { "application/json": { schema: cutSchema(schema) } };
}

function resolve(part) {
  return part.$ref
    ? part.$ref
        .slice(2)
        .split("/")
        .reduce((all, name) => all[name], source)
    : part;
}

function cutSchema(schema) {
  if (Array.isArray(schema)) return schema.map(cutSchema);
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref !== undefined) {
    reach(schema.$ref);
    return { $ref: schema.$ref };
  }
  const cut = {};
  for (const [key, value] of Object.entries(schema)) {
    if (prose.has(key) || key.startsWith("x-")) continue;
    if (maps.has(key)) cut[key] = mapValues(value, cutSchema);
    else cut[key] = key === "enum" || key === "default" ? value : cutSchema(value);
  }
  return mendNull(cut);
}

/** JSON Schema has no `nullable`: it is understood beside a `type` alone, and no `enum` lets null through. */
function mendNull({ nullable, ...schema }) {
  if (nullable !== true) return schema;
  if (schema.enum !== undefined && !schema.enum.includes(null))
    schema.enum = [...schema.enum, null];
  if (schema.type !== undefined) return { ...schema, nullable };
  return { anyOf: [schema, { type: "null" }] };
}

/** Takes a schema in, with all it refers to. */
function reach(reference) {
  const name = reference.split("/").at(-1);
  if (name in schemas) return;
  schemas[name] = null;
  schemas[name] = cutSchema(source.components.schemas[name]);
}

function sortMembers(map) {
  const names = Object.keys(map).toSorted((one, two) => (one < two ? -1 : 1));
  return Object.fromEntries(names.map((name) => [name, map[name]]));
}

function mapValues(map, change) {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));
}
