// Starts the site.
//
// Environment: DATABASE_URL, of the role site_app (setup.sql); SITE_SECRET, by which
// cookies are signed; HOST and PORT (127.0.0.1, 8080; port 0 takes any that is free);
// SITE_PROXIES, how many proxies stand before it (0).
import { createApp } from './app.js';
import { Store } from './store.js';

const { DATABASE_URL, SITE_SECRET, SITE_PROXIES = '0', HOST = '127.0.0.1', PORT = '8080' } = process.env;

if (!DATABASE_URL || !SITE_SECRET) {
  console.error('DATABASE_URL and SITE_SECRET have to be set: see examples/site/README.md');
  process.exit(2);
}

const store = new Store(DATABASE_URL);
const server = createApp(store, { secret: SITE_SECRET, proxies: Number(SITE_PROXIES) }).listen(Number(PORT), HOST, (error) => {
  if (error) {
    console.error(`cannot listen: ${error.message}`);
    process.exit(1);
  }
  console.log(`http://${HOST}:${server.address().port}/`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(() => store.close());
    server.closeAllConnections();
  });
}
