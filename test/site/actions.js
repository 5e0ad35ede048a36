// Everything that a user can do on the site, by clicking: alone and beside
// other users, with JavaScript and without.
'use strict';

const kit = require('./kit.js');

const { is, ok, person, signIn, text, titles, until, write } = kit;

const SECOND = { title: 'The second post', content: 'Of a few words.' };

async function signingIn({ site, browser, store }) {
  const ada = await person(browser, site);

  await ada.page.goto('/posts/new');
  is(new URL(ada.page.url()).pathname, '/sign-in', 'who has not signed in is asked to');
  ok((await ada.page.textContent('main')).includes('for trying the site out'), 'signing in says that it is for trying');
  await ada.page.fill('#name', '  Ada  ');
  await ada.page.click('main button');
  await ada.page.waitForSelector('.notice');
  is(await text(ada.page, '.notice'), 'Hello, Ada.', 'a new name is a new user');
  is(new URL(ada.page.url()).pathname, '/posts/new', '... who goes on where the way was to');
  await ada.page.reload();
  is(await ada.page.$('.notice'), null, 'a notice is shown once');

  const other = await person(browser, site);

  await signIn(other, 'ADA');
  is(await text(other.page, '.who-name'), 'Ada', 'a name that there is is that user, whatever its case');
  is((await store.rows("SELECT * FROM blogstore.get_user_by_name('ada')")).length, 1, 'there is one of this name');
  await other.page.click('text=Sign out');
  await other.page.waitForSelector('nav >> text=Sign in');
  is(await other.page.$('.who'), null, 'who signs out is nobody');
}

async function names({ site, browser }) {
  const page = (await person(browser, site)).page;

  await page.goto('/sign-in');
  await page.$eval('#name', (input) => { input.maxLength = 1000; });
  await page.fill('#name', 'x'.repeat(65));
  await page.click('main button');
  await page.waitForSelector('[role=alert]');
  ok(/64 characters/.test(await text(page, '[role=alert]')), 'a name that cannot be is told, in the form', await text(page, '[role=alert]'));
  is(await page.inputValue('#name'), 'x'.repeat(65), '... with what was written');
}

// The look of pages: success is not shown as an error, each text has its own
// direction of writing, and nothing sticks out of the page.
async function looks({ site, browser }) {
  const eli = await person(browser, site, { viewport: { width: 360, height: 700 } });
  const background = (selector) => eli.page.$eval(selector, (found) => getComputedStyle(found).backgroundColor);
  const direction = (selector) => eli.page.$eval(selector, (found) => getComputedStyle(found).direction);
  const words = 'every word of it is whole '.repeat(20);

  await eli.page.goto('/sign-in');
  await eli.page.$eval('#name', (input) => { input.maxLength = 1000; });
  await eli.page.fill('#name', 'x'.repeat(65));
  await eli.page.click('main button');
  await eli.page.waitForSelector('.wrong[role=alert]');
  const wrong = await background('.wrong[role=alert]');

  await signIn(eli, 'אלי');
  ok(await background('.notice') !== wrong, 'success does not look like an error');
  await write(eli, { title: 'שלום', content: 'مرحبا بكم' });
  is([await direction('.post h1'), await direction('.post .text'), await direction('.back')], ['rtl', 'rtl', 'ltr'], 'a text is shown in its own direction');
  await write(eli, { title: 't'.repeat(200), content: 'c'.repeat(300) });
  is(await eli.page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), true, 'a long word does not stick out');
  await write(eli, { title: 'Words', content: words });
  await write(eli, { title: '字', content: '字'.repeat(300) });
  await until(async () => { await eli.page.goto('/'); return (await titles(eli.page)).slice(0, 2); }, ['字', 'Words']);
  const [short, cut] = await eli.page.$$eval('.card .excerpt', (found) => found.slice(0, 2).map((excerpt) => excerpt.textContent));

  ok(cut.endsWith('…') && words.startsWith(`${cut.slice(0, -1)} `), 'an excerpt ends with a whole word', cut);
  is(short, `${'字'.repeat(200)}…`, '... or where there are no words, at its length');
}

