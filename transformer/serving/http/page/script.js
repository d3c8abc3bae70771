// What the page does: it asks the service that it came from, and no other host.

import { link, unlink } from "./words.js";

// Milliseconds without a key before a text is translated.
const PAUSE = 250;
const NUM_BEST = 5;
// Longer translations are there to be read, not to be heard at every change.
const LONGEST_HEARD = 200;
// Of longer texts no words are linked.
const LONGEST_LINKED = 5_000;
const AUTO = "auto";
const RIGHT_TO_LEFT = ["Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg"];

const $ = (id) => document.getElementById(id);
const [from, to, source, output] = ["from", "to", "source", "output"].map($);
const wordings = $("wordings"); // stands below its line while it is open

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
  const options = { method: body ? "POST" : "GET", headers, body, signal };
  const response = await fetch(path, options).catch(() => {
    throw new Error("The service can’t be reached.");
  });
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new Error(told.error ?? `The service failed (${response.status}).`);
}

const askJson = async (...request) => (await ask(...request)).json();

function make(tag, content, properties = {}) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...[content].flat());
  return element;
}

function fill(values) {
  for (const [key, value] of Object.entries(values)) {
    for (const place of document.querySelectorAll(`[data-fill=${key}]`)) place.textContent = value;
  }
}

function format(number, digits = 0) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return number.toLocaleString("en", options).replace("-", "−");
}

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
  if (sources.length > 1) from.prepend(new Option("Any language", AUTO));
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
  const languageOf = [[source, from.value], [$("echo"), from.value], [output, to.value]];
  for (const [element, code] of languageOf) {
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
  if (!languages.length) return; // the service hasn't told yet; it follows when it has
  count();
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

async function translate() {
  clearTimeout(timer);
  newest?.abort();
  const mine = (newest = new AbortController());
  closeWordings();
  $("error").replaceChildren();
  output.ariaBusy = "true";
  try {
    const text = source.value;
    const [over, body] = [count() - settings.charLimit, request(text)];
    body.alignment = text.length <= LONGEST_LINKED;
    const isWanted = text.trim() && over <= 0;
    const reply = isWanted && (await askJson("v1/translate", body, mine.signal));
    if (mine === newest) show(text, reply ? reply.translations[0] : null);
    if (over > 0) $("error").textContent = `Too long: ${format(over)} characters over the limit.`;
  } catch (error) {
    if (mine === newest) tellError(error.message, translate);
  }
  if (mine === newest) output.ariaBusy = "false";
}

function show(text, answer) {
  const sources = text.split("\n");
  lines = answer ? answer.candidates[0].text.split("\n") : [];
  output.replaceChildren(
    ...lines.map((line, n) => make("div", line.trim() ? makeLine(n, sources[n]) : "\n")),
  );
  if (text === source.value) link(answer?.candidates[0].alignment, lines);
  $("copy").hidden = $("hint").hidden = !answer;
  model = answer?.model ?? model;
  $("note").textContent = answer ? tell(answer) : "";
  const heard = lines.join(" ");
  announce(heard.length > LONGEST_HEARD ? "Translated." : heard);
}

function tell({ unknown_words: words, candidates }) {
  const notes = [];
  if (from.value === AUTO) notes.push(`From ${name(model.source)}.`);
  const more = words.length > 8 ? ` and ${words.length - 8} more` : "";
  const few = words.slice(0, 8).join(", ") + more;
  if (words.length) notes.push(`New to the model, so carried over or guessed: ${few}.`);
  if (!candidates[0].is_complete) notes.push("Cut short at the model’s length limit.");
  return notes.join(" ");
}

function tellError(message, onclick) {
  $("error").replaceChildren(make("span", message), make("button", "Try again", { onclick }));
}

function count() {
  const [length, limit] = [[...source.value].length, settings.charLimit];
  const over = `${format(length - limit)} over the limit`;
  $("count").textContent = length > limit ? over : `${format(length)} / ${format(limit)}`;
  $("clear").hidden = !length;
  link(); // until the translation is there
  return length;
}

// Other wordings of a line

function makeLine(n, sourceLine) {
  const line = make("span", lines[n], { className: "line", role: "button", tabIndex: 0 });
  line.ariaExpanded = "false";
  line.onclick = () => { if (getSelection().isCollapsed) openWordings(line, n, sourceLine); };
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
    const body = { ...request(sourceLine), num_best: NUM_BEST };
    const { candidates } = (await askJson("v1/translate", body)).translations[0];
    const others = new Set(candidates.map((one) => one.text));
    others.delete(lines[n]);
    const choose = (text) => () => {
      unlink(line);
      lines[n] = line.textContent = text;
      closeWordings().focus();
    };
    items = [...others].map((text) => make("button", text, { onclick: choose(text) }));
    if (!items.length) items = [make("p", "The model has none for this line.")];
  } catch (error) {
    items = [make("p", error.message)];
  }
  if (!line.isConnected || line.ariaExpanded !== "true") return; // the text went on
  const list = wordings.querySelector("ul");
  list.replaceChildren(...items.map((item) => make("li", item)));
  list.lang = output.lang;
  line.parentElement.after(wordings);
  list.querySelector("button")?.focus();
}

