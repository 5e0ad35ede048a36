// The site's middleware and routes
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import cookieSession from 'cookie-session';
import { csrfSync } from 'csrf-sync';
import { Eta } from 'eta';
import helmet from 'helmet';
import * as account from './pages/account.js';
import * as comments from './pages/comments.js';
import * as follows from './pages/follows.js';
import * as lists from './pages/lists.js';
import * as posts from './pages/posts.js';
import { notFound, problemOf } from './errors.js';
import * as show from './show.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const MAX_FORM = '512kb';

// Browsers load only what this site serves, and run no inline scripts or
// styles.
const POLICY = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    fontSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

export function createApp(store, live, { secret, proxies = 0 }) {
  const app = express();
  const eta = new Eta({ views: path.join(HERE, 'views'), cache: true, useWith: false });
  const csrf = csrfSync({ size: 32, getTokenFromRequest: (req) => req.body?._csrf });

  // Behind a proxy that ends HTTPS, cookies are for HTTPS alone.
  if (proxies > 0) app.set('trust proxy', proxies);
  app.use(helmet({ contentSecurityPolicy: POLICY }));
  app.use(express.static(path.join(HERE, 'public'), { maxAge: '1h' }));
  app.use('/fonts', express.static(path.join(HERE, 'node_modules/@fontsource-variable'), { maxAge: '1d' }));
  app.use('/idiomorph', express.static(path.join(HERE, 'node_modules/idiomorph/dist'), { maxAge: '1d' }));
  app.use(cookieSession({ name: 'site', secret, sameSite: 'lax', httpOnly: true, maxAge: 30 * 24 * 3600 * 1000 }));

  app.use((req, res, next) => {
    const user = req.session?.user ?? null;
    // The version before anything is read for the page
    const { version } = live;
    const render = (view, data) => eta.render(view, {
      // Only a form makes a token. So a page without forms sets no cookie.
      // Such a page is the refusal of another site's form, which arrives
      // without cookies; a new cookie would end the user's session.
      csrf: () => csrf.generateToken(req),
      show, user, version, title: '', ...data,
    });
    let followed = false;

    req.store = store;
    // Pages name the signed-in user, and change with the user's actions.
    res.set('Cache-Control', 'private, no-cache');
    // Run the work of a request in one transaction, as the visitor.
    req.visit = (work) => store.as(user?.id ?? null, work);
    req.listsFollow = async () => {
      followed = Boolean(req.session.wrote) && await store.listsFollow();
    };
    // Redirect to a page that shows a notice once.
    req.done = (notice, address) => {
      req.session.notice = notice;
      res.redirect(303, address);
    };
    res.page = (view, data = {}, status = 200) => {
      const notice = req.session?.notice;

      if (notice) req.session.notice = undefined;
      if (followed) req.session.wrote = undefined;
      res.status(status).type('html').send(render(view, { notice, ...data }));
    };
    // A part of a page, which the script in the browser fetches. It leaves the
    // session as it is: the visitor may be signing out meanwhile.
    res.part = (view, data) => res.type('html').send(render(view, data));
    next();
  });
  app.use(express.urlencoded({ extended: false, limit: MAX_FORM, parameterLimit: 20 }));
  app.use(csrf.csrfSynchronisedProtection);

  app.get('/live', (req, res) => live.open(req, res));
  lists.routes(app);
  account.routes(app);
  posts.routes(app);
  comments.routes(app);
  follows.routes(app);
  app.use((req) => { throw notFound(); });

  // Express takes a function of four arguments for an error handler.
  app.use((error, req, res, next) => {
    const problem = problemOf(error);

    if (problem.status === 500) console.error(error);
    if (res.headersSent) return next(error);
    if (req.accepts(['html', 'json']) === 'json')
      return res.status(problem.status).json({ error: problem.message });
    if (!res.page)
      return res.status(problem.status).type('text').send(`${problem.title}\n\n${problem.message}\n`);
    return res.page('problem', { title: problem.title, problem }, problem.status);
  });
  return app;
}
