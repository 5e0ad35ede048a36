"""The text in HTML, told slowly, in two ways that share nothing with src/short_form/.

text_by_states() is the tokenizer of the HTML standard (section 13.2.5), one character
after the other and one function for each state: it says what any input is. text_by_parser()
has Python's html.parser tell tags from text, and is for documents that are well-formed.
"""
import re
from html.entities import html5
from html.parser import HTMLParser

BLOCKS = set(
    "address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html "
    "legend li listing main menu nav ol optgroup option p plaintext pre search section summary table tbody "
    "td tfoot th thead tr ul xmp".split()
)
SILENT = set("iframe noembed noframes noscript script style textarea title".split())
SPACES = " \t\n\r\f"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def character(number):
    """What a number refers to"""
    if 0x80 <= number <= 0x9F:
        return bytes([number]).decode("cp1252", "replace") if number not in (
            0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(number)
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return "\ufffd"
    return chr(number)


def spaced(value):
    """What a reference stands for: controls and the no-break space are white space"""
    return " " if len(value) == 1 and (value <= " " or "\x7f" <= value <= "\xa0") else value


def reference(text, at):
    """The characters that the reference at a "&" stands for, and where it ends; or None"""
    number = re.compile(r"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?").match(text, at)
    if number:
        digits = (number[1] or number[2]).lstrip("0")
        value = 0x110000 if len(digits) > 7 else int(digits or "0", 16 if number[1] else 10)
        return spaced(character(value)), number.end()
    for length in range(40, 0, -1):
        name = text[at + 1 : at + 1 + length]
        if len(name) == length and name in html5:
            return spaced(html5[name]), at + 1 + length
    return None


def collapsed(text):
    """White space as one blank, and none at the ends"""
    return re.sub("[\x00-\x20\x7f]+", " ", text).strip(" ")


class States:
    """Each method reads what is at self.at, and returns the state that comes next."""

    def __init__(self, text):
        self.text, self.at, self.out = text, 0, []
        self.begin = self.name = self.inside = ""
        self.is_end = False

    def run(self):
        state = self.data
        while state:
            state = state()
        return collapsed("".join(self.out))

    def next(self):
        """The next character, or an empty text at the end"""
        found = self.text[self.at : self.at + 1]
        self.at += 1
        return found

    def data(self):
        c = self.next()
        if c == "&":
            found = reference(self.text, self.at - 1)
            if found:
                c, self.at = found
            self.out.append(c)
            return self.data
        if c == "<":
            return self.tag_open
        self.out.append(c)
        return self.data if c else None

    def tag_open(self):
        c = self.next()
        self.name, self.is_end = "", False
        if c and c in LETTERS:
            self.at -= 1
            return self.tag_name
        if c == "/":
            return self.end_tag_open
        if c == "!":
            return self.markup_declaration
        if c == "?":
            return self.bogus_comment
        self.at -= 1
        self.out.append("<")
        return self.data

    def end_tag_open(self):
        c = self.next()
        self.at -= 1
        self.is_end = True
        if c and c in LETTERS:
            return self.tag_name
        if not c:
            self.out.append("</")
            return self.data
        return self.bogus_comment

    def tag_name(self):
        c = self.next()
        if c and c in SPACES:
            return self.before_attribute
        if c == "/":
            return self.before_attribute
        if c == ">":
            return self.tag_done()
        self.name += c.lower() if c in LETTERS else c
        return self.tag_name if c else None

    def before_attribute(self):
        c = self.next()
        if c and c in SPACES + "/":
            return self.before_attribute
        if c == ">":
            return self.tag_done()
        return self.attribute_name if c else None

    def attribute_name(self):
        c = self.next()
        if c and c in SPACES:
            return self.after_attribute_name
        if c == "/":
            return self.before_attribute
        if c == ">":
            return self.tag_done()
        if c == "=":
            return self.before_value
        return self.attribute_name if c else None

    def after_attribute_name(self):
        c = self.next()
        if c and c in SPACES:
            return self.after_attribute_name
        if c == "/":
            return self.before_attribute
        if c == "=":
            return self.before_value
        if c == ">":
            return self.tag_done()
        return self.attribute_name if c else None

    def before_value(self):
        c = self.next()
        if c and c in SPACES:
            return self.before_value
        if c == ">":
            return self.tag_done()
        if c in ('"', "'"):
            self.begin = c
            return self.quoted_value
        return self.unquoted_value if c else None

    def quoted_value(self):
        c = self.next()
        if c == self.begin:
            return self.before_attribute
        return self.quoted_value if c else None

    def unquoted_value(self):
        c = self.next()
        if c and c in SPACES:
            return self.before_attribute
        if c == ">":
            return self.tag_done()
        return self.unquoted_value if c else None

    def tag_done(self):
        if self.name in BLOCKS:
            self.out.append(" ")
        if self.name in SILENT and not self.is_end:
            self.inside = self.name
            return self.raw_text
        return self.data

    def raw_text(self):
        """In an element of raw text, up to its end tag"""
        c = self.next()
        tag = self.text[self.at : self.at + len(self.inside) + 2]
        if c == "<" and len(tag) == len(self.inside) + 2 and tag[-1] in SPACES + "/>":
            if tag[0] == "/" and tag[1:-1].lower() == self.inside and tag[1:-1].isascii():
                self.at -= 1
                return self.data
        return self.raw_text if c else None

    def markup_declaration(self):
        if self.text.startswith("--", self.at):
            self.at += 2
            return self.comment_start
        return self.bogus_comment

    def bogus_comment(self):
        c = self.next()
        if c == ">":
            return self.data
        return self.bogus_comment if c else None

    def again(self, state):
        """The character that was read is for another state"""
        self.at -= 1
        return state

    def comment_start(self):
        c = self.next()
        if c == "-":
            return self.comment_start_dash
        return self.data if c == ">" else self.again(self.in_comment)

    def comment_start_dash(self):
        c = self.next()
        if c == "-":
            return self.comment_end
        return self.data if c == ">" else self.again(self.in_comment)

    def in_comment(self):
        c = self.next()
        if c == "<":
            return self.comment_less
        if c == "-":
            return self.comment_end_dash
        return self.in_comment if c else None

    def comment_less(self):
        c = self.next()
        if c == "!":
            return self.comment_less_bang
        return self.comment_less if c == "<" else self.again(self.in_comment)

    def comment_less_bang(self):
        return self.comment_less_bang_dash if self.next() == "-" else self.again(self.in_comment)

    def comment_less_bang_dash(self):
        return self.comment_less_bang_dash_dash if self.next() == "-" else self.again(self.comment_end_dash)

    def comment_less_bang_dash_dash(self):
        return self.comment_end

    def comment_end_dash(self):
        return self.comment_end if self.next() == "-" else self.again(self.in_comment)

    def comment_end(self):
        c = self.next()
        if c == ">":
            return self.data
        if c == "!":
            return self.comment_end_bang
        return self.comment_end if c == "-" else self.again(self.in_comment)

    def comment_end_bang(self):
        c = self.next()
        if c == "-":
            return self.comment_end_dash
        return self.data if c == ">" else self.again(self.in_comment)


def text_by_states(text):
    return States(text).run()


class Parser(HTMLParser):
    """Gathers text; references are left as they are written."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.out, self.inside = [], None

    def handle_starttag(self, tag, attrs):
        if self.inside is None and tag in BLOCKS:
            self.out.append(" ")
        if self.inside is None and tag in SILENT:
            self.inside = tag

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None
        elif self.inside is None and tag in BLOCKS:
            self.out.append(" ")

    def add(self, text):
        if self.inside is None:
            self.out.append(text)

    def handle_data(self, data):
        self.add(data)

    def handle_entityref(self, name):
        self.add(spaced(html5[name + ";"]))

    def handle_charref(self, name):
        self.add(spaced(character(int(name[1:], 16) if name[0] in "xX" else int(name))))


def text_by_parser(text):
    parser = Parser()
    parser.feed(text)
    parser.close()
    return collapsed("".join(parser.out))
