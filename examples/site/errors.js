// Error messages for visitors

// An error that is shown on a page of its own
export class Problem extends Error {
  constructor(status, title, message) {
    super(message);
    this.status = status;
    this.title = title;
  }
}

export const notFound = () =>
  new Problem(404, 'Nothing here', 'There is no such page, or it is not shown any more.');

export const badRequest = (message) =>
  new Problem(400, 'That does not work', message);

// The store's errors by SQLSTATE: HTTP status, title, and message. If the
// message is null, the store's message is shown.
const STATES = {
  22004: [400, 'Something is missing', 'A field that is needed was empty.'],
  22007: [400, 'That does not work', 'This address has no date in it that could be one.'],
  22008: [400, 'That does not work', 'This address has no date in it that could be one.'],
  22021: [400, 'That does not work', 'The text has characters in it that cannot be stored.'],
  22023: [400, 'That does not work', null],
  22026: [400, 'That does not work', 'The text has characters in it that cannot be stored.'],
  '22P02': [400, 'That does not work', 'The address or the form has something in it that cannot be read.'],
  '22P05': [400, 'That does not work', 'The text has characters in it that cannot be stored.'],
  23503: [404, 'It is gone', 'What this was about is not shown any more, or your account has been deleted.'],
  23505: [409, 'Taken', 'That is taken. Choose another name, or, if this was a form that you have sent before, look whether it has arrived.'],
  23514: [409, 'Not now', 'What this is about is hidden, and takes no comments and likes until it is shown.'],
  42501: [403, 'Not yours', 'Only who has written it can do that, and has to be signed in.'],
  54000: [413, 'Too long', 'That is longer than can be stored.'],
  40001: [503, 'Too much at once', 'Somebody else did something to it in the same moment. Please try again.'],
};

// Error codes of connections that could not be made, and SQLSTATEs of a server
// that is starting, stopping or out of resources
const AWAY = /^(ECONN|ENOENT|ETIMEDOUT|EPIPE|08|57P|53)/;

export function problemOf(error) {
  if (error instanceof Problem) return error;
  if (error.code === '55000' && error.constraint === 'topics')
    return new Problem(503, 'Not yet', 'The lists of topics are being made. Please try again in a moment.');
  if (error.code === '54000' && error.constraint === 'max_followed')
    return new Problem(409, 'Too many', 'You follow as many others as one can. End another follow first.');
  if (Object.hasOwn(STATES, error.code ?? '')) {
    const [status, title, message] = STATES[error.code];

    return new Problem(status, title, message ?? sentence(error));
  }
  if (error.code === 'EBADCSRFTOKEN')
    return new Problem(403, 'This form is too old', 'It was made before you signed in or out, or by another site. Go back, reload the page, and send it again.');
  if (error.type === 'entity.too.large')
    return new Problem(413, 'Too long', 'That is more than a form of this site may have.');
  // Express cannot parse the address or the form.
  if (error.status >= 400 && error.status < 500)
    return new Problem(error.status, 'That does not work', 'The address or the form cannot be read.');
  if (AWAY.test(error.code ?? '') || /timeout|terminated/i.test(error.message ?? ''))
    return new Problem(503, 'Back in a moment', 'The site cannot reach its database. Please try again.');
  return new Problem(500, 'That went wrong', 'It is our fault and not yours, and it is in the log.');
}

// Return the store's message and hint as sentences.
function sentence({ message, hint }) {
  const capital = message.charAt(0).toUpperCase() + message.slice(1);

  return `${capital.replace(/[.]?$/, '.')}${hint ? ` ${hint}` : ''}`;
}
