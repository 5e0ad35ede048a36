// The fields by which node-postgres shows what an error is about.
//
// Connects by PGHOST, PGPORT, PGUSER and PGDATABASE to a database that has the
// extension and its containers, and leaves nothing behind in it. Needs the
// package pg (npm install pg; NODE_PATH). Prints TAP. The exit status is 0 if
// all tests passed.
'use strict';

const assert = require('assert');
const { Client } = require('pg');

const client = new Client();
const MISSING = '00000000-0000-7000-8000-00000000dead';
let tests = 0;
let failed = 0;

// What a call raises, against what it should: code, table, column, constraint
async function raises(call, values, expected) {
  let error = {};

  await client.query('SAVEPOINT before');
  try {
    await client.query(`SELECT blogstore.${call}`, values);
  } catch (raised) {
    error = raised;
  }
  await client.query('ROLLBACK TO before');
  const { code, schema, table, column, constraint } = error;
  const seen = [code, schema, table, column, constraint];

  tests++;
  try {
    const [wanted, ...fields] = expected;

    assert.deepStrictEqual(seen, [wanted, 'blogstore', ...fields]);
    console.log(`ok ${tests} - ${call}`);
  } catch {
    failed++;
    console.log(`not ok ${tests} - ${call}\n# ${JSON.stringify(seen)}`);
  }
}

async function main() {
  await client.connect();
  await client.query('BEGIN');
  const { rows: [{ id: user, username }] } = await client.query(
    `SELECT id, username FROM blogstore.create_user('node ' || blogstore.new_id())`);
  const { rows: [{ id: post }] } = await client.query(
    `SELECT id FROM blogstore.create_post($1, 'title', 'content', hidden => true)`, [user]);

  await raises('create_user($1)', [username], ['23505', 'users', 'username', 'username_unique']);
  await raises(`create_user('other ' || $1::text, $2)`, [username, user], ['23505', 'users', 'user_id', 'user_id_unique']);
  await raises('create_user($1)', [null], ['22004', undefined, 'username', 'not_null']);
  await raises('create_user($1)', [''], ['22023', undefined, 'username', 'not_empty']);
  await raises(`create_post($1, 'x', 'x')`, [MISSING], ['23503', 'users', 'user_id', 'user_exists']);
  await raises('create_like($1, $2)', [MISSING, user], ['23503', 'posts', 'post_id', 'post_exists']);
  await raises('create_like($1, $2)', [post, user], ['23514', 'posts', 'post_id', 'post_shown']);
  await raises('list_feed($1)', [0], ['22023', undefined, 'page_size', 'range']);
  await client.query('ROLLBACK');
  await client.end();
  console.log(`1..${tests}`);
  process.exitCode = failed ? 1 : 0;
}

main().catch((error) => {
  console.log(`Bail out! ${error.message}`);
  process.exit(1);
});
