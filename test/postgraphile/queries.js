// Asks PostGraphile what it is given: a schema of the database, and queries.
//
// Usage: node queries.js CONNECTION SCHEMA. Each line of standard input is a
// JSON array of queries: {"query", "variables", "settings", "role", "pages"}.
// For each it prints a line, a JSON object whose "results" has one result for
// each query. Needs the package postgraphile (npm ci; NODE_PATH).
//
// "pages" is a path of fields to a connection. The query is repeated with the
// variable $after as long as hasNextPage is true, for 100 pages at most. Its
// result is {"nodes": of all pages, "sizes": number of nodes of each page}.
//
// The result of {"types": true} is the fields of each type by name.
'use strict';

const { createInterface } = require('readline');
const { createPostGraphileSchema, withPostGraphileContext } = require('postgraphile');
const { graphql, isObjectType } = require('graphql');
const { Pool } = require('pg');

function fields(schema) {
  const types = {};

  for (const type of Object.values(schema.getTypeMap()))
    if (isObjectType(type) && !type.name.startsWith('__'))
      types[type.name] = Object.fromEntries(
        Object.values(type.getFields()).map((field) => [field.name, {
          type: String(field.type),
          args: Object.fromEntries(field.args.map((arg) => [arg.name, String(arg.type)])),
        }]));
  return types;
}

// Ask a query for page after page of the connection at a path.
async function allPages(ask, path, variables) {
  const nodes = [];
  const sizes = [];

  for (let after = null, more = true; more && sizes.length < 100;) {
    const result = await ask({ ...variables, after });

    if (result.errors)
      return result;
    const page = path.split('.').reduce((at, field) => at[field], result.data);

    nodes.push(...page.nodes);
    sizes.push(page.nodes.length);
    after = page.pageInfo.endCursor;
    more = page.pageInfo.hasNextPage;
  }
  return { nodes, sizes };
}

async function answer(pgPool, schema, requests) {
  const results = [];

  for (const { query, variables, settings, role, pages, types } of requests) {
    const options = { pgPool, pgSettings: settings || {}, pgDefaultRole: role };
    const ask = (values) => withPostGraphileContext(options, (context) =>
      graphql(schema, query, null, { ...context }, values));

    if (types) results.push(fields(schema));
    else results.push(pages ? await allPages(ask, pages, variables) : await ask(variables || {}));
  }
  return { results };
}

async function main(connectionString, schemaName) {
  const pgPool = new Pool({ connectionString });
  const schema = await createPostGraphileSchema(pgPool, schemaName, {
    ignoreRBAC: false,
    setofFunctionsContainNulls: false,
  });

  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await answer(pgPool, schema, JSON.parse(line))));
  await pgPool.end();
}

main(process.argv[2], process.argv[3]).catch((error) => {
  console.error(error);
  process.exit(1);
});
