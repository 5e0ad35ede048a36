// Parse and validate addresses and forms.
import { randomUUID } from 'node:crypto';
import { badRequest, notFound } from './errors.js';

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
    properties: slug ? { slug } : {},
  };
}

function slugOf(text) {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    .replace(/[^a-z0-9]+/g, '-').slice(0, 60).replace(/^-+|-+$/g, '');
}

// ---- Properties: imported items may have an object with any contents

export function slugIn({ properties }) {
  const slug = properties?.slug;

  return typeof slug === 'string' && slug.length <= 80 && SLUG.test(slug) ? slug : '';
}

// Return the properties after an edit: the form's, and all others unchanged.
export function merged(properties, form) {
  const { slug, ...others } = properties ?? {};

  return { ...others, ...form };
}
