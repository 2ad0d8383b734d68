// app.js - the page of centra serve: classes of known pictures, new pictures, and why each was given its class.
//
// The server has the last word on classes and pictures; this page repeats its answers and adds classes that have no picture
// yet. All requests go one after the other, so that a picture's number means the same on both sides.
"use strict";

const $ = (selector, from = document) => from.querySelector(selector);
const copyOf = id => $(id).content.firstElementChild.cloneNode(true);
const percent = p => `${(100 * p).toFixed((p > 0.1 && p < 0.995) || p > 0.9995 ? 0 : 1)} %`;
const sentence = words => words && words[0].toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? "" : ".");

const page = {
  session: "",     // id
  model: null,     // what /api/model said
  classes: [],     // {name, pictures: [{name, url, whole}], card}
  results: 0,
};

// ---- requests --------------------------------------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status, sentence) { super(sentence); this.status = status; }
}

let last = Promise.resolve();
function inTurn(work) { // after everything that was asked before
  const mine = last.then(work);
  last = mine.catch(() => {});
  return mine;
}

const pause = ms => new Promise(done => setTimeout(done, ms));

// One request. `progress` hears which part of the body has gone.
function send(method, path, { body = null, progress = null, type = "json" } = {}) {
  return new Promise((done, failed) => {
    const x = new XMLHttpRequest();
    x.open(method, path);
    x.responseType = type === "json" ? "text" : type;
    if (body) x.setRequestHeader("Content-Type", "application/octet-stream");
    if (progress) x.upload.onprogress = e => e.lengthComputable && progress(e.loaded / e.total);
    x.onerror = () => failed(new Refusal(0, "The server does not answer. Is centra serve still running?"));
    x.onload = async () => {
      if (x.status < 300) return done(type === "json" ? JSON.parse(x.response) : x.response);
      let words = `The server answered ${x.status}.`;
      try {
        words = sentence(JSON.parse(type === "json" ? x.response : await x.response.text()).error);
      } catch { /* not one of its sentences */ }
      failed(new Refusal(x.status, words));
    };
    x.send(body);
  });
}

async function ask(method, path, options) { // a busy server is asked again
  for (let again = 0; ; again++) {
    try {
      return await send(method, path, options);
    } catch (refusal) {
      if (refusal.status !== 503 || again === 5) throw refusal;
      await pause(400 * (again + 1));
    }
  }
}

const where = (what = "", query = {}) => {
  const q = new URLSearchParams(query).toString();
  return `/api/sessions/${page.session}${what}${q ? `?${q}` : ""}`;
};

function complain(words, box = $("#alert")) {
  box.textContent = words;
  box.hidden = !words;
}

// ---- the session -----------------------------------------------------------------------------------------------------

async function begin() {
  const kept = sessionStorage.getItem("session");
  let state = null;
  if (kept) {
    page.session = kept;
    state = await ask("GET", where()).catch(() => null);
  }
  if (!state) state = await ask("POST", "/api/sessions");
  page.session = state.session;
  sessionStorage.setItem("session", page.session);
  return state;
}

// Whether it was about a session that the server has forgotten; then everything starts again.
async function lost(refusal) {
  if (refusal.status !== 404 || !/session/.test(refusal.message)) return false;
  sessionStorage.removeItem("session");
  page.classes = [];
  take(await begin());
  complain("The server has forgotten this page's classes, because it was restarted or they were unused for long. " +
           "Saved classes can be opened again.");
  return true;
}

// Makes the page's classes those of the server, keeping the order, empty classes, and pictures that are here already.
function take(state) {
  const theirs = new Map(state.classes.map(c => [c.name, c.pictures]));
  for (const c of page.classes) {
    align(c, theirs.get(c.name) || []);
    theirs.delete(c.name);
  }
  for (const [name, pictures] of theirs) {
    const c = { name, pictures: [] };
    align(c, pictures);
    page.classes.push(c);
  }
  page.results = state.results;
  show();
}

