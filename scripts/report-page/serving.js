// Answers of a served model (dlserve): latencies, objectives, queues and KV, where the time of GPUs
// went.

const serving = stats.serving && typeof stats.serving === "object" ? stats.serving : null;
const msTime = (ms) => isNumber(ms) ? time(1000 * ms) : UNKNOWN;
// In the order of pools[].time_s.
const SERVING_PARTS = [["products_s", "matrix products"], ["attention_s", "attention"],
  ["tensor_s", "tensor parallel collectives"],
  ["pipeline_s", "waiting for a pipeline stage"], ["experts_s", "expert dispatch and combine"],
    ["kv_s", "waiting for KV"],
  ["draft_s", "draft model"], ["host_s", "host: scheduling, sampling, launches"],
    ["idle_s", "idle: no request"],
  ["recomputed_s", "tokens of preempted requests again"]];
const servingColour = (key) => key === "idle_s" ? colour("idle")
  : seriesColour(SERVING_PARTS.findIndex(([name]) => name === key));
const poolName = (pool) => pool.role === "both" ? "all instances" : String(pool.role);

function servingWords() {
  if (!serving) return [];
  const pools = Array.isArray(serving.pools) ? serving.pools : [];
  return [[serving.gpu, serving.dtype].filter((word) => word).join(" "),
    pools.map((pool) => counted(pool.instances, (pool.role === "both" ? "" : pool.role + " ")
      + "instance")).join(" and ")].filter((word) => word);
}

function servingTiles() {
  if (!serving) return [];
  const latency = (name, of, what) => of
    ? tile(name + " p99", msTime(of.p99), "p50 " + msTime(of.p50) + ", mean " + msTime(of.mean)
    + "; " + what) : null;
  const slo = serving.slo;
  const bands = Array.isArray(serving.compared_with) ? serving.compared_with : [];
  const sure = (band) => {
    const value = (end) => band.metric === "output tokens/s" ? three(end) : msTime(end);
    return tile("How sure, " + band.metric, isNumber(band.low)
      ? value(band.low) + " to " + value(band.high) : UNKNOWN,
    isNumber(band.low) ? bandWords(band) : "no rows like this were compared");
  };
  return [tile("Requests", count(serving.answered) + " of " + count(serving.requests), "answered; "
    + count(serving.measured) + " measured"),
    latency("TTFT", serving.ttft_ms, "from the arrival to the first token"),
      latency("TPOT", serving.tpot_ms, "a token after the first"),
    latency("End to end", serving.e2e_ms, "to the last token"),
    tile("Throughput", digit(serving.output_tokens_per_s, 4) + " tokens/s",
      three(serving.requests_per_s) + " requests/s; " + three(serving.output_tokens_per_s_per_gpu)
      + " tokens/s a GPU"),
    ...bands.map(sure),
    slo ? tile("SLO met", percent(slo.attainment), "of requests; goodput "
      + three(slo.goodput_per_s) + " requests/s") : null,
    tile("In the system", three(serving.in_system_mean), "requests on average, "
      + count(serving.in_system_peak) + " at most"),
    tile("Preemptions", count(serving.preemptions), "requests that lost their KV blocks"),
    isNumber(serving.dollars_per_million_tokens)
      ? tile("Cost", "$" + serving.dollars_per_million_tokens.toFixed(2),
      "a million output tokens") : null];
}

function servingObjectives() {
  if (!serving) return;
  const slo = serving.slo, pools = Array.isArray(serving.pools) ? serving.pools : [];
  const node = section("objectives", "Objectives and limits");
  if (isNumber(serving.arrives_per_s)) {
    node.append(element("div", { class: "banner note", id: "overload" },
      element("strong", {}, "The instances cannot keep up"),
      three(serving.arrives_per_s) + " requests/s arrive, " + three(serving.answers_per_s)
        + " begin."));
  }
  if (serving.too_short === true) {
    node.append(element("div", { class: "banner note", id: "too-short" },
      element("strong", {}, "Too short for a steady state"),
      "Rates count the whole run, its begin and its end. More requests (--count) give those of a "
        + "steady state."));
  }
  if (slo) {
    const rows = [["TTFT", slo.ttft_ms, slo.ttft_attainment, serving.ttft_ms],
      ["TPOT", slo.tpot_ms, slo.tpot_attainment, serving.tpot_ms],
      ["End to end", slo.e2e_ms, slo.e2e_attainment, serving.e2e_ms]]
      .filter(([, goal]) => isNumber(goal));
    node.append(wideTable("Requests that meet their objectives"
      + (slo.undecided > 0
      ? "; " + count(slo.undecided) + " were not decided at the end of the run" : ""),
      ["objective", "at most", "met by", "p50", "p99"],
      [...rows.map(([name, goal, share, of]) => [name, number(msTime(goal)), number(percent(share)),
        number(of ? msTime(of.p50) : UNKNOWN), number(of ? msTime(of.p99) : UNKNOWN)]),
        ["all of them", number(""), number(percent(slo.attainment)), number(""), number("")]]));
  }
  node.append(wideTable("Pools",
    ["pool", "instances", "GPUs", "limited by", "requests in an iteration", "KV in use, mean",
    "KV in use, peak", "preemptions"],
    pools.map((pool) => [poolName(pool), number(count(pool.instances)), number(count(pool.gpus)),
      String(pool.limited_by || UNKNOWN), number(three(pool.batch_mean)),
      number(percent(pool.kv_mean)), number(percent(pool.kv_peak)),
        number(count(pool.preemptions))])));
}

