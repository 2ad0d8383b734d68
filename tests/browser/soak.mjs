// soak.mjs MINUTES - good and bad clients of one server, for so long; see tools/soak.sh.
import { readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { kinds, picture } from "./pictures.mjs";

const minutes = Number(process.argv[2]);
const server = spawn(join(process.env.CENTRA_BUILD, "centra"), ["serve", "--port", "0", "--json", "--deadline", "5", "--max-body", "4000000"],
                     { stdio: ["ignore", "pipe", "inherit"] });
let died = false;
server.once("exit", () => { died = true; });
process.once("exit", () => server.kill()); // also when this program fails
const address = await new Promise(done => server.stdout.once("data", line => done(JSON.parse(line).address.slice(0, -1))));
const port = Number(new URL(address).port), end = Date.now() + minutes * 60000;
const counts = { classified: 0, right: 0, added: 0, sessions: 0, busy: 0, refused: 0, forgotten: 0, wrong: 0, rude: 0 };

const status = name => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]);
function report(when) {
  const said = Object.entries(counts).map(([name, n]) => `${n} ${name}`).join(", ");
  console.log(`${when}: VmRSS ${(status("VmRSS") / 1024).toFixed(1)} MB, most ${(status("VmHWM") / 1024).toFixed(1)} MB; ${said}`);
}

const wait = ms => new Promise(done => setTimeout(done, ms));
const any = n => Math.floor(Math.random() * n);

async function ask(method, path, body) {
  const answer = await fetch(address + path, { method, body });
  const bytes = await answer.arrayBuffer();
  if (answer.status === 503) counts.busy++;
  return { code: answer.status, bytes, json: () => JSON.parse(Buffer.from(bytes).toString()) };
}

function note(what, answer) {
  counts.wrong++;
  console.log(`wrong: ${what} was answered with ${answer.code}: ${Buffer.from(answer.bytes).toString().slice(0, 200)}`);
}

const pictures = kinds.flatMap(kind => [1, 2, 3, 4].map(i => ({ kind, bytes: picture(kind, 0.25 + 0.125 * i, 0.6, i, 160) })));

// A visitor: classes, some questions, a pack out and in; then another session.
async function visit() {
  const begun = await ask("POST", "/api/sessions");
  if (begun.code !== 201) return wait(200);
  counts.sessions++;
  const at = `/api/sessions/${begun.json().session}`;
  for (const p of pictures) {
    const answer = await ask("POST", `${at}/pictures?class=${p.kind}&name=p.png`, p.bytes), { code } = answer;
    if (code === 200) counts.added++;
    else if (code === 404) return void counts.forgotten++;
    else if (code !== 503) note("a picture for a class", answer);
  }
  for (let i = 0; i < 20; i++) {
    const kind = kinds[any(3)], query = picture(kind, 0.3 + 0.4 * Math.random(), 0.5, any(999), 160);
    const answer = await ask("POST", `${at}/classify?name=q.png`, query), { code, json } = answer;
    if (code === 404) return void counts.forgotten++;
    if (code === 200) counts.classified++, counts.right += json().class === kind;
    else if (code !== 503) note("a question", answer);
  }
  const pack = await ask("GET", `${at}/pack`);
  const back = pack.code === 200 ? await ask("POST", `${at}/pack`, pack.bytes) : pack;
  if (back.code >= 500 && back.code !== 503) note("a pack", back);
  if (any(2)) await ask("DELETE", at);
}

const raw = (bytes, ms) => new Promise(done => {
  const s = connect(port, "127.0.0.1", () => s.write(bytes));
  s.on("error", () => {}), s.on("close", () => done()), s.on("data", () => {});
  setTimeout(() => s.destroy(), ms);
});

const host = `Host: 127.0.0.1:${port}\r\n`;
const huge = Buffer.concat([picture("sun", 0.5, 0.5, 1, 16)]);
huge.writeUInt32BE(50000, 16), huge.writeUInt32BE(50000, 20);
// A WebP without loss whose five codes have one symbol each: its pixels take no bits, so 32 bytes say 16383 x 16383, 805 MB.
const bomb = Buffer.from([0x52, 0x49, 0x46, 0x46, 24, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x4c, 12, 0, 0, 0,
                          0x2f, 0xfe, 0xbf, 0xff, 0x0f, 0xc8, 0x88, 0x08, 0x00, 0, 0, 0]);
let victim = "";
const rudeness = [
  () => raw(`GET / HTTP/1.1\r\n${host}X: `, 7000), // hangs
  () => raw("\x16\x03\x01\x02 nonsense\r\n\r\n", 500),
  () => raw(`POST /api/sessions/${victim}/classify HTTP/1.1\r\n${host}Content-Length: 3000000\r\n\r\nshort`, any(3000)),
  () => raw(`POST /api/sessions/${victim}/classify HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nfffff\r\n${"x".repeat(1048575)}\r\n`, 1000),
  () => ask("POST", `/api/sessions/${victim}/classify`, Buffer.alloc(5000000)),
  () => ask("POST", `/api/sessions/${victim}/pictures?class=c`, "a text named .jpg"),
  () => ask("POST", `/api/sessions/${victim}/pictures?class=c`, huge),
  () => ask("POST", `/api/sessions/${victim}/classify`, bomb),
  () => ask("POST", `/api/sessions/${victim}/pack`, pictures[0].bytes.subarray(0, 300)),
  () => ask("GET", "/api/nothing"),
  () => ask("DELETE", `/api/sessions/${victim}/class?class=%ff`),
];

async function annoy() {
  const which = any(rudeness.length), answer = await rudeness[which]();
  counts.rude++;
  if (answer && answer.code >= 400 && answer.code < 500) counts.refused++;
  else if (answer && answer.code !== 503) note(`rudeness ${which}`, answer);
}

async function keep(work) {
  while (Date.now() < end && !died)
    await work().catch(error => { if (!/fetch failed|terminated/.test(error.message)) throw error; });
}

victim = (await ask("POST", "/api/sessions")).json().session;
report("start");
const clock = setInterval(() => { if (!died) report(`${Math.round(minutes - (end - Date.now()) / 60000)} min`); }, 60000);
await Promise.all([...Array(6).fill(visit), ...Array(6).fill(annoy)].map(keep));
clearInterval(clock);
if (died) {
  console.log("the server died");
  process.exit(1);
}
report("end");
const healthy = (await ask("GET", "/api/health")).json();
server.removeAllListeners("exit");
server.kill("SIGTERM");
const code = await new Promise(done => server.once("exit", done));
console.log(`health ${JSON.stringify(healthy)}; ended with ${code}`);
process.exit(counts.wrong || code !== 130 || !counts.classified ? 1 : 0);
