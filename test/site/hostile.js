// Attacks on the site: scripts in all texts that a user can write, forms of
// other sites, forged cookies, other users' items, and addresses and forms
// that make no sense.
'use strict';

const http = require('http');
const kit = require('./kit.js');

const { Client } = kit;
const { is, ok, person, signIn, start, text, write } = kit;

const EVIL = [
  '<script>window.pwned = 1</script>',
  '"><img src=x onerror="window.pwned = 1">',
  "' onmouseover='window.pwned = 1' autofocus onfocus='window.pwned = 1",
  '</textarea></title></style></script><script>window.pwned = 1</script>',
  '<svg/onload=window.pwned=1>',
  'javascript:window.pwned=1',
  '<%= 1 + 1 %><%~ process.exit() %>${7 * 7}{{7*7}}',
  '&lt;script&gt;window.pwned = 1&lt;/script&gt; &#60;b&#62;',
  '\u202egnirts\u2066 \u{1f600}\u0301',
];
const HTML = { Accept: 'text/html' };
const NOBODY = '018f0000-0000-7000-8000-00000000dead';

// A script that a page has run shows in the page, or in what the browser
// refused.
async function harmless({ page, complaints }, name) {
  await page.evaluate(() => {
    for (const element of document.querySelectorAll('main *')) {
      for (const type of ['mouseover', 'focus', 'click']) {
        if (!element.closest('a, button, summary')) element.dispatchEvent(new MouseEvent(type));
      }
    }
  });
  is([await page.evaluate(() => window.pwned ?? null), complaints], [null, []], `${name}: nothing runs`);
  is(await page.$$eval('main img, main script, main style, main iframe, main [onload], main [onerror], main [onmouseover], main [onfocus]', (found) => found.length), 0, '... and nothing is made of it');
  is(await page.$$eval('main a', (links) => links.map((link) => link.protocol).filter((protocol) => protocol !== 'http:')), [], '... links lead to pages');
}

async function scripts({ site, browser }) {
  for (const [n, evil] of EVIL.entries()) {
    const eve = await person(browser, site);
    const name = evil.replace(/\p{Cf}/gu, '').slice(0, 60).trim();

    await signIn(eve, name);
    is(await eve.page.textContent('.who-name'), name, `name ${n}`);
    // The last one has characters that no topic has.
    const topics = n < EVIL.length - 1 ? evil : '';
    const address = await write(eve, { title: evil, content: evil, slug: evil, topics });

    is(await eve.page.textContent('.post h1'), evil, 'a title is shown as it was written');
    is(await eve.page.textContent('.post .text'), evil, '... and a text');
    is(await eve.page.title(), `${evil} · Marginalia`.replace(/\s+/g, ' '), '... and the name of the page');
    await eve.page.fill('.comment-form textarea', evil);
    await eve.page.click('.comment-form button');
    await eve.page.waitForSelector('.comment');
    is(await eve.page.textContent('.comment > .text'), evil, '... and a comment');
    await harmless(eve, 'a post');
    await eve.page.goto(`${address}/edit`);
    is([await eve.page.inputValue('#title'), await eve.page.inputValue('#content')], [evil, evil], '... and what is edited');
    await harmless(eve, 'the form');
    for (const list of ['/', await eve.page.getAttribute('.who', 'href')]) {
      await eve.page.goto(list);
      await harmless(eve, list.slice(0, 6));
    }
    if (topics) {
      await eve.page.goto(await eve.page.getAttribute('.topics a', 'href'));
      is([await eve.page.textContent('h1'), await eve.page.textContent('.topics a'), (await kit.titles(eve.page)).length], [topics, topics, 1], 'a topic is shown as it was written');
      await harmless(eve, 'its page');
    }
    await eve.context.close();
  }
  const nobody = await person(browser, site);

  await nobody.page.goto('/topics');
  is((await nobody.page.$$('.all-topics a')).length, EVIL.length - 1, 'all of these topics');
  await harmless(nobody, 'their list');
}

