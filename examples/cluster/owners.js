// owners
//
// A client of a cluster that goes straight to the node that has a post, with
// node-postgres:
//
//   const owners = new Owners([{ host: 'node1.example', port: 5432 }], { database: 'site', user: 'site' });
//   await owners.call(post, 'SELECT * FROM blogstore.get_post($1)', [post]);
//
// Which node has which post is asked of any node (blogstore.node_of()), and remembered
// for a while. When a shard is moved, what is remembered is wrong, and still right
// enough: the node that has had the post has it served by the one that has it now. So a
// move shows in nothing but time, and it is enough to ask again now and then, and when
// a node cannot be reached.
'use strict';

const { Pool } = require('pg');

const FRESH = 60000; // ms that an answer is believed
const MOST = 100000; // posts that are remembered

// Errors of a connection that could not be made
const NOBODY_THERE = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'ENOENT',
  'ETIMEDOUT', '57P03'];

class Owners {
  // entries: { host, port } of some nodes; config: what each Pool is told; fresh: ms;
  // port: that of a pooler on each node, if there is one
  constructor(entries, config, { fresh = FRESH, port = null } = {}) {
    this.entries = entries;
    this.config = config;
    this.fresh = fresh;
    this.port = port;
    this.pools = new Map(); // 'host port' -> Pool
    this.known = new Map(); // post -> { node, asked }
  }

  // The connections to a node
  pool({ host, port }) {
    const name = `${host} ${port}`;

    if (!this.pools.has(name)) {
      const pool = new Pool({ ...this.config, host, port });

      // a connection that ends while nobody uses it
      pool.on('error', () => this.forget({ host, port }));
      this.pools.set(name, pool);
    }
    return this.pools.get(name);
  }

  // Ask the first node that answers: every one serves every request
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

  // { host, port } of the node that has a post
  async nodeOf(post) {
    const known = this.known.get(post);

    if (known && Date.now() - known.asked < this.fresh) return known.node;
    const [{ host, port }] = await this.ask('SELECT host, port FROM blogstore.node_of($1)', [post]);
    const node = { host, port: this.port || port };

    if (this.known.size >= MOST) this.known.clear();
    this.known.set(post, { node, asked: Date.now() });
    return node;
  }

  // A node cannot be reached: whatever was there may have moved
  forget({ host, port }) {
    for (const [post, { node }] of this.known)
      if (node.host === host && node.port === port) this.known.delete(post);
  }

  // Rows of a statement about a post, asked of the node that has it. Where that node
  // cannot be reached, another one is asked. A connection that is lost during the
  // statement is the caller's to know about: what was written may be stored or not.
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
