// Live pages: tell browsers that what they show may have changed
//
// The store sends hints with the keys of what has changed (blogstore.notify).
// One connection listens to them for all browsers. Each browser keeps a
// request open, and gets an event when a hint applies to its page. The event
// says nothing else: the browser fetches its part of the page again, as its
// own visitor.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { notFound } from './errors.js';
import { field } from './form.js';

const PAUSE = 500;
const MAX_PAUSE = 30_000;
// Proxies close connections on which nothing is sent for a minute.
const ALIVE = 30_000;
// Bytes for a browser that does not read its events
const MAX_UNREAD = 16_384;

// Whether a hint applies to a page, by what the page shows. A hint does not
// name a post that is hidden or deleted: then only "feed" is true.
const APPLIES = {
  feed: (hint) => hint.feed,
  post: (hint, id) => hint.feed || hint.posts.includes(id),
  user: (hint, id) => hint.feed || hint.users.includes(id),
  // The users whom the visitor follows are not known here.
  home: (hint) => hint.feed || hint.users.length > 0,
  topic: (hint, topic) => hint.topics.includes(topic),
};

// The address at which a page gets its events
export const livePath = (on, key = '') => `/live?${new URLSearchParams({ on, key })}`;

export class Live {
  #browsers = new Set();
  #client;
  #closed = false;
  // Changes with each hint. A page has the version at which it was made, so a
  // browser learns of a hint that came before its events began.
  #version = Date.now();

  constructor(connectionString) {
    this.connectionString = connectionString;
    this.alive = setInterval(() => this.#browsers.forEach((browser) => this.#write(browser, ':\n\n')), ALIVE);
    this.#listen();
  }

  get version() {
    return String(this.#version);
  }

  // Listen, and connect again whenever the connection is lost. Hints may have
  // been missed before, so then anything may have changed.
  async #listen() {
    for (let pause = PAUSE; !this.#closed; pause = Math.min(2 * pause, MAX_PAUSE)) {
      const client = new pg.Client({
        connectionString: this.connectionString,
        application_name: 'site live',
        connectionTimeoutMillis: 10_000,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
      });
      const lost = new Promise((resolve) => { client.once('end', resolve); });

      client.on('error', (error) => console.error(`live pages: ${error.message}`));
      client.on('notification', ({ payload }) => this.#tell(payload));
      try {
        this.#client = client;
        await client.connect();
        await client.query('LISTEN blogstore');
        pause = PAUSE;
        this.#tell('{"all": true}');
        await lost;
      } catch (error) {
        console.error(`live pages: ${error.message}`);
        client.end().catch(() => {});
      }
      await sleep(pause, undefined, { ref: false });
    }
  }

  #tell(payload) {
    const hint = parsed(payload);

    this.#version++;
    for (const browser of this.#browsers)
      if (hint.all || APPLIES[browser.on](hint, browser.key)) this.#send(browser);
  }

  #send(browser) {
    this.#write(browser, `id: ${this.version}\ndata:\n\n`);
  }

  // A browser whose connection is ended connects again when it reads.
  #write({ response }, text) {
    if (response.writableLength > MAX_UNREAD) response.destroy();
    else response.write(text);
  }

  // Answer with events until the browser ends the request. A browser that
  // connects again names the last event that it got.
  open(req, response) {
    const browser = { response, on: field(req.query, 'on'), key: field(req.query, 'key') };
    const seen = req.get('Last-Event-ID') ?? field(req.query, 'version');

    if (!Object.hasOwn(APPLIES, browser.on)) throw notFound();
    // Without the second header nginx keeps events back.
    response.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    this.#browsers.add(browser);
    response.on('close', () => this.#browsers.delete(browser));
    if (seen !== this.version) this.#send(browser);
  }

  async close() {
    this.#closed = true;
    clearInterval(this.alive);
    await this.#client.end().catch(() => {});
  }
}

// Any role can send a NOTIFY, so a payload can be anything.
function parsed(payload) {
  try {
    const { all, feed, posts, users, topics } = JSON.parse(payload);

    return { all, feed, posts: [posts].flat(), users: [users].flat(), topics: [topics].flat() };
  } catch {
    return { all: true };
  }
}
