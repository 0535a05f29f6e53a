"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const root = document.documentElement;
const findings = all("article.finding");
let selected = -1;

// Numbers for people.

function duration(ns) {
  for (const [unit, factor] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (Math.abs(ns) >= factor) return digits(ns / factor) + " " + unit;
  return Math.round(ns) + " ns";
}

// A moment, with as many digits as tell it from one that is ``step`` later.
function moment(ns, step) {
  const [unit, factor] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(each => Math.abs(ns) >= each[1]) || ["ns", 1];
  const decimals = Math.min(Math.max(Math.ceil(Math.log10(factor / step) - 1e-9), 0), Math.round(Math.log10(factor)));
  return Number((ns / factor).toFixed(decimals)) + " " + unit;
}

function digits(value) { return String(Number(value.toPrecision(4))); }

function size(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return digits(bytes) + " " + units[unit];
}

// The theme: the system's, until the button or the key t chooses the other one.

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  redraw();
}

// The timeline.

const line = data.timeline, lanes = line.lanes, H = 20;
const canvas = byId("lanes"), axis = byId("axis"), hover = byId("hover"), names = all(".lane-names li");
const SEVERITIES = ["error", "warning", "note"];
const SORTS = ["work", "copy", "make", "end", "wait", "other"];
const calls = unpack(line.calls);
let from = 0, to = line.end, colors = {}, pending = false, shownLanes = lanes.map((_, i) => i), rowOf = [];
let matchApi = null;

function unpack(columns) {
  for (const key of ["t", "n"]) for (let i = 1; i < columns[key].length; i++) columns[key][i] += columns[key][i - 1];
  return columns;
}

function binsOf(lane) {
  if (!lane.b) return null;
  if (!lane.wide) {
    lane.wide = [];
    for (const value of lane.b) if (value < 0) for (let i = 0; i < -value; i++) lane.wide.push(0); else lane.wide.push(value);
    lane.top = lane.wide.reduce((a, b) => Math.max(a, b), 1);
  }
  return lane.wide;
}

function readColors() {
  const style = getComputedStyle(root);
  for (const name of [...SORTS, "failed", "bins", "life", "life-line", "line", "ink", "dim", "accent", "error", "warning", "note", "panel", "bg"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}

// Headings that are jumped to stand below what stays at the top.
function makeRoom() {
  const heights = ["header", "#filters"].map(each => document.querySelector(each)).filter(each => getComputedStyle(each).position === "sticky").map(each => each.offsetHeight);
  root.style.scrollPaddingTop = heights.reduce((a, b) => a + b, 8) + "px";
}

function redraw() {
  if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; draw(); }); }
}

function fit(element, height) {
  const ratio = window.devicePixelRatio || 1, width = element.clientWidth;
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  const context = element.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return [context, width];
}

function draw() {
  readColors();
  drawCurves();
  if (!canvas) return;
  const height = Math.max(shownLanes.length, 1) * H;
  canvas.style.height = height + "px";
  const [context, width] = fit(canvas, height), scale = width / (to - from), x = t => (t - from) * scale;
  rowOf = new Array(lanes.length).fill(-1);
  shownLanes.forEach((lane, row) => { rowOf[lane] = row; });
  shownLanes.forEach((lane, row) => drawLane(context, lanes[lane], row * H, width, x));
  drawCalls(context, width, scale, x);
  drawMarks(context, width, height, x);
  drawAxis(width, x);
  const step = (to - from) / 100;
  byId("range").textContent = moment(from, step) + " to " + moment(to, step) + ", " + duration(to - from) + " shown";
}

function drawLane(context, lane, y, width, x) {
  if (lane.k === "process") { context.fillStyle = colors.panel; context.fillRect(0, y, width, H - 1); }
  for (const [begin, end] of lane.s || []) {
    const a = Math.max(x(begin), -2), b = Math.min(x(end < 0 ? line.end : end), width + 2);
    if (b < 0 || a > width) continue;
    context.fillStyle = colors.life; context.fillRect(a, y + 2, Math.max(b - a, 1), H - 5);
    context.strokeStyle = colors["life-line"]; context.strokeRect(a + .5, y + 2.5, Math.max(b - a - 1, 1), H - 6);
  }
  const bins = binsOf(lane);
  if (bins && (lane.k === "objects" || !line.whole)) drawBins(context, lane, bins, y, width, x);
  context.fillStyle = colors.line; context.fillRect(0, y + H - 1, width, 1);
}