async function posts({ site, browser, store }) {
  const ada = await person(browser, site);

  await signIn(ada, 'Ada');
  const address = await write(ada, { title: 'The first post', content: 'One paragraph.\n\nAnd another.', slug: 'Prémière !' });

  ok(/^\/posts\/premiere-[0-9a-f-]{36}$/.test(address), 'the address has the slug', address);
  is(await text(ada.page, '.notice'), 'Published.', 'it is published');
  is(await ada.page.textContent('.post .text'), 'One paragraph.\n\nAnd another.', 'paragraphs stay');
  await ada.page.goto('/');
  await until(async () => { await ada.page.reload(); return titles(ada.page); }, ['The first post'], 'the front page has it');
  is(await ada.page.$eval('.card h2 a', (link) => link.getAttribute('href')), address, '... with its address');
  await ada.page.goto(address.replace('premiere', 'another'));
  is(new URL(ada.page.url()).pathname, address, 'another slug leads to the right one');

  // the form, sent twice
  await ada.page.goto('/posts/new');
  await ada.page.fill('#title', SECOND.title);
  await ada.page.fill('#content', SECOND.content);
  const statuses = await ada.page.$eval('form.write', async (form) => {
    const send = async () => (await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) })).status;

    return [await send(), await send(), ...await Promise.all([send(), send()])];
  });

  is(statuses, [200, 200, 200, 200], 'a form can be sent again');
  is((await store.rows("SELECT FROM blogstore.posts WHERE type = 'post' AND title = $1", SECOND.title)).length, 1, '... and makes one post');
  await ada.page.goto('/');
  await until(async () => { await ada.page.reload(); return titles(ada.page); }, [SECOND.title, 'The first post'], 'newest first');

  // edited
  const id = address.slice(-36);

  await store.rows(`SELECT * FROM blogstore.edit_post($1, properties => '{"slug": "premiere", "tags": ["untold"], "picture": {"wide": 12}}')`, id);
  await ada.page.goto(address);
  ok(!(await ada.page.textContent('main')).includes('untold'), 'properties that the site does not know are not shown');
  await ada.page.click('.own >> text=Edit');
  is(await ada.page.inputValue('#title'), 'The first post', 'an edit begins with what is there');
  await ada.page.fill('#title', 'The very first post');
  await ada.page.click('text=Save');
  await ada.page.waitForSelector('.post .edited');
  is(await text(ada.page, 'h1'), 'The very first post', 'it is edited');
  ok(/^edited \d+ \w+ \d{4}/.test(await text(ada.page, '.post .edited')), '... and says when', await text(ada.page, '.post .edited'));
  is((await store.rows('SELECT properties FROM blogstore.get_post($1)', id))[0].properties, { slug: 'premiere', tags: ['untold'], picture: { wide: 12 } }, 'properties that the form does not know stay');
  await ada.page.goto('/');
  await until(async () => { await ada.page.reload(); return titles(ada.page); }, [SECOND.title, 'The very first post'], 'the front page has the edit');

  // deleted
  await ada.page.goto(address);
  await ada.page.click('.own summary');
  await ada.page.click('.own .danger');
  await ada.page.waitForSelector('.profile');
  is(await text(ada.page, '.notice'), 'Deleted.', 'it is deleted');
  is(await titles(ada.page), [SECOND.title], "the user's page has it no more");
  is((await ada.page.goto(address)).status(), 404, 'nor has its address');
}

async function drafts({ site, browser }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site);

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'A draft', content: 'Not yet.', draft: true });

  is(await text(ada.page, '.post .badge'), 'Hidden', 'a draft says that it is one');
  await ada.page.click('.who');
  await until(async () => { await ada.page.reload(); return titles(ada.page); }, ['A draft', SECOND.title], "it is on one's own page");
  const own = ada.page.url();

  await bob.page.goto(own);
  is(await titles(bob.page), [SECOND.title], "... and on nobody else's view of it");
  is((await bob.page.goto(address)).status(), 404, 'nobody else reads it');
  is((await bob.page.goto(`${address}/edit`)).status(), 404, '... or edits it');
  await bob.page.goto('/');
  is(await titles(bob.page), [SECOND.title], 'the front page does not have it');
  await ada.page.goto(address);
  is([await ada.page.$('.heart'), await ada.page.$('.comment-form')], [null, null], 'a draft takes no likes and comments');
  await ada.page.click('.own >> text=Publish');
  await ada.page.waitForSelector('.own >> text=Hide');
  await ada.page.goto('/');
  await until(async () => { await ada.page.reload(); return titles(ada.page); }, ['A draft', SECOND.title], 'published, it heads the front page');
  is((await bob.page.goto(address)).status(), 200, '... and can be read');
}

