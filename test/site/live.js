// Pages that show what is new without being reloaded: one person changes
// something, and others look, who do not touch their pages.
'use strict';

const { randomUUID } = require('crypto');
const net = require('net');
const { setTimeout: sleep } = require('timers/promises');
const kit = require('./kit.js');

const { is, ok, person, signIn, start, text, titles, until, write } = kit;

const comments = (page) => page.$$eval('.comment > .text', (all) => all.map((comment) => comment.textContent));
const counts = (page) => page.$$eval('.card:first-of-type .counts > span', (all) => all.map((count) => count.textContent.replace(/\s+/g, ' ').trim()));
const mark = (...people) => Promise.all(people.map(({ page }) => page.evaluate(() => { window.marked = true; })));
const marked = (...people) => Promise.all(people.map(({ page }) => page.evaluate(() => window.marked ?? false)));
const user = async (store, name) => (await store.rows('SELECT id FROM blogstore.get_user_by_name($1)', name))[0].id;

async function watching({ site, browser, store }) {
  const [ada, bob, cleo, dora] = [await person(browser, site), await person(browser, site), await person(browser, site), await person(browser, site)];

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'Watched', topics: 'Tea' });
  const id = address.slice(-36);

  await bob.page.goto(address);
  await cleo.page.goto('/');
  await until(() => titles(cleo.page), ['Watched'], 'the front page shows a new post');
  await dora.page.goto(`/users/${await user(store, 'ada')}`);
  await mark(ada, bob, cleo, dora);

  await bob.page.click('.heart');
  await until(() => text(ada.page, '.post .like-count'), '1 like', 'a like is counted on the page of the post');
  await until(() => counts(cleo.page), ['1 like', '0 comments'], '... on the front page');
  await until(() => counts(dora.page), ['1 like', '0 comments'], "... on the author's page");
  await bob.page.fill('.comment-form textarea', 'Seen by others');
  await bob.page.click('.comment-form button');
  await until(() => comments(ada.page), ['Seen by others'], 'a comment is shown on the page of the post');
  is(await text(ada.page, '#comments-title'), '1 comment', '... and counted');
  await until(() => counts(cleo.page), ['1 like', '1 comment'], '... on the front page');
  await ada.page.click('.comment summary >> text=Reply');
  await ada.page.fill('.comment .comment-form textarea', 'A reply');
  await Promise.all([ada.page.waitForNavigation(), ada.page.click('.comment .comment-form button')]);
  await until(() => comments(bob.page), ['Seen by others', 'A reply'], 'so is a reply');

  // new, edited, hidden, shown again
  await mark(ada);
  const second = await write(bob, { title: "Bob's", topics: 'Tea' });

  await until(() => titles(cleo.page), ["Bob's", 'Watched'], 'another post heads the front page');
  await cleo.page.goto('/topics/TEA');
  is(await titles(cleo.page), ["Bob's", 'Watched'], 'a page of a topic');
  await mark(cleo);
  await store.rows(`SELECT blogstore.edit_post($1, 'Rewritten', properties => '{"topics": "Cake"}')`, second.slice(-36));
  await until(() => titles(cleo.page), ['Watched'], '... loses a post that has it no more');
  await store.rows(`SELECT blogstore.edit_post($1, 'Rewritten', properties => '{"topics": "tea"}')`, second.slice(-36));
  await until(() => titles(cleo.page), ['Rewritten', 'Watched'], '... and gets it back');
  await until(() => text(bob.page, 'h1'), 'Rewritten', 'an edit is shown');
  await bob.page.goto(address);
  await store.rows('SELECT blogstore.hide_post($1)', id);
  await until(() => titles(cleo.page), ['Rewritten'], 'a hidden post disappears from the topic');
  await until(() => titles(dora.page), [], "... from the author's page");
  await until(() => text(bob.page, 'h1'), 'Nothing here', '... and its own page says so');
  await ada.page.goto(address);
  is(await text(ada.page, '.post .badge'), 'Hidden', 'its author sees it');
  await store.rows('SELECT blogstore.publish_post($1)', id);
  await until(() => titles(dora.page), ['Watched'], 'a post that is shown again appears');
  await until(() => ada.page.$('.post .badge'), null, "... on its author's page of it, too");
  is(await marked(cleo, dora), [true, true], 'nobody has loaded a page again');
  is([ada, bob, cleo, dora].flatMap(({ complaints }) => complaints), [], 'nothing is complained of');
}

