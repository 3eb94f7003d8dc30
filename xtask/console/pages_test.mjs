// Tests of the console's pages: they show what is there, do what they are asked, and nothing that a note asks.

import fs from 'node:fs';
import path from 'node:path';
import { FLAG, NAMES, writeOrdinaryDesk, writeTestDesk } from './fixture.mjs';
import {
  LOOKS, Server, Suite, WatchedContext, assert, assertEqual, callTool, screenshot, scriptArguments,
  seriousFindings, startChromium, until,
} from './lib.mjs';

/** Pages beyond those of the menu that every page test looks at. */
const MORE_PAGES = [
  '/', '/documents?id=projects/harbour', '/documents?id=projects/harbour/plan.md', '/documents?id=projects/harbour/budget.md',
  '/documents?id=links/broken.md', '/documents?id=languages/arabic.md', '/changes?id=projects/harbour/plan.md&since=7d',
];

/** Elements that no page has in its body, whatever a note says. */
const FORBIDDEN = 'script, style, link, meta, base, iframe, frame, object, embed, svg, math, video, audio, source, template, noscript, canvas, portal, marquee, x';

const PLAN = 'projects/harbour/plan.md';

const { binary, output } = scriptArguments();
const deskOf = (name, write) => {
  const folder = path.join(output, name);
  write(folder);
  return folder;
};
const server = await Server.start(binary, deskOf('desk', writeTestDesk), path.join(output, 'home'));
const browser = await startChromium();
const visitor = await WatchedContext.open(browser, server.origin);
await visitor.signIn(server);
const suite = new Suite();

