// Functions for templates that format values. Templates escape the results, so
// these functions return no HTML.
import { placeText, slugIn, topicsIn } from './form.js';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

export { slugIn, topicsIn };

export const day = (date) => DAY.format(date);
export const moment = (date) => `${MOMENT.format(date)} UTC`;
export const iso = (date) => date.toISOString();

export function count(n, one, many) {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

export const likes = (item) => count(item.like_count, 'like', 'likes');
export const replies = (comment) => count(comment.reply_count, 'reply', 'replies');
export const posts = (topic) => count(topic.post_count, 'post', 'posts');
export const comments = (post) => count(post.comment_count, 'comment', 'comments');

// ---- Addresses

export function postPath(post) {
  const slug = slugIn(post);

  return `/posts/${slug ? `${slug}-` : ''}${post.id}`;
}

export const userPath = (id) => `/users/${id}`;

// For browsers "." and ".." are steps in an address. The space before them is
// no part of a topic.
export const topicPath = (topic) => `/topics/${/^\.\.?$/.test(topic) ? '%20' : ''}${encodeURIComponent(topic)}`;
export const moreTopics = (prefix, after) => `/topics?${new URLSearchParams({ prefix, after })}`;

// The address of the page after, or before, a position
export const older = (base, at) => `${base}?before=${encodeURIComponent(placeText(at))}`;
export const newer = (base, at) => `${base}?after=${encodeURIComponent(placeText(at))}`;

// ---- Avatars: the first letter of the name, in one of eight colours

export const initial = (name) => String.fromCodePoint((name ?? '?').codePointAt(0)).toUpperCase();

export function hue(name) {
  let sum = 0;

  for (const character of name ?? '') sum = (sum * 31 + character.codePointAt(0)) % 9973;
  return sum % 8;
}

// A short form is cut after this number of characters, even within a word.
const SHORT = 200;

// Drop the last word, which may be cut. A text without spaces stays as it is.
export function excerpt({ content }) {
  if (Array.from(content).length < SHORT) return content;
  return `${content.replace(/\s+\S{0,60}$/u, '').trimEnd()}…`;
}