function drawBins(context, lane, bins, y, width, x) {
  const step = line.end / line.bins, first = Math.max(0, Math.floor(from / step)), last = Math.min(bins.length - 1, Math.floor(to / step));
  const log = lane.k === "objects" ? v => v / lane.top : v => Math.log1p(v) / Math.log1p(lane.top);
  context.fillStyle = lane.k === "objects" ? colors["life-line"] : colors.bins;
  for (let i = first; i <= last; i++) {
    if (!bins[i]) continue;
    const a = Math.round(x(i * step)), b = Math.round(x((i + 1) * step)), h = Math.max(1, log(bins[i]) * (H - 4));
    context.fillRect(a, y + H - 2 - h, Math.max(b - a, 1), h);
  }
}

function drawCalls(context, width, scale, x) {
  const lastPixel = new Map(), top = line.whole ? 4 : 9;
  for (let i = 0; i < calls.t.length; i++) {
    const begin = calls.t[i], length = calls.d[i] < 0 ? line.end - begin : calls.d[i];
    if (begin > to) break;
    if (begin + length < from) continue;
    const a = Math.max(x(begin), -1), w = Math.min(Math.max(length * scale, 1), width + 2 - a), failed = calls.r[i] !== 0;
    const color = failed ? "failed" : SORTS[calls.sorts[calls.a[i]]];
    const faint = matchApi !== null && matchApi !== calls.a[i];
    context.globalAlpha = faint ? .12 : 1;
    context.fillStyle = colors[color];
    const row = rowOf[calls.l[i]], pixel = Math.round(a * 2);
    if (row >= 0 && (failed || w > 1 || lastPixel.get(row * 8 + calls.sorts[calls.a[i]]) !== pixel || matchApi !== null)) {
      context.fillRect(a, row * H + top, w, H - top - 5);
      lastPixel.set(row * 8 + calls.sorts[calls.a[i]], pixel);
    }
    const stream = calls.s[i] < 0 ? -1 : rowOf[calls.s[i]];
    if (stream >= 0) context.fillRect(a, stream * H + top + 1, Math.max(1.5, Math.min(w, 3)), H - top - 7);
  }
  context.globalAlpha = 1;
}

function drawMarks(context, width, height, x) {
  const labels = [];
  for (const [finding, time, lane, what] of line.marks) {
    const a = x(time), mine = finding === selected, own = SEVERITIES.includes(what), row = lane < 0 ? -1 : rowOf[lane];
    if (a < -5 || a > width + 5 || (findings[finding] && findings[finding].hidden)) continue;
    if (mine) {
      context.strokeStyle = colors.accent; context.lineWidth = 1; context.setLineDash(own ? [] : [3, 3]);
      context.beginPath(); context.moveTo(a, 0); context.lineTo(a, height); context.stroke(); context.setLineDash([]);
    }
    if (row < 0 || !(mine || own)) continue;
    context.fillStyle = mine ? colors.accent : colors[what];
    context.beginPath(); context.moveTo(a - 5, row * H); context.lineTo(a + 5, row * H); context.lineTo(a, row * H + 8); context.fill();
    if (mine) labels.push([own ? "finding " + (finding + 1) : what, a, row * H]);
  }
  drawLabels(context, labels, width);
}

// One below the other where they would overlap.
function drawLabels(context, labels, width) {
  context.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  const drawn = [];
  for (const [text, a, top] of labels) {
    const w = context.measureText(text).width, left = a + w + 12 > width ? a - w - 8 : a + 7;
    let y = top + 2;
    while (drawn.some(each => Math.abs(each[1] - y) < 15 && each[0] < left + w + 4 && left < each[2])) y += 15;
    drawn.push([left - 2, y, left + w + 2]);
    context.fillStyle = colors.bg; context.fillRect(left - 2, y, w + 4, 14);
    context.fillStyle = colors.ink; context.fillText(text, left, y + 11);
  }
}