function align(c, names) {
  const same = c.pictures.length === names.length && names.every((name, i) => c.pictures[i].name === name);
  if (!same) c.pictures = names.map(name => ({ name }));
}

// What stands for a picture: the one that was dropped here, or what the server keeps of it, which is cut already.
function sourceOf(c, i) {
  const p = c.pictures[i];
  return p.url ? { url: p.url, whole: true } : { url: where("/picture", { class: c.name, picture: i }), whole: false };
}

// ---- classes ---------------------------------------------------------------------------------------------------------

function freshName() {
  for (let i = page.classes.length + 1; ; i++)
    if (!page.classes.some(c => c.name === `Class ${i}`)) return `Class ${i}`;
}

function newClass() {
  const c = { name: freshName(), pictures: [] };
  page.classes.push(c);
  show();
  const name = $(".class-name", c.card);
  name.focus();
  name.select();
}

function show() {
  const list = $("#classes");
  for (const c of page.classes) {
    if (!c.card) c.card = makeCard(c);
    if (c.card.parentNode !== list) list.append(c.card);
    fillCard(c);
  }
  for (const card of [...list.children]) if (!page.classes.some(c => c.card === card)) card.remove();
  const known = page.classes.some(c => c.pictures.length);
  $("#pack-save").disabled = !known;
  $("#csv-save").disabled = !page.results;
}

function makeCard(c) {
  const card = copyOf("#class-template"), name = $(".class-name", card);
  name.addEventListener("change", () => renameClass(c, name));
  name.addEventListener("keydown", e => { if (e.key === "Enter") name.blur(); });
  $(".class-remove", card).addEventListener("click", () => removeClass(c));
  makeZone($(".zone", card), files => addPictures(c, files));
  return card;
}

function fillCard(c) {
  const card = c.card, n = c.pictures.length, thumbs = $(".thumbs", card);
  $(".class-name", card).value = c.name;
  $(".class-name", card).setAttribute("aria-label", `Name of class ${c.name}`);
  $(".class-remove", card).setAttribute("aria-label", `Remove class ${c.name}`);
  $(".choose", card).setAttribute("aria-label", `Choose pictures of ${c.name}`);
  $(".photograph", card).setAttribute("aria-label", `Photograph ${c.name}`);
  $("progress", card).setAttribute("aria-label", `Upload to ${c.name}`);
  $(".class-count", card).textContent = n ? `${n} picture${n === 1 ? "" : "s"}` : "no pictures yet";
  const wanted = c.pictures.map((p, i) => sourceOf(c, i).url).join("\n");
  if (thumbs.dataset.shown === wanted) return;
  thumbs.dataset.shown = wanted;
  thumbs.replaceChildren(...c.pictures.map((p, i) => makeThumb(c, i)));
}

function makeThumb(c, i) {
  const li = copyOf("#thumb-template"), remove = $("button", li);
  $("img", li).src = sourceOf(c, i).url;
  $("img", li).alt = `${c.name} ${i + 1}: ${c.pictures[i].name}`;
  remove.setAttribute("aria-label", `Remove picture ${i + 1} of ${c.name}`);
  remove.addEventListener("click", () => removePicture(c, i));
  return li;
}

// Work on the server for a class; what goes wrong is said in its card.
async function change(c, work) {
  const box = $(".problem", c.card);
  complain("", box);
  try {
    await inTurn(work);
  } catch (refusal) {
    if (!await lost(refusal)) complain(refusal.message, box);
  }
  show();
}

function renameClass(c, input) {
  const to = input.value.trim(), from = c.name;
  if (to === from || !to) return void (input.value = from);
  if (page.classes.some(other => other !== c && other.name === to)) {
    complain(`There is a class "${to}" already.`, $(".problem", c.card));
    return void (input.value = from);
  }
  change(c, async () => {
    if (!c.pictures.length) return void (c.name = to);
    const state = await ask("POST", where("/class", { class: from, to }));
    c.name = to;
    take(state);
  });
}

