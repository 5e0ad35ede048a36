// Lists of posts: the front page, the visitor's home page, a user's page and
// a topic's page. Each has two addresses: one for the page, and one for its
// posts alone, which the script in the browser fetches to go on with the list,
// and to renew it. And the list of topics.
import { notFound } from '../errors.js';
import { field, line, uuid, where } from '../form.js';
import { livePath } from '../live.js';
import { topicPath, userPath } from '../show.js';

export function routes(app) {
  list(app, '/', '/feed', 'feed', feed);
  app.get('/home', (req, res, next) => (req.session.user ? next() : res.redirect(303, '/sign-in?to=/home')));
  list(app, '/home', '/home/posts', 'home', home);
  list(app, '/users/:user', '/users/:user/posts', 'user', user);
  app.get('/topics', topics);
  list(app, '/topics/:topic', '/topics/:topic/posts', 'topic', topic);
}

function list(app, page, part, view, read) {
  app.get(page, async (req, res) => res.page(view, await read(req)));
  app.get(part, async (req, res) => res.part('posts', await read(req)));
}

async function feed(req) {
  const at = where(req.query);

  await req.listsFollow();
  const page = await req.visit((visit) => visit.feed(at));

  return { page, base: '/', part: '/feed', live: livePath('feed') };
}

async function home(req) {
  if (!req.session.user) throw notFound();
  const at = where(req.query);

  await req.listsFollow();
  const page = await req.visit((visit) => visit.homeFeed(at));

  return { page, base: '/home', part: '/home/posts', live: livePath('home'), title: 'Home' };
}

// The store returns hidden posts only to their author, so they appear only on
// the visitor's own page.
async function user(req) {
  const id = uuid(req.params.user);
  const at = where(req.query);

  await req.listsFollow();
  const [owner, page, follows] = await req.visit(async (visit) =>
    [await visit.user(id), await visit.userPosts(id, at), await visit.isFollowing(id)]);

  if (!owner) throw notFound();
  return {
    page, owner, follows, base: userPath(id), part: `${userPath(id)}/posts`, live: livePath('user', id),
    title: owner.username, name: owner.username,
  };
}

async function topics(req, res) {
  const prefix = line(req.query, 'prefix');
  const after = field(req.query, 'after') || null;

  await req.listsFollow();
  const page = await req.visit((visit) => visit.topics(prefix, after));

  res.page('topics', { title: 'Topics', page, prefix });
}

// The store compares topics regardless of case, and there is a topic as long
// as a post has it.
async function topic(req) {
  const name = req.params.topic.trim();
  const base = topicPath(name);
  const at = where(req.query);

  await req.listsFollow();
  const [page, key] = await req.visit(async (visit) => [await visit.topicPosts(name, at), await visit.topicKey(name)]);

  if (page.items.length === 0) throw notFound();
  return { page, base, part: `${base}/posts`, live: livePath('topic', key), title: name };
}
