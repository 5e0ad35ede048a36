// Improve the pages in browsers with JavaScript. All pages work without it.
import { Idiomorph } from '/idiomorph/idiomorph.esm.js';

// ---- Liking: send the like and show the new count, without a new page

// The number of likes that were sent, and of those that were answered
let likes = 0;

document.addEventListener('submit', async (event) => {
  const form = event.target.closest('form[data-like]');

  if (!form) return;
  event.preventDefault();
  if (form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  likes++;
  try {
    show(form, await post(form));
  } catch (error) {
    form.querySelector('output').textContent = error.message;
  } finally {
    form.ariaBusy = 'false';
    likes++;
  }
});

async function post(form) {
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { Accept: 'application/json' },
    body: new URLSearchParams(new FormData(form)),
  }).catch(() => { throw new Error('The site cannot be reached.'); });
  const answer = await response.json();

  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function show(form, { liked, likes }) {
  form.elements.liked.value = liked ? 'no' : 'yes';
  form.querySelector('button').ariaPressed = String(liked);
  form.querySelector('.word').textContent = liked ? 'Liked' : 'Like';
  form.querySelector('output').textContent = `${likes.toLocaleString('en')} ${likes === 1 ? 'like' : 'likes'}`;
}

// ---- The part of a page that goes on, or is renewed, and its address

const part = document.querySelector('[data-part]');
const first = location.search;
// When the part may be renewed. Each page that is fetched postpones that by a
// second, so a long list is renewed less often than a short one.
let rest = 0;
const PAUSE = 1000;
const RETRY = 5000;
let last = Promise.resolve();

// Change the part after all changes that were begun before.
function change(work) {
  last = last.then(work).catch(() => {});
}

// Fetch a page of a list, or the whole part. An error is no page, which would
// change the session.
async function fetched(search) {
  rest = Math.max(rest, performance.now()) + PAUSE;
  const response = await fetch(part.dataset.part + search, { headers: { Accept: 'application/json' } });

  // The part is not shown any more: the visitor is told so, unless the visitor
  // is on the way to another page.
  if (response.status === 404 && !leaving) location.reload();
  if (!response.ok) throw new Error(response.statusText);
  const { body } = new DOMParser().parseFromString(await response.text(), 'text/html');

  for (const card of body.querySelectorAll('.card')) card.dataset.page = location.pathname + search;
  return body;
}

const cards = (within) => Array.from(within.querySelectorAll('.card'));
const older = (within) => within.querySelector('.card ~ .turn a.older');

// Replace the link to the next page of a list by that page.
async function follow(list, link) {
  const next = await fetched(new URL(link.href).search);
  const seen = new Set(cards(list).map((card) => card.id));

  for (const card of cards(next))
    if (seen.has(card.id)) card.remove();
  link.closest('.turn').replaceWith(...next.children);
}

// ---- Endless lists: fetch the next page when its link comes near
//
// A click on a post sets the address of the history entry to the page that has
// the post. So the browser's Back button returns to the same place in the
// list.

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) change(() => more(target));
}, { rootMargin: '800px' });

if (part?.matches('.posts')) {
  for (const card of cards(part)) card.dataset.page = location.pathname + first;
  watch();
  part.addEventListener('click', (event) => {
    const card = event.target.closest('a') && event.target.closest('.card');

    if (card) history.replaceState({ card: card.id }, '', card.dataset.page);
  });
  if (history.state?.card) document.getElementById(history.state.card)?.scrollIntoView();
}

function watch() {
  const link = older(part);

  if (link) near.observe(link);
}

// If that fails, the link remains, and the visitor can follow it.
async function more(link) {
  near.unobserve(link);
  if (link !== older(part)) return;
  part.ariaBusy = 'true';
  try {
    await follow(part, link);
    watch();
  } finally {
    part.ariaBusy = 'false';
  }
}

// ---- Live pages: renew the part when the site says that it may have changed
//
// The browser waits a moment first. So several changes are fetched together,
// and not all browsers fetch at the same time.

const SPREAD = 500;
let events;
// The version that the page shows, and the newest of which the site has told
let version = part?.dataset.version;
let newest = version;
let due = false;
let leaving = false;

if (part) {
  // This event comes after a page is loaded, and when the visitor returns to
  // it.
  window.addEventListener('pageshow', listen);
  document.addEventListener('visibilitychange', listen);
  window.addEventListener('beforeunload', () => {
    leaving = true;
    events?.close();
  });
}

// A browser keeps few connections to a site, so a page that is not seen has
// none.
function listen() {
  events?.close();
  if (document.hidden) return;
  leaving = false;
  events = new EventSource(`${part.dataset.live}&version=${version}`);
  events.addEventListener('message', (event) => {
    newest = event.lastEventId;
    renewSoon();
  });
}

function renewSoon() {
  if (!due) setTimeout(() => change(renew), Math.max(0, rest - performance.now()) + SPREAD * Math.random());
  due = true;
}

// If that fails, it is tried again.
async function renew() {
  const told = newest;

  due = false;
  try {
    await morph();
    version = told;
  } catch {
    rest = performance.now() + RETRY;
    renewSoon();
  }
}

async function morph() {
  let before;
  let next;

  // What was fetched beside a like may not have it.
  do {
    before = likes;
    next = await whole();
  } while (likes !== before);
  // Elements that are the same remain, with the focus and the place on the
  // page. So does what the visitor writes and has folded, even below a comment
  // that is on another page now.
  Idiomorph.morph(part, next.childNodes, {
    morphStyle: 'innerHTML',
    callbacks: {
      beforeNodeMorphed: (node) => !(node instanceof HTMLFormElement && node.matches('.comment-form')),
      beforeNodeRemoved: (node) => !isWritten(node),
      beforeAttributeUpdated: (name) => name !== 'open',
    },
  });
  if (part.matches('.posts')) watch();
}

// Whether a node has a text that the visitor has not sent
function isWritten(node) {
  return node instanceof Element && Array.from(node.querySelectorAll('textarea')).some((area) => area.value !== area.defaultValue);
}

// Fetch the part as far as it is shown.
async function whole() {
  const next = await fetched(first);

  while (cards(next).length < cards(part).length && older(next)) await follow(next, older(next));
  return next;
}
