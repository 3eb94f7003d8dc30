// Screenshots of the console for the documentation, of the real server on a sample folder.
//
// Arguments: the program, and the folder for the pictures.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import UPNG from 'upng-js';
import { writeOrdinaryDesk } from './fixture.mjs';
import { Server, WatchedContext, assert, callTool, scriptArguments, startChromium } from './lib.mjs';

/** The pictures: the name of the file, the address of the page, the size of the window and the colours. */
const PICTURES = [
  { name: 'documents', address: '/documents?id=projects/harbour/plan.md', viewport: { width: 960, height: 620 }, colorScheme: 'light' },
  { name: 'changes', address: '/changes', viewport: { width: 960, height: 620 }, colorScheme: 'light' },
  { name: 'search', address: '/search?q=when%20do%20the%20boats%20leave%3F', viewport: { width: 960, height: 640 }, colorScheme: 'light' },
  { name: 'quotes', address: '/quotes', draft: '> Boats at ten\n\n> The pilot costs 350 a day.\n\n> A pier of gold\n', viewport: { width: 960, height: 760 }, colorScheme: 'light' },
  { name: 'calls', address: '/calls', viewport: { width: 960, height: 520 }, colorScheme: 'dark' },
  { name: 'phone', address: '/documents?id=projects/harbour/budget.md', viewport: { width: 360, height: 640 }, colorScheme: 'dark' },
];

/** What an agent did before the pictures are taken. */
const CALLS = [
  ['search', { query: 'what does the pilot cost?' }],
  ['fetch', { id: 'budget' }],
  ['edit', { id: 'budget#Budget', old: 'The pilot costs 350 a day.', new: 'The pilot costs 400 a day.' }],
  ['outline', {}],
  ['edit', { id: 'plan#Saturday', old: 'Boats at nine', new: 'Boats at ten' }],
  ['rename', { id: 'plan#Saturday', to: 'Day one' }],
  ['links', { id: 'plan' }],
  ['search', { query: 'is:task path:projects/' }],
];

/** Colours of a picture. Text on a plain background looks the same as with all of them, in half the bytes. */
const COLOURS = 256;

/** The size in bytes that a picture does not exceed. */
const MAX_BYTES = 60_000;

const { binary, output } = scriptArguments();
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'sectile-pictures-'));
const folder = path.join(scratch, 'festival');
writeOrdinaryDesk(folder);
const server = await Server.start(binary, folder, path.join(scratch, 'home'));
const client = await server.client('an agent');
for (const [tool, args] of CALLS) await callTool(client, tool, args);
await client.close();
const browser = await startChromium();
for (const { name, address, draft, viewport, colorScheme } of PICTURES) {
  const watched = await WatchedContext.open(browser, server.origin, { viewport, colorScheme });
  await watched.signIn(server);
  const { page, status } = await watched.visit(address);
  assert(status === 200, `${address} answered ${status}`);
  if (draft) {
    await page.locator('textarea').fill(draft);
    await page.getByRole('button').click();
    await page.locator('.passages').waitFor();
  }
  const bytes = smaller(await page.screenshot());
  watched.assertQuiet(address);
  assert(bytes.length <= MAX_BYTES, `${name}.png has ${bytes.length} bytes, at most ${MAX_BYTES}; make its window smaller`);
  fs.writeFileSync(path.join(output, `${name}.png`), bytes);
  console.log(`wrote ${name}.png, ${bytes.length} bytes`);
  await watched.close();
}
await browser.close();
await server.stop();
fs.rmSync(scratch, { recursive: true });

function smaller(png) {
  const image = UPNG.decode(png);
  return Buffer.from(UPNG.encode(UPNG.toRGBA8(image), image.width, image.height, COLOURS));
}
