// run.mjs - the page, used as people use it: with mouse, keyboard and clipboard, wide and narrow, light and dark.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, launch, open, quiet, run, serve, shots } from "./rig.mjs";
import { half, kinds, picture } from "./pictures.mjs";

const places = [[0.3, 0.3], [0.7, 0.35], [0.35, 0.7], [0.68, 0.68]];
const file = (kind, cx, cy, seed) => ({ name: `${kind}-${seed}.png`, mimeType: "image/png", buffer: picture(kind, cx, cy, seed) });
const known = kind => places.map(([x, y], i) => file(kind, x, y, 10 * kinds.indexOf(kind) + i + 1));

const card = (page, i) => page.locator("#classes > li").nth(i);
const shot = (page, name) => page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });

async function choose(page, button, files) {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), button.click()]);
  await chooser.setFiles(files);
}

async function nameClass(page, i, name) {
  await card(page, i).locator(".class-name").fill(name);
  await card(page, i).locator(".class-name").press("Enter");
}

async function makeClasses(page) {
  for (const [i, kind] of kinds.entries()) {
    if (i >= await page.locator("#classes > li").count()) await page.click("#class-new");
    await nameClass(page, i, kind);
    await choose(page, card(page, i).locator(".choose"), known(kind));
    await page.waitForFunction(n => document.querySelectorAll("#classes > li")[n].querySelectorAll(".thumbs li").length === 4, i);
  }
}

async function classify(page, one) {
  const before = await page.locator(".result").count();
  await choose(page, page.locator("#query .choose"), one);
  await page.waitForFunction(n => document.querySelectorAll(".result").length === n, before + 1);
  await page.waitForFunction(() => document.querySelector(".result .lines").children.length > 0);
  return page.locator(".result").first();
}

// How bright a map is at the object and elsewhere, by the canvas's own pixels. A map leaves out the picture's rim of 1/23.
const brightness = (canvas, x, y) => canvas.evaluate((c, [left, top, right, bottom]) => {
  const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height), sum = [0, 0], count = [0, 0];
  for (let i = 0; i < data.length; i += 4) {
    const px = (i / 4 % c.width) / c.width * 21 / 23 + 1 / 23, py = Math.floor(i / 4 / c.width) / c.height * 21 / 23 + 1 / 23;
    const inside = px > left && px < right && py > top && py < bottom ? 1 : 0;
    sum[inside] += data[i] + data[i + 1] + data[i + 2];
    count[inside]++;
  }
  return { object: sum[1] / count[1], elsewhere: sum[0] / count[0] };
}, [x - half, y - half, x + half, y + half]);

const overflows = page => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

