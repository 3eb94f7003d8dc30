// Tests of the harness itself: a page that misbehaves must not pass, or no test of the console could fail.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { FLAG, FOREIGN, NAMES, hostileNote, writeTestDesk } from './fixture.mjs';
import { LOOKS, Server, Suite, WatchedContext, assert, assertEqual, callTool, scriptArguments, seriousFindings, startChromium, until } from './lib.mjs';

const { binary, output } = scriptArguments();
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'";
const PAGES = {
  '/good': '<!doctype html><html lang=en><title>Good</title><main><h1>Good</h1><p>Nothing to see.</p></main>',
  '/script': `<!doctype html><html lang=en><title>x</title><main><h1>x</h1><script>window.${FLAG}=1</script></main>`,
  '/image': `<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img alt="" src="https://${FOREIGN}/x.png"></main>`,
  '/unlabelled': '<!doctype html><html><main><h1>x</h1><input><p style="color:#ccc">faint</p></main>',
  '/open/image': `<!doctype html><html lang=en><title>x</title><img alt="" src="https://${FOREIGN}/x.png">`,
  '/open/script': '<!doctype html><html lang=en><title>x</title><script>missing()</script>',
  '/open/hostile': `<!doctype html><html lang=en><title>x</title><body>${hostileNote()}`,
};
const bad = http.createServer((request, response) => {
  const page = PAGES[request.url];
  const policy = request.url.startsWith('/open/') ? {} : { 'content-security-policy': POLICY };
  response.writeHead(page ? 200 : 404, { 'content-type': 'text/html; charset=utf-8', ...policy });
  response.end(page ?? 'not found');
});
await new Promise((resolve) => { bad.listen(0, '127.0.0.1', resolve); });
const origin = `http://127.0.0.1:${bad.address().port}`;
const browser = await startChromium();
const suite = new Suite();

/** Returns what is noticed when a page is visited. */
async function noticed(address) {
  const watched = await WatchedContext.open(browser, origin);
  const { page } = await watched.visit(address);
  await page.waitForLoadState('networkidle');
  const ran = await page.evaluate((flag) => window[flag], FLAG);
  await watched.close();
  return { problems: watched.problems.join('\n'), ran };
}

suite.test('a good page is quiet', async () => {
  assertEqual((await noticed('/good')).problems, '', 'problems');
});

suite.test('a script in a page is a violation of its policy', async () => {
  const { problems, ran } = await noticed('/script');
  assert(problems.includes('policy violation: script-src-elem inline'), problems);
  assertEqual(ran, undefined, 'the script ran');
});

suite.test('a foreign image is noticed with a policy and without', async () => {
  assert((await noticed('/image')).problems.includes('policy violation: img-src'), 'not noticed with a policy');
  const { problems } = await noticed('/open/image');
  assert(problems.includes(`foreign request: https://${FOREIGN}/x.png`), problems);
});

suite.test('an error of a script is noticed', async () => {
  assert((await noticed('/open/script')).problems.includes('missing is not defined'), 'not noticed');
});

suite.test('where nothing stops it, the hostile note runs scripts and asks other hosts', async () => {
  const watched = await WatchedContext.open(browser, origin);
  // The refresh in the note would take the page away before anyone looks.
  await watched.context.route((url) => url.host === FOREIGN, (route) => route.abort());
  const page = await watched.context.newPage();
  const ran = new Set();
  await watched.context.exposeBinding('tell', (_, name) => { ran.add(name); });
  await page.addInitScript((flag) => {
    Object.defineProperty(window, flag, { set(name) { window.tell(String(name)); }, configurable: true });
  }, FLAG);
  await page.goto(`${origin}/open/hostile`, { waitUntil: 'commit' });
  for (const name of ['script', 'onerror', 'svg', 'srcdoc', 'comment', 'closed']) await until(`the script ${name}`, () => ran.has(name));
  const foreign = () => watched.problems.filter((problem) => problem.startsWith('foreign request'));
  await until('eight foreign requests', () => foreign().length >= 8);
  await watched.close();
});

suite.test('axe finds what is serious, under a strict policy, and nothing in a good page', async () => {
  for (const { colorScheme, viewport } of LOOKS) {
    const watched = await WatchedContext.open(browser, origin, { colorScheme, viewport });
    const { page } = await watched.visit('/good');
    assertEqual(await seriousFindings(page), [], 'findings in the good page');
    watched.assertQuiet('axe');
    await page.goto(`${origin}/unlabelled`);
    const found = (await seriousFindings(page)).join('\n');
    for (const rule of ['html-has-lang', 'label', 'document-title']) assert(found.includes(rule), `${rule}: ${found}`);
    await watched.close();
  }
});

suite.test('the real server serves the sample desk to a real client', async () => {
  const folder = path.join(output, 'desk');
  writeTestDesk(folder);
  for (const name of NAMES) assert(fs.existsSync(path.join(folder, name)), name);
  assert(fs.statSync(path.join(folder, 'large/long.md')).size >= 5_000_000, 'the long note is short');
  const server = await Server.start(binary, folder, path.join(output, 'home'));
  const client = await server.client('harness');
  const answer = await callTool(client, 'search', { query: 'boats and music' });
  assert(answer.includes('projects/harbour/plan.md'), answer);
  await client.close();
  await server.stop();
});

await suite.run(async () => {
  await browser.close();
  bad.close();
});
