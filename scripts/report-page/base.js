// What all sections share: the data, numbers for people, elements, tooltips, the colour scheme.
// Text of the run (names, messages) only ever becomes text nodes.

const data = JSON.parse(document.getElementById("data").textContent);
const meanings = JSON.parse(document.getElementById("meanings").textContent);
const stats = data.stats;
// All sections count time from one moment, in us of the simulation: where measuring began, behind
// the warm-up; with recovery from the run's beginning, as its failures do.
const clockZero = stats.recovery || !(stats.measured_from_us > 0) ? 0 : stats.measured_from_us;
const clockBegin = clockZero ? "measuring began" : "the run began";
const clockName = "time since " + clockBegin;
const redraws = []; // called when the width or the colours change

// ---- numbers

// What is no number is not known, and never stops the page.
const isNumber = (value) => typeof value === "number" && isFinite(value);
const UNKNOWN = "\u2013";
const withSi = (value, units, digits) => {
  let i = 0;
  while (i + 1 < units.length && Math.abs(value) >= 999.5) { value /= 1000; i++; }
  return digit(value, digits) + "\u00a0" + units[i];
};
const digit = (value, digits = 3) => {
  if (!isNumber(value)) return UNKNOWN;
  if (value === 0) return "0";
  const places = Math.max(0, digits - 1 - Math.floor(Math.log(Math.abs(value)) / Math.LN10 + 1e-9));
  return value.toFixed(Math.min(places, 6)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
};
// Three digits, as the terminal has them, zeros too: 11.0 ms, 9.00x; the ticks of an axis go
// without.
const three = (value) => {
  if (!isNumber(value)) return UNKNOWN;
  const exponent = value === 0 ? 0 : Number(value.toExponential(2).split("e")[1]);
  return value === 0 ? "0" : value.toFixed(Math.min(6, Math.max(0, 2 - exponent)));
};
const trimmed = (text) => String(text).replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");
const time = (us, digits) => {
  if (!isNumber(us)) return UNKNOWN;
  const units = ["ns", "\u00b5s", "ms", "s"];
  let i = 1, value = us;
  if (us !== 0 && Math.abs(us) < 1) { i = 0; value *= 1000; }
  while (i > 0 && i < 3 && Math.abs(value) >= 999.5) { value /= 1000; i++; }
  return (digits === undefined ? three(value) : digit(value, digits)) + "\u00a0" + units[i];
};
const bytes = (n) => !isNumber(n) ? UNKNOWN : withSi(n, ["B", "kB", "MB", "GB", "TB", "PB"]);
// Memory, in the unit of PyTorch and nvidia-smi, as the terminal has it.
const memorySize = (n) => {
  if (!isNumber(n)) return UNKNOWN;
  const power = [3, 2, 1].find((e) => n >= Math.pow(1024, e)) || 0;
  return (n / Math.pow(1024, power))
    .toFixed(power === 0 || (power < 3 && n / Math.pow(1024, power) >= 100) ? 0 : 1) + "\u00a0"
    + ["B", "KiB", "MiB", "GiB"][power];
};
const longestQueue = (net) => "longest queue"
  + (net.queue_peaks ? "" : " at the end of an interval");
// Sizes of one axis are told in KiB, MiB, GiB if all of them are whole KiB (or less than one), as
// in pictures of scripts/plot.
const areBinary = (sizes) => sizes.some((n) => n >= 1024)
  && sizes.every((n) => n < 1024 || n % 1024 === 0);
const sizeIn = (binary) => (n) => {
  if (!binary || !isNumber(n)) return bytes(n);
  const power = [3, 2, 1].find((e) => n >= Math.pow(1024, e) * 0.9995) || 0;
  return digit(n / Math.pow(1024, power), n >= 1000 * Math.pow(1024, power) ? 4 : 3) + "\u00a0"
    + ["B", "KiB", "MiB", "GiB"][power];
};
const sizeTicks = ([low, high], room, binary) => {
  if (!binary) return logTicks([low, high], room);
  const first = Math.ceil(Math.log(low) / Math.LN2 - 1e-6),
    last = Math.floor(Math.log(high) / Math.LN2 + 1e-6),
    every = Math.max(1, Math.ceil((last - first) / Math.max(1, room)));
  return d3.range(first, last + 1, every).map((e) => Math.pow(2, e));
};
const rate = (gbps) => digit(gbps, 4) + "\u00a0Gb/s";
const count = (n) => !isNumber(n) ? UNKNOWN
  : String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const counted = (n, what) => count(n) + " " + what + (n === 1 ? "" : "s");
const percent = (share, places = 1) => !isNumber(share) ? UNKNOWN
  : (100 * share).toFixed(places) + "%";

// ---- elements

function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [event, listener] of Object.entries(value))
      node.addEventListener(event, listener);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child); // strings become text
  }
  return node;
}

