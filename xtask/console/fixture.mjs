// Sample desks for the tests of the console and for its screenshots. All text in them is our own.

import fs from 'node:fs';
import path from 'node:path';

/** The global that a script in a note would set if a page ran it. */
export const FLAG = 'scriptRan';

/** A host that does not exist: a page that loads anything from it was tricked by a note. */
export const FOREIGN = 'foreign.invalid';

/** Notes as people write them: linked, with front matter, tags and tasks. Also shown in screenshots. */
export const ORDINARY = {
  'index.md': `---
title: Harbour festival
tags: [festival, overview]
---
# Harbour festival

Three days in June, all of it on foot. Start with the [plan](projects/harbour/plan.md), then the [[budget]].

- [[plan#Saturday|Saturday]] has the boats
- [[Volunteers]] brings people
- minutes: [[2026-05-04]]
`,
  'projects/harbour/plan.md': `---
title: Plan
status: draft
tags: [festival, planning]
owner: Ada
---
# Plan

What happens when. The money is in [[budget]], the people are in [[volunteers]].

## Programme

### Saturday

Boats at nine, music at noon. The quay closes for cars at eight.

### Sunday

A walk along the harbour, led by [[volunteers#Guides]].

## Open tasks

- [x] book the stage
- [ ] ask the pilot about the tide #urgent
- [ ] print the map

> [!note] Weather
> If it rains, the music moves into the old sail loft.
`,
  'projects/harbour/budget.md': `---
title: Budget
aliases: [Costs]
tags: [festival, money]
---
# Budget

| item | amount | paid |
|:-----|-------:|:----:|
| stage | 1200 | yes |
| pilot | 350 | no |
| map | 80 | no |

The pilot costs 350 a day. See [[plan#Saturday]].[^1]

\`\`\`text
total = stage + pilot + map
\`\`\`

[^1]: Prices of last year.
`,
  'people/volunteers.md': `---
tags: [people]
---
# Volunteers

## Guides

Noor, Emil and Greta know the harbour.

## Stewards

Twelve are needed; eight have said yes.
`,
  'minutes/2026-05-04.md': `---
date: 2026-05-04
tags: [minutes]
---
# Meeting on 4 May

1. The [[plan]] was read.
2. Emil asks for ~~two~~ three boats.
3. Next meeting: **18 May**.
`,
};

/** Links that lead nowhere, or to more than one note. */
const LINKS = {
  'links/broken.md': `# Broken links

[[nobody wrote this]], [a missing file](missing/file.md), [[plan#No such heading]], ![[missing.png]], [out](../../etc/passwd).
`,
  'links/ambiguous.md': '# Ambiguous links\n\nWhich one is [[notes]]?\n',
  'links/a/notes.md': '# Notes of a\n\nThe first of two.\n',
  'links/b/notes.md': '# Notes of b\n\nThe second of two.\n',
};

