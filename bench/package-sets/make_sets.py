"""Makes test sets for searches from documentation that Debian packages carry. Nothing of it is kept in the repository.

    python make_sets.py OUT      # normally through `cargo xtask sets`, which writes target/sets

Packages are downloaded with `apt-get download` and unpacked with `dpkg-deb`; a list of packages must be there (`apt-get update`). A set is a folder with corpus.jsonl (`_id`, `title`,
`text`), queries.jsonl (`_id`, `text`), qrels.tsv (query, document, score; one header line) and ORIGIN.md. Titles are empty: a query is a heading, and it must be found by the text below it.

| set | package | licence | queries |
|---|---|---|---|
| faq | python3-doc's newest, debian-faq | PSF-2.0; GPL-2+ | the questions that people wrote as headings |
| handbook-en, -de, -fr, -ru, -ja | debian-handbook | GPL-2+ or CC-BY-SA-3.0 | the headings of one language |
| handbook-mixed | debian-handbook | GPL-2+ or CC-BY-SA-3.0 | headings of six languages over the sections of all six, and a phrase of each section |
"""

import gzip
import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

PYTHON, FAQ, HANDBOOK = "python3.11-doc", "debian-faq", "debian-handbook"
LICENCES = {PYTHON: "PSF-2.0", FAQ: "GPL-2+", HANDBOOK: "GPL-2+ or CC-BY-SA-3.0"}
LANGUAGES = {"en": "en-US", "de": "de-DE", "fr": "fr-FR", "ru": "ru-RU", "ja": "ja-JP", "zh": "zh-CN", "ar": "ar-MA"}
ALONE = ("en", "de", "fr", "ru", "ja")
MIXED = ("de", "fr", "ru", "ja", "zh", "ar")
# Shorter answers say nothing that could be found.
LEAST_LETTERS = 120
# Sections of each language in the mixed set.
MOST_OF_EACH = 150


def unpacked(package, folder):
    """The folder with the files of a package, downloaded once."""
    root = folder / package
    if not root.is_dir():
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        [archive] = folder.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, root], check=True)
        archive.unlink()
    return root