/** Runs `look` on each page of the menu and of `MORE_PAGES`, in a context with these options. The first failure of each page counts. */
async function onEachPage(options, look) {
  const watched = await WatchedContext.open(browser, server.origin, options);
  await watched.signInAs(visitor);
  const { page: first } = await watched.visit('/');
  const menu = await first.locator('nav.menu a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  assert(menu.length >= 3, `a menu of ${menu.length}`);
  await first.close();
  const failures = [];
  for (const address of [...new Set([...menu, ...MORE_PAGES])]) {
    const visit = await watched.visit(address);
    try {
      await look({ ...visit, address });
      watched.assertQuiet('problems');
    } catch (error) {
      await screenshot(visit.page, output, `failed-${address.replace(/\W+/g, '-')}`);
      failures.push(`${address}: ${error.message}`);
    }
    await visit.page.close();
  }
  await watched.close();
  assert(failures.length === 0, failures.join('\n    '));
}

/** Runs `play` with a server on an ordinary desk of its own, an MCP client of it and a visitor. */
async function onItsOwnDesk(name, play) {
  const folder = deskOf(`desk-${name}`, writeOrdinaryDesk);
  const own = await Server.start(binary, folder, path.join(output, `home-${name}`));
  const watched = await WatchedContext.open(browser, own.origin);
  await watched.signIn(own);
  const client = await own.client(`client of ${name}`);
  const read = () => fs.readFileSync(path.join(folder, PLAN), 'utf8');
  try {
    await play({ own, watched, client, read });
  } finally {
    await client.close();
    await watched.close();
    await own.stop();
  }
}

suite.test('a one-time link lets one browser in, once', async () => {
  const stranger = await WatchedContext.open(browser, server.origin);
  for (const address of ['/', '/changes', `/documents?id=${PLAN}`]) {
    const { page, status } = await stranger.visit(address);
    assert([401, 403].includes(status), `${address} answered ${status} without a cookie`);
    const text = await page.locator('main').innerText();
    assert(text.includes('sectile open'), `no explanation: ${text}`);
    assert(!text.includes('Boats'), 'a stranger sees a note');
    await page.close();
  }
  const link = server.link();
  const page = await stranger.context.newPage();
  await page.goto(link);
  assertEqual(new URL(page.url()).pathname, '/', 'the link leads to the first page');
  assert(!page.url().includes('link='), 'the link stays in the address');
  assert(await page.locator('nav.menu').isVisible(), 'no menu');
  const [cookie, ...others] = await stranger.context.cookies();
  assertEqual(others.length, 0, 'more cookies');
  assertEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/'], 'the cookie');
  const second = await WatchedContext.open(browser, server.origin);
  for (const spent of [link, `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`, `${server.origin}/open?link=`]) {
    const again = await second.context.newPage();
    const response = await again.goto(spent);
    assert([401, 403].includes(response.status()), `a spent link answered ${response.status()}`);
    assert((await again.locator('main').innerText()).includes('sectile open'), 'no explanation');
    assertEqual((await second.context.cookies()).length, 0, 'a spent link sets a cookie');
  }
  await second.close();
  await stranger.close();
});

/** The texts of the pages, without what changes by the minute. */
const texts = new Map();
const settled = (text) => text.replace(/\s+/g, ' ').replace(/just now|\d+ \w+ ago/g, '').replace('transformer model', 'static model');

suite.test('each page has its heading, landmarks and policy', async () => {
  await onEachPage({}, async ({ page, status, headers, address }) => {
    texts.set(address, settled(await page.locator('main').innerText()));
    assertEqual(status, 200, 'status');
    assertEqual(await page.locator('h1').count(), 1, 'number of h1');
    assert((await page.locator('h1').innerText()).trim(), 'an empty h1');
    for (const landmark of ['header', 'nav', 'main']) assert(await page.locator(landmark).first().isVisible(), `no ${landmark}`);
    const policy = headers['content-security-policy'];
    assert(policy.startsWith("default-src 'none'") && !policy.includes('unsafe'), policy);
    assertEqual(headers['cache-control'], 'no-store', 'cache-control');
    assert((await page.title()).includes('Sectile'), 'no title');
  });
});

suite.test('a note is shown with its text, and its links lead on', async () => {
  const { page } = await visitor.visit('/documents?id=index.md');
  const main = page.locator('main');
  assert((await main.innerText()).includes('Three days in June'), 'no text');
  await main.getByRole('link', { name: 'plan', exact: true }).first().click();
  await page.getByText('Boats at nine').first().waitFor();
  assert(page.url().includes('plan.md'), page.url());
  visitor.assertQuiet('links');
  await page.close();
});

suite.test('tables, tasks and code of a note look like what they are', async () => {
  const { page: budget } = await visitor.visit('/documents?id=projects/harbour/budget.md');
  const align = (text) => budget.locator('.note').getByRole('cell', { name: text, exact: true }).first().evaluate((cell) => getComputedStyle(cell).textAlign);
  assert(['right', 'end'].includes(await align('1200')), `numbers are aligned ${await align('1200')}`);
  assertEqual(await align('yes'), 'center', 'the last column');
  assert((await budget.locator('.note pre').innerText()).includes('total = stage'), 'no code');
  await budget.close();
  const { page: plan } = await visitor.visit(`/documents?id=${PLAN}`);
  const boxes = plan.locator('.note input[type=checkbox]');
  assertEqual(await boxes.evaluateAll((all) => all.map((box) => [box.checked, box.disabled])), [[true, true], [false, true], [false, true]], 'tasks');
  await plan.close();
  visitor.assertQuiet('tables and tasks');
});

suite.test('the list of sections leads to the sections', async () => {
  for (const id of [PLAN, 'index.md', 'languages/arabic.md']) {
    const { page } = await visitor.visit(`/documents?id=${id}`);
    const missing = await page.locator('.sections a').evaluateAll((links) => links
      .map((link) => decodeURIComponent(link.hash.slice(1)))
      .filter((anchor) => !anchor || !document.getElementById(anchor)));
    assertEqual(missing, [], `anchors of ${id} that lead nowhere`);
    assert((await page.locator('.sections a').count()) > 0, `no sections in ${id}`);
    await page.close();
  }
  const { page } = await visitor.visit('/documents?id=plan%23Saturday');
  assert(await page.locator(':target').isVisible(), `no section at ${page.url()}`);
  assertEqual(await page.locator(':target').innerText(), 'Saturday', 'the section');
  await page.close();
  visitor.assertQuiet('sections');
});

suite.test('broken and ambiguous links are marked and lead nowhere', async () => {
  for (const [id, text] of [['links/broken.md', 'nobody wrote this'], ['links/ambiguous.md', 'notes']]) {
    const { page } = await visitor.visit(`/documents?id=${id}`);
    const link = page.locator('.note').getByText(new RegExp(`^${text}`)).last();
    assert(await link.isVisible(), `${text} is not shown`);
    assertEqual(await link.evaluate((element) => element.closest('a[href]') === null), true, `${text} leads somewhere`);
    await page.close();
  }
  visitor.assertQuiet('broken links');
});

suite.test('notes with odd names are listed by name and can be opened', async () => {
  for (const name of NAMES) {
    const { page } = await visitor.visit('/documents?id=names');
    const stem = path.basename(name);
    const links = page.locator('main a');
    const addresses = await links.evaluateAll((found) => found.map((link) => new URL(link.href).searchParams.get('id')));
    const index = addresses.findIndex((address) => address === name);
    assert(index >= 0, `${stem} is not listed: ${addresses.join(', ')}`);
    await links.nth(index).click();
    await page.getByText('The file with the name of this note is there').first().waitFor();
    assertEqual(await page.locator('main b').count(), 0, 'an element made from a name');
    await page.close();
  }
  visitor.assertQuiet('names');
});

suite.test('a hostile note runs nothing, loads nothing and stays text', async () => {
  for (const address of ['/documents?id=hostile/hostile.md', '/documents?id=hostile', '/']) {
    const { page } = await visitor.visit(address);
    await page.waitForLoadState('networkidle');
    // As a person would: everything that can be opened is opened, and everything is pointed at.
    await page.locator('summary').evaluateAll((all) => all.forEach((summary) => summary.click()));
    const state = await page.evaluate(({ flag, forbidden }) => {
      const all = [...document.body.querySelectorAll('*')];
      const attributes = all.flatMap((element) => [...element.attributes].map(({ name, value }) => ({ tag: element.localName, name, value })));
      const isAddress = ({ name }) => ['href', 'src', 'action', 'formaction', 'poster', 'data', 'ping', 'srcset', 'srcdoc', 'xlink:href'].includes(name);
      const isGood = ({ tag, name, value }) => {
        if (!['href', 'src', 'action'].includes(name)) return false;
        const url = new URL(value, location.href);
        return url.origin === location.origin || (tag === 'a' && ['http:', 'https:', 'mailto:'].includes(url.protocol));
      };
      return {
        ran: window[flag],
        forbidden: [...document.body.querySelectorAll(forbidden)].map((element) => element.outerHTML.slice(0, 80)),
        handlers: attributes.filter(({ name }) => name.startsWith('on') || name === 'style').map(({ tag, name }) => `${tag} ${name}`),
        addresses: attributes.filter(isAddress).filter((attribute) => !isGood(attribute)).map(({ tag, name, value }) => `${tag} ${name}=${value.slice(0, 80)}`),
        clobbered: typeof document.cookie !== 'string' || !(window.document instanceof Document),
        base: document.baseURI,
        foreign: [...document.querySelectorAll('a[href]')].filter((link) => link.origin !== location.origin && !/noreferrer/.test(link.rel)).length,
      };
    }, { flag: FLAG, forbidden: FORBIDDEN });
    assertEqual(state.ran, undefined, `${address}: a script ran`);
    assertEqual(state.forbidden, [], `${address}: elements`);
    assertEqual(state.handlers, [], `${address}: handlers`);
    assertEqual(state.addresses, [], `${address}: addresses`);
    assert(!state.clobbered && state.base.startsWith(server.origin), `${address}: clobbered`);
    assertEqual(state.foreign, 0, `${address}: links that tell where they come from`);
    await screenshot(page, output, `hostile-${address.length}`);
    await page.close();
  }
  visitor.assertQuiet('hostile');
  const { page } = await visitor.visit('/documents?id=hostile/hostile.md');
  assert((await page.locator('main').innerText()).includes('<script>'), 'HTML in a note is not shown as text');
  await page.close();
});

suite.test('links of a hostile note lead to notes, or to where a person sees that they lead', async () => {
  const { page } = await visitor.visit('/documents?id=hostile/hostile.md');
  const links = await page.locator('.note a[href]').evaluateAll((all) => all.map((link) => ({
    protocol: link.protocol, host: link.host, isOwn: link.origin === location.origin, path: link.pathname, rel: link.rel, target: link.target,
  })));
  assert(links.length >= 3, `${links.length} links`);
  for (const link of links) {
    const isGood = link.isOwn ? link.path === '/documents' : ['http:', 'https:', 'mailto:'].includes(link.protocol) && /noreferrer/.test(link.rel);
    assert(isGood, JSON.stringify(link));
  }
  await page.close();
});

suite.test('large notes are shown, whole or with a word about what is missing', async () => {
  for (const [name, text] of [['table', '999.29'], ['sections', 'Section 42'], ['long', 'Part 1']]) {
    const { page, status } = await visitor.visit(`/documents?id=large/${name}.md`);
    assertEqual(status, 200, name);
    const shown = await page.locator('main').innerText();
    assert(shown.includes(text), `${name}: ${shown.length} characters without ${text}`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert(width <= 0, `${name} is ${width} pixels too wide`);
    await page.close();
  }
  visitor.assertQuiet('large notes');
});

suite.test('right-to-left text runs from right to left, paragraph by paragraph', async () => {
  const direction = async (page, text) => page.getByText(text).last().evaluate((element) => getComputedStyle(element).direction);
  for (const [name, word, expected] of [
    ['arabic', 'القوارب', 'rtl'], ['hebrew', 'הסירות', 'rtl'], ['mixed', 'הפסקה', 'rtl'], ['mixed', 'An English', 'ltr'],
    ['mixed', 'within English', 'ltr'], ['japanese', '音楽', 'ltr'],
  ]) {
    const { page } = await visitor.visit(`/documents?id=languages/${name}.md`);
    assertEqual(await direction(page, word), expected, `direction of ${word}`);
    await page.close();
  }
  visitor.assertQuiet('languages');
});

suite.test('the keyboard reaches everything, and shows where it is', async () => {
  const { page } = await visitor.visit('/changes');
  await page.keyboard.press('Tab');
  const skip = page.locator(':focus');
  assertEqual(await skip.getAttribute('href'), '#main', 'the first stop');
  const box = await skip.boundingBox();
  assert(box && box.x >= 0 && box.y >= 0 && box.width > 20 && box.height > 10, `the skip link is not visible: ${JSON.stringify(box)}`);
  await page.keyboard.press('Enter');
  assertEqual(await page.evaluate(() => document.activeElement.id), 'main', 'the skip link leads to the content');
  await page.close();
  await onEachPage({}, async ({ page: shown }) => {
    const reached = new Set();
    for (let step = 0; step < 60; step += 1) {
      await shown.keyboard.press('Tab');
      const stop = await shown.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const style = getComputedStyle(element);
        const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
        const where = element.closest('nav.menu') ? 'menu' : element.closest('main') ? 'main' : 'page';
        return { where, name: (element.textContent || element.getAttribute('aria-label') || element.name || '').trim().slice(0, 40), seen: outlined || style.boxShadow !== 'none' };
      });
      if (!stop) break;
      assert(stop.seen, `no visible focus on ${stop.where} ${stop.name}`);
      reached.add(`${stop.where} ${stop.name}`);
    }
    const menu = await shown.locator('nav.menu a').allInnerTexts();
    for (const entry of menu) assert(reached.has(`menu ${entry.trim()}`), `${entry} is not reached: ${[...reached].join(', ')}`);
    const controls = await shown.locator('main :is(a[href], button, input, select, summary)').count();
    assert(controls === 0 || [...reached].some((stop) => stop.startsWith('main')), 'nothing in the content is reached');
  });
});

