// rig.mjs - a server, a browser, and tests that fail on any error in the page's console.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

const build = process.env.CENTRA_BUILD;
const { chromium } = createRequire(join(build, "browser", "package.json"))("playwright-core");
export const shots = join(build, "browser", "shots");

export function serve(...options) { // {address, stop}
  const server = spawn(join(build, "centra"), ["serve", "--port", "0", "--json", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done, failed) => {
    server.once("exit", code => failed(new Error(`centra serve ended with ${code}`)));
    server.stdout.once("data", line => done({
      address: JSON.parse(line).address,
      stop: () => new Promise(ended => { server.removeAllListeners("exit"); server.once("exit", ended); server.kill("SIGTERM"); }),
    }));
  });
}

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
});

// A page of its own session. What its console complains about is kept in `page.complaints`.
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", m => { if (["error", "warning"].includes(m.type())) page.complaints.push(`${m.text()} (${m.location().url})`); });
  page.on("pageerror", e => page.complaints.push(String(e)));
  page.on("filechooser", () => {}); // from the start, so that none slips through while a test begins to wait
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector("#classes").children.length > 0);
  return page;
}

export function check(condition, promise) {
  if (!condition) throw new Error(`broken: ${promise}`);
}

export function quiet(page, expected = []) { // errors that a test provoked are expected, nothing else
  const rest = page.complaints.filter(c => !expected.some(e => e.test(c)));
  check(rest.length === 0, `the console is quiet, but it says ${rest.join("; ")}`);
  page.complaints.length = 0;
}

export async function run(tests) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const start = Date.now();
    try {
      await test();
      console.log(`ok ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${name}: ${error.stack}`);
    }
  }
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed, 0 skipped`);
  return failed;
}