async function hiding({ site, browser }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site, { live: false });

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'Read and hidden' });

  await bob.page.goto(address);
  await bob.page.waitForSelector('.heart');
  await ada.page.click('.own >> text=Hide');
  await ada.page.waitForSelector('.badge');

  // Bob still has the page
  await bob.page.click('.heart');
  await until(() => text(bob.page, '.like-count').then((told) => /not shown any more/.test(told)), true, 'a like of what was hidden meanwhile is told so');
  is(await bob.page.getAttribute('.heart', 'aria-pressed'), 'false', '... and is none');
  await bob.page.fill('.comment-form textarea', 'Too late');
  await bob.page.click('.comment-form button');
  await bob.page.waitForSelector('[role=alert]');
  ok(/not shown any more/.test(await text(bob.page, '[role=alert]')), 'so is a comment', await text(bob.page, '[role=alert]'));
  is((await bob.page.goto(address)).status(), 404, 'it cannot be read any more');
  await bob.page.goto('/');
  ok(!(await titles(bob.page)).includes('Read and hidden'), 'it is on no front page from that moment on');
  await ada.page.click('.own >> text=Publish');
  await ada.page.waitForSelector('.own >> text=Hide');
  is((await bob.page.goto(address)).status(), 200, 'shown again, it can be');
  await bob.page.click('.heart');
  await until(() => text(bob.page, '.like-count'), '1 like', '... and be liked');
}

async function liking({ site, browser, store }) {
  const people = [await person(browser, site), await person(browser, site)];

  await signIn(people[0], 'Ada');
  await signIn(people[1], 'Bob');
  const address = await write(people[0], { title: 'Liked by two' });
  const counts = () => Promise.all(people.map(({ page }) => text(page, '.like-count')));
  const pressed = () => Promise.all(people.map(({ page }) => page.getAttribute('.heart', 'aria-pressed')));
  const stored = async () => (await store.rows('SELECT like_count, (SELECT count(*) FROM blogstore.list_post_likes($1)) AS likes FROM blogstore.get_post($1)', address.slice(-36)))[0];

  await people[1].page.goto(address);
  for (let round = 1; round <= 3; round++) {
    await Promise.all(people.map(({ page }) => page.click('.heart')));
    await until(pressed, ['true', 'true'], `two browsers like at once, round ${round}`);
    is(Math.max(...(await counts()).map(parseFloat)), 2, 'whose answer came last shows both');
    await Promise.all(people.map(({ page }) => page.reload()));
    is(await counts(), ['2 likes', '2 likes'], '... and so do both from then on');
    is(await stored(), { like_count: '2', likes: '2' }, 'two likes are stored');
    is(new URL(people[1].page.url()).pathname, address, 'nobody has left the page');
    await Promise.all(people.map(({ page }) => page.click('.heart')));
    await until(pressed, ['false', 'false'], 'they take them back at once');
    await Promise.all(people.map(({ page }) => page.reload()));
    is(await counts(), ['0 likes', '0 likes'], 'none is left');
  }
  await people[1].page.click('.heart');
  await until(() => text(people[1].page, '.like-count'), '1 like', 'one likes it again');
  await people[1].page.goto('/');
  ok(await people[1].page.$('.card:first-of-type .mine'), 'the front page tells which are liked by who looks');
  is(await text(people[1].page, '.card:first-of-type .sr'), ', yours is one of them', '... in words, too');
  await people[0].page.goto('/');
  is(await people[0].page.$('.card:first-of-type .mine'), null, '... and by nobody else');
}

