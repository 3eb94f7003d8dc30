"""Defines how a text becomes pieces, and reads the table that training starts from (`make.py` writes it).

Steps 1 to 5 below hold for the static model inside Sectile too; `reference_static.py` adds steps 6 and 7 of its own and prints the test vectors with `print_vectors`.

One JSON object a line: `text`, `pieces` (row numbers in the order found), `sha256` of the 256 values as int8 bytes, `first8` of them.
`text_repeat`, where present, says that the text is `text` repeated so many times (keeps long texts out of the file).

The rules, in order. Where they differ from BERT's own tokenizer (uncased), it is said so. Character classes are those of `classes.tsv`, for every reader;
NFD and lowercase come from the language's library, and the test vectors hold no character on which versions of Unicode disagree.

1. Clean (class `dropped`). Drop U+FFFD and every character of category Cc, Cf or Co, except tab, line feed and carriage return.
   Quirk: dropped, not turned into a space, so a form feed, U+0085, a soft hyphen or a zero-width space joins its neighbours into one word.
   Difference: BERT also drops unassigned characters (Cn). We keep them, since that set changes with every version of Unicode; a word that holds one is
   unknown anyway.
2. NFD, then drop category Mn (class `mark`). Quirk: only Mn; spacing and enclosing marks (Mc, Me) stay. Hangul syllables fall apart into jamo, which the vocabulary has.
3. Lowercase, character by character (full mapping, no context). Quirk: a final capital sigma becomes U+03C3, never U+03C2, as in the fast BERT tokenizer;
   a lower-case final sigma stays as it is. Eszett stays eszett. No other case folding.
4. Split into words. White space: space, tab, LF, CR, categories Zs, Zl, Zp. A CJK ideograph (class `cjk`) is a word of its own; kana and Hangul are not,
   as in BERT. Punctuation separates words and is itself ignored (BERT would keep it as a token): ASCII 33-47, 58-64, 91-96, 123-126, which takes in
   symbols like $ + < = > ^ ` | ~, and beyond ASCII only category P*. So `_` and `-` split identifiers, while the euro sign, arrows and emoji (categories S*)
   are letters of the word they touch.
5. WordPiece. A word of more than 100 characters (code points, after step 3) is ignored. Otherwise take the longest piece that the word starts with, then again
   and again from there the longest piece written `##` + text. If at any point nothing matches, the whole word is ignored, also the pieces found so far.
   The names of BERT's special tokens have no meaning in a text: `[CLS]` is the word `cls` between two brackets.
6. Of all pieces of the text in order, the first 4,000 count. sum[i] = sum of scale[piece] * row[piece][i]. It fits 32 bits: 4,000 * 4,095 * 127 < 2^31.
7. m = max |sum[i]|. No pieces, or m = 0: the text has no vector, all values are 0. Otherwise v[i] = sum[i] * 127 / m, rounded to nearest, halves away from zero:
   sign(sum[i]) * ((2 * 127 * |sum[i]| + m) // (2 * m)). This needs 64 bits.

Two vectors are compared by cosine: their dot product fits 32 bits (256 * 127 * 127 < 2^23).
"""

import hashlib
import json
import struct
import sys
import unicodedata
from pathlib import Path

import numpy as np

MODEL = Path(__file__).with_name("build") / "sectile-static-1.bin"
CLASSES = Path(__file__).with_name("classes.tsv")
MAX_PIECES = 4000
MAX_WORD = 100


def read_classes(path=CLASSES):
    """Character to class; a character of no class is a letter of its word."""
    classes = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, first, last = line.split("\t")
            classes.update((chr(code), name) for code in range(int(first, 16), int(last, 16) + 1))
    return classes


CLASS_OF = read_classes()


def words(text):
    """Steps 1 to 4: the words of a text, normalised."""
    text = "".join(char for char in text if CLASS_OF.get(char) != "dropped")
    text = unicodedata.normalize("NFD", text)
    text = "".join(char.lower() for char in text if CLASS_OF.get(char) != "mark")
    found, word = [], ""
    for char in text:
        kind = CLASS_OF.get(char)
        if kind in ("space", "punctuation", "cjk"):
            if word:
                found.append(word)
            word = ""
            if kind == "cjk":
                found.append(char)
        else:
            word += char
    if word:
        found.append(word)
    return found


