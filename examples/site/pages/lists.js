// Lists of posts: the front page, a user's page and a topic's page. Each has
// two addresses: one for the page, and one for its posts alone, which the
// script in the browser appends to the list. And the list of topics.
import { notFound } from '../errors.js';
import { field, line, uuid, where } from '../form.js';
import { topicPath, userPath } from '../show.js';

export function routes(app) {
  app.get('/', (req, res) => feed(req, res, 'feed'));
  app.get('/feed', (req, res) => feed(req, res, 'posts'));
  app.get('/users/:user', (req, res) => user(req, res, 'user'));
  app.get('/users/:user/posts', (req, res) => user(req, res, 'posts'));
  app.get('/topics', topics);
  app.get('/topics/:topic', (req, res) => topic(req, res, 'topic'));
  app.get('/topics/:topic/posts', (req, res) => topic(req, res, 'posts'));
}

async function feed(req, res, view) {
  const at = where(req.query);

  await req.listsFollow();
  const page = await req.visit((visit) => visit.feed(at));

  res.page(view, { page, base: '/', more: '/feed' });
}

// The store returns hidden posts only to their author, so they appear only on
// the visitor's own page.
async function user(req, res, view) {
  const id = uuid(req.params.user);
  const at = where(req.query);

  await req.listsFollow();
  const [owner, page] = await req.visit(async (visit) => [await visit.user(id), await visit.userPosts(id, at)]);

  if (!owner) throw notFound();
  res.page(view, { page, owner, base: userPath(id), more: `${userPath(id)}/posts`, title: owner.username, name: owner.username });
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
async function topic(req, res, view) {
  const name = req.params.topic.trim();
  const base = topicPath(name);
  const at = where(req.query);

  await req.listsFollow();
  const page = await req.visit((visit) => visit.topicPosts(name, at));

  if (page.items.length === 0) throw notFound();
  res.page(view, { page, base, more: `${base}/posts`, title: name });
}
