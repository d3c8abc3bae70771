// Which words of a text and of its translation belong together: on hover, and by keyboard.

const [panes, source, echo, output, status] = ["panes", "source", "echo", "output", "status"]
  .map((id) => document.getElementById(id));

let links = []; // pairs of ranges: in the echo, which lies behind the text, and in the translation
let place = 0; // among the words of the line that has the focus

// Where each character begins: the service counts whole ones, strings here halves of some.
function starts(text) {
  let next = 0;
  return [...text, " "].map((character) => (next += character.length) - character.length);
}

function makeRange(node, begin, end) {
  const range = new Range();
  range.setStart(node, begin);
  range.setEnd(node, end);
  return range;
}

// Links of the text as it stands with the lines of its translation; without any, there are none.
export function link(alignment = [], lines = []) {
  mark([]);
  echo.textContent = `${source.value}\n`;
  const text = lines.join("\n");
  const [inSource, inTarget] = [source.value, text].map(starts);
  links = alignment.map((one) => {
    const [begin, end] = one.target.map((n) => inTarget[n]);
    const before = text.slice(0, begin).split("\n");
    const line = output.children[before.length - 1].querySelector(".line").firstChild;
    const start = begin - before.at(-1).length;
    return [
      makeRange(echo.firstChild, ...one.source.map((n) => inSource[n])),
      makeRange(line, begin - start, end - start),
    ];
  });
}

const linksOf = (line) => links.filter(([, range]) => line.contains(range.startContainer));

// A line that gets another wording has none.
export function unlink(line) {
  const gone = linksOf(line);
  links = links.filter((pair) => !gone.includes(pair));
}

function mark(pairs) {
  CSS.highlights?.set("together", new Highlight(...pairs.flat()));
}

function walk(line, step) {
  const ofLine = linksOf(line);
  const words = [...new Set(ofLine.map(([, range]) => range.startOffset))].sort((a, b) => a - b);
  place = Math.max(0, Math.min(place + step, words.length - 1));
  const found = ofLine.filter(([, range]) => range.startOffset === words[place]);
  mark(found);
  const told = found.map(([range]) => range).join(" ");
  if (step && told) status.textContent = `${found[0][1]}: ${told}`;
}

panes.onpointermove = ({ target, clientX: x, clientY: y }) => {
  const side = Number(output.contains(target));
  const isUnder = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  mark(links.filter((pair) => [...pair[side].getClientRects()].some(isUnder)));
};
panes.onpointerleave = source.onblur = () => mark([]);
output.addEventListener("focusout", () => mark([]));
output.addEventListener("focusin", ({ target }) => {
  place = 0;
  if (target.matches(":focus-visible")) walk(target, 0);
});
output.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  walk(event.target, (event.key === "ArrowRight") === (output.dir === "ltr") ? 1 : -1);
});
source.onkeyup = ({ key }) => {
  if (!/^(Arrow|Home|End|Page)/.test(key)) return;
  const caret = source.selectionStart;
  mark(links.filter(([range]) => range.startOffset <= caret && caret <= range.endOffset));
};
