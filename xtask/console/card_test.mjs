// Tests of the approval card in Chromium, with a host that we did not write: the bridge of @modelcontextprotocol/ext-apps
// and the client of @modelcontextprotocol/client, in both eras, over HTTP to the real server.
//
// node card_test.mjs BINARY OUTPUT NODE_MODULES

import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [binary, output, modules] = process.argv.slice(2).map((argument) => path.resolve(argument));
if (!modules) throw new Error("usage: card_test.mjs BINARY OUTPUT NODE_MODULES");
const require = createRequire(path.join(modules, "..", "package.json"));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { chromium } = (await load("playwright-core")).default;
const { build } = (await load("esbuild")).default;

/** How long anything may take on a busy machine, in milliseconds. Nothing is measured with it. */
const PATIENCE = 60_000;
const ERAS = ["2025-11-25", "2026-07-28"];
const CARD = "ui://sectile/change";

const NOTES = {
  "projects/plan.md": "# Plan\n\nIntro text.\n\n## Budget\n\nForty euros.\n\n### Catering\n\nSandwiches.\n\n## Dates\n\nIn spring.\n",
  "index.md": "# Index\n\nSee [[plan#Budget]] and [the plan](projects/plan.md).\n",
  "projects/other.md": "# Other\n\n## Notes\n\nNothing yet.\n",
  "hostile.md": "# Hostile\n\n<img src=x onerror=alert(1)> \u202etxet\u202c </div><script>alert(2)</script>\n",
};

let [passed, failed] = [0, 0];
async function test(name, run) {
  try {
    await run();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack ?? error}`);
  }
}

function assert(condition, message) {
  if (!condition) throw new Error(message);
}

function assertEqual(actual, expected, message) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  assert(left === right, `${message}: ${left} instead of ${right}`);
}

async function until(what, check) {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${what} did not happen`);
}