function removeClass(c) {
  const n = c.pictures.length;
  if (n && !confirm(`Remove "${c.name}" and its ${n} picture${n === 1 ? "" : "s"}?`)) return;
  const at = page.classes.indexOf(c);
  change(c, async () => {
    if (c.pictures.length) await ask("DELETE", where("/class", { class: c.name }));
    page.classes.splice(page.classes.indexOf(c), 1);
    show();
    const next = page.classes[Math.min(at, page.classes.length - 1)];
    (next ? $(".class-name", next.card) : $("#class-new")).focus();
  });
}

function removePicture(c, i) {
  change(c, async () => {
    const state = await ask("DELETE", where("/picture", { class: c.name, picture: i }));
    c.pictures.splice(i, 1);
    take(state);
    const left = c.card.querySelectorAll(".thumb-remove");
    (left[Math.min(i, left.length - 1)] || $(".choose", c.card)).focus();
  });
}

async function addPictures(c, files) {
  const zone = $(".zone", c.card), box = $(".problem", c.card), problems = [];
  complain("", box);
  for (const [i, file] of files.entries()) {
    try {
      await inTurn(async () => {
        const path = where("/pictures", { class: c.name, name: nameOf(file) });
        const state = await ask("POST", path, { body: checked(file), progress: p => step(zone, (i + p) / files.length) });
        c.pictures.push({ name: nameOf(file), url: URL.createObjectURL(file) });
        take(state);
      });
    } catch (refusal) {
      if (await lost(refusal)) break;
      problems.push(refusal.message);
      if (refusal.status === 409) break; // full: so it is for the others
    }
  }
  step(zone, null);
  complain(problems.slice(0, 3).join(" ") + (problems.length > 3 ? ` And ${problems.length - 3} more.` : ""), box);
}

const nameOf = file => (file.name || "pasted.png").replace(/[\\/\x00-\x1f\x7f]/g, "_").slice(-60).trim() || "picture";

function checked(file) {
  const most = page.model.limits.bodyBytes;
  if (file.size > most)
    throw new Refusal(413, `"${file.name}" has ${(file.size / 2 ** 20).toFixed(1)} MB; ${(most / 2 ** 20).toFixed(0)} MB are the most.`);
  return file;
}

// ---- zones: drop, paste, choose, photograph --------------------------------------------------------------------------

const zones = new Map(); // element -> what takes its files

function step(zone, part) {
  const bar = $("progress", zone);
  bar.hidden = part === null;
  if (part !== null) bar.value = part;
}

function makeZone(zone, taker) {
  zones.set(zone, taker);
  let depth = 0;
  const over = by => { depth = Math.max(0, depth + by); zone.classList.toggle("over", depth > 0); };
  zone.addEventListener("dragenter", e => { e.preventDefault(); over(1); });
  zone.addEventListener("dragleave", () => over(-1));
  zone.addEventListener("dragover", e => e.preventDefault());
  zone.addEventListener("drop", e => { e.preventDefault(); depth = 0; over(0); taker([...e.dataTransfer.files]); });
  $(".choose", zone).addEventListener("click", () => choose(taker, false));
  $(".photograph", zone).addEventListener("click", () => photograph(taker));
}

function choose(taker, capture) {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = "image/*,.ppm,.pgm";
  input.multiple = !capture;
  if (capture) input.capture = "environment";
  input.addEventListener("change", () => taker([...input.files]));
  input.click();
}

addEventListener("dragover", e => e.preventDefault()); // a picture that misses its zone must not replace the page
addEventListener("drop", e => e.preventDefault());

addEventListener("paste", e => {
  const files = [...e.clipboardData.files];
  if (!files.length) return;
  e.preventDefault();
  const card = document.activeElement.closest(".class");
  zones.get(card ? $(".zone", card) : $("#query"))(files);
});

const camera = { stream: null, taker: null };

