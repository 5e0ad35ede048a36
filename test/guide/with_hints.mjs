// Runs the JavaScript code of docs/GUIDE.md that listens, which is the module
// hints.mjs beside this file's copy. Prints a line for each result.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './hints.mjs';
import { createPost, run } from './store.mjs';

const TIMEOUT = 1000 * Number(process.env.PG_TEST_TIMEOUT_DEFAULT || 600);
const rows = async (sql, ...values) => (await run((client) => client.query(sql, values))).rows;
let hints = [];

// Do something, and wait for a hint. Hints that came before are forgotten.
async function hinted(work, isRight) {
  const end = Date.now() + TIMEOUT;

  hints = [];
  await work();
  while (!hints.some(isRight) && Date.now() < end) await sleep(20);
  return hints.some(isRight);
}

const all = (hint) => hint.all;
const told = (found) => (found ? 'all' : 'nothing');

await hinted(() => { listen((hint) => hints.push(hint)); }, all);
console.log('listening');

const [ann] = await rows("SELECT user_id AS id FROM blogstore.create_user('Ann of hints')");
const post = randomUUID();
let found;
await hinted(() => createPost(post, ann.id, 'Title', '', {}), (hint) => { found = hint; return hint.posts.includes(post); });
console.log('a new post:', found.feed, found.users.includes(ann.id));

console.log('a lost connection:', told(await hinted(
  () => rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN blogstore'"), all)));
console.log('a hint behind it:', await hinted(() => createPost(randomUUID(), ann.id, 'Title', '', {}), (hint) => hint.users.includes(ann.id)));
console.log('rubbish:', told(await hinted(() => rows("SELECT pg_notify('blogstore', 'rubbish')"), all)));
console.log('no object:', told(await hinted(() => rows("SELECT pg_notify('blogstore', 'null')"), all)));
console.log('no lists:', await hinted(() => rows(`SELECT pg_notify('blogstore', '{"feed": true, "posts": 5}')`), (hint) => hint.posts.includes(5)));
process.exit();