// What imports bring: properties of any shape
async function properties({ site, browser, store }) {
  const eve = await person(browser, site);

  await signIn(eve, 'Eve');
  const { id } = (await store.rows("SELECT id FROM blogstore.get_user_by_name('eve')"))[0];
  const shapes = [
    { slug: 'javascript:window.pwned=1', tags: EVIL },
    { slug: '../../sign-in', tags: { length: 3 } },
    { slug: '//evil.example/', tags: 'not a list' },
    { slug: ['a'], tags: [null, 1, {}, [], true, '<b>bold</b>'] },
    { slug: { toString: 1 }, tags: [['nested']] },
    { slug: 'x'.repeat(5000), tags: ['y'.repeat(5000)] },
    { topics: EVIL, slug: ['<b>'] },
    { topics: [null, 1, {}, ['nested'], true, 'one, two', '<b>bold</b>', ' ', 'y'.repeat(5000)] },
    { topics: { length: 3, flat: 1 } },
    { topics: 'one' },
    { slug: 5, tags: null, constructor: { prototype: { pwned: 1 } } },
    { show: '<script>', user: { id }, layout: '/etc/passwd', csrf: 1, hasOwnProperty: 1 },
  ].map((shape) => JSON.stringify(shape)).concat('{"__proto__": {"pwned": 1, "liked": true}, "slug": "fine"}');

  for (const shape of shapes) {
    const post = (await store.rows('SELECT id FROM blogstore.create_post($1, $2, $3, properties => $4)', id, 'Shaped', 'text', shape))[0];

    is((await eve.page.goto(`/posts/${post.id}`)).status(), 200, `a post with ${shape.slice(0, 50)}`);
    await harmless(eve, 'it');
    is(new URL(eve.page.url()).origin, site.url, '... leads nowhere else');
    await eve.page.click('.own >> text=Edit');
    await eve.page.click('text=Save');
    await eve.page.waitForSelector('.post');
    is((await store.rows("SELECT properties - 'slug' = $2::jsonb - 'slug' AS same FROM blogstore.get_post($1)", post.id, shape))[0].same, true, '... and is edited without losing any');
  }
  is((await eve.page.goto('/')).status(), 200, 'a list of them');
  await harmless(eve, 'it');
  is({}.pwned ?? null, null, 'no prototype is changed');
}

// Topics that browsers, servers or the site could take for something else
async function topicNames({ site, browser, store }) {
  const eve = await person(browser, site);
  const names = ['.', '..', '%2e%2e', '/', '//evil.example', 'a/posts', '../sign-in', '50%', '%2F', '?before=x', '#x', '\\', 'posts', 'a+b & c', '日本 語', 'ΣΊΣΥΦΟΣ'];

  await signIn(eve, 'Eve');
  const { id } = (await store.rows("SELECT id FROM blogstore.get_user_by_name('eve')"))[0];
  const post = (await store.rows("SELECT id FROM blogstore.create_post($1, 'Named', '', properties => jsonb_build_object('topics', $2::text[]))", id, names))[0];

  await store.rows("SELECT blogstore.wait_for_views('10 min')");
  await eve.page.goto(`/posts/${post.id}`);
  const addresses = await eve.page.$$eval('.topics a', (links) => links.map((link) => link.href));
  const found = [];

  for (const address of addresses) {
    const status = (await eve.page.goto(address)).status();

    if (status !== 200 || new URL(address).origin !== site.url || (await kit.titles(eve.page)).join() !== 'Named') found.push(status);
    else found.push((await text(eve.page, 'h1')));
  }
  is(found, names, 'whatever a topic is called, its link leads to its page');
  await eve.page.goto('/topics');
  const linked = await eve.page.$$eval('.all-topics a', (links) => links.map((link) => link.href));
  const bad = [];

  for (const address of linked)
    if ((await eve.context.request.get(address)).status() !== 200) bad.push(address);
  is([linked.length >= names.length, bad], [true, []], '... from the list of topics, too');
}

// ---- Forms of other sites

