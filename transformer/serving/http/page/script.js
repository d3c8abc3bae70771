// What the page does: it asks the service that it came from, and no other host.

// Milliseconds without a key before a text is translated.
const PAUSE = 250;
const NUM_WORDINGS = 6;
// Longer translations are there to be read, not to be heard at every change.
const LONGEST_HEARD = 200;
const AUTO = "auto";
const RIGHT_TO_LEFT = ["Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg"];

const $ = (id) => document.getElementById(id);
const [from, to, source, output] =
  ["source-language", "target-language", "source", "output"].map($);

let languages = [];
let settings = {};
let lines = []; // of the translation, as it stands
let newest = null; // the request whose answer is wanted; older ones are dropped
let timer = 0;
let model = null; // that answered last

async function ask(path, body, signal) {
  const headers = $("key").value ? { Authorization: `Bearer ${$("key").value}` } : {};
  if (body && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  const method = body ? "POST" : "GET";
  const response = await fetch(path, { method, headers, body, signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The service can’t be reached.");
  });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  const error = new Error(told.error ?? `The service failed (${response.status}).`);
  throw Object.assign(error, { retryAfter: Number(response.headers.get("Retry-After")) });
}

const askJson = async (...request) => (await ask(...request)).json();

function make(tag, content, attributes = {}) {
  const element = document.createElement(tag);
  element.append(...[content].flat());
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function makeButton(content, onClick) {
  const button = make("button", content, { type: "button" });
  button.onclick = onClick;
  return button;
}

function fill(values) {
  for (const [key, value] of Object.entries(values)) {
    for (const place of document.querySelectorAll(`[data-fill=${key}]`)) place.textContent = value;
  }
}

const format = (number, digits = 0) =>
  number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

// Languages

const name = (code) => languages.find((one) => one.code === code)?.name ?? code;

const targetsOf = (code) =>
  [...new Set(languages.flatMap((one) => (code === AUTO || one.code === code ? one.targets : [])))];

function direction(code) {
  if (code === AUTO) return "auto";
  const { script } = new Intl.Locale(code.replaceAll("_", "-")).maximize();
  return RIGHT_TO_LEFT.includes(script) ? "rtl" : "ltr";
}

function fillSources() {
  const sources = languages.filter((one) => one.targets.length);
  from.replaceChildren(...sources.map((one) => new Option(one.name, one.code)));
  if (sources.length > 1) from.prepend(new Option("", AUTO));
  from.value = settings.language.source.code;
  fillTargets(settings.language.target.code);
}

function fillTargets(wanted) {
  const targets = targetsOf(from.value);
  to.replaceChildren(...targets.map((code) => new Option(name(code), code)));
  to.value = targets.includes(wanted) ? wanted : targets[0];
  turn();
}

function turn() {
  for (const [element, code] of [[source, from.value], [output, to.value]]) {
    element.dir = direction(code);
    element.lang = code === AUTO ? "" : code;
  }
  $("swap").hidden = from.value === AUTO || !targetsOf(to.value).includes(from.value);
}

function swap() {
  const was = from.value;
  if (lines.length) source.value = lines.join("\n");
  from.value = to.value;
  fillTargets(was);
  translateSoon();
}

// Translating as one types

const request = (text) => ({ text, source: from.value, target: to.value });
const announce = (message) => { $("status").textContent = message; };

function translateSoon() {
  count();
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

async function translate() {
  clearTimeout(timer);
  newest?.abort();
  const mine = (newest = new AbortController());
  closeWordings();
  tellError();
  output.ariaBusy = "true";
  try {
    const text = source.value;
    const isWanted = text.trim() && count() <= settings.charLimit;
    const reply = isWanted && (await askJson("v1/translate", request(text), mine.signal));
    if (mine === newest) show(text, reply ? reply.translations[0] : null);
  } catch (error) {
    if (mine === newest) refuse(error);
  }
  if (mine === newest) output.ariaBusy = "false";
}

function show(text, answer) {
  const sources = text.split("\n");
  lines = answer ? answer.candidates[0].text.split("\n") : [];
  output.replaceChildren(
    ...lines.map((line, n) => make("div", line.trim() ? makeLine(n, sources[n]) : "\n")),
  );
  $("copy").hidden = $("hint").hidden = !answer;
  $("note").textContent = answer ? tellDoubts(answer) : "";
  model = answer?.model ?? model;
  showDetected(answer);
  const heard = lines.join(" ");
  announce(heard.length > LONGEST_HEARD ? "Translated." : heard);
}

function showDetected(answer) {
  const option = from.querySelector(`[value=${AUTO}]`);
  if (!option) return;
  const found = from.value === AUTO && answer;
  option.textContent = found ? `Any language: ${name(model.source)}` : "Any language";
}

function tellDoubts({ unknown_words: words, candidates }) {
  const more = words.length > 8 ? ` and ${words.length - 8} more` : "";
  const unknown = `New to the model, so carried over or guessed: ${words.slice(0, 8).join(", ")}`;
  const cut = candidates[0].is_complete ? "" : "Cut short at the model’s length limit.";
  return [words.length ? `${unknown}${more}.` : "", cut].join(" ").trim();
}

function refuse(error) {
  const isBusy = error.retryAfter > 0;
  if (isBusy) timer = setTimeout(translate, 1000 * error.retryAfter);
  tellError(error.message + (isBusy ? ` Trying again in ${error.retryAfter} s.` : ""));
}

function tellError(message) {
  const told = message ? [make("span", message), makeButton("Try again", translate)] : [];
  $("error").replaceChildren(...told);
}

function count() {
  const length = [...source.value].length;
  const rest = settings.charLimit - length;
  $("count").textContent =
    rest < 0 ? `${format(-rest)} too many` : `${format(length)} / ${format(settings.charLimit)}`;
  $("clear").hidden = !length;
  return length;
}

// Other wordings of a line

function makeLine(n, sourceLine) {
  const attributes = { class: "line", role: "button", tabindex: 0, "aria-expanded": false };
  const line = make("span", lines[n], attributes);
  line.onclick = () => getSelection().isCollapsed && openWordings(line, n, sourceLine);
  line.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    openWordings(line, n, sourceLine);
  };
  return line;
}

async function openWordings(line, n, sourceLine) {
  if (closeWordings() === line) return;
  line.ariaExpanded = "true";
  let items;
  try {
    const body = { ...request(sourceLine), num_best: NUM_WORDINGS };
    const { candidates } = (await askJson("v1/translate", body)).translations[0];
    const others = new Set(candidates.map((one) => one.text));
    others.delete(lines[n]);
    items = [...others].map((text) => makeButton(text, () => choose(line, n, text)));
    if (!items.length) items = [make("p", "The model has none for this line.")];
  } catch (error) {
    items = [make("p", error.message)];
  }
  if (!line.isConnected || line.ariaExpanded !== "true") return; // the text went on
  const list = $("alternatives").querySelector("ul");
  list.replaceChildren(...items.map((item) => make("li", item)));
  Object.assign(list, { lang: output.lang, dir: output.dir });
  $("alternatives").hidden = false;
  list.querySelector("button")?.focus();
}

function choose(line, n, text) {
  lines[n] = line.textContent = text;
  closeWordings().focus();
}

function closeWordings() {
  $("alternatives").hidden = true;
  const line = output.querySelector("[aria-expanded=true]");
  if (line) line.ariaExpanded = "false";
  return line;
}

// Files

async function translateFile(file) {
  const [, stem, ending = ""] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
  const saved = `${stem}.${to.value}${ending}`;
  const state = make("span", "Translating …", { class: "hint" });
  $("files").append(make("li", [make("strong", file.name), state]));
  try {
    const known = settings.supportedFilesFormat;
    if (!known.includes(ending.toLowerCase())) throw new Error(`Not one of ${known.join(", ")}.`);
    const form = new FormData();
    form.set("file", file);
    form.set("source", from.value);
    form.set("target", to.value);
    const { translatedFileUrl } = await askJson("translate_file", form);
    // By its name alone: behind a proxy the service can't know its own address.
    const path = `download_file/${translatedFileUrl.split("/").pop()}`;
    const href = URL.createObjectURL(await (await ask(path)).blob());
    state.replaceWith(make("a", `Save ${saved}`, { href, download: saved }));
    announce(`${file.name} is translated.`);
  } catch (error) {
    state.replaceWith(make("span", error.message, { class: "failed" }));
    announce(`${file.name}: ${error.message}`);
  }
}

// The model's card, and the request for programs

async function openCard() {
  $("card").showModal();
  const isMeant = (one) =>
    one.target === to.value && [from.value, from.value === AUTO && model?.source].includes(one.source);
  try {
    const { models } = await askJson("v1/models");
    const path = `v1/models/${encodeURIComponent((models.find(isMeant) ?? models[0]).name)}`;
    describe(await askJson(path));
    $("whole-card").href = path;
  } catch (error) {
    $("card-error").textContent = error.message;
  }
}

function describe({ card, precision, provider }) {
  const { corpus, pytorch } = card;
  fill({
    languages: `${name(card.source_language)} → ${name(card.target_language)}`,
    corpus: `${corpus.name} (${[corpus.origin, corpus.revision].filter(Boolean).join(", ")})`,
    license: corpus.license,
    parameters: format(card.model.num_parameters),
    runs: `${precision} on ${provider.toUpperCase()}`,
    hash: card.model_hash,
    sentences: format(card.num_test_sentences),
    signature: pytorch.signature,
  });
  const rows = Object.entries(card.graphs).map(([graph, one]) => [
    one.passed ? graph : `${graph} (left out)`,
    format(one.bleu, 2),
    `${format(one.bleu_loss, 2)} [${format(one.bleu_loss_low, 2)}, ${format(one.bleu_loss_high, 2)}]`,
    `${format(100 * one.identical_share, 1)} %`,
  ]);
  const cell = (text, n) => make(n ? "td" : "th", text, n ? {} : { scope: "row" });
  $("scores").replaceChildren(
    ...[["PyTorch", format(pytorch.bleu, 2), "", ""], ...rows].map((row) => make("tr", row.map(cell))),
  );
  $("card-error").textContent = "";
}

function openCode() {
  const json = JSON.stringify(request(source.value || "…")); // Python reads it too
  const url = new URL("v1/translate", location.href).href;
  fill({ url, json, quoted: json.replaceAll("'", "'\\''") });
  $("code").showModal();
}

async function copy(button, text) {
  const label = button.textContent;
  // Browsers refuse over plain HTTP from another machine.
  const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.textContent = isDone ? "Copied" : "Can’t copy";
  announce(button.textContent);
  setTimeout(() => { button.textContent = label; }, 1500);
}

// What answers to whom

source.oninput = translateSoon;
from.onchange = () => { fillTargets(to.value); translate(); };
to.onchange = () => { turn(); translate(); };
$("key-form").onsubmit = (event) => { event.preventDefault(); translate(); };
$("clear").onclick = () => { source.value = ""; translateSoon(); source.focus(); };
$("swap").onclick = swap;
$("copy").onclick = () => copy($("copy"), lines.join("\n"));
$("open-card").onclick = openCard;
$("open-code").onclick = openCode;
for (const button of document.querySelectorAll("[data-copies]")) {
  button.onclick = () => copy(button, $(button.dataset.copies).innerText);
}
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.onclick = (event) => event.target === dialog && dialog.close();
}
onkeydown = (event) => event.key === "Escape" && closeWordings()?.focus();

$("file").onchange = (event) => {
  [...event.target.files].forEach(translateFile);
  event.target.value = "";
};
const isOfFiles = (event) => event.dataTransfer.types.includes("Files");
const mark = (isDropping) => $("panes").classList.toggle("dropping", isDropping);
ondragover = (event) => { if (isOfFiles(event)) { event.preventDefault(); mark(true); } };
ondragleave = (event) => event.relatedTarget ?? mark(false);
ondrop = (event) => {
  if (!isOfFiles(event)) return;
  event.preventDefault();
  mark(false);
  [...event.dataTransfer.files].forEach(translateFile);
};

try {
  [settings, languages] = await Promise.all(["frontend/settings", "languages"].map((path) => askJson(path)));
  fillSources();
  for (const one of document.querySelectorAll("[data-needs-key]")) one.hidden = !settings.keyRequired;
  $("choose").hidden = $("drop-hint").hidden = !settings.supportedFilesFormat.length;
  $("file").accept = settings.supportedFilesFormat.join();
  translateSoon();
} catch (error) {
  tellError(error.message);
}
