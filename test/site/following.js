// Following others, the home page, and who follows whom.
'use strict';

const kit = require('./kit.js');

const { Client, is, ok, person, signIn, text, titles, until, write } = kit;

const NOBODY = '018f0000-0000-7000-8000-00000000dead';
const HTML = { Accept: 'text/html' };
const people = (page) => page.$$eval('.people a', (all) => all.map((link) => link.textContent));
const follow = (page) => Promise.all([page.waitForNavigation(), page.click('.follow button')]);
const user = async (store, name) => (await store.rows('SELECT id FROM blogstore.get_user_by_name($1)', name))[0].id;
const follows = (store) => store.rows(`SELECT f.user_username AS who, f.followed_username AS whom
  FROM blogstore.users AS u, blogstore.list_following(u.user_id, NULL) AS f WHERE u.type = 'user' ORDER BY 1, 2`);

// Without JavaScript: what is clicked leads to a page that shows it.
async function following({ site, browser, store }) {
  const [ada, bob, cleo] = [await person(browser, site, { javaScriptEnabled: false }), await person(browser, site, { javaScriptEnabled: false }), await person(browser, site)];

  await bob.page.goto('/home');
  is([new URL(bob.page.url()).pathname, await bob.page.inputValue('[name=to]'), await bob.page.$('nav >> text=Home')], ['/sign-in', '/home', null], 'who has not signed in has no home page');
  await bob.page.fill('#name', 'Bob');
  await bob.page.click('main button');
  await bob.page.waitForSelector('.who');
  is([new URL(bob.page.url()).pathname, await titles(bob.page)], ['/home', []], '... and after signing in one that is empty');

  await signIn(ada, 'Ada');
  await signIn(cleo, 'Cleo');
  await write(ada, { title: 'First of Ada' });
  await write(cleo, { title: 'Of Cleo' });
  const draft = await write(ada, { title: 'A draft', draft: true });

  await write(ada, { title: 'Second of Ada' });
  const adas = `/users/${await user(store, 'ada')}`;

  await ada.page.goto(adas);
  is(await ada.page.$('.follow'), null, 'nobody is offered to follow oneself');
  await bob.page.goto(adas);
  is(await text(bob.page, '.follow button'), 'Follow', 'a user can be followed');
  await follow(bob.page);
  is([new URL(bob.page.url()).pathname, await text(bob.page, '.follow button')], [adas, 'Unfollow'], '... on the same page, which says so');
  await bob.page.reload();
  is(await text(bob.page, '.follow button'), 'Unfollow', '... from then on');
  is(await follows(store), [{ who: 'Bob', whom: 'Ada' }], '... and it is stored');
  await bob.page.click('nav >> text=Home');
  await until(async () => { await bob.page.goto('/home'); return titles(bob.page); }, ['Second of Ada', 'First of Ada'], 'the home page has the posts of who is followed, newest first, and no draft');
  await bob.page.click('.card h2 a');
  await bob.page.click('.heart');
  await until(() => text(bob.page, '.like-count'), '1 like', 'one of them is liked');
  await bob.page.goto('/home');
  is(await bob.page.$$eval('.card', (cards) => cards.map((card) => card.querySelector('.mine') !== null)), [true, false], '... and the home page tells so');

  await bob.page.goto(adas);
  await bob.page.click('.follows >> text=Followers');
  await bob.page.waitForSelector('.people');
  is([await text(bob.page, 'h1'), await people(bob.page)], ['Who follows Ada', ['Bob']], 'a user has a list of followers');
  await bob.page.click('.people a');
  await bob.page.waitForSelector('.profile');
  await bob.page.click('.follows >> text=Following');
  await bob.page.waitForSelector('.people');
  is([await text(bob.page, 'h1'), await people(bob.page)], ['Whom Bob follows', ['Ada']], '... and of those who are followed');

  await bob.page.goto(adas);
  await follow(bob.page);
  is(await text(bob.page, '.follow button'), 'Follow', 'a follow can be ended');
  is(await follows(store), [], '... and is not stored any more');
  await bob.page.goto('/home');
  is(await titles(bob.page), [], '... and the home page is empty again');
  await store.rows('SELECT blogstore.delete_post($1)', draft.slice(-36));
}

