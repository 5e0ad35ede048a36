// Make the README's pictures: node screenshots.js http://127.0.0.1:8080
//
// The site has to be newly started by examples/site/run. The script first
// writes the posts that the pictures show. CHROMIUM names the browser if it is
// not /usr/bin/chromium.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const FOLDER = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../docs/images');
const MAX_BYTES = 60_000;

const POSTS = [
  {
    by: 'Fran',
    title: 'A window seat on the slow train',
    content: `It takes four hours instead of two, and stops wherever there is a platform. At each of them somebody gets off with a bicycle, a cello, or a cake.\n\nI read ten pages and looked out for the rest of it.`,
    likes: ['Ole', 'Hedy', 'Ada'],
  },
  {
    by: 'Ada',
    title: 'Why the bread failed, three times',
    content: `The first loaf was too wet, the second one too warm, and the third was fine until I forgot about it. What I learned fits on a postcard: weigh the water, trust the clock less than the dough, and set an alarm anyway.\n\nThe fourth is in the oven while I write this.`,
    likes: ['Fran', 'Ole', 'Hedy', 'Vint'],
    comments: [
      { by: 'Ole', content: 'Too warm is what happens to everybody in July. Put it into the cellar for the night.' },
      { by: 'Hedy', content: 'And how was the fourth?', replies: [{ by: 'Ada', content: 'Eaten, before it had cooled.' }, { by: 'Fran', content: 'I can confirm that.' }] },
    ],
  },
  {
    by: 'Hedy',
    title: 'In praise of small museums',
    content: `One room, one subject, and a caretaker who has been waiting all week for your question. Ours is about locks. I went in to get out of the rain, and came out two hours later with a key that I had filed myself.`,
    likes: ['Ada', 'Fran'],
  },
];

const base = process.argv[2];

if (!base) {
  console.error('Usage: node screenshots.js URL');
  process.exit(2);
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const people = new Map();

async function person(name, options = {}) {
  const page = await (await browser.newContext({ baseURL: base, ...options })).newPage();

  await page.goto('/sign-in');
  await page.fill('#name', name);
  await page.click('main button');
  await page.waitForSelector('.notice');
  return page;
}

async function as(name) {
  if (!people.has(name)) people.set(name, await person(name));
  return people.get(name);
}

const send = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

async function comment(address, { by, content, replies = [] }, parent = '') {
  const page = await as(by);

  await page.goto(address);
  if (parent) await page.click(`${parent} > .actions summary >> text=Reply`);
  await page.fill(parent ? `${parent} > .actions textarea[name=content]` : '.comments > .comment-form textarea', content);
  await send(page, parent ? `${parent} > .actions details[open] button` : '.comments > .comment-form button');
  const id = new URL(page.url()).hash;

  for (const reply of replies) await comment(address, reply, id);
}

async function write({ by, title, content, likes, comments = [] }) {
  const page = await as(by);

  await page.goto('/posts/new');
  await page.fill('#title', title);
  await page.fill('#content', content);
  await send(page, 'button[value=post]');
  const address = new URL(page.url()).pathname;

  for (const one of comments) await comment(address, one);
  for (const name of likes) {
    const liker = await as(name);

    await liker.goto(address);
    await liker.click('.heart');
    await liker.waitForSelector('.heart[aria-pressed=true]');
  }
  return address;
}

// Write a screenshot as WebP, which takes a third of the bytes of PNG.
async function picture(name, page) {
  await page.mouse.move(0, 0);
  const png = await page.screenshot();
  const blank = await browser.newPage();

  for (let quality = 1; ; quality -= 0.04) {
    const data = await blank.evaluate(async ([source, how]) => {
      const image = new Image();

      image.src = source;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);

      canvas.getContext('2d').drawImage(image, 0, 0);
      const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality: how })).arrayBuffer());

      return Array.from(bytes);
    }, [`data:image/png;base64,${png.toString('base64')}`, quality]);

    if (data.length <= MAX_BYTES) {
      await writeFile(path.join(FOLDER, `${name}.webp`), Buffer.from(data));
      console.log(`${name}.webp: ${data.length} bytes, quality ${quality.toFixed(2)}`);
      break;
    }
  }
  await blank.close();
}

const addresses = [];

for (const post of POSTS) addresses.push(await write(post));

const desk = { viewport: { width: 960, height: 760 }, deviceScaleFactor: 1.5 };
const phone = { viewport: { width: 390, height: 760 }, deviceScaleFactor: 1.5 };
const light = await person('Ole', { ...desk, colorScheme: 'light' });
const dark = await person('Fran', { ...desk, viewport: { width: 960, height: 1000 }, colorScheme: 'dark' });
const small = await person('Vint', { ...phone, colorScheme: 'dark' });

await light.goto('/');
await picture('site-light', light);
await dark.goto(addresses[1]);
await dark.evaluate(() => document.querySelector('.post .text').scrollIntoView());
await picture('site-dark', dark);
await small.goto('/');
await picture('site-phone', small);
await browser.close();