async function discussing({ site, browser, store }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site);

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'Discussed' });

  await bob.page.goto(address);
  await bob.page.fill('.comment-form textarea', 'A first comment');
  await bob.page.click('.comment-form button');
  await bob.page.waitForSelector('.comment');
  is(await text(bob.page, '.comment > .text'), 'A first comment', 'a comment is there at once');
  is(await text(bob.page, '#comments-title'), '1 comment', '... and counted');

  await ada.page.goto(address);
  await ada.page.click('.comment summary >> text=Reply');
  await ada.page.fill('.comment .comment-form textarea', 'A reply');
  await ada.page.click('.comment .comment-form button');
  await ada.page.waitForSelector('.comment .comment');
  is(await text(ada.page, '.comment .comment > .text'), 'A reply', 'a reply stands below what it replies to');
  is(await text(ada.page, '#comments-title'), '2 comments', '... and is a comment');
  is(await bob.page.$eval('.comment > .actions', (own) => [...own.querySelectorAll('summary')].map((one) => one.textContent)), ['Reply', 'Edit', 'Delete'], 'own comments can be changed');
  await bob.page.reload();
  is(await bob.page.$$eval('.comment .comment summary', (all) => all.map((one) => one.textContent)), ['Reply'], "others' cannot");

  // likes of comments, and threads that fold
  const heart = '.comment .comment .heart';
  const told = '.comment .comment .like-count';
  const likes = async () => (await store.rows(`SELECT c.like_count, (SELECT count(*) FROM blogstore.list_comment_likes(c.post_id, c.id)) AS likes
    FROM blogstore.list_post_comments($1) c WHERE c.content = 'A reply'`, address.slice(-36)))[0];

  await bob.page.click(heart);
  await until(() => text(bob.page, told), '1 like', 'a reply is liked');
  is(await bob.page.getAttribute(heart, 'aria-pressed'), 'true', '... and says so');
  is(await likes(), { like_count: '1', likes: '1' }, '... and one like is stored');
  await bob.page.reload();
  is(await bob.page.$$eval('.comment .heart', (all) => all.map((one) => one.ariaPressed)), ['false', 'true'], '... of that comment alone');
  await ada.page.reload();
  is([await text(ada.page, told), await ada.page.getAttribute(heart, 'aria-pressed')], ['1 like', 'false'], 'others see it, as no like of theirs');
  await ada.page.click(heart);
  await until(() => text(ada.page, told), '2 likes', '... and like it, too');
  await bob.page.click(heart);
  await until(() => text(bob.page, told), '1 like', 'who takes it back sees what is left');
  is(await text(bob.page, '.post .like-count'), '0 likes', 'the post has no likes by it');
  is(await text(bob.page, '.replies > summary'), '1 reply', 'a thread tells how many replies it has');
  await bob.page.click('.replies > summary');
  is(await bob.page.isVisible('.comment .comment'), false, '... and folds');

  await bob.page.click('.comment summary >> text=Edit');
  await bob.page.fill('textarea[id^=e-]', 'A better comment');
  await bob.page.click('.comment >> text=Save');
  await bob.page.waitForSelector('.comment .edited');
  is(await text(bob.page, '.comment > .text'), 'A better comment', 'a comment is edited');

  const first = (await bob.page.getAttribute('.comment', 'id')).slice(2);

  await bob.page.click('.comment summary >> text=Delete');
  await bob.page.click('.comment .danger');
  await bob.page.waitForSelector(`#c-${first}`, { state: 'detached' });
  is(await bob.page.$$eval('.comment > .text', (all) => all.map((one) => one.textContent)), ['A reply'], 'deleted, it leaves its replies');
  is(await text(bob.page, '.comment .to'), 'A reply to a comment that is gone', '... which say so');
  is(await text(bob.page, '#comments-title'), '1 comment', '... and are counted');
  is((await store.rows('SELECT comment_count FROM blogstore.get_post($1)', address.slice(-36)))[0].comment_count, '1', '... in the store, too');
}