const SHORT = { summary: "Summary", mistakes: "Mistakes", notes: "Notes", timeline: "Timeline",
  critical: "Critical path", topology: "Network", balance: "Link choice",
  bysize: "Slowdown by size", kinds: "Fairness", sizes: "Sizes", classes: "Classes",
  completion: "Completion times",
  why: "Where the time went", ports: "Queues and pauses",
  objectives: "Objectives", latency: "Latencies", load: "Queue and KV",
    parts: "Where the time went", rates: "Rates", slowest: "Slowest requests",
  policies: "Policies", models: "Models", curves: "Curves", causes: "What fails",
    choices: "Checkpoints and spares", strategies: "Strategies",
  staleness: "Staleness", stages: "Stages", memory: "Memory", collectives: "Collectives",
    configuration: "Configuration", numbers: "Every number",
  plans: "Step against memory", ranking: "Best layouts", flags: "Flags" };

function section(id, title, introduction) {
  const node = element("section", { id, "aria-labelledby": id + "-title" },
    element("h2", { id: id + "-title" }, title),
    introduction ? element("p", {}, introduction) : null);
  (folded || document.getElementById("main")).append(node);
  const link = element("a", { href: "#" + id }, SHORT[id]);
  link.addEventListener("click", () => openFor("#" + id));
  document.getElementById("sections").append(element("li", {}, link));
  return node;
}

// Sections from now on stand in a box that is closed at first, until unfold(). Pictures in it are
// drawn when it opens.
let folded = null;
function foldInto(id, title, open) {
  folded = element("details", { id, class: "fold", open }, element("summary", {}, title));
  folded.addEventListener("toggle", redrawAll);
  document.getElementById("main").append(folded);
}
function unfold() {
  folded = null;
}
// A link into a box that is closed opens it; a link to a section, those inside the section.
function openFor(hash) {
  const target = hash.length > 1 ? document.getElementById(hash.slice(1)) : null;
  if (!target) return;
  const boxes = [target.closest("details.fold"), ...target.querySelectorAll("details.fold")];
  boxes.forEach((box) => { if (box) box.open = true; });
}

function swatch(colour) {
  const node = element("span", { class: "swatch", "aria-hidden": "true" });
  node.style.background = colour;
  return node;
}

function legend(entries) {
  return element("ul", { class: "legend" },
    entries.map(([colour, text]) => element("li", {}, swatch(colour), text)));
}

// rows: arrays of cells; a cell is text, a node or {number}. In a narrow window each row is a list
// of its own, and a cell brings the name of its column along.
function table(caption, head, rows) {
  const cell = (value, i) => value && value.number !== undefined && !(value instanceof Node)
    ? element("td", { class: "number", "data-head": head[i] }, value.number)
    : element("td", { "data-head": head[i] }, value);
  return element("table", {}, caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, head.map((text, i) => element("th",
      { scope: "col", class: rows.length && rows[0][i] && rows[0][i].number !== undefined ? "number"
        : null }, text)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell)))));
}
// What keeps a port from sending: pauses, or the credits that InfiniBand's lanes wait for.
const heldUp = () => stats.credits ? "without credits" : "paused";
const number = (text) => ({ number: text });
// In a narrow window a table scrolls by itself, and the page does not.
const wideTable = (caption, head, rows, tall) =>
  element("div", { class: tall ? "wide tall" : "wide", tabindex: 0, role: "region",
  "aria-label": caption || head.join(", ") }, table(caption, head, rows));

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
// Of a pipeline GPUs wait for another stage; else they wait for the slowest, or for data.
// Of a recording that is what the host does, and kernels beside the default stream.
const idleName = stats.bubble_time_us > 0 ? "idle (bubble, waiting)"
  : stats.host_time_us > 0 && stats.trace ? "host, other streams, idle" : "idle";