// What the visitor does on the page stays
async function writing({ site, browser, store }) {
  const [ada, bob] = [await person(browser, site), await person(browser, site)];

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'Discussed' });
  const bobs = await user(store, 'bob');
  const comment = async (content, parent = null) => (await store.rows('SELECT id FROM blogstore.create_comment($1, $2, $3, parent_id => $4)', address.slice(-36), bobs, content, parent))[0].id;
  const first = await comment('First');

  await comment('A reply', first);
  await ada.page.reload();
  await ada.page.click('.replies > summary');
  await ada.page.fill('.comments > .comment-form textarea', 'Begun above');
  await ada.page.click(`#c-${first} > .actions summary >> text=Reply`);
  await ada.page.type(`#c-${first} > .actions textarea`, 'Half ');
  await comment('Second');
  await until(() => comments(ada.page), ['Second', 'First', 'A reply'], 'a comment comes while somebody writes');
  await ada.page.keyboard.type('written');
  is(await ada.page.inputValue(`#c-${first} > .actions textarea`), 'Half written', '... who goes on writing');
  is(await ada.page.inputValue('.comments > .comment-form textarea'), 'Begun above', '... and finds what was begun before');
  is(await ada.page.isVisible('.comment .comment'), false, 'a thread that was folded stays folded');
  await ada.page.click(`#c-${first} > .actions .comment-form button`);
  await until(() => comments(ada.page), ['Second', 'First', 'A reply', 'Half written'], 'the form can be sent');

  // a page of replies
  await bob.page.goto(`/posts/${address.slice(-36)}/comments/${first}`);
  await comment('Another reply', first);
  await until(() => comments(bob.page), ['A reply', 'Half written', 'Another reply'], 'a page of replies shows a new one');
  await bob.page.click('.comment .heart');
  await until(() => text(bob.page, '.comment .like-count'), '1 like', '... whose replies can be liked');
}

// A page shows the newest 20 comments. What is begun below one that is on
// another page now stays.
async function writingBelow({ site, browser, store }) {
  const ada = await person(browser, site);

  await signIn(ada, 'Ada');
  const address = await write(ada, { title: 'Much discussed' });
  const adas = await user(store, 'ada');
  const comment = (content) => store.rows('SELECT FROM blogstore.create_comment($1, $2, $3)', address.slice(-36), adas, content);

  for (let i = 1; i <= 20; i++) await comment(`Comment ${i}`);
  await ada.page.goto(address);
  const numbers = (from, to) => Array.from({ length: from - to + 1 }, (_, n) => `Comment ${from - n}`);

  const kept = ['Comment 3', 'Comment 1'];

  is(await comments(ada.page), numbers(20, 1), 'a page of 20 comments');
  for (const number of [3, 1]) {
    const form = `.comment:nth-last-child(${number}) > .actions details:has([name=parent])`;

    await ada.page.click(`${form} summary`);
    await ada.page.fill(`${form} textarea`, `Below ${number}`);
  }
  for (let i = 21; i <= 25; i++) await comment(`Comment ${i}`);
  await until(async () => (await comments(ada.page)).filter((content) => !kept.includes(content)), numbers(25, 6), 'newer ones take the places of older ones');
  is((await comments(ada.page)).filter((content) => kept.includes(content)), kept, '... but of none below which somebody writes');
  await ada.page.keyboard.type(', and more');
  is(await ada.page.$$eval('.comment [name=parent] ~ textarea', (all) => all.map((area) => area.value).filter(Boolean)), ['Below 3', 'Below 1, and more'], '... who goes on writing');
  await ada.page.click('.comment:last-child > .actions .comment-form button');
  await until(async () => (await comments(ada.page))[0], 'Below 1, and more', '... and can send it');
}

