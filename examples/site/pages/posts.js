// A post: read, written, published, hidden, changed, liked, deleted.
//
// The store's wrappers change and delete only the visitor's own posts (42501,
// or nothing deleted), so these functions do not check the author.
import { randomUUID } from 'node:crypto';
import { badRequest, notFound, problemOf } from '../errors.js';
import { field, merged, newId, postForm, postId, search, slugIn, topicsText, where } from '../form.js';
import { livePath } from '../live.js';
import { postPath, userPath } from '../show.js';

const TITLE_MAX = 200;

export function routes(app) {
  app.get('/posts/new', write);
  app.post('/posts', create);
  app.get('/posts/:post', page);
  app.get('/posts/:post/discussion', async (req, res) => res.part('discussion', await read(req)));
  app.get('/posts/:post/edit', edit);
  app.post('/posts/:post/edit', save);
  app.post('/posts/:post/publish', publish);
  app.post('/posts/:post/hide', hide);
  app.post('/posts/:post/delete', remove);
  app.post('/posts/:post/like', like);
}

// The page of a post. Its address has the post's current slug.
async function page(req, res) {
  const data = await read(req);

  if (req.path !== data.base) return res.redirect(302, data.at);
  return res.page('post', data);
}

// Read a post and a page of its comments.
async function read(req) {
  const id = postId(req.params.post);
  const at = where(req.query);
  const [post, liked, comments] = await req.visit(async (visit) =>
    [await visit.post(id), await visit.likes(id), await visit.comments(id, at)]);

  if (!post) throw notFound();
  return {
    title: post.title, post, liked, page: comments, newId: randomUUID,
    base: postPath(post), at: postPath(post) + search(req), part: `/posts/${id}/discussion`, live: livePath('post', id),
  };
}

// ---- Writing

function write(req, res) {
  if (!req.session.user) return res.redirect(303, '/sign-in?to=/posts/new');
  return res.page('write', { title: 'Write', form: { id: randomUUID(), title: '', content: '', topics: '', slug: '' } });
}

// Show the form again, with the problem and the visitor's input.
function again(req, res, error, data) {
  const problem = problemOf(error);

  if (problem.status >= 500 || problem.status === 403) throw error;
  return res.page('write', { ...data, problem, form: { ...req.body, id: newId(req.body) } }, problem.status);
}

// Refuse titles that are too long for this site. The store checks the rest.
function checked(form) {
  if (form.title.length > TITLE_MAX) throw badRequest(`A title has at most ${TITLE_MAX} characters.`);
  return form;
}

async function create(req, res) {
  const id = newId(req.body);
  const draft = field(req.body, 'as') === 'draft';
  let post;

  try {
    const form = checked(postForm(req.body));

    post = await req.visit((visit) => visit.createPost({ id, ...form, draft }));
  } catch (error) {
    return again(req, res, error, { title: 'Write' });
  }
  req.session.wrote = true;
  return req.done(draft ? 'Kept as a draft, which nobody but you can see.' : 'Published.', postPath(post));
}

async function own(req) {
  const id = postId(req.params.post);
  const post = await req.visit((visit) => visit.post(id));

  if (!post || post.user_id !== req.session.user?.id) throw notFound();
  return post;
}

async function edit(req, res) {
  const post = await own(req);

  res.page('write', {
    title: 'Edit', post,
    form: { title: post.title, content: post.content, topics: topicsText(post), slug: slugIn(post) },
  });
}

// Keep the properties that the form does not have: read and write the post in
// one transaction.
async function save(req, res) {
  const id = postId(req.params.post);
  let post;

  try {
    const form = checked(postForm(req.body));

    post = await req.visit(async (visit) => {
      const before = await visit.post(id);

      return visit.editPost(id, { ...form, properties: merged(before?.properties, form.properties) });
    });
  } catch (error) {
    return again(req, res, error, { title: 'Edit', post: { id } });
  }
  req.session.wrote = true;
  return req.done('Saved.', postPath(post));
}

async function publish(req, res) {
  const id = postId(req.params.post);
  const post = await req.visit((visit) => visit.publishPost(id));

  req.session.wrote = true;
  req.done('Published.', postPath(post));
}

async function hide(req, res) {
  const id = postId(req.params.post);
  const post = await req.visit((visit) => visit.hidePost(id));

  req.session.wrote = true;
  req.done('Hidden. Nobody but you can see it.', postPath(post));
}

async function remove(req, res) {
  const id = postId(req.params.post);

  if (!await req.visit((visit) => visit.deletePost(id))) throw notFound();
  req.session.wrote = true;
  req.done('Deleted.', userPath(req.session.user.id));
}

// ---- Liking
//
// The response has the current count, including the visitor's own like. The
// count is read after the commit, so of two concurrent likes the later
// response includes both.

async function like(req, res) {
  const id = postId(req.params.post);
  const liked = field(req.body, 'liked') === 'yes';

  await req.visit((visit) => visit.like(id, liked));
  const post = await req.visit((visit) => visit.post(id));

  if (!post) throw notFound();
  req.session.wrote = true;
  if (req.accepts(['html', 'json']) === 'json') return res.json({ liked, likes: post.like_count });
  return res.redirect(303, postPath(post));
}