/** Scripts of other people in a note, each in a disguise of its own. */
export function hostileNote() {
  const run = (name) => `window.${FLAG}='${name}'`;
  const raw = [
    `<script>${run('script')}</script>`,
    `<SCRIPT SRC="https://${FOREIGN}/a.js"></SCRIPT>`,
    `<scr<script>ipt>${run('nested')}</scr</script>ipt>`,
    `<script\n>${run('newline')}</script\n>`,
    `<img src=x onerror="${run('onerror')}">`,
    `<img src="https://${FOREIGN}/pixel.png" alt="">`,
    `<img/src='x'/onerror=${run('slash')}>`,
    `<svg onload="${run('svg')}"><script>${run('svg-script')}</script></svg>`,
    `<svg><animate onbegin="${run('animate')}" attributeName=x dur=1s></svg>`,
    `<svg><use href="https://${FOREIGN}/use.svg#a"></use></svg>`,
    `<math><mtext><table><mglyph><style><img src=x onerror="${run('mathml')}"></style></mglyph></table></mtext></math>`,
    `<iframe src="https://${FOREIGN}/frame"></iframe>`,
    `<iframe srcdoc="<script>parent.${FLAG}='srcdoc'</script>"></iframe>`,
    `<object data="https://${FOREIGN}/o.swf"></object><embed src="https://${FOREIGN}/e.swf">`,
    `<style>@import url(https://${FOREIGN}/s.css); body{background:url(https://${FOREIGN}/b.png)} main{display:none}</style>`,
    `<link rel="stylesheet" href="https://${FOREIGN}/l.css">`,
    `<link rel="prefetch" href="https://${FOREIGN}/prefetch">`,
    `<meta http-equiv="refresh" content="0;url=https://${FOREIGN}/refresh">`,
    `<base href="https://${FOREIGN}/base/">`,
    `<form action="https://${FOREIGN}/form"><input name=a><button>Send</button></form>`,
    `<input autofocus onfocus="${run('onfocus')}">`,
    `<details open ontoggle="${run('ontoggle')}"><summary>open</summary></details>`,
    `<video src="https://${FOREIGN}/v.mp4" poster="https://${FOREIGN}/p.png" autoplay></video>`,
    `<body onload="${run('body')}">`,
    `<a href="https://${FOREIGN}/ping" ping="https://${FOREIGN}/ping" target="_blank">a link with ping</a>`,
    `<p style="position:fixed;inset:0;background:url(https://${FOREIGN}/style.png)">over everything</p>`,
    `<template><script>${run('template')}</script></template>`,
    `<noscript><p title="</noscript><img src=x onerror=${run('noscript')}>"></noscript>`,
    `<textarea></textarea><img src=x onerror="${run('textarea')}">`,
    `<!-- --><img src=x onerror="${run('comment')}"> -->`,
    `<!--><img src=x onerror="${run('short-comment')}">-->`,
    `<![CDATA[<img src=x onerror="${run('cdata')}">]]>`,
    `<?php <img src=x onerror="${run('php')}"> ?>`,
    `<x onclick="${run('unknown')}">an unknown element</x>`,
    `<a id="location" name="cookie">clobber</a><form id="document"></form>`,
    `</main></body></html><script>${run('closed')}</script>`,
  ];
  const targets = [
    'javascript:TARGET', 'JaVaScRiPt:TARGET', ' javascript:TARGET', 'java\tscript:TARGET', '\u0001javascript:TARGET',
    'javascript&colon;TARGET', '&#106;avascript:TARGET', '&#x6A;&#x61;vascript:TARGET', 'javascript&#58;TARGET',
    'java%0ascript:TARGET', 'javascript://%0aTARGET', 'vbscript:TARGET', 'data:text/html,<script>TARGET</script>',
    'data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+', 'data:image/svg+xml,<svg onload=TARGET>', 'blob:TARGET',
    'file:///etc/passwd', `//${FOREIGN}/protocol-relative`, `\\\\${FOREIGN}\\share`, `/\\${FOREIGN}/mixed`, 'feed:javascript:TARGET',
    'view-source:javascript:TARGET', '\u202ejavascript:TARGET', 'ｊavascript:TARGET',
  ];
  const links = targets.flatMap((target, index) => {
    const made = target.replace('TARGET', `window.${FLAG}=${index}`);
    return [
      `[link ${index}](<${made}>) ![image ${index}](<${made}>) [reference ${index}][r${index}] <a href="${made}">raw ${index}</a>`,
      '', `[r${index}]: <${made}> "title ${index}"`, '',
    ];
  });
  const markdown = [
    `# Hostile <img src=x onerror="${run('heading')}"> heading`, '',
    `## "><script>${run('attribute')}</script>`, '',
    `[[plan|<img src=x onerror="${run('wikilink')}">]] and [[<script>${run('wikilink-target')}</script>]]`, '',
    `![[https://${FOREIGN}/embed.png]] ![picture](https://${FOREIGN}/markdown.png)`, '',
    `<https://${FOREIGN}/autolink> and https://${FOREIGN}/bare`, '',
    `\`<script>${run('code')}</script>\``, '',
    '```html', `<script>${run('fence')}</script>`, '```', '',
    '```"><script>', `${run('info')}`, '```', '',
    `| <script>${run('cell')}</script> | b |`, '|---|---|', `| <img src=x onerror="${run('cell-image')}"> | c |`, '',
    `{{constructor.constructor("${run('template-braces')}")()}} \${${run('template-dollar')}} <%= ${run('erb')} %> {% raw %}`, '',
    `#tag<script>${run('tag')}</script>`, '',
    `- [ ] a task <input type=checkbox onclick="${run('task')}">`, '',
    'Unicode: \u202Eright to left override\u202C, \u2066isolate\u2069, zero\u200Bwidth, \uFEFFmark, \u0000NUL, \uFFFE, 𝒶𝓈𝓉𝓇𝒶𝓁, e\u0301\u0301\u0301', '',
    `%%a comment <script>${run('obsidian-comment')}</script>%%`, '',
    `[^x]: a footnote <script>${run('footnote')}</script>`, '', 'With a footnote.[^x]', '',
  ];
  const front = [
    '---', `title: "</title><script>${run('title')}</script>"`, `tags: ["<script>${run('field')}</script>"]`,
    `status: '"><img src=x onerror="${run('status')}">'`, '---', '',
  ];
  // Blank lines apart, so that each piece of HTML is a block of its own, and again within a sentence.
  const blocks = raw.flatMap((html) => [html, '', `Inline ${html.replaceAll('\n', ' ')} in a sentence.`, '']);
  return [...front, ...markdown, '## Raw HTML', '', ...blocks, '## Links', '', ...links].join('\n');
}