async function live({ site, browser, store }) {
  const [ada, bob] = [await person(browser, site), await person(browser, site)];

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  await bob.page.goto(`/users/${await user(store, 'ada')}`);
  await follow(bob.page);
  await bob.page.goto('/home');
  is(await titles(bob.page), ['Second of Ada', 'First of Ada'], 'the home page');
  const address = await write(ada, { title: 'Third of Ada' });

  await until(() => titles(bob.page), ['Third of Ada', 'Second of Ada', 'First of Ada'], '... shows a new post');
  await ada.page.click('.own >> text=Hide');
  await until(() => titles(bob.page), ['Second of Ada', 'First of Ada'], '... and loses one that is hidden');
  await bob.context.request.post('/sign-out', { form: { _csrf: await bob.page.inputValue('[name=_csrf]') }, maxRedirects: 0 });
  await store.rows('SELECT blogstore.publish_post($1)', address.slice(-36));
  await until(() => new URL(bob.page.url()).pathname, '/sign-in', '... and leads to the sign-in when its user has signed out');
  await store.rows('SELECT blogstore.delete_post($1)', address.slice(-36));
}

async function longLists({ site, browser, store }) {
  const dora = await person(browser, site, { javaScriptEnabled: false });

  await signIn(dora, 'Dora');
  const doras = await user(store, 'dora');

  // 25 authors, each with a post of each second
  await store.rows("SELECT blogstore.create_user('Author ' || to_char(n, 'FM00')) FROM generate_series(1, 25) AS n");
  await store.rows(`SELECT blogstore.follow_user($1, user_id, now() - interval '1 day' + row_number() OVER (ORDER BY username) * interval '1 second')
    FROM blogstore.users WHERE type = 'user' AND username LIKE 'Author %'`, doras);
  await store.rows(`SELECT blogstore.follow_user(user_id, $1, now() - interval '1 day' + row_number() OVER (ORDER BY username) * interval '1 second')
    FROM blogstore.users WHERE type = 'user' AND username LIKE 'Author %'`, doras);
  await store.rows(`SELECT count(blogstore.create_post(user_id, username || ' in second ' || second, '', creation_date => timestamptz '2016-01-01 00:00Z' + second * interval '1 second'))
    FROM blogstore.users, generate_series(1, 3) AS second WHERE type = 'user' AND username LIKE 'Author %'`);
  await store.rows("SELECT blogstore.wait_for_views('10 min')");

  const pages = async (address, read) => {
    await dora.page.goto(address);
    const found = await read(dora.page);

    while (await dora.page.$('.older')) {
      await Promise.all([dora.page.waitForNavigation(), dora.page.click('.older')]);
      found.push(...await read(dora.page));
    }
    return found;
  };
  const expected = (await store.rows(`SELECT title FROM blogstore.posts WHERE type = 'post' AND user_username LIKE 'Author %' ORDER BY creation_date DESC, id DESC`)).map((row) => row.title);
  const authors = Array.from({ length: 25 }, (_, n) => `Author ${String(25 - n).padStart(2, '0')}`);

  is(await pages('/home', titles), expected, 'a long home page has each post once, in its place');
  await Promise.all([dora.page.waitForNavigation(), dora.page.click('.newer')]);
  is(await titles(dora.page), expected.slice(40, 60), '... and there is a way back');
  is(await pages(`/users/${doras}/following`, people), authors, 'so has a long list of those who are followed');
  is(await pages(`/users/${doras}/followers`, people), authors, '... and of followers');

  // the script goes on with the list
  const withScript = await person(browser, site);

  await signIn(withScript, 'Dora');
  await withScript.page.goto('/home');
  await until(async () => {
    await withScript.page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    return titles(withScript.page);
  }, expected, 'with JavaScript it goes on by itself');
}