// Changes beside what the browser does: none is missed, and none is undone
async function crossing({ site, browser, store }) {
  const bob = await person(browser, site);
  const adas = await user(store, 'ada');
  const { id } = (await store.rows("SELECT id FROM blogstore.create_post($1, 'Crossing', '')", adas))[0];
  const comment = async (content) => {
    await store.rows('SELECT FROM blogstore.create_comment($1, $2, $3)', id, adas, content);
    for (let i = 0; i < 2; i++) await store.rows("SELECT blogstore.wait_for_views('10 min')");
  };
  const pressed = () => bob.page.getAttribute('.heart', 'aria-pressed');

  await signIn(bob, 'Bob');
  let release;
  const released = new Promise((resolve) => { release = resolve; });

  await bob.context.route('**/live?*', async (route) => {
    await released;
    await route.continue();
  });
  await bob.page.goto(`/posts/${id}`);
  await comment('Early');
  is(await comments(bob.page), [], 'a page is made');
  release();
  await until(() => comments(bob.page), ['Early'], '... and shows what has changed before its events began');

  // The part is read before the like, and comes after it.
  const held = [];

  await bob.context.route('**/discussion*', async (route) => {
    const response = await route.fetch();

    await new Promise((resolve) => { held.push(resolve); });
    await route.fulfill({ response });
  });
  await comment('Late');
  await until(() => held.length, 1, 'a page is fetched again');
  await bob.page.click('.heart');
  await until(pressed, 'true', '... and liked meanwhile');
  held[0]();
  await until(() => held.length, 2, '... so it is fetched once more');
  is([await pressed(), await text(bob.page, '.like-count'), await comments(bob.page)], ['true', '1 like', ['Early']], '... and the like stays');
  held[1]();
  await until(() => comments(bob.page), ['Late', 'Early'], '... with what the page was fetched for');
  is([await pressed(), await text(bob.page, '.like-count')], ['true', '1 like'], '... and the like');

  let refused = 0;

  await bob.context.unroute('**/discussion*');
  await bob.context.route('**/discussion*', async (route) => {
    refused++;
    await route.fulfill({ status: 503 });
  });
  await comment('While the site is busy');
  await until(() => refused > 0, true, 'a page cannot be fetched again');
  await bob.context.unroute('**/discussion*');
  await until(() => comments(bob.page), ['While the site is busy', 'Late', 'Early'], '... and is fetched later');
}

// A visitor follows a link while the post is deleted.
async function leaving({ site, browser, store }) {
  const bob = await person(browser, site);
  const adas = await user(store, 'ada');
  const { id } = (await store.rows("SELECT id FROM blogstore.create_post($1, 'Left', '')", adas))[0];
  const hold = async (address) => {
    const held = [];

    await bob.context.route(address, async (route) => {
      await new Promise((resolve) => { held.push(resolve); });
      await route.continue();
    });
    return held;
  };

  await signIn(bob, 'Bob');
  await bob.page.goto(`/posts/${id}`);
  await until(() => text(bob.page, 'h1'), 'Left', 'a page');
  const parts = await hold('**/discussion*');
  const pages = await hold(`**/users/${adas}`);

  await store.rows("SELECT FROM blogstore.create_comment($1, $2, 'Last')", id, adas);
  await until(() => parts.length, 1, '... is fetched again');
  // A notice for the next page is in the session.
  await bob.context.request.post(`/users/${adas}/follow`, { form: { _csrf: await bob.page.inputValue('[name=_csrf]'), follow: 'no' }, maxRedirects: 0 });
  await bob.page.click('.post a[rel=author]', { noWaitAfter: true });
  await until(() => pages.length, 1, '... and left meanwhile');
  await store.rows('SELECT blogstore.delete_post($1)', id);
  const answered = bob.page.waitForResponse('**/discussion*');

  parts[0]();
  is((await answered).status(), 404, '... when its post is deleted');
  await until(() => parts.length, 2, '... and neither it nor another page takes the place of the new one');
  pages[0]();
  await until(() => new URL(bob.page.url()).pathname, `/users/${adas}`, 'the visitor comes to the other page');
  is(await text(bob.page, '.notice'), 'You follow this user no longer.', '... and has not lost what it tells');
}

