// Helpers for tests of the console in Chromium: the real server, a watched browser, and accessibility.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { chromium } from 'playwright-core';

/** How long anything may take on a busy machine, in milliseconds. Nothing is measured with it. */
export const PATIENCE = 60_000;

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1200, height: 800 };

/** The ways in which each page is looked at. */
export const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: DESKTOP },
  { name: 'dark', colorScheme: 'dark', viewport: DESKTOP },
  { name: 'phone', colorScheme: 'light', viewport: PHONE },
];

const CHROMIUM_FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** The arguments that every script gets. */
export function scriptArguments() {
  const [binary, output] = process.argv.slice(2);
  if (!binary || !output) throw new Error('run this through `cargo xtask console-test`');
  return { binary, output };
}

export async function startChromium() {
  return chromium.launch({ executablePath: process.env.XTASK_CHROMIUM, args: CHROMIUM_FLAGS });
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function assertEqual(actual, expected, message) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  assert(left === right, `${message}: ${left} instead of ${right}`);
}

/** Waits until `check` returns something true, and returns it. */
export async function until(what, check) {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} did not happen within ${PATIENCE / 1000} s`);
}

/** A list of tests, run in order. Each prints a line; the last line is the count. */
export class Suite {
  #tests = [];

  test(name, run) {
    this.#tests.push({ name, run });
  }

  /** Runs the tests, then `cleanUp`. */
  async run(cleanUp = async () => {}) {
    let passed = 0;
    let failed = 0;
    for (const { name, run } of this.#tests) {
      const start = Date.now();
      const took = () => `(${((Date.now() - start) / 1000).toFixed(1)} s)`;
      try {
        await run();
        passed += 1;
        console.log(`ok ${name} ${took()}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED ${name} ${took()}: ${error.message}`);
        if (!(error instanceof Error) || !error.message) console.log(error);
      }
    }
    await cleanUp();
    console.log(`${passed} passed, ${failed} failed`);
    // A test that failed may have left something open that would keep the process alive.
    process.exit(failed > 0 ? 1 : 0);
  }
}

/** The real server on a folder. Its settings, state and caches are in a home of its own. */
export class Server {
  #child;
  #log = '';

  static async start(binary, folder, home, more = []) {
    const server = new Server();
    server.binary = binary;
    server.folder = folder;
    server.env = environment(home);
    const child = spawn(binary, ['serve', folder, '--http', '127.0.0.1:0', ...more], {
      env: server.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server.#child = child;
    child.stderr.on('data', (chunk) => { server.#log += chunk; });
    process.on('exit', () => child.kill('SIGKILL'));
    server.origin = await until('the server listens', () => {
      assert(child.exitCode === null, `the server ended: ${server.#log}`);
      return server.#log.match(/http:\/\/127\.0\.0\.1:\d+(?=\D)/)?.[0];
    });
    return server;
  }

  get log() {
    return this.#log;
  }

  /** Makes a one-time link with `sectile open --print`. */
  link() {
    const printed = execFileSync(this.binary, ['open', this.folder, '--print'], { env: this.env, encoding: 'utf8' });
    const link = printed.match(/http:\/\/\S+/)?.[0];
    assert(link, `no link in: ${printed}`);
    return link;
  }

  /** Connects an MCP client with this name. */
  async client(name) {
    const client = new Client({ name, version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', this.origin)));
    return client;
  }

  async stop() {
    const ended = new Promise((resolve) => { this.#child.once('exit', resolve); });
    if (this.#child.exitCode === null) {
      this.#child.kill();
      await ended;
    }
  }
}

/** Calls a tool, and returns the text of its answer. An answer that is an error fails. */
export async function callTool(client, name, args) {
  const answer = await client.callTool({ name, arguments: args });
  const text = answer.content.map((part) => part.text ?? '').join('\n');
  assert(!answer.isError, `${name}: ${text}`);
  return text;
}

function environment(home) {
  fs.mkdirSync(home, { recursive: true });
  const kept = Object.entries(process.env).filter(([name]) => !/^(SECTILE_|XDG_)/.test(name));
  return { ...Object.fromEntries(kept), HOME: home };
}

/**
 * A browser context that notices what a page must not do: violations of its policy, errors in the console, requests that
 * fail, and requests to any other host.
 */
export class WatchedContext {
  problems = [];

  static async open(browser, origin, options = {}) {
    const watched = new WatchedContext();
    watched.origin = origin;
    watched.context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options });
    const { context, problems } = watched;
    context.setDefaultTimeout(PATIENCE);
    await context.exposeBinding('reportViolation', (_, text) => { problems.push(`policy violation: ${text}`); });
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        window.reportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    context.on('request', (request) => {
      const url = new URL(request.url());
      const isOwn = url.origin === new URL(origin).origin;
      if (!isOwn) problems.push(`foreign request: ${request.url().slice(0, 200)}`);
    });
    context.on('requestfailed', (request) => {
      // A page that is left while it loads something stops loading it.
      const reason = request.failure()?.errorText;
      if (reason !== 'net::ERR_ABORTED') problems.push(`failed request: ${request.url().slice(0, 200)} ${reason}`);
    });
    context.on('console', (message) => {
      if (message.type() === 'error') problems.push(`console: ${message.text().slice(0, 500)}`);
    });
    context.on('weberror', (error) => { problems.push(`script error: ${error.error().message}`); });
    context.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    return watched;
  }

  /** Comes in through a one-time link. */
  async signIn(server) {
    const page = await this.context.newPage();
    await page.goto(server.link());
    await page.close();
  }

  /** Copies the cookies of another context, which is faster than another link. */
  async signInAs(other) {
    await this.context.addCookies(await other.context.cookies());
  }

  /** Opens a page of the server and returns it with its status. */
  async visit(address) {
    const page = await this.context.newPage();
    const response = await page.goto(this.origin + address, { timeout: PATIENCE });
    return { page, status: response.status(), headers: response.headers() };
  }

  /** Fails if anything was noticed, and forgets it. */
  assertQuiet(what) {
    const problems = this.problems.splice(0);
    assert(problems.length === 0, `${what}: ${[...new Set(problems)].join('; ')}`);
  }

  async close() {
    await this.context.close();
  }
}

/** Runs axe on a page; returns what it finds that is serious or critical, a line for each. */
export async function seriousFindings(page) {
  const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  // In a world of its own: the policy of the page, which is tested elsewhere, does not bind it there.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const evaluate = async (expression, awaitPromise = false) => {
    const answer = await session.send('Runtime.evaluate', {
      expression, contextId: executionContextId, awaitPromise, returnByValue: true,
    });
    assert(!answer.exceptionDetails, `axe failed: ${answer.exceptionDetails?.exception?.description}`);
    return answer.result.value;
  };
  await evaluate(fs.readFileSync(axe, 'utf8'));
  const found = await evaluate(`axe.run(document, { resultTypes: ['violations'] }).then((results) => JSON.stringify(
    results.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, target: nodes[0].target.join(' '), count: nodes.length }))))`, true);
  await session.detach();
  return JSON.parse(found)
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, target, count }) => `${id} (${help}) at ${target}, ${count} times`);
}

/** Writes a screenshot for people who look into a failure. */
export async function screenshot(page, output, name) {
  await page.screenshot({ path: path.join(output, `${name}.png`) });
}
