// Long lists: every post is there once and in its place, whichever way a user
// goes through the list, and going back leads to where the user was.
'use strict';

const kit = require('./kit.js');

const { is, ok, person, signIn, text, titles, until } = kit;

const POSTS = 1100;
const COMMENTS = 50;

let all;

const links = (page) => page.$$eval('.card h2 a', (found) => found.map((link) => link.getAttribute('href').slice(-36)));
const follow = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

// Three posts have each date, and several have dates in each millisecond.
// JavaScript's dates have milliseconds only.
async function load({ store }) {
  await store.rows("SELECT blogstore.create_user('Ann', $1), blogstore.create_user('Ben', $2)", user(1), user(2));
  await store.rows(`SELECT count(blogstore.create_post(CASE i % 2 WHEN 0 THEN $2::uuid ELSE $3 END, 'Post ' || i, repeat('word ', 60),
      creation_date => '2016-01-01 00:00:00+00'::timestamptz + (i / 3) * interval '400 microseconds',
      properties => CASE WHEN i % 20 = 0 THEN '{"topics": ["Every 20th"]}'::jsonb END))
    FROM generate_series(1, $1::int) AS i`, POSTS, user(1), user(2));
  is((await store.rows("SELECT blogstore.wait_for_views('10 min') AS done"))[0].done, true, 'the views follow');
  all = (await store.rows("SELECT id FROM blogstore.posts WHERE type = 'post' ORDER BY creation_date DESC, id DESC")).map((row) => row.id);
  is(all.length, POSTS, 'there are all posts');
}

const user = (n) => `018f0000-0000-7000-8000-${String(n).padStart(12, '0')}`;

async function byLinks({ site, browser }) {
  const { page } = await person(browser, site, { javaScriptEnabled: false });
  const seen = [];
  let pages = 1;

  await page.goto('/');
  seen.push(...await links(page));
  for (; await page.$('.older') && pages <= POSTS; pages++) {
    await follow(page, '.older');
    seen.push(...await links(page));
  }
  is(pages, 55, 'without JavaScript: so many pages');
  ok(JSON.stringify(seen) === JSON.stringify(all), '... have each post once, in its place', firstDifference(seen, all));

  const back = await links(page);

  for (; await page.$('.newer') && pages > 0; pages--) {
    await follow(page, '.newer');
    back.unshift(...await links(page));
  }
  ok(JSON.stringify(back) === JSON.stringify(all), '... and the way back, too', firstDifference(back, all));
}

function firstDifference(got, expected) {
  const n = expected.findIndex((id, i) => got[i] !== id);

  return `${got.length} of ${expected.length}; number ${n} is ${got[n]} in place of ${expected[n]}`;
}

// Scroll to the list's end until the list has this many posts, or until no
// more posts follow.
async function scroll(page, least) {
  for (;;) {
    const count = await page.$$eval('.card', (cards) => cards.length);

    if (count >= least || !await page.$('.older')) return count;
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction((before) => document.querySelectorAll('.card').length > before || !document.querySelector('.older'), count);
  }
}

async function endless({ site, browser, store }) {
  const { page, complaints } = await person(browser, site, { live: false });
  let requests = 0;

  page.on('request', (request) => { requests += new URL(request.url()).pathname === '/feed' ? 1 : 0; });
  await page.goto('/');
  ok(await scroll(page, 300) < POSTS, 'the front page goes on as one goes on');

  // meanwhile: a post above, one less above, and one less below
  const fresh = (await store.rows("SELECT id FROM blogstore.create_post($1, 'Meanwhile', '')", user(1)))[0].id;

  await store.rows('SELECT blogstore.delete_post($1)', all[10]);
  await store.rows('SELECT blogstore.hide_post($1)', all[900]);
  is(await scroll(page, Infinity), POSTS - 1, 'to its end');
  const seen = await links(page);
  const expected = all.filter((id, n) => n !== 900);

  ok(JSON.stringify(seen) === JSON.stringify(expected), '... each post is there once, in its place, whatever happens meanwhile', firstDifference(seen, expected));
  ok(requests >= 54, '... fetched page by page', requests);
  is(complaints, [], 'nothing is complained of');
  await store.rows('SELECT blogstore.delete_post($1)', fresh);
  await store.rows('SELECT blogstore.hide_post($1, false)', all[900]);
  all.splice(10, 1);
  await store.rows("SELECT blogstore.wait_for_views('10 min')");
}