async function hostile({ site, browser, store }) {
  const [bob, eve, nobody] = [await person(browser, site), await person(browser, site), await person(browser, site)];
  const before = await follows(store);

  await signIn(bob, 'Bob');
  await signIn(eve, '<b>Eve</b>');
  const [adas, bobs, eves] = [await user(store, 'ada'), await user(store, 'bob'), await user(store, '<b>eve</b>')];

  await eve.page.goto(`/users/${adas}`);
  const _csrf = await eve.page.inputValue('[name=_csrf]');
  const post = async ({ context }, path, form) => (await context.request.post(path, { form, headers: HTML, maxRedirects: 0 })).status();

  is(await post(eve, `/users/${adas}/follow`, { follow: 'yes' }), 403, 'a follow without a token');
  is(await post(eve, `/users/${eves}/follow`, { _csrf, follow: 'yes' }), 400, 'of oneself');
  is(await post(eve, `/users/${NOBODY}/follow`, { _csrf, follow: 'yes' }), 404, 'of nobody');
  is(await post(eve, '/users/x/follow', { _csrf, follow: 'yes' }), 404, '...');
  await nobody.page.goto('/sign-in');
  is(await post(nobody, `/users/${adas}/follow`, { _csrf: await nobody.page.inputValue('[name=_csrf]'), follow: 'yes' }), 403, 'by nobody');
  is((await nobody.context.request.get('/home/posts', { headers: HTML })).status(), 404, 'the posts of no home page');
  is(await follows(store), before, 'nothing has changed');
  is(await post(eve, `/users/${adas}/follow`, { _csrf, follow: 'yes', user_id: bobs, user: bobs }), 303, 'one can follow for oneself alone');
  is(await post(eve, `/users/${adas}/follow`, { _csrf, follow: 'yes' }), 303, '... twice');
  is((await follows(store)).filter(({ who }) => /eve/i.test(who)), [{ who: '<b>Eve</b>', whom: 'Ada' }], '... whatever the form has');
  is(await post(eve, `/users/${adas}/follow`, { _csrf, follow: 'no', user_id: bobs, user: bobs }), 303, 'and end it for oneself alone');
  is(await follows(store), before, '... so that others still follow');
  is(await post(eve, `/users/${bobs}/follow`, { _csrf, follow: 'yes' }), 303, 'a name with HTML in it');
  await bob.page.goto(`/users/${bobs}/followers`);
  is(await people(bob.page), ['<b>Eve</b>'], '... is shown as it was written');
  for (const path of [`/users/${NOBODY}/followers`, `/users/${NOBODY}/following`, '/users/x/followers', `/users/${adas}/follow`])
    is((await eve.context.request.get(path, { headers: HTML })).status(), 404, `nothing is at ${path.replace(adas, 'ID')}`);
  is((await eve.context.request.get(`/users/${adas}/followers?before=x`, { headers: HTML })).status(), 400, 'a place that is none');

  // in the database
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  const refused = (sql, ...values) => client.query(sql, values).then(() => 'done', (error) => error.code);

  await client.connect();
  await client.query("SELECT set_config('blogstore.current_user_id', $1, false), set_config('role', 'site_visitor', false)", [eves]);
  is(await refused('SELECT blogstore.follow_user($1, $2)', bobs, adas), '42501', 'the role of visitors cannot follow for another user');
  is(await refused('SELECT site.follow_user($1, $2)', bobs, adas), '42883', '... as no wrapper takes one');
  await client.end();

  // as many as one can follow
  await store.rows(`WITH made AS MATERIALIZED (SELECT (blogstore.create_user('n ' || n)).user_id FROM generate_series(1, 9999) AS n)
    SELECT count(blogstore.follow_user($1, user_id)) FROM made`, eves);
  const refusal = await eve.context.request.post(`/users/${adas}/follow`, { form: { _csrf, follow: 'yes' }, headers: HTML });

  is([refusal.status(), /as many others as one can/.test(await refusal.text())], [409, true], 'one more than one can follow');

  // who is gone is in no list
  await store.rows('SELECT blogstore.delete_user($1)', eves);
  await until(async () => { await bob.page.reload(); return people(bob.page); }, [], 'a deleted user follows nobody');
  ok([bob, eve].every(({ complaints }) => complaints.length === 0), 'nothing is complained of');
}

kit.run([following, live, longLists, hostile]);
