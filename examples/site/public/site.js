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
let last = Promise.resolve();

// Change the part after all changes that were begun before.
function change(work) {
  last = last.then(work).catch(() => {});
}

// Fetch a page of a list, or the whole part.
async function fetched(search) {
  const response = await fetch(part.dataset.part + search);

  // The post is not shown any more: the visitor is told so.
  if (response.status === 404) location.reload();
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
let version = part?.dataset.version;
let due = false;

if (part) {
  listen();
  document.addEventListener('visibilitychange', listen);
}

// A browser keeps few connections to a site, so a page that is not seen has
// none.
function listen() {
  events?.close();
  if (document.hidden) return;
  events = new EventSource(`${part.dataset.live}&version=${version}`);
  events.addEventListener('message', (event) => {
    version = event.lastEventId;
    if (!due) setTimeout(() => change(renew), SPREAD * Math.random());
    due = true;
  });
}

async function renew() {
  let before;
  let next;

  due = false;
  // What was fetched beside a like may not have it.
  do {
    before = likes;
    next = await whole();
  } while (likes !== before);
  // Elements that are the same remain, with the focus and the place on the
  // page. So does what the visitor writes and has folded.
  Idiomorph.morph(part, next.childNodes, {
    morphStyle: 'innerHTML',
    callbacks: {
      beforeNodeMorphed: (node) => !(node instanceof HTMLFormElement && node.matches('.comment-form')),
      beforeAttributeUpdated: (name) => name !== 'open',
    },
  });
  if (part.matches('.posts')) watch();
}

// Fetch the part as far as it is shown.
async function whole() {
  const next = await fetched(first);

  while (cards(next).length < cards(part).length && older(next)) await follow(next, older(next));
  return next;
}