/** A folder of notes, the server on it, and the host's page in front of both. */
class Desk {
  static async start(name) {
    const desk = new Desk();
    desk.folder = path.join(output, name, "notes");
    fs.rmSync(path.join(output, name), { recursive: true, force: true });
    for (const [file, text] of Object.entries(NOTES)) desk.write(file, text);
    const home = path.join(output, name, "home");
    fs.mkdirSync(home, { recursive: true });
    const kept = Object.entries(process.env).filter(([key]) => !/^(SECTILE_|XDG_)/.test(key));
    desk.child = spawn(binary, ["serve", desk.folder, "--http", "127.0.0.1:0"], {
      env: { ...Object.fromEntries(kept), HOME: home },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    desk.child.stderr.on("data", (chunk) => (log += chunk));
    desk.address = await until("the start of the server", () => {
      assert(desk.child.exitCode === null, `the server ended: ${log}`);
      return log.match(/http:\/\/127\.0\.0\.1:\d+(?=\/)/)?.[0];
    });
    return desk;
  }

  write(file, text) {
    const place = path.join(this.folder, file);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
  }

  /** All notes with their bytes. */
  notes() {
    const files = fs.readdirSync(this.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const all = files.map((entry) => path.relative(this.folder, path.join(entry.parentPath, entry.name)));
    const seen = all.filter((file) => !file.startsWith(".sectile")).sort();
    return Object.fromEntries(seen.map((file) => [file, fs.readFileSync(path.join(this.folder, file), "utf8")]));
  }

  stop() {
    this.child.kill();
  }
}

/** Serves the host's page, and the server below `/mcp`, so that the page has one origin. */
function serveHost(bundle, address) {
  const server = http.createServer((request, response) => {
    if (request.url === "/mcp") {
      const { origin, referer, ...headers } = request.headers;
      const target = new URL("/mcp", address());
      const passed = http.request(target, { method: request.method, headers: { ...headers, host: target.host } }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      passed.on("error", () => response.destroy());
      response.on("close", () => passed.destroy());
      request.pipe(passed);
    } else if (request.url === "/host.js") {
      response.writeHead(200, { "content-type": "text/javascript" }).end(bundle);
    } else if (request.url === "/") {
      response.writeHead(200, { "content-type": "text/html" }).end('<!doctype html><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,"><script type="module" src="/host.js"></script>');
    } else {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Returns what axe has to say about the card, and the least contrast of any text. */
async function examine(frame) {
  await frame.evaluate(axe);
  const results = await frame.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  const found = results.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`);
  assertEqual(found, [], "axe");
}

const bundled = await build({
  entryPoints: [path.join(path.dirname(fileURLToPath(import.meta.url)), "card_host.mjs")],
  bundle: true, write: false, format: "esm", platform: "browser", nodePaths: [modules], logLevel: "error",
});
fs.mkdirSync(output, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.XTASK_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let desk;
const server = await serveHost(bundled.outputFiles[0].text, () => desk.address);
const origin = `http://127.0.0.1:${server.address().port}`;

/** A page with a connected host, and everything in it that went wrong. */
async function openHost(era, showsApps = true, options = {}) {
  const page = await browser.newPage({ viewport: { width: 640, height: 900 }, ...options });
  page.setDefaultTimeout(PATIENCE);
  page.troubles = [];
  page.on("pageerror", (error) => page.troubles.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.troubles.push(message.text()));
  page.on("request", (request) => {
    const isOurs = request.url() === "about:srcdoc" || request.url().startsWith(`${origin}/`);
    if (!isOurs) page.troubles.push(`a request to ${request.url()}`);
  });
  page.on("dialog", (dialog) => page.troubles.push(`a dialog: ${dialog.message()}`) && dialog.dismiss());
  await page.goto(origin);
  await page.waitForFunction(() => window.host);
  page.connected = await page.evaluate(([era, showsApps]) => window.host.connect(era, showsApps), [era, showsApps]);
  page.review = async (tool, args, options) => {
    const answer = await page.evaluate(([tool, args, options]) => window.host.review(tool, args, options), [tool, args, options]);
    // The frame of an earlier card may still be known for a moment.
    const name = await page.evaluate(() => window.host.name());
    page.card = await until("the card", () => page.frame({ name }));
    await page.card.waitForFunction(() => document.getElementById("title").textContent !== "Waiting for the change");
    return answer;
  };
  page.text = (selector) => page.card.locator(selector).innerText();
  page.heard = () => page.evaluate(() => window.host.heard);
  return page;
}

async function finished(page) {
  await page.evaluate(() => window.host.close());
  assertEqual(page.troubles, [], "troubles");
  await page.close();
}

const buttons = (page) => page.card.locator("button:visible").allInnerTexts();
const outcome = (page, start) => until(`the outcome "${start}"`, async () => {
  const text = await page.text("#outcome");
  return text.startsWith(start) && text;
});

for (const era of ERAS) {
  desk = await Desk.start(`desk-${era}`);

  await test(`${era}: only a client that shows apps is told about the card`, async () => {
    for (const showsApps of [true, false]) {
      const page = await openHost(era, showsApps);
      const { tools, capabilities, version } = page.connected;
      assertEqual(version ?? era, era, "version");
      const named = tools.filter((tool) => tool.uri === CARD).map((tool) => tool.name);
      assertEqual(named, showsApps ? ["edit", "rename", "delete"] : [], "tools with a card");
      const declared = capabilities.extensions?.["io.modelcontextprotocol/ui"]?.mimeTypes;
      assertEqual(declared, ["text/html;profile=mcp-app"], "extension");
      assert(capabilities.resources, "resources");
      await finished(page);
    }
  });

  await test(`${era}: the page is one that loads nothing`, async () => {
    const page = await openHost(era);
    const [listed] = (await page.evaluate(() => window.host.listResources())).filter((one) => one.uri === CARD);
    const content = await page.evaluate((uri) => window.host.read(uri), CARD);
    for (const one of [listed, content]) {
      assertEqual(one.mimeType, "text/html;profile=mcp-app", "type");
      assertEqual(one._meta.ui.csp.connectDomains, [], "connections");
      assertEqual(one._meta.ui.csp.resourceDomains, [], "resources");
    }
    assertEqual(listed.size, Buffer.byteLength(content.text), "size");
    await finished(page);
  });

  await test(`${era}: an edit is shown, approved and applied to the byte`, async () => {
    const page = await openHost(era);
    const before = desk.notes();
    const args = { id: "projects/plan.md#Budget", old: "Forty euros.", new: "Fifty euros, see [[nowhere]].\n\nAnd a second paragraph.", preview: true };
    const answer = await page.review("edit", args);
    assert(answer.structuredContent.plan, "a plan");
    assertEqual(desk.notes(), before, "notes after the preview");
    assertEqual(await page.text("#title"), "Change this text?", "title");
    assert((await page.text("#facts")).includes("projects/plan.md#budget-"), "place");
    assert((await page.text("#broken")).includes("nowhere"), "broken link");
    assertEqual(await page.card.locator(".diff-removed .diff-text").allInnerTexts(), ["Forty euros."], "removed");
    const added = await page.card.locator(".diff-added .diff-text").allTextContents();
    assertEqual(added, ["Fifty euros, see [[nowhere]].", "", "And a second paragraph."], "added");
    assertEqual(await page.card.locator(".diff-words").first().textContent(), "Removed: ", "words");
    assertEqual(await buttons(page), ["Apply this change", "Leave it as it is"], "buttons");
    await examine(page.card);
    await page.screenshot({ path: path.join(output, `edit-${era}.png`), fullPage: true });
    await page.card.click("#apply");
    await outcome(page, "Applied as change 1.");
    assertEqual(await buttons(page), [], "buttons afterwards");
    const expected = before["projects/plan.md"].replace("Forty euros.", args.new);
    assertEqual(desk.notes(), { ...before, "projects/plan.md": expected }, "notes after the approval");
    await until("the model to be told", async () => (await page.heard()).contexts[0]?.content[0].text.includes("approved"));
    assertEqual(await page.card.evaluate(() => document.activeElement.id), "outcome", "focus");
    await page.screenshot({ path: path.join(output, `applied-${era}.png`), fullPage: true });
    await finished(page);
  });

  await test(`${era}: a rename with repaired links is approved with the keyboard`, async () => {
    const page = await openHost(era);
    const before = desk.notes();
    await page.review("rename", { id: "projects/plan.md", to: "archive/old plan.md", preview: true });
    assertEqual(await page.text("#title"), "Rename or move this?", "title");
    assert((await page.text("#summary")).includes("2 documents change. 2 links are repaired."), await page.text("#summary"));
    const names = await page.card.locator(".diff-name").allInnerTexts();
    assert(names.some((name) => name === "projects/plan.md → archive/old plan.md"), names.join());
    await page.card.locator("#apply").focus();
    await page.keyboard.press("Tab");
    assertEqual(await page.card.evaluate(() => document.activeElement.id), "leave", "order");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await outcome(page, "Applied as change 2.");
    const after = desk.notes();
    assertEqual(after["archive/old plan.md"], before["projects/plan.md"], "moved note");
    assert(!("projects/plan.md" in after), "old path");
    assert(after["index.md"].includes("archive/old%20plan.md"), after["index.md"]);
    await finished(page);
  });

  await test(`${era}: a deletion is declined, and nothing is written`, async () => {
    const page = await openHost(era);
    const before = desk.notes();
    const fetched = await page.evaluate(() => window.host.call("fetch", { id: "archive/old plan.md" }));
    const base = fetched.content[0].text.match(/ \| base (\w+)/)[1];
    await page.review("delete", { id: "archive/old plan.md", base, preview: true }, { theme: "dark" });
    assertEqual(await page.text("#title"), "Delete this?", "title");
    assert((await page.text("#broken")).startsWith("2 links lead nowhere afterwards:"), await page.text("#broken"));
    assert((await page.text(".diff-count")).startsWith("Deleted, "), await page.text(".diff-count"));
    await examine(page.card);
    await page.screenshot({ path: path.join(output, `delete-dark-${era}.png`), fullPage: true });
    await page.card.click("#leave");
    await outcome(page, "Nothing was written.");
    await until("the model to be told", async () => (await page.heard()).contexts[0]?.content[0].text.includes("declined"));
    assertEqual(await buttons(page), [], "buttons afterwards");
    assertEqual(desk.notes(), before, "notes");
    await finished(page);
  });

  await test(`${era}: a plan that another edit has overtaken is refused`, async () => {
    const page = await openHost(era);
    await page.review("edit", { id: "projects/other.md#Notes", new: "From the card.", preview: true });
    desk.write("projects/other.md", "# Other\n\n## Notes\n\nWritten meanwhile.\n");
    const before = desk.notes();
    await page.card.click("#apply");
    await outcome(page, "plan_outdated: ");
    assertEqual(await buttons(page), [], "buttons afterwards");
    assertEqual(desk.notes(), before, "notes");
    await page.screenshot({ path: path.join(output, `outdated-${era}.png`), fullPage: true });
    await finished(page);
  });

  await test(`${era}: a call without preview is shown as done`, async () => {
    const page = await openHost(era);
    await page.review("edit", { id: "projects/other.md#Notes", new: "Done at once." });
    assertEqual(await page.text("#title"), "The text was changed", "title");
    await outcome(page, "This is change ");
    assertEqual(await buttons(page), [], "buttons");
    assertEqual(await page.card.locator(".diff-added .diff-text").allInnerTexts(), ["Done at once."], "added");
    await page.review("edit", { id: "projects/other.md#Nothing", new: "x" });
    assertEqual(await page.text("#title"), "The change was refused", "title");
    await outcome(page, "not_found: ");
    await page.review("edit", { id: "projects/other.md#Notes", new: "Done at once.", preview: true });
    assertEqual(await page.text("#title"), "Nothing changes", "title");
    assertEqual(await buttons(page), [], "buttons");
    await finished(page);
  });
  desk.stop();
}

desk = await Desk.start("desk-looks");

await test("text of notes stays text, and characters that cannot be seen are shown", async () => {
  const page = await openHost(ERAS[1]);
  await page.review("edit", { id: "hostile.md", old: "# Hostile", new: "# <b>Bold</b> \u202eevil\u202c\u200b", preview: true });
  const html = await page.card.evaluate(() => document.getElementById("diff").querySelectorAll("b, img, script, div div div div").length);
  assertEqual(html, 0, "elements made from text");
  const added = await page.card.locator(".diff-added .diff-text").allTextContents();
  assertEqual(added, ["# <b>Bold</b> U+202EevilU+202CU+200B"], "added");
  assertEqual(await page.card.locator(".diff-hidden-character").count(), 5, "marks");
  await examine(page.card);
  await page.screenshot({ path: path.join(output, "hostile.png"), fullPage: true });
  await finished(page);
});

await test("a change that is too long to show says how much is missing", async () => {
  const page = await openHost(ERAS[1]);
  const lines = Array.from({ length: 4000 }, (_, number) => `Line ${number} with some more words in it.`);
  desk.write("long.md", "# Long\n\nShort.\n");
  const args = { id: "long.md#Long", new: lines.join("\n"), preview: true };
  await page.review("edit", args);
  const shown = await page.card.locator(".diff-added").count();
  const said = await page.text("#unseen");
  const missing = Number(said.match(/(\d+) changed lines left out/)[1]);
  assertEqual(shown + missing, 4000, said);
  assert(shown > 1000, `${shown} lines`);
  assert((await page.text(".diff-more")).includes(`${missing} more changed lines`), "at the end of the diff");
  await page.card.click("#apply");
  await outcome(page, "Applied as change ");
  assertEqual(desk.notes()["long.md"], `# Long\n\n${lines.join("\n")}\n`, "bytes");
  await finished(page);
});

await test("the card follows the theme of the host, and fits 320 pixels", async () => {
  const args = { id: "projects/plan.md#Budget", old: "Forty euros.", new: `Fifty euros: https://example.org/${"long/".repeat(30)}\n\nAnd [[nowhere]].`, preview: true };
  for (const colorScheme of ["light", "dark"]) {
    const page = await openHost(ERAS[1], true, { colorScheme });
    const background = () => page.card.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.review("edit", args, { theme: undefined, context: { theme: undefined } });
    assertEqual(await background(), colorScheme === "dark" ? "rgb(27, 29, 33)" : "rgb(255, 255, 255)", "without a theme");
    await examine(page.card);
    for (const [theme, colour] of [["dark", "rgb(27, 29, 33)"], ["light", "rgb(255, 255, 255)"]]) {
      await page.evaluate((theme) => window.host.setContext({ theme }), theme);
      await until(`the ${theme} theme`, async () => (await background()) === colour);
      await examine(page.card);
      await page.screenshot({ path: path.join(output, `${theme}.png`), fullPage: true });
    }
    await page.setViewportSize({ width: 320, height: 800 });
    await page.review("edit", args, { theme: colorScheme, width: 320 });
    const widths = await page.card.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assertEqual(widths, [320, 320], "widths");
    await examine(page.card);
    const { sizes } = await page.heard();
    assert(sizes.length > 0 && sizes.at(-1).height > 200, JSON.stringify(sizes));
    await page.screenshot({ path: path.join(output, `narrow-${colorScheme}.png`), fullPage: true });
    await finished(page);
  }
});

await test("a host that offers less is told less", async () => {
  const page = await openHost(ERAS[0]);
  const args = { id: "projects/plan.md#Budget", old: "Forty euros.", new: "Fifty euros.", preview: true };
  const before = desk.notes();
  await page.review("edit", args, { capabilities: { updateModelContext: { text: {} } } });
  await outcome(page, "Nothing was written. This host does not let a card apply");
  assertEqual(await buttons(page), [], "buttons");
  await page.review("edit", args, { capabilities: { serverTools: {}, message: { text: {} } } });
  await page.card.click("#leave");
  await until("the message", async () => (await page.heard()).messages[0]?.content[0].text.includes("declined"));
  await page.review("edit", args, { capabilities: { serverTools: {} } });
  await page.card.click("#leave");
  await outcome(page, "Nothing was written. This host does not tell");
  // Only the text of the answer, without its fields and details.
  const answer = await page.evaluate((args) => window.host.call("edit", args), args);
  await page.review("edit", args, { result: { content: answer.content } });
  assertEqual(await page.card.locator(".diff-added .diff-text").allInnerTexts(), ["Fifty euros."], "added");
  await page.card.click("#apply");
  await outcome(page, "Applied as change ");
  const expected = before["projects/plan.md"].replace("Forty euros.", "Fifty euros.");
  assertEqual(desk.notes()["projects/plan.md"], expected, "bytes");
  await finished(page);
});

desk.stop();
await browser.close();
server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
