// Comments and replies on a post
import { randomUUID } from 'node:crypto';
import { badRequest, notFound } from '../errors.js';
import { field, isUuid, localPath, newId, postId, search, uuid, where } from '../form.js';
import { livePath } from '../live.js';
import { postPath } from '../show.js';

export function routes(app) {
  app.post('/posts/:post/comments', create);
  app.get('/posts/:post/comments/:comment', async (req, res) => res.page('thread', await thread(req)));
  app.get('/posts/:post/comments/:comment/replies', async (req, res) => res.part('replies', await thread(req)));
  app.post('/posts/:post/comments/:comment/edit', edit);
  app.post('/posts/:post/comments/:comment/delete', remove);
  app.post('/posts/:post/comments/:comment/like', like);
}

async function create(req, res) {
  const id = postId(req.params.post);
  const parentId = field(req.body, 'parent') || null;

  if (parentId !== null && !isUuid(parentId)) throw badRequest('This is no comment that one could reply to.');
  const [comment, post] = await req.visit(async (visit) => [
    await visit.createComment(id, { id: newId(req.body), content: field(req.body, 'content').trim(), parentId }),
    await visit.post(id)]);

  if (!post) throw notFound();
  req.session.wrote = true;
  // The parent may be on another page of the post, so show the reply's thread.
  if (parentId !== null && field(req.body, 'from') === 'thread')
    return req.done('Your reply is below.', `/posts/${id}/comments/${parentId}#c-${comment.id}`);
  return req.done('Your comment is below.', `${postPath(post)}#c-${comment.id}`);
}

async function thread(req) {
  const id = postId(req.params.post);
  const parentId = uuid(req.params.comment);
  const at = where(req.query);
  const [post, page] = await req.visit(async (visit) => [await visit.post(id), await visit.thread(id, parentId, at)]);

  if (!post) throw notFound();
  const base = `/posts/${id}/comments/${parentId}`;

  return {
    title: `Replies on ${post.title}`, post, parentId, page, newId: randomUUID,
    base, at: base + search(req), part: `${base}/replies`, live: livePath('post', id),
  };
}

async function edit(req, res) {
  const id = postId(req.params.post);
  const commentId = uuid(req.params.comment);
  const [, post] = await req.visit(async (visit) => [
    await visit.editComment(id, commentId, field(req.body, 'content').trim()), await visit.post(id)]);

  if (!post) throw notFound();
  req.done('Saved.', `${postPath(post)}#c-${commentId}`);
}

async function remove(req, res) {
  const id = postId(req.params.post);
  const [done, post] = await req.visit(async (visit) => [
    await visit.deleteComment(id, uuid(req.params.comment)), await visit.post(id)]);

  if (!done || !post) throw notFound();
  req.session.wrote = true;
  req.done('Deleted.', `${postPath(post)}#comments`);
}

// As for a post, the count is read after the commit.
async function like(req, res) {
  const id = postId(req.params.post);
  const commentId = uuid(req.params.comment);
  const liked = field(req.body, 'liked') === 'yes';

  await req.visit((visit) => visit.like(id, liked, commentId));
  const comment = await req.visit((visit) => visit.comment(id, commentId));

  if (!comment) throw notFound();
  if (req.accepts(['html', 'json']) === 'json') return res.json({ liked, likes: comment.like_count });
  return res.redirect(303, `${localPath(field(req.body, 'at'))}#c-${commentId}`);
}
