"""Documents to read: well-formed ones, and what becomes of them by accident or malice."""
from html.entities import html5

from html_text_lib.reference import BLOCKS, SILENT

INLINE = "a b i em strong span code sub sup u my-element svg blockquotes".split()
VOID = "br hr img wbr BR Hr".split()
WORDS = "a of text Ärger naïve 日本語 😀 x=y 3>2 \"quoted\" it's 100% # ; -- --> ]]> / = \u00a0 \u0085".split(" ")
NAMES = sorted(name for name in html5 if name.endswith(";"))
NUMBERS = [0, 9, 10, 13, 32, 38, 60, 65, 127, 128, 0x81, 150, 159, 160, 173, 0xD7FF, 0xD800, 0xDFFF, 0xFFFE,
           0x1F600, 0x10FFFF, 0x110000, 2**32 + 65, 10**30]
VALUES = ["", "x", "a>b", "a&amp;b", "</p>", "<!--", "it/s", "ü", "a=b"]

# What mutations put in; each means something to a tokenizer, somewhere.
TOKENS = (
    "< > & ; # / = ! - ? \" ' x X &# &#x &#1 </ <! <!-- <!--> <!---> --> --!> ->  <![CDATA[ ]]> <!DOCTYPE <? ?> <a <p <p> "
    "</p </p> <br <br/> <script <script> </script </script> </SCRIPT\t> <style> </style/> <title> </title> <textarea> "
    "</scriptx> <a~href=\" <a~b=' <p~=\"x>y\"> <p~a~=~\">\"> <p~a=b/c>d <p/=\"> &amp &amp; &am &ampamp "
    "&not &notin &notit; &notin; &AMP &lt &ltlt; &nbsp &nbsp; &NewLine; &Tab; &bne; &fjlig; &acE; &zwnj; &frac12 &frac123; "
    "&CounterClockwiseContourIntegral; &CounterClockwiseContourIntegralx; &nosuchname; &#65 &#x41; &#x80; &#150 &#xD800; "
    "&#1114112; &#x110000000041; &#0; &#00000000000065; \t \f \v \x01 \x7f ü 日 \u00a0"
).split(" ")
TOKENS = [token.replace("~", " ") for token in TOKENS if token] + [" ", "\n", "\r\n"]


def mixed_case(rng, name):
    return "".join(rng.choice((c, c.upper())) for c in name)


def tag(rng, name):
    out = "<" + (mixed_case(rng, name) if rng.random() < 0.1 else name)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        value = rng.choice(VALUES)
        quote = rng.choice("\"'")
        out += rng.choice((" ", "\n\t")) + rng.choice(("href", "class", "data-x", "ALT"))
        out += rng.choice((f"={quote}{value}{quote}", f" = {quote}{value}{quote}", "=plain", ""))
    return out + rng.choice((">", ">", " >"))


def text(rng):
    """Words and references, all as they should be"""
    out = []
    for _ in range(rng.randrange(1, 6)):
        kind = rng.random()
        if kind < 0.7:
            out.append(rng.choice(WORDS))
        elif kind < 0.85:
            out.append("&" + rng.choice(NAMES))
        else:
            number = rng.choice(NUMBERS + [rng.randrange(0x110000)])
            out.append(rng.choice((f"&#{number};", f"&#x{number:x};", f"&#X{number:X};")))
        out.append(rng.choice(("", " ", " ", "  \n")))
    return "".join(out)


def well_formed(rng, depth=0):
    """A piece of a document in which all that is opened is closed, and nothing is left out"""
    out = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.random()
        if kind < 0.45 or depth > 4:
            out.append(text(rng))
        elif kind < 0.8:
            name = rng.choice(INLINE if rng.random() < 0.5 else sorted(BLOCKS - {"plaintext", "br", "xmp"}))
            out.append(tag(rng, name) + well_formed(rng, depth + 1) + f"</{name}{rng.choice(('', '', ' '))}>")
        elif kind < 0.88:
            out.append(tag(rng, rng.choice(VOID)))
        elif kind < 0.94:
            out.append(f"<!--{rng.choice(('', ' x ', '<p>', ' - > ', '&amp;', ' -- '))} -->")
        else:
            name = rng.choice(sorted(SILENT))
            inner = "if (a < b && c) '</p>'; " if name in ("script", "style") else "words of no use "
            out.append(tag(rng, name) + inner + f"</{name}>")
    if depth == 0 and rng.random() < 0.1:
        out.insert(0, "<!DOCTYPE html>\n")
    return "".join(out)


def mutated(rng, document):
    """A document with things put in, taken out, doubled, or broken off"""
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(document) + 1)
        to = min(len(document), at + rng.randrange(12))
        kind = rng.random()
        if kind < 0.5:
            document = document[:at] + rng.choice(TOKENS) + document[at:]
        elif kind < 0.7:
            document = document[:at] + document[to:]
        elif kind < 0.85:
            document = document[:to] + document[at:]
        elif kind < 0.95:
            document = document[:at] + rng.choice(TOKENS) + document[to:]
        else:
            document = document[:at]
    return document


def mutated_bytes(rng, parents):
    """A document, or two that are joined, with bytes changed; what comes of it need not be characters"""
    document = rng.choice(parents)
    if rng.random() < 0.5:
        other = rng.choice(parents)
        document = document[: rng.randrange(len(document) + 1)] + other[rng.randrange(len(other) + 1) :]
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(document) + 1)
        to = min(len(document), at + rng.randrange(6))
        kind = rng.random()
        if kind < 0.3:
            document = document[:at] + rng.choice(TOKENS).encode() + document[to:]
        elif kind < 0.6:
            document = document[:at] + bytes([rng.randrange(256)]) + document[at + 1 :]
        elif kind < 0.8:
            document = document[:at] + document[to:]
        else:
            document = document[:to] + document[at:]
    return document


def of_tokens(rng):
    return "".join(rng.choice(TOKENS) for _ in range(rng.randrange(12)))


def hostile(size):
    """What would take its time, if anything did"""
    parts = (
        "<", "&", "<<a", "&a", "&notzz", "&#", "&#x", "&#1", "&nbsp;", "<!--", "<!", "<!-- >", "<!--->", "-->", "<![CDATA[",
        "<script>", "<script></scrip", "</script", "<style><", "<title>&", "<a b='", "<a b=\"'>", "<p ", "<p/", "<p a=",
        "</", "</p", "<p>", "<b>", "> ", " ", "&CounterClockwiseContourIntegra", "&ampampamp", "\u00a0", "日",
    )
    for part in parts:
        yield part * (size // len(part))
        yield "<script>" + part * (size // len(part))
        yield "<a b='" + part * (size // len(part))
        yield "<!--" + part * (size // len(part))