def plain_rst(text):
    """The words of reStructuredText."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*(\.\. |:\w+:)", line)]
    text = "\n".join(lines)
    text = re.sub(r":[\w:]+:`~?!?([^`<]+?)(?:\s*<[^`]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]+?)\s*<[^`]*>`__?", r"\1", text)
    return " ".join(text.replace("``", "").replace("::", ":").split())


def python_questions(root):
    """Questions and answers of the Python FAQ."""
    for path in sorted(root.glob("usr/share/doc/python3*/html/_sources/faq/*.rst.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        marks = [at for at in range(1, len(lines)) if re.fullmatch(r"[-=*^~]{4,}", lines[at]) and lines[at - 1].strip() and not re.fullmatch(r"[-=*^~]{4,}", lines[at - 1])]
        for mark, following in zip(marks, [*marks[1:], len(lines) + 1]):
            yield lines[mark - 1].strip().replace("``", ""), plain_rst("\n".join(lines[mark + 1 : following - 1]))


def debian_questions(root):
    """Questions and answers of the Debian FAQ."""
    [path] = root.glob("usr/share/doc/debian/FAQ/debian-faq.en.txt.gz")
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    # The table of contents repeats the headings; in the text each has lines of its own.
    parts = re.split(r"\n(?=\d+\.\d+\.\s)", text)[1:]
    for part in parts:
        heading, _, body = part.partition("\n\n")
        yield re.sub(r"^\d+\.\d+\.\s", "", " ".join(heading.split())), " ".join(re.split(r"\n\s*Chapter \d+\.", body)[0].split())


class Handbook(HTMLParser):
    """Collects headings, without their numbers, and the paragraphs below each, without cross-references: these repeat headings, which are the queries."""

    SILENT = {"script", "style", "head", "pre"}

    def __init__(self):
        super().__init__()
        self.sections, self.heading, self.silent, self.depth, self.is_paragraph = [], None, 0, 0, 0
        self.references = []

    def handle_starttag(self, tag, attributes):
        kind = dict(attributes).get("class", "") or ""
        is_reference = tag == "a" and "xref" in kind.split()
        self.silent += tag in self.SILENT or is_reference
        if tag == "a":
            self.references.append(is_reference)
        if tag in ("h1", "h2", "h3", "h4") and "title" in kind:
            self.heading = ""
        if tag == "div" or tag == "p":
            self.depth += 1
            if "para" in kind.split() and not self.is_paragraph:
                self.is_paragraph = self.depth

    def handle_endtag(self, tag):
        self.silent -= tag in self.SILENT or (tag == "a" and bool(self.references) and self.references.pop())
        if tag in ("h1", "h2", "h3", "h4") and self.heading is not None:
            text = re.sub(r"^(\w\.)?(\d+\.)*\s*", "", " ".join(self.heading.replace("\xa0", " ").split()))
            self.sections.append([re.sub(r"^(\w+ \d+\.|第 \d+ 章) ", "", text), ""])
            self.heading = None
        if tag == "div" or tag == "p":
            if self.is_paragraph == self.depth:
                self.is_paragraph = 0
            self.depth -= 1

    def handle_data(self, data):
        if self.silent:
            return
        if self.heading is not None:
            self.heading += data
        elif self.is_paragraph and self.sections:
            self.sections[-1][1] += data + " "


def handbook(root, language):
    """Headings and texts of the sections of the handbook."""
    for path in sorted((root / "usr/share/doc/debian-handbook/html" / LANGUAGES[language]).glob("*.html")):
        reader = Handbook()
        reader.feed(path.read_text(encoding="utf-8"))
        for heading, text in reader.sections:
            yield heading, " ".join(html.unescape(text).split())


def distinct(pairs):
    """Pairs with enough text, of each heading and each text the first."""
    headings, texts = set(), set()
    for heading, text in pairs:
        if len(text) >= LEAST_LETTERS and heading and heading not in headings and text not in texts:
            headings.add(heading)
            texts.add(text)
            yield heading, text


def phrase_of(text):
    """Some words from the middle of a text, as somebody would copy them."""
    middle = len(text) // 2
    if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text):
        run = max(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]+", text[middle // 2 :]) or [""], key=len)
        return run[:12]
    return " ".join(text[middle:].split()[1:7])


def write(out, name, packages, passages, queries):
    """`queries` have the numbers of their passages."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"_id": f"d{at}", "title": "", "text": text}, ensure_ascii=False) for at, text in enumerate(passages)]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [json.dumps({"_id": f"q{at}", "text": text}, ensure_ascii=False) for at, (text, _) in enumerate(queries)]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [f"q{at}\td{right}\t1" for at, (_, right) in enumerate(queries)]
    (folder / "qrels.tsv").write_text("query\tdocument\tscore\n" + "\n".join(lines) + "\n", encoding="utf-8")
    origin = "".join(f"- the Debian package {package}, {LICENCES[package]}\n" for package in packages)
    (folder / "ORIGIN.md").write_text(f"# Where this comes from\n\n{origin}\nMade by bench/package-sets/make_sets.py.\n", encoding="utf-8")
    print(f"{name}: {len(queries)} queries over {len(passages)} passages")


def main():
    out = Path(sys.argv[1])
    packages = out / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    roots = {package: unpacked(package, packages.resolve()) for package in LICENCES}
    pairs = list(distinct([*python_questions(roots[PYTHON]), *debian_questions(roots[FAQ])]))
    asked = [(heading, at) for at, (heading, _) in enumerate(pairs) if heading.endswith("?")]
    write(out, "faq", [PYTHON, FAQ], [text for _, text in pairs], asked)
    sections = {language: list(distinct(handbook(roots[HANDBOOK], language))) for language in LANGUAGES}
    for language in ALONE:
        pairs = sections[language]
        write(out, f"handbook-{language}", [HANDBOOK], [text for _, text in pairs], [(heading, at) for at, (heading, _) in enumerate(pairs)])
    passages, queries = [], []
    for language in MIXED:
        for heading, text in sections[language][:MOST_OF_EACH]:
            queries += [(heading, len(passages)), (phrase_of(text), len(passages))]
            passages.append(text)
    write(out, "handbook-mixed", [HANDBOOK], passages, [query for query in queries if query[0]])


if __name__ == "__main__":
    main()
