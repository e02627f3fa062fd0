// Many models on a GPU (dlserve --multiplex, --share-curve, --slices): policies beside one another,
// the best first.

const multiplexRuns = () => (Array.isArray(stats.multiplex) ? stats.multiplex : [])
  .filter((run) => run && Array.isArray(run.models));
const shareCurves = () => (Array.isArray(stats.share_curves) ? stats.share_curves : [])
  .filter((curve) => curve && typeof curve === "object");
const listOf = (value) => (Array.isArray(value) ? value : [])
  .filter((one) => one && typeof one === "object");
const throughputBand = (low, high) => (isNumber(low) && isNumber(high)
  ? three(low) + " to " + three(high) : "none");
const worstModel = (run) => d3.min(run.models, (model) => model.slo_attainment);
// As on the terminal: of each rate most requests in time, then the best of the worst models.
const rankedRuns = () => multiplexRuns().map((run, i) => ({ run, i }))
  .sort((a, b) => a.run.rate_scale - b.run.rate_scale || b.run.slo_attainment - a.run.slo_attainment
  || worstModel(b.run) - worstModel(a.run) || b.run.throughput_per_s - a.run.throughput_per_s || a.i
  - b.i).map(({ run }) => run);
const runName = (run, scaled) => String(run.policy)
  + (scaled ? " at " + percent(run.rate_scale, 0) : "");

// ("ideal" is a bound: nobody can run it.)
function multiplexTiles() {
  const runs = rankedRuns();
  if (!runs.length) return [];
  const best = runs.find((run) => run.policy !== "ideal") || runs[0], models = best.models.length;
  return [tile(runs.length > 1 ? "Best policy"
    : "Policy", String(best.policy), percent(best.slo_attainment) + " of requests in time"),
    tile("Models", count(models), "on " + counted(best.gpus, "GPU")),
      tile("Served", three(best.throughput_per_s) + " requests/s", "while requests arrive, for "
      + time(1e6 * best.duration_s)),
    tile("GPU in use", percent(best.utilization), percent(best.effective_utilization)
      + " needed at least")];
}

