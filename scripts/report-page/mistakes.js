// What is wrong with a training script that was captured: on GPUs it would fail, or wait for ever.

const KINDS_OF_MISTAKES = {
  mismatch: "ranks call different collectives, or a message and its receive differ",
  order: "ranks call the same collectives in another order",
  missing: "a rank does not take part in a collective, or in making a group",
  unmatched: "a send without a receive, or a receive without a send",
  "world-size": "groups of other ranks than were started, or a GPU that the server has not",
  "out-of-memory": "a GPU's memory is full",
  died: "a rank failed",
  "unused-parameters": "gradients that DDP waits for never come",
  shapes: "ranks have models of different shapes, or tensors do not fit",
};

// Those that a rank shows by itself.
const ALONE = ["died", "out-of-memory"];

function scriptMistakes() {
  return (Array.isArray(stats.mistakes) ? stats.mistakes : [])
    .filter((row) => row && typeof row === "object");
}

function mistakes() {
  const rows = scriptMistakes();
  if (!rows.length) return;
  const most = 16;
  const ranks = (list) => Array.isArray(list) && list.length
    ? list.slice(0, most).map(String).join(", ")
    + (list.length > most ? " and " + count(list.length - most) + " more" : "") : "\u2013";
  const kind = (name) =>
    element("span", { title: Object.hasOwn(KINDS_OF_MISTAKES, name) ? KINDS_OF_MISTAKES[name]
    : null }, String(name));
  const node = section("mistakes", "Mistakes in the script",
    (rows.length === 1 ? "One mistake" : count(rows.length) + " mistakes")
    + (rows.every((row) => ALONE.includes(row.kind)) ? "" : " found by comparing what the ranks do")
    + ". On GPUs such a job fails, or waits for ever.");
  node.append(wideTable("", ["kind", "ranks", "lines", "what"],
    rows.map((row) => [kind(row.kind), ranks(row.ranks), Array.isArray(row.lines)
      ? row.lines.map(String).join(", ") : "", String(row.text)]), true));
  const failed = data.traceback;
  if (failed && failed.frames.length) {
    node.append(element("h3", {}, "Where the script failed"), element("ol", { class: "traceback" },
      failed.frames.map(([file, line, name, source]) =>
        element("li", {}, element("span", { class: "muted" }, file + ":" + line + ", in " + name),
        element("pre", {}, source)))),
    element("p", { class: "error" }, failed.error));
  }
}

// What was assumed of a recorded step, or not taken as it stands there.
function notes() {
  const told = (stats.trace && Array.isArray(stats.trace.notes) ? stats.trace.notes : [])
    .filter((note) => typeof note === "string");
  if (!told.length) return;
  section("notes", "Notes",
    "What was assumed of the recorded step, or was not taken as it stands there.")
    .append(element("ul", {}, told.map((note) => element("li", {}, note))));
}