function cameraOff() {
  for (const track of camera.stream ? camera.stream.getTracks() : []) track.stop();
  camera.stream = null;
}

async function photograph(taker) {
  if (!navigator.mediaDevices) return choose(taker, true); // a phone over plain HTTP: its own camera program
  camera.taker = taker;
  complain("", $("#camera-problem"));
  $("#camera-take").disabled = true;
  $("#camera").showModal();
  try {
    camera.stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    $("#camera-video").srcObject = camera.stream;
    if (!$("#camera").open) return cameraOff(); // closed while the camera was asked for
    await $("#camera-video").play();
    $("#camera-take").disabled = false;
    $("#camera-take").focus();
  } catch (error) {
    complain(`There is no camera that can be used: ${error.message}`, $("#camera-problem"));
  }
}

function takePhotograph() {
  const video = $("#camera-video"), canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.toBlob(blob => {
    const time = new Date().toISOString().slice(0, 19).replace(/[T:]/g, "-");
    camera.taker([new File([blob], `photo-${time}.jpg`, { type: "image/jpeg" })]);
  }, "image/jpeg", 0.92);
}

$("#camera-take").addEventListener("click", takePhotograph);
$("#camera-close").addEventListener("click", () => $("#camera").close());
$("#camera").addEventListener("close", cameraOff);

// ---- new pictures ----------------------------------------------------------------------------------------------------

async function classify(files) {
  const zone = $("#query"), box = $(".problem", zone), problems = [];
  complain("", box);
  for (const [i, file] of files.entries()) {
    try {
      await inTurn(async () => {
        const answer = await ask("POST", where("/classify", { name: nameOf(file) }),
                                 { body: checked(file), progress: p => step(zone, (i + p) / files.length) });
        page.results++;
        await showResult(answer, URL.createObjectURL(file));
      });
    } catch (refusal) {
      if (await lost(refusal)) break;
      problems.push(refusal.message);
      if (refusal.status === 422 && /class/.test(refusal.message)) break; // too few of them: so it is for the others
    }
  }
  step(zone, null);
  show();
  complain([...new Set(problems)].slice(0, 3).join(" "), box);
}

async function showResult(answer, url) {
  const li = copyOf("#result-template");
  const original = $(".original", li);
  original.onerror = () => original.remove(); // a kind of picture that this browser does not show
  original.src = url;
  original.alt = answer.name;
  $(".result-file", li).textContent = answer.name;
  $(".result-class", li).textContent = answer.unknown ? "None of these" : answer.class;
  $(".result-sure", li).textContent = answer.unknown
    ? `nearest is ${answer.class}, ${percent(answer.probability)}` : `${percent(answer.probability)} sure`;
  $(".result-familiar", li).textContent = answer.familiarity === null
    ? "Two or more pictures in a class would tell how familiar this looks."
    : `More familiar than ${percent(answer.familiarity)} of the known pictures.`;
  li.classList.toggle("unknown", answer.unknown);
  $(".bars", li).replaceChildren(...answer.probabilities.map(makeBar));
  $("#results").prepend(li);
  $("#said").textContent = `${answer.name}: ${$(".result-class", li).textContent}, ${$(".result-sure", li).textContent}`;
  if (answer.explanation) await explain(li, answer.explanation, url);
  else $(".why", li).replaceChildren(Object.assign(document.createElement("p"),
    { className: "quiet", textContent: answer.explanationError || "There is no explanation." }));
}

function makeBar({ class: name, probability }) {
  const li = document.createElement("li");
  const part = (tag, className, words) => Object.assign(document.createElement(tag), { className, textContent: words });
  const bar = part("span", "bar", "");
  const fill = document.createElement("i");
  fill.style.width = `${100 * probability}%`;
  bar.append(fill);
  bar.setAttribute("aria-hidden", "true");
  li.append(part("span", "bar-name", name), part("span", "bar-value", percent(probability)), bar);
  return li;
}

// ---- why -------------------------------------------------------------------------------------------------------------