function drawAxis(width, x) {
  axis.style.width = width + "px";
  const [context] = fit(axis, 18), wanted = (to - from) / Math.max(width / 110, 1);
  let step = Math.pow(10, Math.floor(Math.log10(wanted)));
  step *= wanted / step > 5 ? 10 : wanted / step > 2 ? 5 : wanted / step > 1 ? 2 : 1;
  step = Math.max(step, 1);
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    context.fillStyle = colors.line; context.fillRect(x(t), 12, 1, 6);
    context.fillStyle = colors.dim; context.fillText(moment(t, step), x(t) + 3, 12);
  }
}

function show(begin, end) {
  const least = 100, length = Math.min(Math.max(end - begin, least), line.end);
  from = Math.min(Math.max(begin, 0), line.end - length);
  to = from + length;
  redraw();
}

// The first call often takes most of the time (cuInit): then the timeline begins where something is made or done.
function showWhatMatters() {
  const first = calls.a.findIndex(api => SORTS[calls.sorts[api]] !== "other");
  if (first >= 0 && calls.t[first] > line.end / 2) show(calls.t[first] - (line.end - calls.t[first]) * .02, line.end);
}

function zoom(factor, at = (from + to) / 2) {
  const length = (to - from) * factor, part = (at - from) / (to - from);
  show(at - length * part, at - length * part + length);
}

function move(part) { const by = (to - from) * part; show(from + by, to + by); }

function timeAt(event) {
  const box = canvas.getBoundingClientRect();
  return from + (event.clientX - box.left) / box.width * (to - from);
}

function callAt(lane, time, reach) {
  let best = -1, distance = Infinity;
  for (let i = 0; i < calls.t.length && calls.t[i] <= time + reach; i++) {
    if (calls.l[i] !== lane && calls.s[i] !== lane) continue;
    const end = calls.t[i] + (calls.d[i] < 0 ? line.end : lanes[lane].k === "stream" ? 0 : calls.d[i]);
    const far = time < calls.t[i] ? calls.t[i] - time : Math.max(time - end, 0);
    if (far <= reach && far <= distance) { best = i; distance = far; }
  }
  return best;
}

function markAt(lane, time, reach) {
  const near = line.marks.filter(mark => mark[2] === lane && (SEVERITIES.includes(mark[3]) || mark[0] === selected) && Math.abs(mark[1] - time) <= reach);
  return near.sort((a, b) => Math.abs(a[1] - time) - Math.abs(b[1] - time))[0];
}

function describe(lane, time, reach) {
  const parts = [lanes[lane].n + ", " + moment(time, reach)];
  const i = callAt(lane, time, reach), mark = markAt(lane, time, reach * 1.5);
  if (i >= 0) {
    const took = calls.d[i] < 0 ? "" : ", took " + duration(calls.d[i]);
    parts.push(calls.apis[calls.a[i]] + " #" + calls.n[i] + ": " + calls.results[calls.r[i]] + took + ", entered at " + moment(calls.t[i], reach));
    if (calls.w[i] >= 0) parts.push(calls.places[calls.w[i]]);
    if (lanes[lane].k === "stream" && calls.l[i] >= 0) parts.push("by " + lanes[calls.l[i]].n);
  }
  const bar = (lanes[lane].s || []).find(each => each[0] <= time && (each[1] < 0 || each[1] >= time));
  if (bar) parts.push(bar[2] + " lived from " + moment(bar[0], reach) + (bar[1] < 0 ? " to the end" : " to " + moment(bar[1], reach)));
  const bins = binsOf(lanes[lane]), bin = bins ? bins[Math.floor(time / line.end * line.bins)] : 0;
  if (bin && i < 0) parts.push(bin.toLocaleString("en") + (lanes[lane].k === "objects" ? " at most in this part" : " calls in this part"));
  if (mark) parts.push("finding " + (mark[0] + 1) + ": " + mark[3]);
  return parts.join(" · ");
}

function laneAt(event) {
  const row = Math.floor((event.clientY - canvas.getBoundingClientRect().top) / H);
  return shownLanes[row];
}