const server = await serve();
const browser = await launch();
const tests = {
  async "three classes, the right label, and a map that is bright where the object is"() {
    const page = await open(browser, server.address);
    await makeClasses(page);
    for (const [i, [kind, x, y]] of [["sun", 0.28, 0.3], ["leaf", 0.7, 0.68], ["sea", 0.3, 0.7], ["sea", 0.7, 0.3], ["leaf", 0.3, 0.35], ["sun", 0.7, 0.7]].entries()) {
      const result = await classify(page, file(kind, x, y, 77 + i)), called = await result.locator(".result-class").textContent();
      check(called === kind, `a ${kind} is called so, not ${called}`);
      check(await result.locator(".bars li").count() === 3, "every class has a bar");
      const seen = await brightness(result.locator(".query-side .map"), x, y);
      check(seen.object > 1.25 * seen.elsewhere,
            `the map of a ${kind} at ${x}, ${y} is a quarter brighter there, not ${seen.object.toFixed(0)} to ${seen.elsewhere.toFixed(0)}`);
    }
    await shot(page, "wide-light");
    quiet(page);
    await page.context().close();
  },

  async "a class and a picture can be removed, and what is left is exported"() {
    const page = await open(browser, server.address);
    await makeClasses(page);
    await classify(page, file("sun", 0.5, 0.5, 5));
    await card(page, 0).locator(".thumbs li").first().hover();
    await card(page, 0).locator(".thumb-remove").first().click();
    await page.waitForFunction(() => document.querySelector("#classes .thumbs").children.length === 3);
    page.once("dialog", d => d.accept());
    await card(page, 1).locator(".class-remove").click();
    await page.waitForFunction(() => document.querySelector("#classes").children.length === 2);
    const [csv] = await Promise.all([page.waitForEvent("download"), page.click("#csv-save")]);
    const lines = readFileSync(await csv.path(), "utf8").trim().split("\r\n");
    check(lines.length === 2 && lines[1].startsWith('"sun-5.png","sun",'), `the results are one line about a sun, not ${lines}`);
    const [pack] = await Promise.all([page.waitForEvent("download"), page.click("#pack-save")]);
    const other = await open(browser, server.address);
    const [chooser] = await Promise.all([other.waitForEvent("filechooser"), other.click("#pack-load")]);
    await chooser.setFiles(await pack.path());
    await other.waitForFunction(() => document.querySelectorAll("#classes .thumbs li").length === 7);
    await other.waitForFunction(() => [...document.querySelectorAll(".thumbs img")].every(i => i.complete && i.naturalWidth > 0));
    const names = await other.locator(".class-name").evaluateAll(all => all.map(i => i.value));
    check(names.join() === "sea,sun", `the pack has sea and sun, not ${names}`);
    await classify(other, file("sea", 0.5, 0.5, 9));
    await shot(other, "from-pack");
    quiet(page), quiet(other);
    await page.context().close(), await other.context().close();
  },

  async "a reload keeps the classes, another tab has its own"() {
    const page = await open(browser, server.address);
    await makeClasses(page);
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#classes .thumbs li").length === 12);
    const other = await open(browser, server.address);
    check(await other.locator(".thumbs li").count() === 0, "another tab starts empty");
    quiet(page), quiet(other);
    await page.context().close(), await other.context().close();
  },

  async "the keyboard is enough"() {
    const page = await open(browser, server.address);
    const focus = () => page.evaluate(() => (document.activeElement.getAttribute("aria-label") || document.activeElement.textContent).trim());
    const tabTo = async words => {
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        if ((await focus()) === words) return;
      }
      throw new Error(`Tab never reaches "${words}"`);
    };
    await tabTo("Skip to new pictures");
    await tabTo("Name of class Class 1");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("sun");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => document.querySelector(".class-name").getAttribute("aria-label") === "Name of class sun");
    check(await focus() === "Remove class sun", "the name's neighbour removes the class");
    await tabTo("Choose pictures of sun");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Enter")]);
    await chooser.setFiles(known("sun"));
    await page.waitForFunction(() => document.querySelectorAll(".thumbs li").length === 4);
    await page.locator("h1").click();
    await tabTo("Remove picture 1 of sun");
    check(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"), "the focus can be seen");
    await page.keyboard.press("Space");
    await page.waitForFunction(() => document.querySelectorAll(".thumbs li").length === 3);
    check(await focus() === "Remove picture 1 of sun", "the focus stays beside what was removed");
    await tabTo("+ New class");
    await page.keyboard.press("Enter");
    check(await focus() === "Name of class Class 3", "a new class is ready to be named");
    quiet(page);
    await page.context().close();
  },

  async "pictures can be pasted, dropped and photographed"() {
    const page = await open(browser, server.address, { permissions: ["camera"] });
    await makeClasses(page);
    const bytes = [...picture("leaf", 0.4, 0.4, 3)];
    const transfer = await page.evaluateHandle(data => {
      const t = new DataTransfer();
      t.items.add(new File([new Uint8Array(data)], "leaf.png", { type: "image/png" }));
      return t;
    }, bytes);
    await page.evaluate(() => document.activeElement.blur());
    await page.evaluate(t => dispatchEvent(new ClipboardEvent("paste", { clipboardData: t, bubbles: true })), transfer);
    await page.waitForFunction(() => document.querySelectorAll(".result").length === 1);
    await page.dispatchEvent("#query", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => document.querySelectorAll(".result").length === 2);
    await card(page, 0).locator(".photograph").click();
    await page.waitForFunction(() => !document.querySelector("#camera-take").disabled);
    await page.click("#camera-take");
    await page.waitForFunction(() => document.querySelector(".thumbs").children.length === 5);
    await page.click("#camera-close");
    const off = () => page.waitForFunction(() => document.querySelector("#camera-video").srcObject?.getTracks().every(t => t.readyState === "ended"));
    await off();
    await page.evaluate(() => { document.querySelector("#camera-video").srcObject = null; });
    await page.evaluate(() => { document.querySelector(".photograph").click(); document.querySelector("#camera-close").click(); });
    await off(); // also when it is closed before the camera has answered
    quiet(page);
    await page.context().close();
  },

  async "what cannot be read is said, and nothing else suffers"() {
    const page = await open(browser, server.address);
    const lie = { name: "lie.jpg", mimeType: "image/jpeg", buffer: Buffer.from("not a picture") };
    await choose(page, card(page, 0).locator(".choose"), [lie, file("sun", 0.5, 0.5, 1)]);
    await page.waitForFunction(() => document.querySelectorAll(".thumbs li").length === 1);
    await card(page, 0).locator(".problem").waitFor();
    check(/lie\.jpg/.test(await card(page, 0).locator(".problem").textContent()), "the sentence names the file");
    await choose(page, page.locator("#query .choose"), file("sun", 0.5, 0.5, 2));
    await page.locator("#query .problem").waitFor();
    check(/class/.test(await page.locator("#query .problem").textContent()), "one class is too few, and it says so");
    await shot(page, "problems");
    quiet(page, [/status of 422/]);
    await page.context().close();
  },

  async "360 pixels wide, dark, and nothing sticks out"() {
    const page = await open(browser, server.address, { viewport: { width: 360, height: 740 }, colorScheme: "dark", hasTouch: true, isMobile: true });
    await makeClasses(page);
    const result = await classify(page, file("leaf", 0.3, 0.35, 8));
    check(!await overflows(page), "nothing is wider than the screen");
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check(/rgb\((\d|[1-5]\d), /.test(ground), `the ground is dark, not ${ground}`);
    await result.locator(".why-choice button").nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll(".why-choice button")[1].getAttribute("aria-pressed") === "true");
    await shot(page, "narrow-dark");
    quiet(page);
    await page.context().close();
  },

  async "a server that has forgotten the session is started anew"() {
    const small = await serve("--max-sessions", "1");
    const page = await open(browser, small.address);
    await open(browser, small.address);
    await choose(page, card(page, 0).locator(".choose"), file("sun", 0.5, 0.5, 1));
    await page.waitForFunction(() => !document.querySelector("#alert").hidden);
    check(/forgotten/.test(await page.locator("#alert").textContent()), "it says what happened");
    quiet(page, [/status of 404/]);
    await small.stop();
  },
};

const failed = await run(tests);
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