// Dark violet to pale yellow, evenly brighter: readable in grey and by everybody's eyes.
const RAMP = [[0, 0, 4], [40, 11, 84], [101, 21, 110], [159, 42, 99], [212, 72, 66], [245, 125, 21], [250, 193, 39], [252, 255, 164]];

function colour(t) {
  const at = Math.min(Math.max(t, 0), 1) * (RAMP.length - 1), i = Math.min(Math.floor(at), RAMP.length - 2), f = at - i;
  return RAMP[i].map((v, k) => Math.round(v + f * (RAMP[i + 1][k] - v)));
}

function drawRamp(canvas) {
  const context = canvas.getContext("2d");
  for (let x = 0; x < canvas.width; x++) {
    context.fillStyle = `rgb(${colour(x / (canvas.width - 1)).join(" ")})`;
    context.fillRect(x, 0, 1, 1);
  }
}

function load(url) {
  return new Promise(done => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = () => done(null); // a kind of picture that this browser does not show
    image.src = url;
  });
}

// The network sees a picture without its rim of 1/23: so much is left out here too.
function drawPhoto(side, image, whole) {
  const photo = $(".photo", side), width = image ? image.naturalWidth : 1, height = image ? image.naturalHeight : 1;
  const ratio = Math.min(Math.max(width / height, 0.5), 2), rim = whole ? 1 / 23 : 0;
  photo.width = Math.round(480 * Math.min(1, ratio));
  photo.height = Math.round(480 * Math.min(1, 1 / ratio));
  $(".frame", side).style.aspectRatio = `${photo.width} / ${photo.height}`;
  const context = photo.getContext("2d");
  context.imageSmoothingQuality = "high";
  if (image)
    context.drawImage(image, width * rim, height * rim, width * (1 - 2 * rim), height * (1 - 2 * rim), 0, 0, photo.width, photo.height);
}

// The cells' colours, joined smoothly: the map has no edges of its own.
function drawMap(side, cells, { height, width }) {
  const map = $(".map", side), small = document.createElement("canvas"), photo = $(".photo", side);
  map.width = photo.width;
  map.height = photo.height;
  if (!cells) return;
  small.width = width;
  small.height = height;
  const context = small.getContext("2d"), data = context.createImageData(width, height);
  const least = Math.min(...cells), span = Math.max(...cells) - least || 1;
  cells.forEach((v, i) => data.data.set([...colour((v - least) / span), 255], 4 * i));
  context.putImageData(data, 0, 0);
  const large = map.getContext("2d");
  large.imageSmoothingQuality = "high";
  large.drawImage(small, 0, 0, map.width, map.height);
}

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

// The middle of a cell, in the coordinates of the pair.
function placeOf(side, cell, { height, width }, within) {
  const box = $(".frame", side).getBoundingClientRect(), x = cell % width, y = Math.floor(cell / width);
  return [box.left - within.left + box.width * (x + 0.5) / width, box.top - within.top + box.height * (y + 0.5) / height];
}

const MOST_LINES = 12;

function drawLines(li, why, chosen) {
  const pair = $(".pair", li), within = pair.getBoundingClientRect(), drawn = [];
  if (!within.width) return;
  for (const [query, known, weight] of chosen.pairs.slice(0, MOST_LINES).reverse()) {
    const [x1, y1] = placeOf($(".query-side", li), query, why, within);
    const [x2, y2] = placeOf($(".known-side", li), known, why, within);
    const width = 1 + 2 * weight, opacity = 0.25 + 0.75 * weight;
    const line = { x1, y1, x2, y2, "stroke-linecap": "round", "stroke-opacity": opacity };
    drawn.push(shape("line", { ...line, class: "under", "stroke-width": width + 2 }),
               shape("line", { ...line, class: "over", "stroke-width": width }));
    for (const [cx, cy] of [[x1, y1], [x2, y2]]) drawn.push(shape("circle", { cx, cy, r: 2 + 2 * weight, opacity }));
  }
  $(".lines", li).replaceChildren(...drawn);
}