/** Right-to-left and East Asian text, and the words that tests look for. */
export const SCRIPTS = {
  'languages/arabic.md': '# خطة الميناء\n\nتبدأ القوارب في الساعة التاسعة، والموسيقى عند الظهر.\n\n- الخبز\n- الماء\n',
  'languages/hebrew.md': '# תוכנית הנמל\n\nהסירות יוצאות בתשע, והמוזיקה מתחילה בצהריים.\n',
  'languages/mixed.md': '# Mixed\n\nAn English paragraph.\n\nהפסקה הזאת בעברית.\n\nThe word שלום within English.\n',
  'languages/japanese.md': '# 港のお祭り\n\n船は九時に出発し、音楽は正午に始まります。\n',
  'languages/chinese.md': '# 港口节\n\n船九点出发，音乐中午开始。\n',
  'languages/korean.md': '# 항구 축제\n\n배는 아홉 시에 떠나고 음악은 정오에 시작합니다.\n',
};

/** Names that are harmless on a disk, and not in an address or in HTML. */
export const NAMES = [
  'names/with spaces.md',
  'names/it\'s "quoted".md',
  'names/<b>bold<b>.md',
  'names/hash # and ?question.md',
  'names/100% sure %2e%2e.md',
  'names/émoji 🎉 ünïcode.md',
  'names/a&amp;b.md',
  'names/{{braces}} ${dollar}.md',
];

/** A table that is too wide for any screen. */
export function hugeTable(rows = 1000, columns = 30) {
  const row = (cell) => `| ${Array.from({ length: columns }, (_, column) => cell(column)).join(' | ')} |`;
  const head = [row((column) => `column ${column}`), row(() => '---')];
  const body = Array.from({ length: rows }, (_, index) => row((column) => `${index}.${column}`));
  return `# A huge table\n\n${[...head, ...body].join('\n')}\n`;
}

/** A note of five million bytes in few sections. */
export function longNote(bytes = 5_000_000) {
  const paragraph = 'The tide comes in twice a day, and the harbour master writes down when. '.repeat(12);
  const parts = ['# A long note\n'];
  for (let size = 0, section = 1; size < bytes; section += 1) {
    const part = `\n## Part ${section}\n\n${`${paragraph}\n\n`.repeat(50)}`;
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}

/** A note with many sections. */
export function manySections(count = 10_000) {
  const sections = Array.from({ length: count }, (_, index) => `## Section ${index}\n\nText ${index}.\n`);
  return `# Many sections\n\n${sections.join('\n')}`;
}

/** Writes notes, given as paths and texts, into an empty folder. */
export function write(folder, notes) {
  for (const [name, text] of Object.entries(notes)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
}

/** Writes the desk of the screenshots: what a person would have. */
export function writeOrdinaryDesk(folder) {
  write(folder, ORDINARY);
}

/** Writes the desk of the tests: what a person would have, and what an attacker would send. */
export function writeTestDesk(folder) {
  write(folder, {
    ...ORDINARY,
    ...LINKS,
    ...SCRIPTS,
    ...Object.fromEntries(NAMES.map((name) => [name, `# A name\n\nThe file with the name of this note is there.\n`])),
    'hostile/hostile.md': hostileNote(),
    'large/table.md': hugeTable(),
    'large/long.md': longNote(),
    'large/sections.md': manySections(),
  });
}