function listenToTimeline() {
  let drag = null;
  const reach = () => (to - from) / canvas.clientWidth * 5;
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : .8, timeAt(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => { drag = { x: event.clientX, from, to, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", event => {
    if (drag) {
      const by = (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from);
      if (Math.abs(drag.x - event.clientX) > 3) drag.moved = true;
      if (drag.moved) show(drag.from + by, drag.to + by);
      return;
    }
    const lane = laneAt(event);
    hover.textContent = lane === undefined ? "" : describe(lane, timeAt(event), reach());
  });
  canvas.addEventListener("pointerup", event => {
    const lane = laneAt(event);
    if (drag && !drag.moved && lane !== undefined) {
      const mark = markAt(lane, timeAt(event), reach() * 1.5);
      if (mark && findings[mark[0]]) select(mark[0], true);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", event => zoom(.4, timeAt(event)));
  canvas.addEventListener("keydown", event => {
    const does = { ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6), "0": () => show(0, line.end) }[event.key];
    if (does && !event.ctrlKey && !event.metaKey) { event.preventDefault(); does(); }
  });
  const buttons = { in: () => zoom(.6), out: () => zoom(1 / .6), left: () => move(-.3), right: () => move(.3), all: () => show(0, line.end) };
  for (const button of all("[data-zoom]")) button.addEventListener("click", buttons[button.dataset.zoom]);
}

function locate(index) {
  const marks = line.marks.filter(mark => mark[0] === index);
  if (!canvas || !marks.length) return;
  const times = marks.map(mark => mark[1]), begin = Math.min(...times), end = Math.max(...times), room = Math.max((end - begin) * .1, line.end / 1000, 1000);
  show(begin - room, end + room);
}

// Findings.

function select(index, scroll) {
  if (selected >= 0) findings[selected].classList.remove("selected");
  selected = index;
  const article = findings[index];
  article.classList.add("selected");
  article.querySelector("details").open = true;
  if (scroll) { article.scrollIntoView({ block: "start" }); article.focus({ preventScroll: true }); }
  redraw();
}

function next(step) {
  const visible = findings.map((each, i) => each.hidden ? -1 : i).filter(i => i >= 0);
  if (!visible.length) return;
  const at = visible.indexOf(selected);
  select(visible[at < 0 ? (step > 0 ? 0 : visible.length - 1) : Math.min(Math.max(at + step, 0), visible.length - 1)], true);
}

function listenToFindings() {
  findings.forEach((article, index) => {
    article.addEventListener("click", () => { if (selected !== index) select(index, false); });
    article.querySelector(".locate").addEventListener("click", event => {
      event.stopPropagation();
      select(index, false);
      locate(index);
      byId("timeline").scrollIntoView({ block: "start" });
    });
  });
  if (!canvas) for (const button of all(".locate")) button.hidden = true;
}

// Search and filters.

function applyFilters() {
  const form = byId("filters"), words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const boxes = all("input[name=severity]", form), severities = new Set(boxes.filter(box => box.checked).map(box => box.value));
  const wanted = {};
  for (const choice of all("select", form)) if (choice.value) wanted[choice.name] = choice.value;
  const has = element => { const text = element.textContent.toLowerCase(); return words.every(word => text.includes(word)); };
  for (const article of findings) {
    const own = article.dataset;
    const fits = ["rule", "api", "process", "thread"].every(name => !wanted[name] || wanted[name] === own[name]) && (!wanted.stream || own.stream.split(" ").includes(wanted.stream));
    article.hidden = !(fits && severities.has(own.severity) && has(article));
  }
  const shown = findings.filter(each => !each.hidden).length;
  byId("matching").textContent = shown === findings.length ? "" : shown + " of " + findings.length + " findings match";
  for (const row of all("#object-table tbody tr")) row.hidden = !(has(row) && (!wanted.process || wanted.process === row.dataset.process));
  const fits = lane => (!wanted.process || String(lane.p) === wanted.process) && (!wanted.thread || lane.k !== "thread" || lane.id === wanted.thread) && (!wanted.stream || lane.k !== "stream" || lane.id === wanted.stream);
  shownLanes = lanes.map((_, i) => i).filter(i => fits(lanes[i]));
  names.forEach((name, i) => { name.hidden = !fits(lanes[i]); });
  matchApi = wanted.api ? calls.apis.indexOf(wanted.api) : null;
  redraw();
}

function sortTable(button) {
  const column = Number(button.dataset.column), heading = button.parentElement, table = byId("object-table");
  const numeric = heading.dataset.sort === "number", down = heading.getAttribute("aria-sort") === "descending" || (!numeric && heading.getAttribute("aria-sort") !== "ascending");
  const value = row => numeric ? Number(row.cells[column].dataset.value) : row.cells[column].textContent;
  const rows = all("tbody tr", table).sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? 1 : -1); });
  for (const each of all("th", table)) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "ascending" : "descending");
  table.tBodies[0].append(...rows);
}