function servingLatency() {
  const of = data.serving && data.serving.latencies;
  if (!of || !Object.keys(of).length) return;
  const node = section("latency", "Latencies",
    "Of measured requests that were answered. The scale of shares is stretched towards 100%, so "
    + "that the tail can be seen. "
    + "Dotted lines are objectives (SLO). Arrow keys read the curves.");
  const two = element("div", { class: "two" }), slo = serving.slo || {};
  node.append(two);
  for (const [name, title, label] of [["ttft", "TTFT", "time to the first token"],
    ["tpot", "TPOT", "mean time of a token after the first"],
    ["e2e", "End to end", "time from the arrival to the last token"]]) {
    if (!of[name]) continue;
    const quantiles = serving[name + "_ms"];
    distribution(two, { [title]: of[name] }, title, quantiles
      ? Object.fromEntries(Object.entries(quantiles).map(([key, ms]) => [key, 1000 * ms]))
      : null, (us) => time(us), label,
      { what: "requests", colourOf: () => seriesColour(0), mark: isNumber(slo[name + "_ms"])
        ? 1000 * slo[name + "_ms"] : null, markName: "SLO" });
  }
}

// Where the axis of KV ends, so that small shares are seen.
const kvTop = (most) => [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4,
  0.5, 0.6, 0.8].find((top) => most > 0 && most <= 0.97 * top) || 1;
const kvPercent = (share) => trimmed(percent(share, 2));

