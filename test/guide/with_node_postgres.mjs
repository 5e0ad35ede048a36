// Runs the JavaScript code of docs/GUIDE.md, which is the module store.mjs
// beside this file's copy. Prints a line for each result.
import { randomUUID } from 'node:crypto';
import { allComments, answer, createPost, feedPage, pool, run } from './store.mjs';

const one = async (sql, ...values) => Object.values((await run((client) => client.query(sql, values))).rows[0])[0];
const user = (name) => one('SELECT user_id FROM blogstore.create_user($1)', name);

const ann = await user('Ann of JavaScript');
const first = randomUUID();
const posts = [];
for (let n = 0; n < 2; n++) posts.push(await createPost(first, ann, 'First', 'Text', { tags: ['a'] }));
console.log('the same post:', JSON.stringify(posts[0]) === JSON.stringify(posts[1]), await one('SELECT count(*) FROM blogstore.list_user_posts($1)', ann) <= 1);
console.log('types:', ...['id', 'creation_date', 'like_count', 'properties'].map((name) => posts[0][name].constructor.name));

// within some milliseconds, which Dates do not tell apart
await one(`SELECT count(blogstore.create_comment($1, $2, n::text, creation_date => timestamptz '2024-05-05' + n * interval '3 microseconds'))
  FROM generate_series(1, 250) AS n`, first, ann);
for (const size of [100, 125, 250]) {
  const contents = [];

  for await (const comment of allComments(first, size)) contents.push(comment.content);
  console.log('all comments:', size, contents.join() === Array.from({ length: 250 }, (_, n) => n + 1).join());
}

for (let n = 0; n < 7; n++) await createPost(randomUUID(), ann, `Post ${n}`, '', {});
await one("SELECT blogstore.wait_for_posts('1 min')");
const titles = [];
const sizes = [];
let place;
do {
  const page = await feedPage(4, place);

  titles.push(...page.shown.map((post) => post.title));
  sizes.push(page.shown.length);
  place = page.next;
} while (place);
const everything = await run((client) => client.query('SELECT title FROM blogstore.list_feed(NULL)'));
console.log('the feed:', titles.join() === everything.rows.map((post) => post.title).join(), Math.max(...sizes), sizes.every(Boolean));

console.log('a name that is taken:', ...await answer(user, 'ANN OF JAVASCRIPT'));
console.log('no title:', ...await answer(createPost, randomUUID(), ann, '', '', {}));
console.log('a user who is not there:', ...await answer(createPost, randomUUID(), randomUUID(), 'Title', '', {}));
await one('SELECT id FROM blogstore.hide_post($1)', first);
console.log('a hidden post:', ...await answer(one, 'SELECT id FROM blogstore.create_like($1, $2)', first, ann));

let tried;
const failsFirst = (sql) => {
  tried = 0;
  return async (client) => {
    if (++tried === 1) await client.query(sql);
    return (await client.query('SELECT title FROM blogstore.get_post($1)', [first])).rows[0].title;
  };
};
console.log('another in the way:', await run(failsFirst("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")), tried);
console.log('a lost connection:', await run(failsFirst('SELECT pg_terminate_backend(pg_backend_pid())')), tried);
await run(failsFirst('SELECT 1 / 0')).catch((error) => console.log('another error:', error.code, tried));
tried = 0;
await run((client) => { tried++; return client.query("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"); }, 2)
  .catch((error) => console.log('always in the way:', error.code, tried));

// Connections that are lost while they are in the pool, and while a client
// holds one idle
const pid = await one('SELECT pg_backend_pid()');
await run(async (client) => {
  const other = await pool.connect();
  const victim = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  // The client can emit 'end' before the other connection gets its answer, so
  // listen before the query is sent.
  const ended = new Promise((done) => client.once('end', done));

  await other.query('SELECT pg_terminate_backend($1)', [victim]);
  other.release();
  await ended;
}, 1).catch((error) => console.log('lost while it was idle in a transaction:', /terminated|not queryable/.test(error.message), pid > 0));
console.log('and on with another:', await one('SELECT title FROM blogstore.get_post($1)', first));
await pool.end();