async function goingBack({ site, browser }) {
  const { page } = await person(browser, site);

  await page.goto('/');
  await scroll(page, 200);
  const card = page.locator(`#p-${all[150]}`);

  await card.locator('h2 a').click();
  await page.waitForSelector('.post');
  is(await page.textContent('.post h1'), await title(page), 'a post is opened far down');
  await page.goBack();
  await page.waitForSelector(`#p-${all[150]}`);
  ok(await inView(card), 'going back leads to its place in the list');
  ok(await page.$('.newer'), '... from where there is a way up');
  await scroll(page, 60);
  const seen = await links(page);
  const first = all.indexOf(seen[0]);

  is(seen, all.slice(first, first + seen.length), '... and on');
  await page.goForward();
  await page.waitForSelector('.post');
  is(new URL(page.url()).pathname.slice(-36), all[150], 'going forward leads to the post again');
  await page.reload();
  is((await page.$$('.post')).length, 1, '... which can be reloaded');

  // without JavaScript the address is the place
  const plain = (await person(browser, site, { javaScriptEnabled: false })).page;

  await plain.goto('/');
  await follow(plain, '.older');
  const second = await links(plain);

  await follow(plain, '.card:last-of-type h2 a');
  await plain.goBack();
  is(await links(plain), second, 'without JavaScript: going back leads to the page that it was');
}

const title = async (page) => (await page.title()).replace(/ · Marginalia$/, '');

async function inView(card) {
  await until(() => card.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();

    return top < window.innerHeight && bottom > 0;
  }), true, 'the card is in view');
  return true;
}

async function usersPosts({ site, browser }) {
  const { page } = await person(browser, site);

  await page.goto(`/users/${user(1)}`);
  const count = await scroll(page, Infinity);

  is(new Set(await links(page)).size, count, "a user's page has no post twice");
  is((await titles(page)).filter((post) => Number(post.slice(5)) % 2 !== 0), [], "... and no other's");
  ok(count >= POSTS / 2 - 1, '... and all of them', count);
}

async function topicsPosts({ site, browser }) {
  const { page } = await person(browser, site);
  const every = Array.from({ length: POSTS / 20 }, (_, n) => `Post ${POSTS - 20 * n}`);

  await page.goto('/topics/every%2020th');
  is([await scroll(page, Infinity), await titles(page)], [every.length, every], "a topic's page has all its posts, each once");
  const plain = (await person(browser, site, { javaScriptEnabled: false })).page;

  await plain.goto('/topics/every%2020th');
  await follow(plain, '.older');
  await follow(plain, '.older');
  is(await titles(plain), every.slice(40), '... to the last page');
  await follow(plain, '.newer');
  is(await titles(plain), every.slice(20, 40), '... and the way back');
}

async function comments({ site, browser, store }) {
  const cleo = await person(browser, site, { javaScriptEnabled: false });

  await store.rows(`SELECT count(blogstore.create_comment($1, $2, 'Comment ' || i,
      creation_date => '2016-02-01 00:00:00+00'::timestamptz + (i / 3) * interval '400 microseconds'))
    FROM generate_series(1, $3::int) AS i`, all[0], user(1), COMMENTS);
  const expected = (await store.rows("SELECT id FROM blogstore.list_post_comments($1, NULL)", all[0])).map((row) => row.id);
  const shown = () => cleo.page.$$eval('.comment', (found) => found.map((comment) => comment.id.slice(2)));

  await cleo.page.goto(`/posts/${all[0]}`);
  const seen = await shown();

  while (await cleo.page.$('.older')) {
    await follow(cleo.page, '.older');
    seen.push(...await shown());
  }
  is(seen, expected, 'all comments are there, newest first');
  await follow(cleo.page, '.newer');
  await follow(cleo.page, '.newer');
  is(await shown(), expected.slice(0, 20), '... and the way back');

  // replies to a comment of the first page: three are shown there, and all of
  // them on a page of their own
  const parent = expected[3];

  await store.rows(`SELECT count(blogstore.create_comment($1, $2, 'Reply ' || i, parent_id => $3,
      creation_date => '2016-01-15 00:00:00+00'::timestamptz + i * interval '1 microsecond'))
    FROM generate_series(1, 45) AS i`, all[0], user(2), parent);
  await cleo.page.goto(`/posts/${all[0]}`);
  is(await cleo.page.$$eval(`#c-${parent} .comment > .text`, (found) => found.map((reply) => reply.textContent)), ['Reply 1', 'Reply 2', 'Reply 3'], 'the oldest replies stand below the comment');
  await follow(cleo.page, `#c-${parent} >> text=All replies`);
  const replies = [];
  const contents = () => cleo.page.$$eval('.comment > .text', (found) => found.map((reply) => reply.textContent));

  replies.push(...await contents());
  while (await cleo.page.$('.older')) {
    await follow(cleo.page, '.older');
    replies.push(...await contents());
  }
  is(replies, Array.from({ length: 45 }, (_, i) => `Reply ${i + 1}`), 'all replies are on a page of their own');
  await signIn(cleo, 'Cleo');
  await cleo.page.goto(`/posts/${all[0]}/comments/${parent}`);
  await cleo.page.fill('.comments > .comment-form textarea', 'The last reply');
  await follow(cleo.page, '.comments > .comment-form button');
  is(await text(cleo.page, '.notice'), 'Your reply is below.', 'one replies there');
}

kit.run([load, byLinks, endless, goingBack, usersPosts, topicsPosts, comments]);
