// Weeks of a training job that fails (dlgoodput): where the time went, what failed, what spares
// bring.

const goodputRuns = () => (Array.isArray(stats.goodput_runs) ? stats.goodput_runs : [])
  .filter((run) => run && run.time_s && typeof run.time_s === "object");
const GOODPUT_PARTS = [["useful_s", "work that counts"],
  ["checkpoint_s", "waiting for checkpoints"], ["lost_s", "lost work"],
  ["detection_s", "until a failure is known"],
  ["replacing_s", "until a spare is in place"], ["restart_s", "restart, reading the checkpoint"],
    ["waiting_s", "waiting for a repair"], ["fewer_s", "fewer replicas"]];
const spanOf = (s) => !isNumber(s) ? UNKNOWN : s < 120 ? time(1e6 * s) : s < 7200
  ? three(s / 60) + "\u00a0min" : s < 172800 ? three(s / 3600) + "\u00a0h"
  : three(s / 86400) + "\u00a0days";
const goodputName = (run) => counted(run.gpus, "GPU");

function goodputTiles() {
  const run = goodputRuns()[0];
  if (!run) return [];
  const several = goodputRuns().length > 1 ? " of " + goodputName(run) : "";
  return [tile("Goodput" + several, percent(run.goodput), isNumber(run.goodput_half_width)
    ? "\u00b1 " + percent(run.goodput_half_width, 2) + " (95%), closed form "
    + percent(run.goodput_closed_form) : "closed form " + percent(run.goodput_closed_form)),
    isNumber(run.goodput_low)
      ? tile("How sure", percent(run.goodput_low) + " to " + percent(run.goodput_high),
        "closed form, with the failures of other published jobs") : null,
    tile("Failures", three(run.interruptions), "in " + spanOf(stats.duration_s) + "; one in "
      + spanOf(run.mtbf_s)),
      tile("Checkpoint every", spanOf(run.interval_s), "Daly's optimum "
      + spanOf(run.interval_daly_s)),
    tile("Step", spanOf(run.step_s), String(run.step_from || "")), run.tokens > 0
      ? tile("Tokens", digit(run.tokens / 1e9) + " billion", "trained") : null];
}

function goodputTime() {
  const runs = goodputRuns();
  if (!runs.length) return;
  const used = GOODPUT_PARTS.filter(([key]) => runs.some((run) => run.time_s[key] > 0));
  const share = (run, key) => (run.time_s[key] || 0) / d3.sum(Object.values(run.time_s));
  const fill = (key) => seriesColour(GOODPUT_PARTS.findIndex(([name]) => name === key));
  const node = section("parts", "Where the time went",
    "Mean of the courses: a bar is all of the time.");
  const keys = element("div");
  node.append(keys);
  redraws.push(() => keys.replaceChildren(legend(used.map(([key, text]) => [fill(key), text]))));
  chart(node, "Where the time went: "
    + runs.map((run) => goodputName(run) + ": "
    + used.map(([key, text]) => text + " " + percent(share(run, key))).join(", ")).join("; "),
    (svg, width) => {
    const left = 106, right = 12, bar = 34, each = 46,
      x = d3.scale.linear().domain([0, 1]).range([left, width - right]);
    runs.forEach((run, i) => {
      const row = svg.append("g").attr("transform", `translate(0,${i * each})`);
      row.append("text").attr("x", 0).attr("y", 22).text(goodputName(run));
      let at = 0;
      for (const [key, text] of used) {
        const part = share(run, key), group = row.append("g");
        group.append("rect").attr("x", x(at)).attr("width", Math.max(0, x(at + part) - x(at) - 1))
          .attr("height", bar).style("fill", fill(key));
        if (x(part) - x(0) > 52)
          group.append("text").attr("x", x(at) + 8).attr("y", 22).style("fill", isDark() ? "#10151b"
            : "#fff").style("font-weight", 600).text(percent(part));
        group.append("title").text(text + ": " + percent(part) + ", " + spanOf(run.time_s[key]));
        at += part;
      }
    });
    svg.append("g").attr("class", "axis")
      .attr("transform", `translate(0,${runs.length * each - 8})`)
      .call(niceTicks(x, Math.max(3, width / 130), (v) => percent(v, 0)));
    return runs.length * each + 20;
  });
  node.append(wideTable("", ["part", ...runs.map(goodputName)],
    used.map(([key, text]) => [text,
    ...runs.map((run) => number(percent(share(run, key)) + ", " + spanOf(run.time_s[key])))])));
}

function goodputCauses() {
  const runs = goodputRuns().filter((run) => Array.isArray(run.causes) && run.causes.length);
  if (!runs.length) return;
  const node = section("causes", "What fails");
  for (const run of runs) {
    node.append(wideTable(goodputName(run),
      ["cause", "parts", "one of them fails every", "until it is known", "interruptions"],
      run.causes.map((c) =>
        [String(c.cause), number(count(c.parts)),
        number(isNumber(c.mtbf_s) ? spanOf(c.mtbf_s) : "never"), number(spanOf(c.detection_s)),
        number(three(c.interruptions))])));
  }
}

function goodputChoices() {
  const runs = goodputRuns();
  if (!runs.length) return;
  const node = section("choices", "Checkpoints and spares",
    "Goodput by the closed form. intervals.csv has more intervals.");
  node.append(wideTable("The interval between checkpoints",
    ["", "interval", "Daly", "Young", "goodput", "at half of it", "at double"],
    runs.map((run) => [goodputName(run), number(spanOf(run.interval_s)),
    number(spanOf(run.interval_daly_s)),
    number(spanOf(run.interval_young_s)), number(percent(run.goodput_closed_form)),
      number(percent(run.goodput_half_interval)), number(percent(run.goodput_double_interval))])));
  for (const run of runs.filter((one) => Array.isArray(one.spares) && one.spares.length)) {
    node.append(wideTable("Spare servers, " + goodputName(run),
      ["spares", "waiting for a repair", "goodput"],
      run.spares.map((row) => [number(count(row.spares)), number(percent(row.waiting, 2)),
      number(percent(row.goodput, 2))])));
  }
}
