// What makes the pages nicer where there is JavaScript. All of them work without.

// ---- Liking: the count of this moment, without leaving the page

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

// ---- Endless lists: the next page is fetched when its link comes near
//
// Whoever opens something from a list and comes back finds the place again: the
// address of that entry in the history is the page on which it stood.

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
    // the link is still there
  } finally {
    posts.ariaBusy = 'false';
  }
}
