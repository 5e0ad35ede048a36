// Asks PostGraphile what it is given: a schema of the database, and queries.
//
// Usage: node queries.js CONNECTION SCHEMA, with a JSON array of queries on
// standard input: {"query", "variables", "settings", "role", "pages"}. Prints
// a JSON object: "types", the fields of each type by name, and "results", one
// for each query. Needs the package postgraphile (npm ci; NODE_PATH).
//
// "pages" is a path of fields to a connection. The query is repeated with the
// variable $after as long as hasNextPage is true, for 100 pages at most. Its
// result is {"nodes": of all pages, "sizes": number of nodes of each page}.
'use strict';

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

async function main(connectionString, schemaName, requests) {
  const pgPool = new Pool({ connectionString });
  const schema = await createPostGraphileSchema(pgPool, schemaName, {
    ignoreRBAC: false,
    setofFunctionsContainNulls: false,
  });
  const results = [];

  for (const { query, variables, settings, role, pages } of requests) {
    const options = { pgPool, pgSettings: settings || {}, pgDefaultRole: role };
    const ask = (values) => withPostGraphileContext(options, (context) =>
      graphql(schema, query, null, { ...context }, values));

    results.push(pages ? await allPages(ask, pages, variables) : await ask(variables || {}));
  }
  await pgPool.end();
  return { types: fields(schema), results };
}

let input = '';

process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => {
  main(process.argv[2], process.argv[3], JSON.parse(input)).then(
    (answer) => console.log(JSON.stringify(answer)),
    (error) => {
      console.error(error);
      process.exit(1);
    });
});