suite.test('without JavaScript the pages say the same', async () => {
  await onEachPage({ javaScriptEnabled: false }, async ({ page, address }) => {
    const text = settled(await page.locator('main').innerText());
    assert(text.length > 10, `nothing but ${text}`);
    if (!address.startsWith('/calls')) assertEqual(text, texts.get(address), 'text');
  });
});

for (const { name, colorScheme, viewport } of LOOKS) {
  suite.test(`no page has a serious finding of axe or is wider than the screen, ${name}`, async () => {
    await onEachPage({ colorScheme, viewport }, async ({ page, address }) => {
      await screenshot(page, output, `${name}${address.replace(/\W+/g, '-')}`);
      assertEqual(await seriousFindings(page), [], 'findings');
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert(width <= viewport.width, `${width} pixels wide`);
    });
  });
}

suite.test('a click undoes a change, and the file is as it was; another redoes it', async () => {
  await onItsOwnDesk('undo', async ({ watched, client, read }) => {
    const before = read();
    await callTool(client, 'edit', { id: 'plan#Saturday', old: 'Boats at nine', new: 'Boats at ten' });
    const after = read();
    assert(after.includes('Boats at ten'), 'not edited');
    const { page } = await watched.visit('/changes');
    assert((await page.locator('.changes').innerText()).includes(PLAN), 'the document is not on the page');
    assertEqual(await page.locator('.diff-removed del').allInnerTexts(), ['nine'], 'removed words');
    assertEqual(await page.locator('.diff-added ins').allInnerTexts(), ['ten'], 'added words');
    await page.getByRole('button', { name: 'Undo change 1' }).click();
    await page.getByRole('button', { name: /^Redo change/ }).waitFor();
    assertEqual(read(), before, 'the file after the undo');
    assertEqual(await page.locator('.change.undone').count(), 1, 'changes marked as undone');
    await page.getByRole('button', { name: /^Redo change/ }).click();
    await until('the redo', () => read() === after);
    watched.assertQuiet('undo');
  });
});