async function renaming({ site, browser }) {
  const bob = await person(browser, site);
  const ada = await person(browser, site);

  await signIn(bob, 'Bob');
  await signIn(ada, 'Ada');
  const address = await write(bob, { title: "Bob's post" });

  await bob.page.click('.who');
  await bob.page.click('.panel summary');
  await bob.page.fill('.panel #name', 'ADA');
  await bob.page.click('.panel button');
  await bob.page.waitForSelector('[role=alert]');
  ok(/taken/i.test(await text(bob.page, '[role=alert]')), 'a name that is taken is told', await text(bob.page, '[role=alert]'));
  await bob.page.fill('#name', 'Robert');
  await bob.page.click('main button');
  await bob.page.waitForSelector('.profile');
  is(await text(bob.page, 'h1'), 'Robert', 'one is renamed');
  is(await text(bob.page, '.who-name'), 'Robert', '... at the top of the page, too');
  await ada.page.goto(address);
  is(await text(ada.page, '.post .byline a'), 'Robert', '... on what one has written');
  await until(async () => { await ada.page.goto('/'); return text(ada.page, '.card:first-of-type .byline a'); }, 'Robert', '... and on the front page');
}

async function topics({ site, browser, store }) {
  const ada = await person(browser, site);
  const bob = await person(browser, site);
  const status = async ({ page }, address) => (await page.goto(address)).status();
  const links = ({ page }) => page.$$eval('.topics a', (all) => all.map((link) => link.textContent));
  const listed = ({ page }) => page.$$eval('.all-topics li', (all) => all.map((one) => one.textContent));

  await signIn(ada, 'Ada');
  await signIn(bob, 'Bob');
  const address = await write(ada, { title: 'By train', topics: ' Slow  trains,,Tea , Tea' });

  is(await links(ada), ['Slow trains', 'Tea'], 'a post shows its topics');
  await until(async () => { await ada.page.goto('/'); return links(ada); }, ['Slow trains', 'Tea'], '... in lists, too');
  await until(() => status(ada, '/topics'), 200, 'topics are ready');
  await write(bob, { title: 'By another train', topics: 'SLOW TRAINS' });
  await bob.page.click('.topics a');
  await bob.page.waitForSelector('.lead');
  is([await text(bob.page, 'h1'), await titles(bob.page)], ['SLOW TRAINS', ['By another train', 'By train']], 'a topic has a page of its posts, whatever its case');
  await bob.page.click('text=All topics');
  await bob.page.waitForSelector('.all-topics');
  is(await listed(bob), ['slow trains 2 posts', 'tea 1 post'], 'all topics are on a page');
  await bob.page.fill('#prefix', 'Slow ');
  await bob.page.click('main button');
  await bob.page.waitForURL(/prefix/);
  is(await listed(bob), ['slow trains 2 posts'], '... or those that begin with a text');

  // more than a page of topics
  const bobs = (await store.rows("SELECT id FROM blogstore.get_user_by_name('bob')"))[0].id;

  await store.rows(`SELECT count(blogstore.create_post($1, 'Many', '', properties => jsonb_build_object('topics',
      ARRAY(SELECT 'n ' || to_char(n, 'FM000') FROM generate_series(10 * i, 10 * i + 9) AS n)))) FROM generate_series(0, 11) AS i`, bobs);
  await store.rows("SELECT blogstore.wait_for_views('10 min')");
  await bob.page.goto('/topics?prefix=N');
  const shown = await listed(bob);

  await Promise.all([bob.page.waitForNavigation(), bob.page.click('.older')]);
  is([...shown, ...await listed(bob)], Array.from({ length: 120 }, (_, n) => `n ${String(n).padStart(3, '0')} 1 post`), '... page by page');
  is([shown.length, await bob.page.$('.older')], [100, null], '... to the last one');

  // edited, hidden, and without its author
  await ada.page.goto(`${address}/edit`);
  is(await ada.page.inputValue('#topics'), 'Slow trains, Tea', 'topics are edited');
  await ada.page.fill('#topics', 'Tea, Cake');
  await ada.page.click('text=Save');
  await ada.page.waitForSelector('.post .edited');
  await ada.page.goto('/topics/slow%20trains');
  is(await titles(ada.page), ['By another train'], 'a post is not listed by a topic that it had');
  await ada.page.goto('/topics/cake');
  is(await titles(ada.page), ['By train'], '... but by those that it has');
  await ada.page.goto(address);
  await ada.page.click('.own >> text=Hide');
  await ada.page.waitForSelector('.badge');
  is([await status(bob, '/topics/cake'), await status(ada, '/topics/cake')], [404, 404], 'a hidden post is on no page of a topic');
  await ada.page.goto('/topics?prefix=cake');
  is(await listed(ada), [], '... and its topics are not listed');
  await store.rows('SELECT blogstore.delete_user($1)', bobs);
  is(await status(ada, '/topics/slow%20trains'), 404, 'nor are posts of who is gone');
  await until(async () => { await ada.page.goto('/topics'); return listed(ada); }, [], '... and their topics');

  // without the worker
  await store.rows('SELECT blogstore.stop_worker()');
  is([await status(ada, '/topics'), await text(ada.page, 'h1')], [503, 'Not yet'], 'topics that are not ready say so');
  is([await status(ada, '/topics/tea'), await status(ada, '/')], [503, 200], '... on a page of one, too, and other lists are there');
  await store.rows('SELECT blogstore.start_worker()');
  await until(() => status(ada, '/topics'), 200, '... until they are');
  await ada.page.goto(address);
  await ada.page.click('.own >> text=Publish');
  await ada.page.waitForSelector('.own >> text=Hide');
  await ada.page.goto('/topics/cake');
  is(await titles(ada.page), ['By train'], 'a post that is shown again is listed again');
}

