"""Properties of items, as the texts that jsonb prints: a comparison of two is exact.

jsonb keeps a number's digits as they are written, and orders the keys of an
object by their length and then by their bytes.
"""

import json

# keys of the first level; some have to be quoted in a list of settings
KEYS = ('slug', 'tags', 'n', 'pictures', 'Title', 'a b', 'é, "x"', '\\', '日本語')
LETTERS = "abcdefghijklmnopqrstuvwxyz     ABC 0123456789 '\"\\\n%éßñ日本語😀"

# what blogstore.short_form_properties is set to, and the keys that it keeps (None: all)
SHORT_FORMS = (
	('*', None), ('slug, tags', ('slug', 'tags')), ('', ()), ('"a b", n, "é, ""x"""', ('a b', 'n', 'é, "x"')), ('nothing, *', None))


class Number(str):
	"""A number as it is written."""


def _key_place(key):
	return len(key.encode()), key.encode()


def print_json(value):
	"""A value as jsonb prints it."""
	if isinstance(value, Number):
		return str(value)
	if isinstance(value, dict):
		return '{' + ', '.join(f'{print_json(key)}: {print_json(value[key])}' for key in sorted(value, key=_key_place)) + '}'
	if isinstance(value, list):
		return '[' + ', '.join(print_json(one) for one in value) + ']'
	return json.dumps(value, ensure_ascii=False)


def _text(random, most):
	return ''.join(random.choices(LETTERS, k=random.randint(0, most)))


def _value(random, depth=0):
	kind = random.randrange(6 if depth < 3 else 4)
	if kind == 0:
		return Number(random.choice(('0', '1.10', '-1.000', '12345678901234567890123456789012345678901234567890', '1.5', '7')))
	if kind == 1:
		return random.choice((True, False, None))
	if kind in (2, 3):
		return _text(random, 30)
	if kind == 4:
		return [_value(random, depth + 1) for _ in range(random.randrange(4))]
	return {_text(random, 6): _value(random, depth + 1) for _ in range(random.randrange(4))}


def draw(random):
	"""An object: none too often empty, seldom so large that it is stored out of line."""
	value = {key: _value(random) for key in random.sample(KEYS, random.choices((0, 1, 2, 4), (1, 4, 3, 1))[0])}
	if random.random() < 0.03:
		value['large'] = _text(random, 9000)
	return print_json(value)


def stored(text):
	"""What becomes of an argument: an object without keys is stored as NULL."""
	return None if text == '{}' else text


def shorten(text, keys):
	"""The properties of a short form that keeps some keys (None: all)."""
	if text is None or keys is None:
		return text
	value = json.loads(text, parse_int=Number, parse_float=Number)
	return stored(print_json({key: value[key] for key in value if key in keys}))