suite.test('an undo that a later change overlaps is refused, and changes nothing', async () => {
  await onItsOwnDesk('conflict', async ({ watched, client, read }) => {
    await callTool(client, 'edit', { id: 'plan#Saturday', old: 'Boats at nine', new: 'Boats at ten' });
    await callTool(client, 'edit', { id: 'plan#Saturday', old: 'Boats at ten', new: 'Boats at eleven' });
    const before = read();
    const { page } = await watched.visit('/changes');
    await page.getByRole('button', { name: 'Undo change 1' }).click();
    await page.getByRole('alert').waitFor();
    const text = await page.locator('main').innerText();
    for (const expected of ['change 2', 'undo_overlaps']) assert(text.includes(expected), `${expected} is not shown: ${text}`);
    assertEqual(read(), before, 'the file');
    assertEqual(await seriousFindings(page), [], 'findings on the refusal');
    await screenshot(page, output, 'conflict');
  });
});

suite.test('forms of strangers and other sites change nothing', async () => {
  await onItsOwnDesk('forms', async ({ own, watched, client, read }) => {
    await callTool(client, 'edit', { id: 'plan#Saturday', old: 'Boats at nine', new: 'Boats at ten' });
    const before = read();
    const { page } = await watched.visit('/changes');
    const form = await page.locator('form.action').first().evaluate((element) => ({
      action: new URL(element.action).pathname, fields: Object.fromEntries(new FormData(element)),
    }));
    const post = (request, fields, headers = {}) => request.post(own.origin + form.action, { form: fields, headers, maxRedirects: 0 });
    const stranger = await browser.newContext();
    const refused = [
      post(stranger.request, form.fields),
      post(watched.context.request, {}),
      post(watched.context.request, { ...form.fields, form_token: 'wrong' }),
      post(watched.context.request, form.fields, { origin: 'https://foreign.invalid' }),
      post(watched.context.request, form.fields, { 'sec-fetch-site': 'cross-site' }),
      watched.context.request.get(`${own.origin}${form.action}?${new URLSearchParams(form.fields)}`),
    ];
    for (const [index, response] of (await Promise.all(refused)).entries()) assert(response.status() >= 400, `${index}: ${response.status()}`);
    assertEqual(read(), before, 'the file');
    await stranger.close();
  });
});