// Memory: from the first use to the end.

const SVG = "http://www.w3.org/2000/svg";

function drawCurves() {
  for (const box of all(".curves")) if (!box.firstChild) drawCurve(box, data.memory[Number(box.dataset.index)]);
}

function drawCurve(box, held) {
  const count = held.t.length, sums = held.t.map((_, i) => held.v.reduce((a, each) => a + each[i], 0)), top = sums.reduce((a, b) => Math.max(a, b), 1) * 1.02;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 1000 200");
  svg.setAttribute("preserveAspectRatio", "none");
  const begin = held.t[0], length = Math.max(held.end - begin, 1);
  const x = t => ((t - begin) / length * 1000).toFixed(2), y = v => (200 - v / top * 200).toFixed(2);
  const base = new Array(count).fill(0);
  held.v.forEach((values, place) => {
    const upper = values.map((v, i) => base[i] + v), points = [];
    for (let i = 0; i < count; i++) points.push(x(held.t[i]) + " " + y(upper[i]), x(i + 1 < count ? held.t[i + 1] : held.end) + " " + y(upper[i]));
    for (let i = count - 1; i >= 0; i--) points.push(x(i + 1 < count ? held.t[i + 1] : held.end) + " " + y(base[i]), x(held.t[i]) + " " + y(base[i]));
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", "M" + points.join("L") + "Z");
    path.setAttribute("class", "m" + place % 13);
    svg.append(path);
    values.forEach((v, i) => { base[i] += v; });
  });
  const cursor = document.createElementNS(SVG, "line"), said = document.createElement("span"), high = document.createElement("span");
  cursor.setAttribute("class", "cursor"); cursor.setAttribute("y2", "200"); cursor.setAttribute("visibility", "hidden");
  svg.append(cursor);
  const text = document.createElement("p");
  high.textContent = duration(begin) + " to " + duration(held.end) + ", height " + size(Math.round(top / 1.02)); text.append(high, said); text.className = "said";
  box.append(text, svg);
  const rows = all("tbody tr", box.parentElement);
  box.addEventListener("pointermove", event => {
    const area = svg.getBoundingClientRect(), t = begin + (event.clientX - area.left) / area.width * length;
    let i = held.t.findIndex(each => each > t) - 1;
    if (i === -2) i = count - 1;
    cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t)); cursor.setAttribute("visibility", "visible");
    said.textContent = duration(t) + ": " + size(i < 0 ? 0 : sums[i]);
    rows.forEach((row, place) => { row.title = i < 0 ? "" : size(held.v[place][i]) + " at " + duration(t); });
  });
  box.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); said.textContent = ""; });
}

// Keys.

function onKey(event) {
  const field = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && field) { event.target.blur(); return; }
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const help = byId("help");
  const does = {
    j: () => next(1), k: () => next(-1), "/": () => byId("search").focus(), t: switchTheme, l: () => { if (selected >= 0) findings[selected].querySelector(".locate").click(); },
    "?": () => help.open ? help.close() : help.showModal(),
    Enter: () => { const details = selected >= 0 && document.activeElement === findings[selected] && findings[selected].querySelector("details"); if (details) details.open = !details.open; },
  }[event.key];
  if (!does) return;
  if (event.key !== "Enter") event.preventDefault();
  does();
}

byId("theme").addEventListener("click", switchTheme);
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
byId("filters").addEventListener("input", applyFilters);
byId("filters").addEventListener("submit", event => event.preventDefault());
byId("filters").addEventListener("reset", () => setTimeout(applyFilters));
for (const button of all("#object-table th button")) button.addEventListener("click", () => sortTable(button));
document.addEventListener("keydown", onKey);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("resize", () => { makeRoom(); redraw(); });
window.addEventListener("beforeprint", () => { for (const each of all("details")) each.open = true; });
listenToFindings();
makeRoom();
if (canvas) { listenToTimeline(); showWhatMatters(); }
draw();
root.dataset.ready = "yes";
})();