// A rank that has entered a collective waits there for the slowest one. Until when calls.log does
// not tell: it has the kind of a collective's group, and not whose group it is.
const exposedName = "exposed communication, waiting for slower ranks included";
const heldName = "held up by a checkpoint or a recovery";
const memoryName = "loads and stores beyond the GPU alone";
const isDark = () => document.documentElement.dataset.theme === "dark";
// Eight colours that are told apart on white and on dark, and by most of those who see fewer of
// them. More than eight are told apart by hue alone, a golden angle from one to the next.
const seriesColour = (i) => i >= 8
  ? `hsl(${Math.round(i * 137.508) % 360}, 70%, ${(isDark() ? 72 : 34) + 8 * (i % 2)}%)` : (isDark()
  ? ["#6fa8ff", "#ffa657", "#4fd1b5", "#ff7b9c", "#c9a2ff", "#e3d26f", "#8bd3ff", "#d2a37c"]
  : ["#2766c8", "#d4610f", "#12826f", "#c2255c", "#7a45c7", "#8a7a00", "#0b86a8", "#7a4a2b"])[i];
// Utilization: quiet, then from cold to hot.
const heat = (share) => d3.scale.linear().domain([0, 0.02, 0.3, 0.55, 0.8, 1]).clamp(true)
  .range(isDark() ? ["#4d5a68", "#4f83cc", "#37b8b0", "#e8d44d", "#ff9a3c", "#ff4d4d"]
    : ["#b9c3ce", "#5b8fd6", "#1f9e98", "#e0b400", "#e8730c", "#c81e1e"])(share);

// ---- tooltip: a title and lines of [what, value]

const tooltip = document.getElementById("tooltip");
const live = document.getElementById("live");

function showTooltip(x, y, title, lines) {
  tooltip.replaceChildren(element("strong", {}, title), table(null, [], lines));
  tooltip.querySelector("thead").remove();
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = Math.max(4, x + 16 + box.width > innerWidth ? x - 16 - box.width
    : x + 16) + "px";
  tooltip.style.top = Math.max(4, y + 16 + box.height > innerHeight ? y - 12 - box.height
    : y + 16) + "px";
}
function hideTooltip() { tooltip.hidden = true; }
function say(title, lines) { live.textContent = title + ". "
  + lines.map((line) => line.join(": ")).join("; "); }
// A key may itself scroll what it moves in: then the tooltip it has brought stays.
let lastKey = -Infinity;
document.addEventListener("keydown", (event) => {
  lastKey = performance.now();
  if (event.key === "Escape") hideTooltip();
}, true);
document.addEventListener("scroll",
  () => { if (performance.now() - lastKey > 300) hideTooltip(); }, true);

// ---- charts

// A single tick tells no scale: more are asked for until there are two.
function ticksOf(scale, n) {
  let many = n;
  while (many < 4 * n + 8 && scale.ticks(many).length < 2) many += 1;
  return many;
}
const niceTicks = (scale, n, format) => d3.svg.axis().scale(scale).ticks(ticksOf(scale, n))
  .tickFormat(typeof format === "function" ? (v) => trimmed(format(v)) : format).tickSize(5)
  .tickPadding(5);

// A chart is drawn anew when the width changes: draw(svg, width) returns its height.
function chart(parent, label, draw, attributes) {
  const box = element("div", { class: "chart" });
  parent.append(box);
  const redraw = () => {
    const width = box.clientWidth;
    if (!width) return;
    const focused = box.contains(document.activeElement);
    d3.select(box).select("svg").remove();
    const svg = d3.select(box).append("svg").attr("role", "img").attr("aria-label", label);
    for (const [key, value] of Object.entries(attributes || {})) svg.attr(key, value);
    try {
      svg.attr("height", draw(svg, width)).attr("width", width);
    } catch (error) { // a picture of numbers that somebody has changed
      svg.remove();
      box.replaceChildren(element("p", {}, "This picture cannot be drawn: "
        + String(error.message)));
    }
    if (!svg.node().isConnected) return;
    if (focused) svg.node().focus();
  };
  redraws.push(redraw);
  return box;
}

