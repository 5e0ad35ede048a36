// owners
//
// A client of a cluster that sends requests to the node that has the post,
// with node-postgres:
//
//   const owners = new Owners([{ host: 'node1.example', port: 5432 }],
//     { database: 'site', user: 'site' });
//   await owners.call(post, 'SELECT * FROM blogstore.get_post($1)', [post]);
//
// The client asks any node for the node of a post (blogstore.node_of()), and
// caches the answer for a minute. A cached answer may be outdated after a
// shard has moved. Requests still succeed, because the old node forwards them
// to the new one; they only take longer. So the client asks again only after a
// minute, or when a node cannot be reached.
'use strict';

const { Pool } = require('pg');

const FRESH = 60000; // ms for which an answer is cached
const MOST = 100000; // posts in the cache

// Error codes of connections that could not be made
const NOBODY_THERE = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'ENOENT',
  'ETIMEDOUT', '57P03'];

class Owners {
  // entries: { host, port } of some nodes
  // config: options of each Pool
  // fresh: ms for which an answer is cached
  // port: the port of a pooler on each node, if there is one
  constructor(entries, config, { fresh = FRESH, port = null } = {}) {
    this.entries = entries;
    this.config = config;
    this.fresh = fresh;
    this.port = port;
    this.pools = new Map(); // 'host port' -> Pool
    this.known = new Map(); // post -> { node, asked }
  }

  // Return the pool of connections to a node.
  pool({ host, port }) {
    const name = `${host} ${port}`;

    if (!this.pools.has(name)) {
      const pool = new Pool({ ...this.config, host, port });

      // The pool emits "error" when an idle connection ends.
      pool.on('error', () => this.forget({ host, port }));
      this.pools.set(name, pool);
    }
    return this.pools.get(name);
  }

  // Run a statement on the first node that can be reached. Every node serves
  // every request.
  async ask(statement, values) {
    let last;

    for (const node of this.entries) {
      try {
        return (await this.pool(node).query(statement, values)).rows;
      } catch (error) {
        if (!NOBODY_THERE.includes(error.code)) throw error;
        last = error;
      }
    }
    throw last;
  }

  // Return { host, port } of the node that has a post.
  async nodeOf(post) {
    const known = this.known.get(post);

    if (known && Date.now() - known.asked < this.fresh) return known.node;
    const [{ host, port }] = await this.ask('SELECT host, port FROM blogstore.node_of($1)', [post]);
    const node = { host, port: this.port || port };

    if (this.known.size >= MOST) this.known.clear();
    this.known.set(post, { node, asked: Date.now() });
    return node;
  }

  // Drop the cached answers for a node that cannot be reached: its posts may
  // have moved.
  forget({ host, port }) {
    for (const [post, { node }] of this.known)
      if (node.host === host && node.port === port) this.known.delete(post);
  }

  // Run a statement about a post on the node that has it, and return the rows.
  // If that node cannot be reached, another node runs the statement. If the
  // connection is lost during the statement, the error goes to the caller: the
  // statement may or may not have been committed.
  async call(post, statement, values) {
    const node = await this.nodeOf(post);

    try {
      return (await this.pool(node).query(statement, values)).rows;
    } catch (error) {
      if (error.code === undefined || error.code.startsWith('57P')) this.forget(node);
      if (!NOBODY_THERE.includes(error.code)) throw error;
      this.forget(node);
      return this.ask(statement, values);
    }
  }

  async close() {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }
}

module.exports = { Owners };
