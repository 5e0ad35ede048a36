// What the tests of the site share: the site, a browser, the store, and TAP.
//
// Environment:
// SITE_FOLDER: a copy of examples/site with its packages
// SITE_CHROMIUM: the browser
// SITE_ADMIN_URL, DATABASE_URL: the database, as a superuser and as site_app
// PG_TEST_TIMEOUT_DEFAULT: seconds to wait for what comes of itself
'use strict';

const { spawn } = require('child_process');
const path = require('path');
const { createRequire } = require('module');

const packages = createRequire(path.join(process.env.SITE_FOLDER, 'package.json'));
const { chromium } = packages('playwright-core');
const { Client } = packages('pg');
const TIMEOUT = 1000 * Number(process.env.PG_TEST_TIMEOUT_DEFAULT || 600);

let tests = 0;
let failed = 0;

function ok(condition, name, detail) {
  tests++;
  failed += condition ? 0 : 1;
  console.log(`${condition ? 'ok' : 'not ok'} ${tests} - ${name}`);
  if (!condition && detail !== undefined) console.log(`# ${String(detail).replaceAll('\n', '\n# ')}`);
}

function is(got, expected, name) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];

  ok(a === b, name, `     got: ${a}\nexpected: ${b}`);
}

// Wait until something is as it should be; what it was last is in the error.
async function until(look, expected, name) {
  const end = Date.now() + TIMEOUT;
  let got;

  do {
    got = await look();
    if (JSON.stringify(got) === JSON.stringify(expected)) {
      ok(true, name);
      return;
    }
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  } while (Date.now() < end);
  is(got, expected, name);
}

// ---- The site and the browser

async function start(environment = {}) {
  const site = spawn(process.execPath, ['server.js'], {
    cwd: process.env.SITE_FOLDER,
    env: { ...process.env, HOST: '127.0.0.1', PORT: '0', SITE_SECRET: 'a secret of the test', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    site.stdout.on('data', (data) => resolve(String(data).trim()));
    site.on('exit', (status) => reject(new Error(`the site ended with ${status}`)));
  });

  const stop = () => new Promise((resolve) => {
    site.once('exit', resolve);
    site.kill();
  });

  return { url: url.replace(/\/$/, ''), stop };
}

async function launch() {
  return chromium.launch({
    executablePath: process.env.SITE_CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: TIMEOUT,
  });
}

// A person with a browser, in a context of its own. Keeps what the person's
// pages complain of: scripts that the browser refused, and errors. With
// live: false the pages get no events.
async function person(browser, site, { live = true, ...options } = {}) {
  const context = await browser.newContext({ baseURL: site.url, ...options });
  const page = await context.newPage();
  const complaints = [];

  if (!live) await context.route('**/live?*', (route) => route.fulfill({ status: 204 }));
  context.setDefaultTimeout(TIMEOUT);
  context.setDefaultNavigationTimeout(TIMEOUT);
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
  });
  return { context, page, complaints };
}

async function signIn({ page }, name) {
  await page.goto('/sign-in');
  await page.fill('#name', name);
  await page.click('main button');
  await page.waitForSelector('.who');
}

// Write a post with the form; its address is returned.
async function write({ page }, { title, content = '', slug = '', topics = '', draft = false }) {
  await page.goto('/posts/new');
  await page.fill('#title', title);
  await page.fill('#content', content);
  await page.fill('#slug', slug);
  if (topics) await page.fill('#topics', topics);
  await page.click(draft ? 'button[value=draft]' : 'button[value=post]');
  await page.waitForSelector('.post');
  return new URL(page.url()).pathname;
}

const titles = (page) => page.$$eval('.card h2', (all) => all.map((title) => title.textContent));
const text = (page, selector) => page.textContent(selector).then((found) => found.trim().replace(/\s+/g, ' '));

// ---- The store

async function database() {
  const client = new Client({ connectionString: process.env.SITE_ADMIN_URL });

  await client.connect();
  return {
    rows: async (sql, ...values) => (await client.query(sql, values)).rows,
    end: () => client.end(),
  };
}

// ---- A whole test: parts, each with a site, a browser and a database

async function run(parts) {
  let site;
  let browser;
  let store;

  try {
    store = await database();
    site = await start();
    browser = await launch();
    for (const part of parts) {
      await part({ site, browser, store });
      // Open pages go on using the processor.
      for (const context of browser.contexts()) await context.close();
    }
  } catch (error) {
    ok(false, 'to its end', error.stack);
  }
  await browser?.close();
  site?.stop();
  await store?.end();
  console.log(`1..${tests}`);
  process.exitCode = failed > 0 ? 1 : 0;
}

module.exports = { Client, database, is, launch, ok, person, run, signIn, start, text, titles, until, write };
