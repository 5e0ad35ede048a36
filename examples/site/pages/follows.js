// Follow users, and list who follows whom.
import { notFound } from '../errors.js';
import { field, uuid, where } from '../form.js';
import { userPath } from '../show.js';

export function routes(app) {
  app.post('/users/:user/follow', follow);
  app.get('/users/:user/followers', followers);
  app.get('/users/:user/following', following);
}

// The store's wrapper follows for the visitor, whatever the form has.
async function follow(req, res) {
  const id = uuid(req.params.user);
  const follows = field(req.body, 'follow') === 'yes';

  await req.visit((visit) => visit.follow(id, follows));
  req.done(follows ? 'You follow this user. New posts are on your home page.' : 'You follow this user no longer.', userPath(id));
}

async function followers(req, res) {
  const [owner, page] = await read(req, (visit, ...of) => visit.followers(...of));
  const people = page.items.map((item) => ({ id: item.user_id, name: item.user_username }));

  show(req, res, { owner, page, people, title: `Who follows ${owner.username}` });
}

async function following(req, res) {
  const [owner, page] = await read(req, (visit, ...of) => visit.following(...of));
  const people = page.items.map((item) => ({ id: item.followed_id, name: item.followed_username }));

  show(req, res, { owner, page, people, title: `Whom ${owner.username} follows` });
}

async function read(req, list) {
  const id = uuid(req.params.user);
  const at = where(req.query);
  const [owner, page] = await req.visit(async (visit) => [await visit.user(id), await list(visit, id, at)]);

  if (!owner) throw notFound();
  return [owner, page];
}

const show = (req, res, data) => res.page('follows', { ...data, base: req.path });
