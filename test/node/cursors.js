// Pages through all lists with the Date objects that node-postgres returns,
// which hold milliseconds: nothing may be skipped or come twice.
//
// Connects by PGHOST, PGPORT, PGUSER and PGDATABASE to a database that has the
// extension and its containers, and leaves nothing behind in it. Needs the
// package pg (npm install pg; NODE_PATH). Prints TAP. The exit status is 0 if
// all tests passed.
'use strict';

const { Client } = require('pg');

const client = new Client();
const PAGES = [1, 7, 100, 333];
let tests = 0;
let failed = 0;

function ok(condition, name, detail) {
  tests++;
  failed += condition ? 0 : 1;
  console.log(`${condition ? 'ok' : 'not ok'} ${tests} - ${name}`);
  if (!condition && detail) console.log(`# ${detail}`);
}

async function rows(sql, values) {
  return (await client.query(sql, values)).rows;
}

// All ids of a list, page by page, by the cursors that the driver gives. call
// ends with page_size, before_date and before_id; of is its first argument.
async function walk(call, of, size) {
  const seen = [];
  let date = null;
  let id = null;

  for (;;) {
    const page = await rows(call, [...of, size, date, id]);

    for (const row of page) seen.push(row.id);
    if (page.length < size || seen.length > 20000) return seen;
    date = page[page.length - 1].creation_date;
    id = page[page.length - 1].id;
    if (!(date instanceof Date)) throw new Error('creation_date is no Date');
  }
}

function compare(seen, all, name) {
  const skipped = all.filter((id) => !new Set(seen).has(id)).length;

  ok(seen.length === all.length && seen.every((id, i) => id === all[i]), name,
    `${seen.length} rows of ${all.length}, ${skipped} skipped`);
}

// A store of its own, all within some milliseconds: posts of one user, and
// comments and likes of a post of another's.
async function fill(dates) {
  const [{ id: author }] = await rows(
    `SELECT id FROM blogstore.create_user('node ' || blogstore.new_id())`);
  const [{ id: reader }] = await rows(
    `SELECT id FROM blogstore.create_user('node ' || blogstore.new_id())`);
  const [{ id: post }] = await rows(
    `SELECT id FROM blogstore.create_post($1, 'title', '')`, [reader]);
  const fans = (await rows(
    `SELECT (SELECT id FROM blogstore.create_user('fan ' || n || ' ' || blogstore.new_id())) AS id
     FROM generate_series(1, 250) n`)).map((row) => row.id);
  // microseconds after the first date, spread over a few milliseconds
  const date = `$1::timestamptz + n * 7919 % 4999 * interval '1 microsecond'`;

  await rows(`SELECT count(blogstore.create_post($2, 'post ' || n, '', NULL, ${date}))
    FROM generate_series(1, 700) n`, [dates, author]);
  await rows(`SELECT count(blogstore.create_comment($2, $3, 'comment ' || n, NULL, ${date}))
    FROM generate_series(1, 500) n`, [dates, post, reader]);
  await rows(`SELECT count(blogstore.create_like($2, fan, ${date}))
    FROM unnest($3::uuid[]) WITH ORDINALITY AS f (fan, n)`, [dates, post, fans]);
  await rows('SELECT blogstore.wait_for_views()');
  return { author, reader, post, fans };
}

async function checkLists(store, name) {
  const lists = [
    ['list_user_posts', [store.author]],
    ['list_post_comments', [store.post]],
    ['list_post_likes', [store.post]],
    ['list_feed', []],
  ];

  for (const [list, of] of lists) {
    const args = [...of, null, null, null].map((_, i) => `$${i + 1}`).join(', ');
    const call = `SELECT id, creation_date FROM blogstore.${list}(${args})`;
    const all = (await rows(call, [...of, null, null, null])).map((row) => row.id);

    ok(all.length >= 250, `${name}: ${list} has rows`, `${all.length} rows`);
    for (const size of PAGES)
      compare(await walk(call, of, size), all, `${name}: ${list}, pages of ${size}`);
    compare(await walk(call.replace(/\)$/, ', true)'), of, 7), all.reverse(),
      `${name}: ${list}, oldest first`);
  }
}

async function main() {
  await client.connect();
  for (const dates of ['2024-05-05 12:34:56.789012+00', '1969-12-31 23:59:59.997001+00',
    '1912-06-23 05:06:07.890123+00']) {
    const store = await fill(dates);

    try {
      await checkLists(store, dates.slice(0, 4));
    } finally {
      await rows('SELECT count(blogstore.delete_user(id)) FROM unnest($1::uuid[]) id',
        [[store.author, store.reader, ...store.fans]]);
    }
  }
  await client.end();
  console.log(`1..${tests}`);
}

main().catch((error) => {
  console.log(`Bail out! ${error.message}`);
  failed++;
}).finally(() => {
  process.exit(failed > 0 ? 1 : 0);
});