async function otherSites({ site, browser, store }) {
  const ada = await person(browser, site);

  await signIn(ada, 'Ada');
  const address = await write(ada, { title: 'Mine' });
  const id = address.slice(-36);
  const still = async () => (await store.rows('SELECT title, hidden FROM blogstore.get_post($1)', id))[0];

  // "localhost" is another site than 127.0.0.1
  const evil = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<form method="post" action="${site.url}${request.url}"><input name="_csrf" value="x"><button>Win</button></form>`);
  });

  await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
  for (const action of [`/posts/${id}/delete`, `/posts/${id}/hide`, '/sign-out', '/me/name']) {
    await ada.page.goto(`http://localhost:${evil.address().port}${action}`);
    const [response] = await Promise.all([ada.page.waitForNavigation(), ada.page.click('button')]);

    is(response.status(), 403, `a form of another site: ${action.replace(id, 'x')}`);
  }
  evil.close();
  await ada.page.goto(address);
  is([await still(), await text(ada.page, '.who-name')], [{ title: 'Mine', hidden: false }, 'Ada'], 'nothing was changed');

  const post = (path, form, headers = HTML) => ada.context.request.post(path, { form, headers, maxRedirects: 0 });
  const token = await ada.page.inputValue('[name=_csrf]');

  is((await post(`/posts/${id}/delete`, {})).status(), 403, 'without a token');
  is((await post(`/posts/${id}/delete`, { _csrf: `${token.slice(0, -1)}!` })).status(), 403, 'with another token');
  const bob = await person(browser, site);

  await signIn(bob, 'Bob');
  is((await post(`/posts/${id}/delete`, { _csrf: await bob.page.inputValue('[name=_csrf]') })).status(), 403, "with somebody else's token");
  const refused = await post(`/posts/${id}/like`, { liked: 'yes' }, { Accept: 'application/json' });

  is([refused.status(), Object.keys(await refused.json())], [403, ['error']], 'who asks for JSON is told so in JSON');
  is((await ada.context.request.post(`/posts/${id}/delete`, { data: { _csrf: token } })).status(), 403, 'what is no form is refused');
  is(await still(), { title: 'Mine', hidden: false }, 'nothing was changed');
  return { id, address };
}

// ---- Other people's items

async function otherPeople({ site, browser, store }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site);

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: "Ada's" });
  const id = address.slice(-36);

  await ada.page.fill('.comment-form textarea', "Ada's comment");
  await ada.page.click('.comment-form button');
  await ada.page.waitForSelector('.comment');
  const comment = (await ada.page.getAttribute('.comment', 'id')).slice(2);

  await bob.page.goto(address);
  is(await bob.page.$('.own'), null, 'nobody is offered to change what is not theirs');
  const _csrf = await bob.page.inputValue('[name=_csrf]');
  const post = async (path, form = {}) => {
    const response = await bob.context.request.post(path, { form: { _csrf, ...form }, headers: HTML, maxRedirects: 0 });

    ok(/<h1>/.test(await response.text()), `${path.replace(id, 'x').replace(comment, 'y')}: a page`);
    return response.status();
  };

  is(await post(`/posts/${id}/edit`, { title: 'Bob was here', content: '' }), 403, '... says that it is not theirs');
  is(await post(`/posts/${id}/hide`), 403, '...');
  is(await post(`/posts/${id}/publish`), 403, '...');
  is(await post(`/posts/${id}/delete`), 404, '... that there is none of theirs');
  is(await post(`/posts/${id}/comments/${comment}/edit`, { content: 'Bob' }), 403, '... that it is not theirs');
  is(await post(`/posts/${id}/comments/${comment}/delete`), 404, '... that there is none of theirs');
  is((await store.rows('SELECT p.title, p.hidden, c.content FROM blogstore.get_post($1) AS p, blogstore.list_post_comments($1) AS c', id)), [{ title: "Ada's", hidden: false, content: "Ada's comment" }], 'nothing was changed');

  // what is hidden cannot be told from what there is not
  const draft = (await write(ada, { title: 'A secret', draft: true })).slice(-36);
  const pages = await Promise.all([draft, NOBODY].map(async (one) => {
    const response = await bob.context.request.get(`/posts/${one}`, { headers: HTML });

    return [response.status(), (await response.text()).replaceAll(one, '')];
  }));

  is(pages[0], pages[1], 'a draft of somebody else is as one that there is not');
  await store.rows('SELECT blogstore.delete_post($1)', draft);

  // nobody at all
  const nobody = await person(browser, site);

  await nobody.page.goto('/sign-in');
  const form = { _csrf: await nobody.page.inputValue('[name=_csrf]'), title: 'x', content: 'x', name: 'x', liked: 'yes' };

  for (const path of ['/posts', `/posts/${id}/like`, `/posts/${id}/comments`, `/posts/${id}/edit`, '/me/name'])
    is((await nobody.context.request.post(path, { form, headers: HTML, maxRedirects: 0 })).status(), 403, `who has not signed in: ${path.replace(id, 'x')}`);
}

// ---- Cookies made by hand

