// likes HOST:PORT,... STOP USER,... POST,... ROLE
//
// A client that uses examples/cluster/owners.js. It does what likes.py does.
'use strict';

const fs = require('fs');
const path = require('path');
const { Owners } = require(path.join(__dirname, '..', '..', '..', 'examples', 'cluster', 'owners.js'));

async function main() {
  const [entries, stop, users, posts, role] = process.argv.slice(2);
  const nodes = entries.split(',').map((entry) => {
    const at = entry.lastIndexOf(':');

    return { host: entry.slice(0, at), port: Number(entry.slice(at + 1)) };
  });
  const owners = new Owners(nodes, { database: 'postgres', user: role }, { fresh: 500 });
  const seen = new Map();
  let calls = 0;

  for (let last = false; !last;) {
    last = fs.existsSync(stop);
    for (const user of users.split(',')) {
      for (const post of posts.split(',')) {
        const node = await owners.nodeOf(post);

        if (seen.get(post) !== node.port) {
          seen.set(post, node.port);
          console.log('at', post, node.port);
        }
        const [liked] = await owners.call(post, 'SELECT user_id FROM blogstore.create_like($1, $2)', [post, user]);
        const before = (await owners.nodeOf(post)).port;
        const [read] = await owners.call(post,
          `SELECT like_count, current_setting('port')::int AS port FROM blogstore.get_post($1)`, [post]);

        // shards move no more than once meanwhile
        if (liked.user_id !== user || read.like_count < 1 ||
            ![before, (await owners.nodeOf(post)).port].includes(read.port))
          throw new Error(`${post} at ${before}: ${JSON.stringify([liked, read])}`);
        calls += 2;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await owners.close();
  console.log('calls', calls);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
