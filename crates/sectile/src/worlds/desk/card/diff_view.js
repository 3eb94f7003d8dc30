/**
 * Builds the view of a change: a part for each document, with the lines that are added and removed. Text of notes is only
 * ever set as text. The names of all classes start with `diff-`; `diff_view.css` has their styles.
 *
 * `change` has `documents`: objects with `id`, `from` (the id before, if that was another one), `deleted`, `diff` (in the
 * unified format) and `left_out` (the number of changed lines that are missing at its end). `more_documents` and
 * `more_lines` count what is not in the list.
 */
function diffView(change) {
  // Characters that change how text looks, or that cannot be seen at all: someone who reviews it has to know.
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;
  const element = (name, classes, text) => {
    const made = document.createElement(name);
    made.className = classes;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

  const shownText = (text) => {
    const shown = element("span", "diff-text");
    let from = 0;
    for (const match of text.matchAll(hidden)) {
      shown.append(document.createTextNode(text.slice(from, match.index)));
      const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      shown.append(element("span", "diff-hidden-character", `U+${code}`));
      from = match.index + match[0].length;
    }
    shown.append(document.createTextNode(text.slice(from)));
    return shown;
  };

  const line = (sign, text) => {
    const kinds = {
      "+": ["diff-line diff-added", "+", "Added: "],
      "-": ["diff-line diff-removed", "\u2212", "Removed: "],
    };
    const [classes, shownSign, word] = kinds[sign] ?? ["diff-line", "", ""];
    const made = element("div", classes);
    const mark = element("span", "diff-sign", shownSign);
    mark.setAttribute("aria-hidden", "true");
    made.append(mark);
    if (word) made.append(element("span", "diff-words", word));
    made.append(shownText(text));
    return made;
  };

  const hunk = (head) => {
    const ranges = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(head);
    if (!ranges) return element("p", "diff-hunk", head);
    const [oldFirst, oldLength, newFirst, newLength] = ranges.slice(1).map((number) => Number(number ?? 1));
    // Where nothing is left, the lines are those before the change.
    const [first, length] = newLength > 0 ? [newFirst, newLength] : [oldFirst, oldLength];
    const text = length === 1 ? `Line ${first}` : `Lines ${first} to ${first + length - 1}`;
    return element("p", "diff-hunk", text);
  };

  const linesOf = (diff) => {
    const lines = diff.split("\n");
    if (lines.at(-1) === "") lines.pop();
    const start = lines.findIndex((text) => text.startsWith("@@"));
    // Before the first hunk there are only names.
    return start > 0 && lines[0].startsWith("--- ") ? lines.slice(start) : lines;
  };

  const documentView = (one) => {
    const lines = linesOf(one.diff ?? "");
    const part = element("section", "diff-document");
    const head = element("div", "diff-head");
    const name = element("h2", "diff-name");
    name.append(...(one.from ? [shownText(one.from), element("span", "", " \u2192 "), shownText(one.id)] : [shownText(one.id)]));
    for (const text of name.querySelectorAll(".diff-text")) text.className = "diff-path";
    part.setAttribute("aria-label", one.from ? `${one.from} becomes ${one.id}` : one.id);
    const signs = (sign) => lines.filter((text) => text.startsWith(sign)).length;
    const counts = [];
    if (one.deleted) counts.push("Deleted");
    else if (one.from) counts.push("Moved");
    if (signs("+")) counts.push(`${count(signs("+"), "line", "lines")} added`);
    if (signs("-")) counts.push(`${count(signs("-"), "line", "lines")} removed`);
    head.append(name, element("p", "diff-count", counts.join(", ")));
    part.append(head);
    for (const text of lines) {
      if (text.startsWith("@@")) part.append(hunk(text));
      else if (text.startsWith("\\")) part.append(element("p", "diff-note", "No line break at the end"));
      else if ("+- ".includes(text[0] ?? "")) part.append(line(text[0], text.slice(1)));
      else part.append(line(" ", text));
    }
    if (one.left_out) {
      part.append(element("p", "diff-more", `${count(one.left_out, "more changed line is", "more changed lines are")} not shown here.`));
    }
    return part;
  };

  const view = element("div", "diff-view");
  for (const one of change.documents) view.append(documentView(one));
  if (change.more_documents) {
    const lines = change.more_lines ? `, with ${count(change.more_lines, "changed line", "changed lines")}` : "";
    view.append(element("p", "diff-more", `${count(change.more_documents, "more document is", "more documents are")} not shown here${lines}.`));
  }
  return view;
}