async function cookies({ site, browser }) {
  const ada = await person(browser, site);

  await signIn(ada, 'Ada');
  const mine = await ada.context.cookies();

  is(mine.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]), [[true, 'Lax'], [true, 'Lax']], 'cookies are out of the reach of scripts and of other sites');
  const session = mine.find(({ name }) => name === 'site');
  const forged = { ...JSON.parse(Buffer.from(session.value, 'base64')), user: { id: NOBODY, name: 'Mallory' } };
  const mallory = await person(browser, site);

  await mallory.context.addCookies(mine.map((cookie) =>
    (cookie.name === 'site' ? { ...cookie, value: Buffer.from(JSON.stringify(forged)).toString('base64') } : cookie)));
  await mallory.page.goto('/');
  is(await mallory.page.$('.who'), null, 'one that was changed is none');
  await mallory.context.clearCookies();
  await mallory.context.addCookies(mine.filter(({ name }) => name === 'site'));
  await mallory.page.goto('/');
  is(await mallory.page.$('.who'), null, 'so is one without its signature');
  await mallory.context.addCookies([{ ...session, value: 'rubbish' }, { ...session, name: 'site.sig', value: '\u{22}' }].map((cookie) => ({ ...cookie, value: encodeURIComponent(cookie.value) })));
  is((await mallory.page.goto('/')).status(), 200, 'rubbish is nobody');
}

// ---- Addresses and forms that make no sense