// ---- Lists of more than a page

async function longList({ site, browser, store }) {
  const { page } = await person(browser, site);
  const ann = (await store.rows("SELECT id FROM blogstore.create_user('Ann')"))[0].id;
  const expected = Array.from({ length: 90 }, (_, n) => `Post ${90 - n}`);
  const shown = async () => (await titles(page)).join();

  await store.rows(`SELECT count(blogstore.create_post($1, 'Post ' || i, '', creation_date => now() - interval '1 day' + i * interval '1 second'))
    FROM generate_series(1, 90) AS i`, ann);
  await store.rows("SELECT blogstore.wait_for_views('10 min')");
  await page.goto(`/users/${ann}`);
  await until(async () => {
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    return shown();
  }, expected.join(), 'a list is read to its end');

  const top = () => page.$eval('.card:last-of-type', (card) => card.getBoundingClientRect().top);
  const before = await top();

  await store.rows(`SELECT blogstore.hide_post(id), blogstore.wait_for_views('10 min') FROM blogstore.list_user_posts($1, NULL) WHERE title = 'Post 45'`, ann);
  await until(shown, expected.filter((title) => title !== 'Post 45').join(), 'a post far down disappears');
  await store.rows("SELECT blogstore.create_post($1, 'New', '')", ann);
  await until(shown, ['New', ...expected.filter((title) => title !== 'Post 45')].join(), 'a new one is there, and each of the others once');
  is(Math.round(await top()), Math.round(before), 'what is being read stays in its place');
  await store.rows("SELECT blogstore.publish_post(post_id) FROM blogstore.posts WHERE type = 'post' AND hidden");
}

// ---- Connections that are lost

async function listening({ site, browser, store }) {
  const [ada, bob] = [await person(browser, site), await person(browser, site)];
  const listeners = async () => (await store.rows("SELECT pid FROM pg_stat_activity WHERE application_name = 'site live' AND datname = current_database()")).map((row) => row.pid);

  await signIn(ada, 'Ada');
  const address = await write(ada, { title: 'Shown later' });
  const id = address.slice(-36);
  const adas = await user(store, 'ada');
  const comment = (content) => store.rows('SELECT FROM blogstore.create_comment($1, $2, $3)', id, adas, content);

  await bob.page.goto(address);
  await comment('Before');
  await until(() => comments(bob.page), ['Before'], 'the page shows a comment');
  await until(() => comments(ada.page), ['Before'], '... in each browser');
  await mark(ada, bob);
  const [pid, ...others] = await listeners();

  is(others, [], 'one connection listens for all of them');

  // The hint is sent while nobody listens.
  await store.rows('ALTER ROLE site_app NOLOGIN');
  await store.rows('SELECT pg_terminate_backend($1)', pid);
  await until(listeners, [], 'the connection is lost, and a comment comes meanwhile');
  await comment('Meanwhile');
  for (let i = 0; i < 2; i++) await store.rows("SELECT blogstore.wait_for_views('10 min')");
  await store.rows('ALTER ROLE site_app LOGIN');
  await until(() => comments(bob.page), ['Meanwhile', 'Before'], 'when it is back, the comment is shown');
  await until(() => comments(ada.page), ['Meanwhile', 'Before'], '... in each browser');
  await comment('After');
  await until(() => comments(bob.page), ['After', 'Meanwhile', 'Before'], '... and so is the next one');
  is([(await listeners()).length, (await listeners()).includes(pid)], [1, false], 'one other connection listens');

  // Any role can send a NOTIFY.
  for (const payload of ['rubbish', '', 'null', '5', '{"posts": {"a": 1}, "topics": 5}', '{"feed": true, "posts": [null]}'])
    await store.rows('SELECT pg_notify($1, $2)', 'blogstore', payload);
  await comment('In spite of it');
  await until(async () => (await comments(bob.page))[0], 'In spite of it', 'a hint that makes no sense stops nothing');
  is(await marked(ada, bob), [true, true], 'nobody has loaded a page again');
}

