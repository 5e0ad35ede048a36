"""Properties of items, as texts in the form of jsonb's output.

So a comparison of two is exact. jsonb keeps the digits of a number as written,
and orders the keys of an object by length and then by their bytes.
"""

import json

# Keys of the first level. Some of them have to be quoted in a list.
KEYS = ('slug', 'tags', 'n', 'pictures', 'Title', 'a b', 'é, "x"', '\\', '日本語')
LETTERS = "abcdefghijklmnopqrstuvwxyz     ABC 0123456789 '\"\\\n%éßñ日本語😀"

# The value of blogstore.topic_property; every short form keeps it
TOPIC_PROPERTY = 'tags'

# Values of blogstore.short_form_properties and the keys that they keep (None:
# all)
SHORT_FORMS = (
	('*', None), ('slug, tags', ('slug', 'tags')), ('', ()), ('"a b", n, "é, ""x"""', ('a b', 'n', 'é, "x"')), ('nothing, *', None))


class Number(str):
	"""A number as written in JSON."""


def _key_place(key):
	return len(key.encode()), key.encode()


def print_json(value):
	"""Return a value in the form of jsonb's output."""
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
	"""Draw an object, rarely empty and rarely stored out of line."""
	value = {key: _value(random) for key in random.sample(KEYS, random.choices((0, 1, 2, 4), (1, 4, 3, 1))[0])}
	if random.random() < 0.03:
		value['large'] = _text(random, 9000)
	return print_json(value)


def stored(text):
	"""Return what is stored for an argument: NULL for an object without keys.
	"""
	return None if text == '{}' else text


def shorten(text, keys):
	"""Return the properties of a short form that has some keys (None: all)."""
	if text is None or keys is None:
		return text
	value = json.loads(text, parse_int=Number, parse_float=Number)
	return stored(print_json({key: value[key] for key in value if key in keys or key == TOPIC_PROPERTY}))
