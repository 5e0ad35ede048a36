// Start the site.
//
// Environment:
//   DATABASE_URL   connection string of the role site_app (setup.sql)
//   SITE_SECRET    key for signing cookies
//   HOST, PORT     address to listen on (127.0.0.1, 8080; 0 is any free port)
//   SITE_PROXIES   number of proxies in front of the site (0)
import { createApp } from './app.js';
import { Live } from './live.js';
import { Store } from './store.js';

const { DATABASE_URL, SITE_SECRET, SITE_PROXIES = '0', HOST = '127.0.0.1', PORT = '8080' } = process.env;

if (!DATABASE_URL || !SITE_SECRET) {
  console.error('DATABASE_URL and SITE_SECRET have to be set: see examples/site/README.md');
  process.exit(2);
}

const store = new Store(DATABASE_URL);
const live = new Live(DATABASE_URL);
const server = createApp(store, live, { secret: SITE_SECRET, proxies: Number(SITE_PROXIES) }).listen(Number(PORT), HOST, (error) => {
  if (error) {
    console.error(`cannot listen: ${error.message}`);
    process.exit(1);
  }
  console.log(`http://${HOST}:${server.address().port}/`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    live.close();
    server.close(() => store.close());
    server.closeAllConnections();
  });
}