// Bars of a share of 1, one a row: [name, share, colour, words].
function shareBars(node, title, rows) {
  chart(node, title, (svg, width) => {
    const left = 150, right = 60, bar = 20, each = 28;
    const x = d3.scale.linear().domain([0, 1]).range([left, width - right]);
    rows.forEach(([name, share, fill, words], i) => {
      const row = svg.append("g").attr("transform", `translate(0,${i * each})`);
      row.append("text").attr("x", 0).attr("y", 15)
        .text(name.length > 22 ? name.slice(0, 21) + "\u2026" : name);
      row.append("rect").attr("x", left).attr("width", Math.max(0, x(share) - left))
        .attr("height", bar).style("fill", fill());
      row.append("text").attr("x", x(share) + 6).attr("y", 15).text(percent(share));
      row.append("title").text(words);
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${rows.length * each})`)
      .call(niceTicks(x, Math.max(3, width / 130), (v) => percent(v, 0)));
    return rows.length * each + 30;
  });
}

function multiplexPolicies() {
  const runs = rankedRuns();
  if (!runs.length) return;
  const scaled = new Set(runs.map((run) => run.rate_scale)).size > 1;
  const node = section("policies", runs.length > 1 ? "Policies, the best first"
    : "The policy", "Requests in time, of all that arrived. \u201cneeded\u201d is the least "
    + "share-time of these batches, what a GPU without waste would use.");
  shareBars(node, "Requests in time: "
    + runs.map((run) => runName(run, scaled) + " " + percent(run.slo_attainment)).join(", "),
    runs.map((run) => [runName(run, scaled), run.slo_attainment || 0, () => run.overloaded
      ? colour("exposed") : seriesColour(0), run.overloaded ? "it cannot keep up"
      : percent(run.utilization) + " in use"]));
  node.append(wideTable("",
    ["policy", ...(scaled ? ["rate"] : []), "GPUs", "asked/s", "served/s", "in time", "worst",
    "in use", "needed", ""],
    runs.map((run) => [String(run.policy), ...(scaled ? [number(percent(run.rate_scale, 0))] : []),
      number(count(run.gpus)),
      number(three(d3.sum(run.models, (model) => model.arrived) / run.duration_s)),
      number(three(run.throughput_per_s)),
      number(percent(run.slo_attainment)), number(percent(worstModel(run))),
        number(percent(run.utilization)), number(percent(run.effective_utilization)), run.overloaded
        ? "cannot keep up" : ""])));
}

function multiplexModels() {
  const runs = rankedRuns().slice(0, 40);
  if (!runs.length) return;
  const scaled = new Set(runs.map((run) => run.rate_scale)).size > 1;
  const node = section("models", "Models",
    "Of each policy; latencies from the arrival to the end of the batch.");
  for (const run of runs) {
    node.append(wideTable(runName(run, scaled),
      ["model", "GPU", "share", "batch", "mean batch", "asked/s", "served/s", "SLO", "in time",
      "p50", "p99"],
      run.models.slice(0, 200)
        .map((m) => [String(m.model), number(count(m.gpu)), number(digit(m.gpu_percent) + "%"),
        number(count(m.batch_limit)), number(three(m.batch_mean)), number(three(m.arrived_per_s)),
        number(three(m.throughput_per_s)),
        number(msTime(m.slo_ms)), number(percent(m.slo_attainment)),
          number(msTime(m.latency_p50_ms)), number(msTime(m.latency_p99_ms))])));
    const placed = run.models.filter((m) => m.on_instance && typeof m.on_instance === "object");
    if (!placed.length) continue;
    node.append(wideTable("Full batches in closed loops",
      ["model", "instance", "processes", "at most/s", "80% band", "latency", "band from"],
      placed.slice(0, 200).map((m) => {
        const on = m.on_instance;
        return [String(m.model), String(on.instance), number(count(on.processes)),
          number(three(on.throughput_closed_per_s)),
          number(throughputBand(on.throughput_low_per_s, on.throughput_high_per_s)),
          number(msTime(on.latency_closed_ms)), String(on.band)];
      })));
  }
}

function multiplexSlices() {
  const points = listOf(stats.slices);
  if (!points.length) return;
  const bands = [...new Set(points.map((point) => String(point.band)))];
  const node = section("slices", "Throughput on MIG instances",
    "Of all processes, in closed loops. Band: " + bands.join("; ") + ".");
  node.append(wideTable("",
    ["model", "instance", "processes", "batch", "throughput/s", "80% band", "latency"],
    points.slice(0, 1000).map((p) => [String(p.model), String(p.instance),
      number(count(p.processes)), number(count(p.batch)), number(three(p.throughput_per_s)),
      number(throughputBand(p.throughput_low_per_s, p.throughput_high_per_s)),
      number(msTime(p.latency_ms))])));
}

function multiplexSlicesCompared() {
  const rows = listOf(stats.slices_compared);
  if (!rows.length) return;
  const node = section("slices-compared", "Measured throughputs on MIG instances",
    "Computed over measured; compared_slices.csv has every row.");
  node.append(wideTable("",
    ["model", "rows", "median error", "bias", "median error of latency", "in the band"],
    rows.map((r) => [String(r.model), number(count(r.rows)),
      number(percent(r.throughput_median_error)), number(percent(r.throughput_bias)),
      number(isNumber(r.latency_median_error) ? percent(r.latency_median_error) : "-"),
      number(r.rows_with_band ? count(r.rows_in_band) + " of " + count(r.rows_with_band)
        : "-")])));
}

function multiplexCurves() {
  const curves = shareCurves();
  if (!curves.length) return;
  const node = section("curves", "Latency against the share of a GPU",
    "curve.csv has every point. Knee: from there 10% more of the GPU bring under 5% of the "
    + "latency at 10%.");
  node.append(wideTable("",
    ["model", "batch", "knee", "latency there", "flat from", "on a whole GPU", "from"],
    curves.map((c) => [String(c.model), number(count(c.batch)),
    number(isNumber(c.knee_percent) ? digit(c.knee_percent) + "%" : "none"),
    number(msTime(c.knee_latency_ms)),
      number(isNumber(c.flat_percent) ? digit(c.flat_percent) + "%" : "none"),
      number(msTime(c.whole_latency_ms)), String(c.source)])));
}