// What the curves of a chart are at a place along x, which the mouse or the arrow keys choose.
// read(x) gives the place taken, a title and lines of [what, value]; next(step) the place one step
// on.
function readAlong(svg, x, { left, top, width, height, markTop = top }, read, next) {
  const mark = svg.append("line").attr("class", "mark").attr("y1", markTop).attr("y2", top + height)
    .style("display", "none");
  const hide = () => { mark.style("display", "none"); hideTooltip(); };
  const showAt = (wanted, clientX, clientY) => {
    const [place, title, lines] = read(wanted);
    mark.style("display", null).attr("x1", x(place)).attr("x2", x(place));
    showTooltip(clientX, clientY, title, lines);
    return [title, lines];
  };
  svg.append("rect").attr("x", left).attr("y", top).attr("width", Math.max(0, width))
    .attr("height", height).style("fill", "transparent")
    .on("mousemove", function () { showAt(x.invert(d3.mouse(this)[0]), d3.event.clientX,
    d3.event.clientY); })
    .on("mouseleave", hide);
  svg.on("keydown", () => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[d3.event.key];
    if (!step) return;
    d3.event.preventDefault();
    const box = svg.node().getBoundingClientRect(), wanted = next(step);
    say(...showAt(wanted, box.left + x(wanted), box.top + 60));
  }).on("blur", hide);
}

// Ticks of a logarithmic axis: 1, 2, 5 where there is room.
function logTicks([low, high], room) {
  const decades = Math.log(high / low) / Math.LN10;
  // Between 1 and 2, and 5 and 10, there is least room: 0.301 of a decade.
  const steps = decades * 4 <= room ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / room));
  const ticks = [];
  for (let e = Math.floor(Math.log(low) / Math.LN10);
  e <= Math.ceil(Math.log(high) / Math.LN10); e++) {
    if (steps.length === 1 && ((e % every) + every) % every) continue;
    for (const step of steps) {
      const value = step * Math.pow(10, e);
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

// Ticks of a logarithmic axis of so many pixels, at least three: 1, 10; or 1, 2, 5; or equal steps
// of 1, 2 or 5 below a decade. None is nearer than `apart` pixels to the one before.
function roundTicks([low, high], pixels, apart) {
  const decades = Math.log(high / low) / Math.LN10, gap = apart / Math.max(1, pixels) * decades;
  const far = (ticks) =>
    ticks.reduce((kept, v) => kept.length && Math.log(v / kept[kept.length - 1]) / Math.LN10 < gap
    ? kept : kept.concat([v]), []);
  const tens = far(logTicks([low, high], decades)), steps = logTicks([low, high], Infinity);
  if (tens.length >= 3 && 0.301 < gap) return tens;
  if (steps.length >= 3) return far(steps);
  const even = d3.range(4, 12)
    .map((n) => far(d3.scale.linear().domain([low, high]).ticks(n)
    .filter((v) => v >= low && v <= high)));
  return even.find((ticks) => ticks.length >= 3)
    || d3.entries(even).sort((a, b) => b.value.length - a.value.length)[0].value;
}

// ---- colour scheme: the system's, until the button says otherwise

const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
function applyTheme() {
  const dark = chosenTheme === null ? systemDark.matches : chosenTheme === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  themeButton.textContent = dark ? "Light colours" : "Dark colours";
  themeButton.setAttribute("aria-pressed", String(dark));
}
themeButton.addEventListener("click",
  () => { chosenTheme = isDark() ? "light" : "dark"; applyTheme(); redrawAll(); });
systemDark.addEventListener("change", () => { applyTheme(); redrawAll(); });
applyTheme();

let redrawTimer = 0;
let lastWidth = innerWidth;
function redrawAll() { redraws.forEach((redraw) => redraw()); }
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  clearTimeout(redrawTimer);
  redrawTimer = setTimeout(redrawAll, 100);
});
