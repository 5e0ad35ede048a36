// Parse and validate addresses and forms.
import { randomUUID } from 'node:crypto';
import { badRequest, notFound } from './errors.js';

const TOPICS_MAX = 16;
const TOPIC_MAX = 100;
// Characters that the store allows in no topic
const NO_TOPIC = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const PLACE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f-]{36})$/i;

export const isUuid = (text) => typeof text === 'string' && UUID.test(text);

// ---- Addresses

// An address has a slug and the id; only the id matters.
export function postId(param) {
  const id = param.slice(-36);

  if (!isUuid(id) || (param.length > 36 && param.at(-37) !== '-')) throw notFound();
  return id.toLowerCase();
}

export function uuid(param) {
  if (!isUuid(param)) throw notFound();
  return param.toLowerCase();
}

// An address has a position in a list as the date and id of an item.
export const placeText = ({ date, id }) => `${date.toISOString()}_${id}`;

// The part of an address that has a position
export const search = (req) => req.url.slice(req.path.length);

export function where(query) {
  const side = query.before !== undefined ? 'before' : 'after';

  if (query[side] === undefined) return {};
  const [, date, id] = PLACE.exec(typeof query[side] === 'string' ? query[side] : '') ?? [];

  if (!isUuid(id) || Number.isNaN(Date.parse(date)))
    throw badRequest('This address has a place in it that cannot be read. Begin at the first page.');
  return { [side]: { date, id } };
}

// Redirect only to addresses of this site, whatever a form contains.
export function localPath(text) {
  return typeof text === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && !text.includes('\\') ? text : '/';
}

// ---- Forms

export function field(body, name) {
  const value = body?.[name] ?? '';

  if (typeof value !== 'string') throw badRequest(`The form has more than one field "${name}".`);
  return value.replaceAll('\r\n', '\n');
}

export function line(body, name) {
  return field(body, name).replace(/\s+/g, ' ').trim();
}

// The id of a new item, which the form contains
export function newId(body) {
  const id = field(body, 'id');

  return isUuid(id) ? id : randomUUID();
}

export function postForm(body) {
  const title = line(body, 'title');
  const slug = slugOf(line(body, 'slug') || title);

  return {
    title,
    content: field(body, 'content').trim(),
    properties: { ...(slug && { slug }), ...topicsOf(line(body, 'topics')) },
  };
}

function slugOf(text) {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    .replace(/[^a-z0-9]+/g, '-').slice(0, 60).replace(/^-+|-+$/g, '');
}

// Return the property that has the topics, of a text with commas between them.
function topicsOf(text) {
  const topics = [...new Set(text.split(',').map((topic) => topic.trim()).filter(Boolean))];

  if (topics.length > TOPICS_MAX) throw badRequest(`A post has at most ${TOPICS_MAX} topics.`);
  if (!topics.every(isTopic)) throw badRequest(`A topic has at most ${TOPIC_MAX} characters, and none that cannot be seen.`);
  return topics.length > 0 ? { topics } : {};
}

function isTopic(text) {
  return typeof text === 'string' && text.trim() !== '' && Array.from(text).length <= TOPIC_MAX && !NO_TOPIC.test(text);
}

// ---- Properties: imported items may have an object with any contents

export function slugIn({ properties }) {
  const slug = properties?.slug;

  return typeof slug === 'string' && slug.length <= 80 && SLUG.test(slug) ? slug : '';
}

// The topics of a post are one string, or strings in an array.
export function topicsIn({ properties }) {
  return [properties?.topics].flat().filter(isTopic).slice(0, TOPICS_MAX);
}

export const topicsText = (item) => topicsIn(item).join(', ');

// Return the properties after an edit: the form's, and all others unchanged.
// So are topics that the form shows as they were, whatever the property has
// beside them.
export function merged(properties, form) {
  const { slug, topics, ...others } = properties ?? {};
  const same = topics !== undefined && topicsText({ properties }) === topicsText({ properties: form });

  return { ...others, ...form, ...(same && { topics }) };
}