class Model:
    """The model file, read and checked."""

    def __init__(self, path=MODEL):
        data = Path(path).read_bytes()
        magic, kind, self.dims, self.count, vocab_bytes = struct.unpack_from("<8sIIII", data)
        if magic != b"SECTEMB1" or kind != 1 or any(data[24:64]):
            raise ValueError("not a static Sectile model")
        rows_end = 64 + self.count * self.dims
        scales_end = rows_end + 2 * self.count
        if len(data) != scales_end + vocab_bytes:
            raise ValueError("the file's length does not fit its header")
        self.rows = np.frombuffer(data, np.int8, self.count * self.dims, 64).reshape(self.count, self.dims)
        self.scales = np.frombuffer(data, "<u2", self.count, rows_end)
        self.ids, at = {}, scales_end
        while at < len(data):
            end = at + 1 + data[at]
            self.ids[data[at + 1 : end].decode("utf-8")] = len(self.ids)
            at = end
        if at != len(data) or len(self.ids) != self.count:
            raise ValueError("the vocabulary does not fit the header")

    def word_pieces(self, word):
        """Step 5: the pieces of one word; none where the word is unknown."""
        if len(word) > MAX_WORD:
            return []
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self.ids.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    break
            else:
                return []
            found.append(piece)
            start = end
        return found

    def pieces(self, text):
        """Steps 1 to 6: the pieces of a text that count."""
        found = []
        for word in words(text):
            found += self.word_pieces(word)
            if len(found) >= MAX_PIECES:
                break
        return found[:MAX_PIECES]

    def vector(self, text):
        """Steps 6 and 7: 256 values from -127 to 127."""
        return self.vector_of(self.pieces(text))

    def vector_of(self, pieces):
        """As `vector`, for pieces already found."""
        scaled = self.rows[pieces].astype(np.int64) * self.scales[pieces].astype(np.int64)[:, None]
        total = scaled.sum(axis=0) if len(pieces) else np.zeros(self.dims, np.int64)
        most = int(np.abs(total).max())
        if most == 0:
            return np.zeros(self.dims, np.int8)
        assert most < 2**31
        size = (2 * 127 * np.abs(total) + most) // (2 * most)
        return (np.sign(total) * size).astype(np.int8)


# Each is (text, how often it is repeated).
# A text has a vector only if the models can read at least half of its letters, those of the Latin script. Sectile looks at the first 8 KiB of each part of a passage.
EXAMINED_BYTES = 8 << 10


def is_readable(text):
    letters = [char for char in text.encode()[:EXAMINED_BYTES].decode(errors="ignore") if unicodedata.category(char).startswith("L")]
    return 2 * sum("LATIN" in unicodedata.name(char, "") for char in letters) >= len(letters)


TEXTS = [
    ("", 1),
    (" \t\r\n\u00a0\u2003\u2028\u3000", 1),
    ("hello", 1),
    ("Hello, World!", 1),
    ("How do I restart a service after a configuration change?", 1),
    ("The quick brown fox jumps over the lazy dog.", 1),
    ("...!?,;:-_()[]{}", 1),
    ("max_doc_bytes", 1),
    ("maxDocBytes MAX-DOC-BYTES max.doc.bytes", 1),
    ("std::collections::HashMap<String, Vec<u8>>", 1),
    ("# Heading\n\n- item *one*\n- item `two`\n\n[link](https://example.org/a?b=c#d)", 1),
    ("caf\u00e9 na\u00efve \u00c5ngstr\u00f6m r\u00e9sum\u00e9", 1),
    ("cafe\u0301 nai\u0308ve A\u030angstro\u0308m", 1),
    ("\u0130stanbul ISTANBUL \u0131", 1),
    ("\u6771\u4eac\u90fd\u306e\u5929\u6c17", 1),
    ("\u4f60\u597d\uff0c\u4e16\u754c\uff01 Rust\u7f16\u7a0b", 1),
    ("\ud55c\uad6d\uc5b4 \ubb38\uc11c", 1),
    ("\u30ab\u30bf\u30ab\u30ca \u30ac\u30ae\u30b0", 1),
    ("deploy \U0001f680 done\U0001f389 \U0001f468\u200d\U0001f469\u200d\U0001f467", 1),
    ("\U0001f600", 1),
    ("MiXeD CaSe TeXt KUBERNETES kubeCTL", 1),
    ("Die Gr\u00f6\u00dfe der Stra\u00dfe \u00fcberpr\u00fcfen: \u00c4rger, \u00d6l, STRASSE", 1),
    ("\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03cc\u03c2 \u1f08\u03b8\u03ae\u03bd\u03b1", 1),
    ("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0439\u043e\u0433", 1),
    ("\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645", 1),
    ("\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", 1),
    ("co\u00adop zero\u200bwidth form\x0cfeed nul\x00byte next\x85line rep\ufffdlace tab\tstop", 1),
    ("price 5\u20ac 10$ a\u2192b x=1 50% \u00a72 \u00abquoted\u00bb \u201cso\u201d it\u2019s it's", 1),
    ("\ufb01le \u2460 \u00bd H\u2082O x\u00b2 \u212b \u1e9e", 1),
    ("version 1.2.3-rc.1+build.77 0xDEADBEEF 192.168.0.1", 1),
    ("a", 100),
    ("a", 101),
    ("unaffable embeddings tokenization antidisestablishmentarianism", 1),
    ("zzz\U0001f600qq known", 1),
    ("[CLS] [SEP] [UNK] [MASK] [unused1] ##ing", 1),
    ("search and edit Markdown safely. ", 1000),
    ("word ", 4000),
    ("word ", 4001),
    ("the the the of of and", 1),
]


def print_vectors(model):
    # Bytes, not text: Windows would write CR LF.
    for text, repeat in TEXTS:
        pieces = model.pieces(text * repeat)
        vector = model.vector_of(pieces if is_readable(text * repeat) else [])
        line = {"text": text}
        if repeat > 1:
            line["text_repeat"] = repeat
        line["pieces"] = pieces
        line["sha256"] = hashlib.sha256(vector.tobytes()).hexdigest()
        line["first8"] = [int(value) for value in vector[:8]]
        sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")