async function withoutScript({ site, browser }) {
  const cleo = await person(browser, site, { javaScriptEnabled: false });

  await signIn(cleo, 'Cleo');
  const address = await write(cleo, { title: 'Written without JavaScript' });

  await cleo.page.click('.heart');
  await until(() => text(cleo.page, '.like-count'), '1 like', 'without JavaScript: the like is counted at once');
  is([new URL(cleo.page.url()).pathname, await text(cleo.page, '.heart')], [address, 'Liked'], '... on the same page');
  await cleo.page.click('.heart');
  await until(() => text(cleo.page, '.like-count'), '0 likes', '... and taken back');
  await cleo.page.fill('.comment-form textarea', 'A comment');
  await cleo.page.click('.comment-form button');
  await cleo.page.waitForSelector('.comment');
  await cleo.page.click('.comment summary >> text=Reply');
  await cleo.page.fill('.comment .comment-form textarea', 'A reply');
  await cleo.page.click('.comment .comment-form button');
  await cleo.page.waitForSelector('.comment .comment');
  is(await text(cleo.page, '.comment .comment > .text'), 'A reply', '... comments and replies');
  await cleo.page.click('.comment .comment .heart');
  await until(() => text(cleo.page, '.comment .comment .like-count'), '1 like', '... likes of comments');
  is(new URL(cleo.page.url()).pathname, address, '... on the same page');
  await cleo.page.click('.own >> text=Hide');
  await cleo.page.waitForSelector('.badge');
  await cleo.page.click('.own >> text=Publish');
  await cleo.page.waitForSelector('.badge', { state: 'detached' });
  await cleo.page.click('.own >> text=Edit');
  await cleo.page.fill('#title', 'Edited without JavaScript');
  await cleo.page.click('text=Save');
  await cleo.page.waitForSelector('.post .edited');
  await cleo.page.goto('/');
  await until(async () => { await cleo.page.reload(); return (await titles(cleo.page))[0]; }, 'Edited without JavaScript', '... hidden, shown, edited');
  await cleo.page.goto(address);
  await cleo.page.click('.own summary');
  await cleo.page.click('.own .danger');
  await cleo.page.waitForSelector('.profile');
  await cleo.page.click('.panel summary');
  await cleo.page.fill('.panel #name', 'Cleopatra');
  await cleo.page.click('.panel button');
  await until(() => text(cleo.page, 'h1'), 'Cleopatra', '... deleted, and renamed');
}

kit.run([signingIn, names, posts, drafts, hiding, liking, discussing, renaming, withoutScript, looks, topics]);