async function restarting({ browser, store }) {
  const site = await start();
  const bob = await person(browser, site);
  const adas = await user(store, 'ada');
  const { id } = (await store.rows("SELECT id FROM blogstore.create_post($1, 'Shown by another process', '')", adas))[0];

  await bob.page.goto(`/posts/${id}`);
  await store.rows("SELECT FROM blogstore.create_comment($1, $2, 'Before')", id, adas);
  await until(() => comments(bob.page), ['Before'], 'the page shows a comment');
  await mark(bob);
  await site.stop();
  await store.rows("SELECT FROM blogstore.create_comment($1, $2, 'Meanwhile')", id, adas);
  const again = await start({ PORT: new URL(site.url).port });

  await until(() => comments(bob.page), ['Meanwhile', 'Before'], 'after a restart of the site the page shows what it has missed');
  is(await marked(bob), [true], '... without being loaded again');
  await again.stop();
}

// ---- Events, and what they lead to

// The ids of the events of a page, as they come
async function eventsOf(site, on, key) {
  const aborted = new AbortController();
  const response = await fetch(`${site.url}/live?${new URLSearchParams({ on, key })}`, { signal: aborted.signal });
  const ids = [];
  const reader = { ids, headers: response.headers, stop: () => aborted.abort(), ended: false };

  (async () => {
    let rest = '';

    for await (const chunk of response.body) {
      const lines = (rest + Buffer.from(chunk)).split('\n');

      rest = lines.pop();
      ids.push(...lines.filter((line) => line.startsWith('id: ')).map((line) => line.slice(4)));
    }
  })().catch(() => {}).finally(() => { reader.ended = true; });
  // A page that does not say which version it is gets an event at once.
  await until(() => ids.length > 0, true, `${on}: events begin`);
  return reader;
}