suite.test('a call appears on the page of calls while it is open', async () => {
  await onItsOwnDesk('calls', async ({ watched, client }) => {
    const { page } = await watched.visit('/calls');
    assertEqual(await page.locator('#calls tr').count(), 0, 'calls before the first');
    await callTool(client, 'search', { query: 'secret words of a query' });
    const row = page.locator('#calls tr').filter({ hasText: 'search' });
    await row.first().waitFor();
    const text = await row.first().innerText();
    for (const expected of ['client of calls', 'search', 'ok']) assert(text.includes(expected), `${expected} is not in: ${text}`);
    assert(!(await page.content()).includes('secret words'), 'the arguments of a call are shown');
    watched.assertQuiet('calls');
  });
});

suite.test('a search is asked by keyboard, explains itself, and stands beside another', async () => {
  const { page } = await visitor.visit('/search');
  await page.getByLabel('Query', { exact: true }).fill('what does the pilot cost?');
  await page.keyboard.press('Enter');
  await page.locator('.hit').first().waitFor();
  const first = page.locator('.hit').first();
  assert((await first.innerText()).includes('pilot'), await first.innerText());
  for (const name of ['Together score', 'Words score', 'Meaning score']) {
    assert(await first.getByRole('meter', { name }).isVisible(), `no ${name}`);
  }
  await first.locator('details.terms summary').click();
  assert((await first.locator('details.terms').innerText()).includes('as written'), 'no words');
  await page.locator('details.beside summary').click();
  await page.getByLabel('Its ranking').selectOption('words');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('.side-by-side').waitFor();
  assertEqual(await page.locator('section.results').count(), 2, 'searches side by side');
  assertEqual(await seriousFindings(page), [], 'axe');
  visitor.assertQuiet('a search');
  await page.close();
});

