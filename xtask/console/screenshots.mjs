// Screenshots of the console for the documentation, of the real server on a sample folder.
//
// Arguments: the program, and the folder for the pictures.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { writeOrdinaryDesk } from './fixture.mjs';
import { Server, WatchedContext, assert, scriptArguments, startChromium } from './lib.mjs';

/** The pictures: the name of the file, the address of the page, the size of the window and the colours. */
const PICTURES = [];

/** The size in bytes that a picture does not exceed. */
const MAX_BYTES = 60_000;

const { binary, output } = scriptArguments();
if (PICTURES.length > 0) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'sectile-pictures-'));
  const folder = path.join(scratch, 'festival');
  writeOrdinaryDesk(folder);
  const server = await Server.start(binary, folder, path.join(scratch, 'home'));
  const browser = await startChromium();
  for (const { name, address, viewport, colorScheme } of PICTURES) {
    const watched = await WatchedContext.open(browser, server.origin, { viewport, colorScheme });
    await watched.signIn(server);
    const { page, status } = await watched.visit(address);
    assert(status === 200, `${address} answered ${status}`);
    const bytes = await page.screenshot();
    watched.assertQuiet(address);
    assert(bytes.length <= MAX_BYTES, `${name}.png has ${bytes.length} bytes, at most ${MAX_BYTES}; make its window smaller`);
    fs.writeFileSync(path.join(output, `${name}.png`), bytes);
    console.log(`wrote ${name}.png, ${bytes.length} bytes`);
    await watched.close();
  }
  await browser.close();
  await server.stop();
  fs.rmSync(scratch, { recursive: true });
}