async function events({ site, browser, store }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site);

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'Of two topics', topics: 'Milk' });
  const id = address.slice(-36);

  await store.rows("SELECT blogstore.create_post($1, 'Of another', '', properties => '{\"topics\": \"Rum\"}')", await user(store, 'ada'));
  for (let i = 0; i < 2; i++) await store.rows("SELECT blogstore.wait_for_views('10 min')");
  await ada.page.goto('/topics/MILK');
  const shown = new URLSearchParams(await ada.page.$eval('[data-live]', (part) => part.dataset.live.split('?')[1]));

  is(Object.fromEntries(shown), { on: 'topic', key: 'milk' }, 'a page of a topic has the name that hints have');
  const [milk, rum] = [await eventsOf(site, 'topic', 'milk'), await eventsOf(site, 'topic', 'rum')];
  const known = [milk.ids.length, rum.ids.length];

  is(milk.headers.get('X-Accel-Buffering'), 'no', 'proxies are told to hold no event back');

  await store.rows('SELECT blogstore.edit_post($1, $2)', id, 'Only of milk');
  await until(() => milk.ids.length > known[0], true, 'a hint is an event for pages that show its topic');
  await store.rows(`SELECT blogstore.edit_post($1, 'Of rum', properties => '{"topics": "Rum"}')`, id);
  await until(() => rum.ids.length > known[1], true, '... and one of another topic for pages of that');
  is(rum.ids.slice(known[1]).includes(milk.ids[known[0]]), false, '... which have not had the first one');
  milk.stop();
  rum.stop();

  const get = (who, path, headers = {}) => who.context.request.get(path, { headers: { Accept: 'text/html', ...headers }, maxRedirects: 0 });

  is((await get(bob, '/live?on=nothing')).status(), 404, 'events of nothing');
  is((await get(bob, '/live?on=__proto__')).status(), 404, '...');
  is((await get(bob, '/live?on=post&key=a&key=b')).status(), 400, 'events of two posts');

  // parts of pages
  await store.rows('SELECT blogstore.hide_post($1)', id);
  is([(await get(bob, `/posts/${id}/discussion`)).status(), (await get(ada, `/posts/${id}/discussion`)).status()], [404, 200], 'a hidden post is shown to its author alone');
  await store.rows('SELECT blogstore.publish_post($1)', id);
  await write(ada, { title: 'Written just now' });
  const part = await get(ada, '/feed');

  is([part.status(), part.headers()['set-cookie'] ?? null], [200, null], 'a part of a page changes no session');
  ok((await part.text()).includes('Written just now'), '... and has what the visitor has written');
  const none = await get(ada, `/posts/${randomUUID()}/discussion`, { Accept: 'application/json' });

  is([none.status(), none.headers()['set-cookie'] ?? null], [404, null], '... nor does one that is not there');
  ok(/^site=/.test((await get(ada, '/')).headers()['set-cookie']), '... as a whole page does');
}

// A browser that asks for events and does not read them. The site ends the
// connection once the system's buffers are full and more than 16,384 bytes
// wait in the site. Other browsers get all events.
async function stalled({ site, store }) {
  // An event has 30 bytes, so a batch fits into what the site keeps.
  const [BATCHES, EVENTS] = [550, 450];
  const { hostname, port } = new URL(site.url);
  const reader = await eventsOf(site, 'feed', '');
  const known = reader.ids.length;
  const socket = net.connect(port, hostname);
  let closed = false;
  let read = '';

  socket.on('error', () => {});
  socket.on('close', () => { closed = true; });
  socket.setEncoding('latin1');
  socket.write('GET /live?on=feed HTTP/1.1\r\nHost: site\r\n\r\n');
  await new Promise((resolve) => { socket.once('data', resolve); });
  socket.pause();
  for (let batch = 1; batch <= BATCHES && !reader.ended; batch++) {
    await store.rows(`SELECT count(pg_notify('blogstore', '{"feed": true, "posts": [' || i || ']}')) FROM generate_series(1, $1::int) AS i`, EVENTS);
    while (reader.ids.length < known + batch * EVENTS && !reader.ended) await sleep(1);
  }
  is([reader.ids.length - known >= BATCHES * EVENTS, reader.ended], [true, false], 'a browser does not read: another gets all events');

  const got = () => read.split('data:').length - 1;

  socket.on('data', (data) => { read += data; });
  socket.resume();
  await until(() => closed || got() >= BATCHES * EVENTS, true, '... when it reads again');
  is([closed, got() < BATCHES * EVENTS], [true, true], '... its connection has been ended');
  reader.stop();
}

async function withoutScript({ site, browser, store }) {
  const cleo = await person(browser, site, { javaScriptEnabled: false });

  await cleo.page.goto('/');
  await store.rows("SELECT blogstore.create_post($1, 'Seen without JavaScript', '')", await user(store, 'ada'));
  await until(async () => { await cleo.page.reload(); return (await titles(cleo.page)).includes('Seen without JavaScript'); }, true, 'without JavaScript: a page that is loaded again shows what is new');
}

kit.run([watching, writing, writingBelow, crossing, leaving, longList, listening, restarting, events, stalled, withoutScript]);