suite.test('the quotes of a draft are checked, one by one', async () => {
  const { page } = await visitor.visit('/quotes');
  const draft = '> Boats at nine\n\n> Boats at nineteen past noon\n\n> <img src=x onerror=alert(1)> that nobody ever wrote anywhere\n';
  await page.getByLabel('Quote or draft').fill(draft);
  await page.getByRole('button', { name: 'Check' }).click();
  await page.locator('.passages').waitFor();
  const passages = page.locator('.passage');
  assertEqual(await passages.count(), 3, 'passages');
  assert((await passages.nth(0).innerText()).includes('Verified'), await passages.nth(0).innerText());
  assert((await passages.nth(2).innerText()).includes('Nowhere'), await passages.nth(2).innerText());
  assertEqual(await page.locator('main img').count(), 0, 'an image from the draft');
  assertEqual(await seriousFindings(page), [], 'axe');
  visitor.assertQuiet('a draft');
  await passages.nth(0).getByRole('link').first().click();
  await page.locator('.note').waitFor();
  await page.close();
});

suite.test('what is not there is said to be not there', async () => {
  for (const address of ['/nothing', '/documents?id=no/such/note.md', '/documents?id=../../etc/passwd', '/documents?id=%00', '/changes?since=yesterday-ish']) {
    const { page, status } = await visitor.visit(address);
    assert(status < 500, `${address} answered ${status}`);
    assertEqual(await page.locator('h1').count(), 1, `h1 of ${address}`);
    assert(!(await page.content()).includes(output), `${address} shows a path`);
    await page.close();
  }
  visitor.problems.length = 0;
});

suite.test('the log of the server has no text of notes', async () => {
  assert(server.log.includes('listening') || server.log.includes(server.origin), 'no log');
  assert(!server.log.includes('Boats at nine'), 'text in the log');
});

await suite.run(async () => {
  await browser.close();
  await server.stop();
});
