"""Makes `classes.tsv`: the character classes that reference.py and Sectile's reader use, as ranges of code points.

    python classes.py > classes.tsv

They are written down, not asked of a Unicode library, because libraries differ in their version of Unicode, and the vector of a text must not.
The file in this folder was made with Unicode 14.0.0 (Python 3.11). Classes: `dropped` (Cc, Cf, Co, U+FFFD, but not tab, LF, CR), `mark` (Mn),
`space` (tab, LF, CR, Zs, Zl, Zp), `punctuation` (ASCII 33-47, 58-64, 91-96, 123-126, and P*), `cjk` (the blocks that BERT splits by character).
"""

import sys
import unicodedata

CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


def class_of(code):
    category = unicodedata.category(chr(code))
    if code in (9, 10, 13) or category in ("Zs", "Zl", "Zp"):
        return "space"
    if code == 0xFFFD or category in ("Cc", "Cf", "Co"):
        return "dropped"
    if category == "Mn":
        return "mark"
    if category.startswith("P") or (33 <= code <= 126 and not chr(code).isalnum()):
        return "punctuation"
    if any(low <= code <= high for low, high in CJK):
        return "cjk"
    return None


def main():
    lines = [f"# Character classes for the static embedding model, Unicode {unicodedata.unidata_version}; made by classes.py. Class, first, last (hexadecimal)."]
    start, current = 0, class_of(0)
    for code in range(1, 0x110001):
        now = class_of(code) if code < 0x110000 else None
        if now != current or code == 0x110000:
            if current:
                lines.append(f"{current}\t{start:04X}\t{code - 1:04X}")
            start, current = code, now
    sys.stdout.buffer.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
