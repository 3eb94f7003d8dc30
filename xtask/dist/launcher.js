#!/usr/bin/env node
// Runs the program in the package for this platform, which npm chose among the optional dependencies of this one.

"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");
const tty = require("node:tty");

const OTHER_WAYS = "Other ways to install it: https://github.com/sectile/sectile#install";

function fail(...sentences) {
  console.error(`sectile: ${sentences.join(" ")} ${OTHER_WAYS}`);
  process.exit(1);
}

// The version of glibc, or undefined with another C library and on other systems.
function glibc() {
  return process.platform === "linux" ? process.report.getReport().header.glibcVersionRuntime : undefined;
}

function isOlder(version, needed) {
  const [major, minor] = version.split(".").map(Number);
  const [neededMajor, neededMinor] = needed.split(".").map(Number);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

function programOf(platform) {
  const { optionalDependencies } = require("../package.json");
  const name = `@sectile/${platform}`;
  if (!(name in optionalDependencies)) {
    fail(`there is no package for ${platform}.`);
  }
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    fail(`the package ${name} is not installed.`, "Install again without `--omit=optional` and `--no-optional`.");
  }
  const { sectile } = require(manifest);
  const found = glibc();
  if (sectile.glibc && found && isOlder(found, sectile.glibc)) {
    fail(`this system has glibc ${found}, and the program needs ${sectile.glibc} or newer.`, "The static archive for musl runs here.");
  }
  return path.join(path.dirname(manifest), sectile.program);
}

const musl = process.platform === "linux" && glibc() === undefined ? "-musl" : "";
// Windows on ARM runs programs for x64.
const cpu = process.platform === "win32" ? "x64" : process.arch;
const program = programOf(`${process.platform}-${cpu}${musl}`);
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`the program could not be started (${error.code}).`));
// A terminal sends these to the program as well, and a second one would end it at once instead of in order. Windows cannot
// pass them on.
const isTold = process.platform === "win32" || [0, 1, 2].some((descriptor) => tty.isatty(descriptor));
for (const signal of ["SIGINT", "SIGHUP"]) {
  process.on(signal, () => isTold || child.kill(signal));
}
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => {
  process.exitCode = signal ? 128 + os.constants.signals[signal] : code;
});