function servingLoad() {
  const load = data.serving && data.serving.load;
  if (!load) return;
  const names = Object.keys(load.instances), end = load.end_us;
  const node = section("load", "Queue and KV over time",
    "Of each instance: requests that wait, requests that run, and the share of KV blocks in use. "
    + "The scales are the same in all rows; values are the largest of "
    + "each " + time(end / 600) + ". Arrow keys read the values."
    + (load.left_out > 0 ? " " + counted(load.left_out, "more instance") + " left out." : ""));
  const keys = element("div");
  node.append(keys);
  const fullest = kvTop(d3.max(names, (name) => d3.max(load.instances[name], (p) => p[3])));
  redraws.push(() =>
    keys.replaceChildren(legend([[seriesColour(1), "waiting"], [seriesColour(0), "running"],
    [seriesColour(2), "KV blocks in use"
      + (fullest < 1 ? ", axis to " + kvPercent(fullest) : "")]])));
  const most = Math.max(1,
    d3.max(names, (name) => d3.max(load.instances[name], (p) => Math.max(p[1], p[2]))));
  let cursor = null;
  chart(node, "Queue and KV over time", (svg, width) => {
    svg.attr("tabindex", 0).attr("id", "load-chart");
    const left = 62, right = 12, area = 76, strip = 34, each = 26 + area + strip + 32, height = each
      * names.length + 40;
    const x = d3.scale.linear().domain([0, end]).range([left, width - right]);
    const y = d3.scale.linear().domain([0, most]).nice(4).range([area, 0]),
      kv = d3.scale.linear().domain([0, fullest]).range([strip, 0]);
    svg.append("g").attr("class", "grid").attr("transform", `translate(0,${height - 40})`)
      .call(niceTicks(x, width / 130, "").tickSize(-(height - 40)));
    const line = (scale, at) => d3.svg.line().x((p) => x(p[0])).y((p) => scale(p[at]))
      .interpolate("step-after");
    names.forEach((name, i) => {
      const points = load.instances[name]
        .concat([[end, ...load.instances[name][load.instances[name].length - 1].slice(1)]]);
      const row = svg.append("g").attr("class", "instance")
        .attr("transform", `translate(0,${i * each + 26})`);
      row.append("text").attr("x", 0).attr("y", -12).style("font-weight", 600).text(name);
      row.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
        .call(d3.svg.axis().scale(y).orient("left").ticks(ticksOf(y, 3)).tickSize(4)
        .tickFormat(count));
      [[2, 0], [1, 1]].forEach(([at, shade]) => row.append("path").attr("class", "curve").attr("d",
        line(y, at)(points)).style("stroke", seriesColour(shade)).style("stroke-width", 1.5));
      const low = row.append("g").attr("transform", `translate(0,${area + 20})`);
      low.append("path")
        .attr("d", d3.svg.area().x((p) => x(p[0])).y0(strip).y1((p) => kv(p[3]))
        .interpolate("step-after")(points)).style("fill", seriesColour(2)).style("opacity", 0.55);
      low.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
        .call(d3.svg.axis().scale(kv).orient("left").tickValues([0, fullest]).tickSize(4)
        .tickFormat(kvPercent));
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 40})`)
      .call(niceTicks(x, width / 130, (us) => time(us)));
    svg.append("text").attr("class", "muted").attr("x", width - right).attr("y", height - 4)
      .attr("text-anchor", "end").text("time since the run began");
    readAlong(svg, x, { left, top: 0, width: width - left - right, height: height - 40,
      markTop: 8 }, (us) => {
      cursor = Math.max(0, Math.min(end, us));
      return [cursor, "at " + time(cursor, 4), names.map((name) => {
        const points = load.instances[name],
          p = points[d3.bisector((one) => one[0]).right(points, cursor) - 1] || [0, 0, 0, 0];
        return [name, count(p[1]) + " wait, " + count(p[2]) + " run, KV " + percent(p[3])];
      })];
    }, (step) => cursor === null ? 0 : cursor + step * end / 60);
    return height;
  });
}

function servingTime() {
  const pools = (serving && Array.isArray(serving.pools) ? serving.pools : [])
    .filter((pool) => pool.time_s && d3.sum(Object.values(pool.time_s)) > 0);
  if (!pools.length) return;
  const used = SERVING_PARTS.filter(([key]) => pools.some((pool) => pool.time_s[key] > 0));
  const node = section("parts", "Where the time of GPUs went",
    "Of each pool, mean of its instances: a bar is the whole run.");
  const keys = element("div");
  node.append(keys);
  redraws.push(() =>
    keys.replaceChildren(legend(used.map(([key, text]) => [servingColour(key), text]))));
  const share = (pool, key) => (pool.time_s[key] || 0) / d3.sum(Object.values(pool.time_s));
  chart(node, "Where the time of GPUs went: "
    + pools.map((pool) => poolName(pool) + ": "
    + used.map(([key, text]) => text + " " + percent(share(pool, key))).join(", ")).join("; "),
    (svg, width) => {
    const left = 106, right = 12, bar = 34, each = 46;
    const x = d3.scale.linear().domain([0, 1]).range([left, width - right]);
    pools.forEach((pool, i) => {
      const row = svg.append("g").attr("transform", `translate(0,${i * each})`);
      row.append("text").attr("x", 0).attr("y", 22).text(poolName(pool));
      let at = 0;
      for (const [key, text] of used) {
        const part = share(pool, key), group = row.append("g");
        group.append("rect").attr("x", x(at)).attr("width", Math.max(0, x(at + part) - x(at) - 1))
          .attr("height", bar).style("fill", servingColour(key));
        if (x(part) - x(0) > 52) {
          group.append("text").attr("x", x(at) + 8).attr("y", 22).style("fill", key === "idle_s"
            ? colour("text") : isDark() ? "#10151b"
            : "#fff").style("font-weight", 600).text(percent(part));
        }
        group.append("title")
          .text(text + ": " + percent(part) + ", " + time(1e6 * pool.time_s[key]));
        at += part;
      }
    });
    svg.append("g").attr("class", "axis")
      .attr("transform", `translate(0,${pools.length * each - 8})`)
      .call(niceTicks(x, Math.max(3, width / 130), (v) => percent(v, 0)));
    return pools.length * each + 20;
  });
  node.append(element("details", {}, element("summary", {}, "As a table"),
    wideTable("", ["part", ...pools.map(poolName)],
    used.map(([key, text]) =>
      [text, ...pools.map((pool) =>
      number(percent(share(pool, key)) + ", " + time(1e6 * pool.time_s[key])))]))));
}

// How far the best rate spreads over seeds.
function seedWords() {
  const rates = (Array.isArray(serving.best_rates) ? serving.best_rates : [])
    .map((one) => one.best_rate_per_s).filter(isNumber);
  return rates.length > 1 ? " With " + rates.length + " seeds it is " + three(d3.min(rates))
    + " to " + three(d3.max(rates)) + "." : "";
}

function servingRates() {
  const points = (serving && Array.isArray(serving.rates) ? serving.rates : [])
    .filter((point) => isNumber(point.rate_per_s)).sort((a, b) => a.rate_per_s - b.rate_per_s);
  if (!points.length) return;
  const best = serving.best_rate_per_s, wanted = serving.wanted_attainment;
  const node = section("rates", "Rates that were tried", isNumber(wanted)
    ? (isNumber(best) ? three(best) + " requests/s is the largest that meets the SLO for "
    : "None meets the SLO for ") + percent(wanted, 0) + " of requests." + seedWords() : "");
  const known = points.filter((point) => isNumber(point.attainment));
  if (known.length > 1) {
    chart(node, "Requests that meet the SLO over the rate", (svg, width) => {
      const left = 62, right = 16, top = 24, bottom = 46, height = 240, floor = height - bottom;
      const x = d3.scale.linear().domain([0, d3.max(known, (p) => p.rate_per_s)]).nice(5)
        .range([left, width - right]);
      const y = d3.scale.linear().domain([0, 1]).range([floor, top]);
      valueAxis(svg, y, [left, width - right], null, (v) => percent(v, 0));
      svg.append("g").attr("class", "axis").attr("transform", `translate(0,${floor})`)
        .call(niceTicks(x, width / 90, (v) => digit(v)));
      svg.append("text").attr("class", "muted").attr("x", (left + width - right) / 2)
        .attr("y", floor + 38).attr("text-anchor", "middle").text("requests/s that arrive");
      svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12)
        .text("requests that meet the SLO");
      if (isNumber(wanted))
        svg.append("line").attr("class", "mark").attr("x1", left).attr("x2", width - right)
          .attr("y1", y(wanted)).attr("y2", y(wanted));
      svg.append("path").attr("class", "curve")
        .attr("d", d3.svg.line().x((p) => x(p.rate_per_s)).y((p) => y(p.attainment))(known))
        .style("stroke", seriesColour(0));
      svg.append("g").selectAll("circle").data(known).enter().append("circle")
        .attr("cx", (p) => x(p.rate_per_s)).attr("cy", (p) => y(p.attainment)).attr("r", 4)
        .style("fill", (p) => p.rate_per_s === best ? seriesColour(1) : seriesColour(0))
        .on("mousemove", (p) =>
        showTooltip(d3.event.clientX, d3.event.clientY, three(p.rate_per_s) + " requests/s",
        [["meet the SLO", percent(p.attainment)], ["TTFT p99", msTime(p.ttft_p99_ms)],
        ["TPOT p99", msTime(p.tpot_p99_ms)]]))
        .on("mouseleave", hideTooltip);
      return height;
    });
  }
  node.append(wideTable("",
    ["requests/s", "answered/s", "tokens/s", "SLO met", "TTFT p50", "TTFT p99", "TPOT p50",
    "TPOT p99", "KV peak", ""],
    points.map((p) => [number(three(p.rate_per_s)), number(three(p.requests_per_s)),
      number(digit(p.output_tokens_per_s, 4)), number(percent(p.attainment)),
      number(msTime(p.ttft_p50_ms)), number(msTime(p.ttft_p99_ms)),
      number(msTime(p.tpot_p50_ms)), number(msTime(p.tpot_p99_ms)), number(percent(p.kv_peak)),
        p.keeps_up === false ? "cannot keep up" : p.rate_per_s === best ? "largest that meets it"
        : p.steady === false ? "too short to be steady" : ""])));
}

function servingSlowest() {
  const rows = data.serving && data.serving.slowest;
  if (!rows || !rows.length) return;
  const split = rows.some((row) => isNumber(row.kv_transfer_ms)),
    names = data.serving.instances.map((one) => one.name);
  const node = section("slowest", "The slowest requests",
    "By the time from their arrival to their last token; all are in requests.csv.");
  node.append(wideTable("",
    ["request", "arrival", "prompt", "output", "queue", "TTFT", "TPOT", "end to end", "preempted",
    ...(split ? ["KV transfer"] : []), "instance"],
    rows.map((row) => [number(count(row.id)), number(time(1e6 * row.arrival_s)),
      number(count(row.input_tokens)), number(count(row.output_tokens)),
      number(msTime(row.queue_ms)), number(msTime(row.ttft_ms)),
      number(msTime(row.tpot_ms)), number(msTime(row.e2e_ms)), number(count(row.preemptions)),
        ...(split ? [number(msTime(row.kv_transfer_ms))] : []),
      [...new Set([row.instance, row.decode_instance])]
        .map((place) => names[place] || String(place)).join(", ")])));
}