function closeWordings() {
  wordings.remove();
  const line = output.querySelector("[aria-expanded=true]");
  if (line) line.ariaExpanded = "false";
  return line;
}

// Files

async function translateFile(file) {
  const [, stem, ending = ""] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
  const saved = `${stem}.${to.value}${ending}`;
  const state = make("span", "Translating …", { className: "hint" });
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
    state.replaceWith(make("span", error.message, { className: "failed" }));
    announce(`${file.name}: ${error.message}`);
  }
}

// The model's card, and the request for programs

async function openCard() {
  $("card").showModal();
  try {
    const { models } = await askJson("v1/models");
    const wanted = from.value === AUTO ? model?.source : from.value;
    const found = models.find((one) => one.source === wanted && one.target === to.value);
    $("whole-card").href = `v1/models/${encodeURIComponent((found ?? models[0]).name)}`;
    describe(await askJson($("whole-card").href));
    $("card-error").textContent = "";
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
  const rows = Object.entries(card.graphs).map(([graph, one]) => {
    const [loss, low, high] = [one.bleu_loss, one.bleu_loss_low, one.bleu_loss_high]
      .map((number) => format(number, 2));
    const share = `${format(100 * one.identical_share, 1)} %`;
    const which = one.passed ? graph : `${graph} (left out)`;
    return [which, format(one.bleu, 2), `${loss} [${low}, ${high}]`, share];
  });
  const cell = (text, n) => (n ? make("td", text) : make("th", text, { scope: "row" }));
  const all = [["PyTorch", format(pytorch.bleu, 2), "", ""], ...rows];
  $("scores").replaceChildren(...all.map((row) => make("tr", row.map(cell))));
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
$("clear").onclick = () => { source.value = ""; translate(); source.focus(); };
$("swap").onclick = swap;
$("copy").onclick = () => copy($("copy"), lines.join("\n"));
$("open-card").onclick = openCard;
$("open-code").onclick = openCode;
for (const button of document.querySelectorAll("[data-copies]")) {
  button.onclick = () => copy(button, $(button.dataset.copies).innerText);
}
onkeydown = (event) => { if (event.key === "Escape") closeWordings()?.focus(); };

$("file").onchange = (event) => {
  [...event.target.files].forEach(translateFile);
  event.target.value = "";
};
const isOfFiles = (event) => event.dataTransfer.types.includes("Files");
const mark = (isDropping) => $("panes").classList.toggle("dropping", isDropping);
ondragover = (event) => { if (isOfFiles(event)) { event.preventDefault(); mark(true); } };
ondragleave = (event) => { if (!event.relatedTarget) mark(false); };
ondrop = (event) => {
  if (!isOfFiles(event)) return;
  event.preventDefault();
  mark(false);
  [...event.dataTransfer.files].forEach(translateFile);
};

wordings.remove();
wordings.hidden = false;
try {
  settings = await askJson("frontend/settings");
  languages = await askJson("languages");
  fillSources();
  document.body.classList.toggle("needs-key", settings.keyRequired);
  $("choose").hidden = $("drop-hint").hidden = !settings.supportedFilesFormat.length;
  $("file").accept = settings.supportedFilesFormat.join();
  translateSoon();
} catch (error) {
  tellError(error.message, () => location.reload());
}
