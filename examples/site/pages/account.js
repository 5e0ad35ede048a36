// Sign in, sign out, rename. The example has no passwords: any visitor can
// sign in under any name. A real site replaces the sign-in and keeps the rest.
import { randomUUID } from 'node:crypto';
import { problemOf } from '../errors.js';
import { line, localPath } from '../form.js';
import { userPath } from '../show.js';

export function routes(app) {
  app.get('/sign-in', (req, res) => res.page('sign-in', { title: 'Sign in', to: localPath(req.query.to), name: '' }));
  app.post('/sign-in', signIn);
  app.post('/sign-out', signOut);
  app.post('/me/name', rename);
}

async function signIn(req, res) {
  const to = localPath(req.body?.to);
  let name = '';
  let user;

  try {
    name = line(req.body, 'name');
    user = await find(req, name) ?? await create(req, name);
  } catch (error) {
    const problem = problemOf(error);

    if (problem.status >= 500) throw error;
    return res.page('sign-in', { title: 'Sign in', to, name, problem }, problem.status);
  }
  // Start a new session, with a new token for forms.
  req.session = { user: { id: user.id, name: user.username }, wrote: true };
  return req.done(`Hello, ${user.username}.`, to);
}

const find = (req, name) => req.visit((visit) => visit.userByName(name));

// Create the user. If another request has just taken the name, sign in as that
// user.
async function create(req, name) {
  try {
    return await req.store.as(randomUUID(), (visit) => visit.createUser(name));
  } catch (error) {
    const other = error.code === '23505' && await find(req, name);

    if (!other) throw error;
    return other;
  }
}

function signOut(req, res) {
  req.session = null;
  res.redirect(303, '/');
}

async function rename(req, res) {
  let user;

  try {
    const name = line(req.body, 'name');

    user = await req.visit((visit) => visit.rename(name));
  } catch (error) {
    const problem = problemOf(error);

    if (problem.status >= 500 || !req.session.user) throw error;
    return res.page('rename', { title: 'Rename', problem, name: String(req.body?.name ?? '') }, problem.status);
  }
  req.session.user = { id: user.id, name: user.username };
  req.session.wrote = true;
  return req.done(`You are ${user.username} now.`, userPath(user.id));
}
