// Improve the pages in browsers with JavaScript. All pages work without it.

// ---- Liking: send the like and show the new count, without a new page

document.addEventListener('submit', async (event) => {
  const form = event.target.closest('form[data-like]');

  if (!form) return;
  event.preventDefault();
  if (form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  try {
    show(form, await post(form));
  } catch (error) {
    form.querySelector('output').textContent = error.message;
  } finally {
    form.ariaBusy = 'false';
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

// ---- Endless lists: fetch the next page when its link comes near
//
// A click on a post sets the address of the history entry to the page that has
// the post. So the browser's Back button returns to the same place in the
// list.

const posts = document.querySelector('.posts[data-more]');
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) more(target);
}, { rootMargin: '800px' });

if (posts) {
  for (const card of posts.querySelectorAll('.card')) card.dataset.page = location.href;
  watch();
  posts.addEventListener('click', (event) => {
    const card = event.target.closest('a') && event.target.closest('.card');

    if (card) history.replaceState({ card: card.id }, '', card.dataset.page);
  });
  if (history.state?.card) document.getElementById(history.state.card)?.scrollIntoView();
}

function watch() {
  const link = posts.querySelector('a.older');

  if (link) near.observe(link);
}

async function more(link) {
  const page = new URL(link.href);

  near.unobserve(link);
  posts.ariaBusy = 'true';
  try {
    const response = await fetch(posts.dataset.more + page.search);

    if (!response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    const seen = new Set(Array.from(posts.querySelectorAll('.card'), (card) => card.id));

    for (const card of next.querySelectorAll('.card')) {
      card.dataset.page = page.href;
      if (seen.has(card.id)) card.remove();
    }
    link.closest('.turn').replaceWith(...next.body.children);
    watch();
  } catch {
    // The link remains, and the visitor can follow it.
  } finally {
    posts.ariaBusy = 'false';
  }
}
