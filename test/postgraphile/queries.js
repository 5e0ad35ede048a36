// Asks PostGraphile what it is given: a schema of the database, and queries.
//
// Usage: node queries.js CONNECTION SCHEMA, with a JSON array of queries on standard
// input: {"query", "variables", "settings", "role"}. Prints a JSON object: "types",
// fields of each type by name, and "results", one a query. Needs the package
// postgraphile (npm ci; NODE_PATH).
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

async function main(connectionString, schemaName, requests) {
  const pgPool = new Pool({ connectionString });
  const schema = await createPostGraphileSchema(pgPool, schemaName, {
    ignoreRBAC: false,
    setofFunctionsContainNulls: false,
  });
  const results = [];

  for (const { query, variables, settings, role } of requests) {
    const options = { pgPool, pgSettings: settings || {}, pgDefaultRole: role };

    results.push(await withPostGraphileContext(options, (context) =>
      graphql(schema, query, null, { ...context }, variables || {})));
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