async function nonsense({ site, browser, store }) {
  const eve = await person(browser, site);

  await signIn(eve, 'Eve');
  const address = await write(eve, { title: 'Here', topics: 'Here' });
  const id = address.slice(-36);
  const status = async (path, expected) => {
    const response = await eve.context.request.get(path, { headers: HTML, maxRedirects: 0 });
    const page = await response.text();

    is(response.status(), expected, `${path.slice(0, 60)}`);
    ok(/<h1[ >]/.test(page) && !/node_modules|at .*\.js:\d/.test(page), '... is a page that tells nothing of the site', page.slice(0, 300));
  };

  for (const path of ['/nothing', '/posts/x', '/posts/%27%20OR%201=1', `/posts/${NOBODY}`, `/posts/${id}x`, `/posts/${id}${id}`, '/users/x',
    '/topics/nothing', '/topics/%20', '/topics/%2F%2F', '/topics/%25', '/topics/..%2f..%2fserver.js', '/topics/a/b/c', '/topics/her%65/nothing', `/topics/${'x'.repeat(5000)}`, '/topics/%E2%80%AE',
    `/users/${NOBODY}`, `/posts/${NOBODY}/edit`, `/posts/${id}/comments/x`, `/posts/${id}/like`, '/server.js', '/fonts/..%2f..%2fpackage.json', '/fonts/../../package.json', '/views/layout.eta'])
    await status(path, 404);
  for (const path of ['/?before=x', '/?before=1&before=2', `/?before=2026-99-99T99:99:99.999Z_${id}`, `/?after=2026-01-01T00:00:00.000Z_${id.slice(1)}`,
    `/users/${NOBODY}?before=%00`, '/posts/%E0%A4%A'])
    await status(path, 400);
  for (const path of ['/topics/%00', '/topics/%E0%A4%A', '/topics/here?before=x', '/topics?prefix=a&prefix=b', '/topics?prefix=%00', '/topics?after[]=a&after=b&after=c', `/topics?after=${'x'.repeat(5000)}`])
    await status(path, 400);
  for (const path of ['/topics/HERE', '/topics/%20here%20', '/topics/', '/topics?prefix=%25', '/topics?prefix=%FF', '/topics?prefix=%E2%80%AE', `/topics?prefix=${'x'.repeat(5000)}`, "/topics?after='"])
    await status(path, 200);
  is((await eve.context.request.get(`/?before=9999-12-31T23:59:59.999Z_${NOBODY}`)).status(), 200, 'a place that no post has is one between others');

  const _csrf = await eve.page.inputValue('[name=_csrf]');
  const post = async (path, form) => {
    const response = await eve.context.request.post(path, { form: { _csrf, ...form }, headers: HTML, maxRedirects: 0 });
    const page = await response.text();

    return [response.status(), /<h1>|^See Other/.test(page) && !/node_modules/.test(page)];
  };

  is(await post('/posts', { title: '', content: 'x' }), [400, true], 'a post without a title');
  is(await post('/posts', { title: 'x'.repeat(201), content: 'x' }), [400, true], '... with one that is too long');
  is(await post('/posts', { title: 'x', topics: Array.from({ length: 17 }, (_, n) => n).join() }), [400, true], '... with too many topics');
  for (const topics of ['x'.repeat(101), 'a\0b', 'a, \u202eb'])
    is(await post('/posts', { title: 'x', topics }), [400, true], '... with one that cannot be');
  is(await post('/posts', { title: 'a\0b', content: 'x' }), [400, true], '... with what cannot be stored');
  is(await post('/posts', { title: 'x', content: 'x'.repeat(600000) }), [413, true], '... that is too long');
  is(await post('/posts', Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}`, 'x']))), [413, true], 'a form of too many fields');
  is(await post(`/posts/${id}/comments`, { content: '   ' }), [400, true], 'an empty comment');
  is(await post(`/posts/${id}/comments`, { content: 'x', parent: 'x' }), [400, true], 'a reply to no comment');
  is(await post(`/posts/${id}/comments`, { content: 'x', parent: NOBODY }), [404, true], '... to one that there is not');
  is(await post(`/posts/${NOBODY}/like`, { liked: 'yes' }), [404, true], 'a like of no post');
  is(await post('/posts', { id, title: 'Another', content: '' }), [409, true], 'another post of the same id');
  is(await post('/me/name', { name: 'ADA' }), [409, true], "somebody else's name");
  const twice = await eve.context.request.post('/posts', { data: `_csrf=${_csrf}&title=a&title=b`, headers: { ...HTML, 'Content-Type': 'application/x-www-form-urlencoded' } });

  is(twice.status(), 400, 'a field twice');
  is((await store.rows('SELECT title FROM blogstore.get_post($1)', id))[0].title, 'Here', 'nothing was changed');
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', '/\t/evil.example', '/a\nb']) {
    await eve.page.goto(`/sign-in?to=${encodeURIComponent(to)}`);
    const token = await eve.page.inputValue('[name=_csrf]');
    const response = await eve.context.request.post('/sign-in', { form: { _csrf: token, name: 'Eve', to }, maxRedirects: 0 });

    is([await eve.page.inputValue('[name=to]'), response.status(), response.headers().location], ['/', 303, '/'], `signing in leads to no other site: ${JSON.stringify(to)}`);
  }
}

// ---- What the site tells browsers, and what it can do itself

async function guarded({ site, browser, store }) {
  const { context } = await person(browser, site);
  const headers = (await context.request.get('/')).headers();

  ok(/default-src 'none'/.test(headers['content-security-policy']) && !/unsafe|https?:|\*/.test(headers['content-security-policy']), 'a policy that allows its own files alone', headers['content-security-policy']);
  ok(/frame-ancestors 'none'/.test(headers['content-security-policy']), '... and no frame around it');
  is([headers['x-content-type-options'], headers['x-powered-by'] ?? null, headers['cache-control']], ['nosniff', null, 'private, no-cache'], 'pages are what they say, and kept by nobody else');

  const client = new Client({ connectionString: process.env.DATABASE_URL });
  const refused = (sql) => client.query(sql).then(() => 'done', (error) => error.code);

  await client.connect();
  is(await refused('SELECT * FROM site.list_feed()'), '42501', 'the site itself cannot call a wrapper');
  await client.query('SET ROLE site_visitor');
  is(await refused('SELECT * FROM site.list_feed()'), 'done', '... but as a visitor');
  for (const sql of ['SELECT * FROM blogstore.posts', 'SELECT * FROM blogstore.list_feed()', `SELECT blogstore.delete_post('${NOBODY}')`, "SELECT set_config('blogstore.current_user_id', gen_random_uuid()::text, true)"])
    is(await refused(sql), '42501', `a visitor: ${sql.slice(0, 50)}`);
  await client.end();

  // a front page is two calls
  const ada = await person(browser, site, { live: false });

  await signIn(ada, 'Ada');
  await ada.page.goto('/');
  await store.rows('SELECT blogstore.reset_request_stats()');
  await ada.page.goto('/');
  is(await store.rows('SELECT function, calls::int FROM blogstore.stat_requests WHERE calls > 0 ORDER BY 1'), [{ function: 'get_likes', calls: 1 }, { function: 'list_feed', calls: 1 }], 'a front page with authors, counts and likes is two calls');
}

async function away({ browser }) {
  const site = await start({ DATABASE_URL: 'postgresql://site_app@127.0.0.1:1/nowhere' });
  const { page } = await person(browser, site);

  is((await page.goto('/')).status(), 503, 'a site whose database is away says so');
  is(await text(page, 'h1'), 'Back in a moment', '... in a page');
  site.stop();
}

kit.run([scripts, properties, topicNames, otherSites, otherPeople, cookies, nonsense, guarded, away]);
