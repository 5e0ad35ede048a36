// Lists of posts: the front page and a user's. Each has two addresses, the page and
// its posts alone, which the script on the page puts below those that are there.
import { notFound } from '../errors.js';
import { uuid, where } from '../form.js';
import { userPath } from '../show.js';

export function routes(app) {
  app.get('/', (req, res) => feed(req, res, 'feed'));
  app.get('/feed', (req, res) => feed(req, res, 'posts'));
  app.get('/users/:user', (req, res) => user(req, res, 'user'));
  app.get('/users/:user/posts', (req, res) => user(req, res, 'posts'));
}

async function feed(req, res, view) {
  const at = where(req.query);

  await req.listsFollow();
  const page = await req.visit((visit) => visit.feed(at));

  res.page(view, { page, base: '/', more: '/feed' });
}

// One's own page has what is hidden, too: the store shows it to its author alone.
async function user(req, res, view) {
  const id = uuid(req.params.user);
  const at = where(req.query);

  await req.listsFollow();
  const [owner, page] = await req.visit(async (visit) => [await visit.user(id), await visit.userPosts(id, at)]);

  if (!owner) throw notFound();
  res.page(view, { page, owner, base: userPath(id), more: `${userPath(id)}/posts`, title: owner.username, name: owner.username });
}