async function explain(li, why, url) {
  const query = $(".query-side", li), known = $(".known-side", li), choice = $(".why-choice", li);
  let chosen = why.classes[0];
  drawPhoto(query, await load(url), true);
  drawMap(query, why.centrality || why.gradCam, why);
  drawRamp($(".ramp", li));
  const compare = async c => {
    chosen = c;
    for (const b of choice.children) b.setAttribute("aria-pressed", b.value === c.class);
    $("figcaption", known).textContent = `${c.class}, picture ${c.picture + 1}`;
    if (!c.image) {
      const ours = page.classes.find(one => one.name === c.class);
      c.source = ours && ours.pictures[c.picture] ? sourceOf(ours, c.picture) : null;
      c.image = (c.source && await load(c.source.url)) || null;
    }
    drawPhoto(known, c.image, c.source && c.source.whole);
    drawMap(known, c.centrality, why);
    drawLines(li, why, c);
    $(".why-words", li).textContent = words(why, c);
  };
  choice.replaceChildren(...why.classes.map(c => {
    const b = Object.assign(document.createElement("button"), { type: "button", value: c.class, textContent: c.class });
    b.addEventListener("click", () => compare(c));
    return b;
  }));
  const strength = $(".strength input", li), lines = $(".lines-switch input", li);
  const fade = () => { for (const map of li.querySelectorAll(".map")) map.style.opacity = strength.value / 100; };
  strength.addEventListener("input", fade);
  lines.addEventListener("change", () => $(".lines", li).toggleAttribute("hidden", !lines.checked));
  fade();
  await compare(chosen);
  new ResizeObserver(() => drawLines(li, why, chosen)).observe($(".pair", li));
}

// The map in words, for those who do not see it.
function words(why, c) {
  const map = why.centrality || why.gradCam;
  if (!map) return "";
  const at = map.indexOf(Math.max(...map)), row = Math.floor(at / why.width), column = at % why.width;
  const third = (i, n, names) => names[Math.min(2, Math.floor(3 * (i + 0.5) / n))];
  return `Compared with picture ${c.picture + 1} of ${c.class}: the brightest place of this picture is at its ` +
    `${third(row, why.height, ["top", "middle", "bottom"])} ${third(column, why.width, ["left", "centre", "right"])}; ` +
    `${Math.min(c.pairs.length, MOST_LINES)} lines join the two.`;
}

// ---- files -----------------------------------------------------------------------------------------------------------

async function save(path, name) {
  complain("");
  try {
    const blob = await inTurn(() => ask("GET", path, { type: "blob" })), url = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  } catch (refusal) {
    if (!await lost(refusal)) complain(refusal.message);
  }
}

$("#pack-save").addEventListener("click", () => save(where("/pack"), "centra-classes.pack"));
$("#csv-save").addEventListener("click", () => save(where("/results.csv"), "centra-results.csv"));
$("#pack-load").addEventListener("click", () => $("#pack-file").click());
$("#pack-file").addEventListener("change", async e => {
  const file = e.target.files[0];
  e.target.value = "";
  if (!file) return;
  complain("");
  try {
    const state = await inTurn(() => ask("POST", where("/pack"), { body: checked(file) }));
    page.classes = [];
    take(state);
  } catch (refusal) {
    if (!await lost(refusal)) complain(refusal.message);
  }
});

// ---- start -----------------------------------------------------------------------------------------------------------

$("#class-new").addEventListener("click", newClass);
makeZone($("#query"), classify);

async function start() {
  page.model = await ask("GET", "/api/model");
  const m = page.model;
  $("#model").textContent = `${m.name}: ${m.backbone}, ${m.head}`;
  take(await begin());
  if (!page.classes.length) {
    page.classes = [{ name: "Class 1", pictures: [] }, { name: "Class 2", pictures: [] }];
    show();
  }
}
start().catch(refusal => complain(refusal.message));
