// Memory, collectives, configuration, and every number with its unit and meaning.

function memory() {
  const total = stats.gpu_memory_bytes_estimate;
  if (!isNumber(total)) return;
  const parts = Object.entries(stats.gpu_memory_parts_bytes || { estimate: total })
    .filter(([, value]) => value > 0);
  const capacity = stats.gpu_memory_capacity_bytes;
  const gib = memorySize;
  const node = section("memory", "Memory of a GPU", "An estimate of what one GPU holds: "
    + gib(total)
    + (capacity ? " of " + gib(capacity) + " (" + percent(total / capacity, 0) + ")." : ".")
    + (((stats.configuration || {}).training || {}).pp > 1
    ? " It is one of the pipeline\u2019s stage that needs most."
      : ((stats.configuration || {}).training || {}).moe_skew > 0
      ? " It is one of those with the busiest experts." : " GPUs of one job hold the same."));
  chart(node, "Memory: " + parts.map(([name, value]) => name + " " + gib(value)).join(", "),
    (svg, width) => {
    const x = d3.scale.linear().domain([0, Math.max(total, capacity || 0) / Math.pow(2, 30)])
      .range([16, width - 40]);
    const px = (value) => x(value / Math.pow(2, 30)), long = (value) => px(value) - px(0);
    svg.append("rect").attr("x", 16.5).attr("y", 16.5)
      .attr("width", long(Math.max(total, capacity || 0))).attr("height", 36)
      .style("fill", colour("panel")).style("stroke", colour("line"));
    let at = 0;
    parts.forEach(([name, value], i) => {
      svg.append("rect").attr("x", px(at)).attr("y", 17).attr("height", 35)
        .attr("width", Math.max(0.5, long(value) - 1)).style("fill", seriesColour(i))
        .append("title").text(name + " " + gib(value));
      at += value;
    });
    if (capacity)
      svg.append("text").attr("class", "muted").attr("x", px(capacity)).attr("y", 10)
        .attr("text-anchor", "end").text("memory of the GPU " + gib(capacity));
    svg.append("g").attr("class", "axis").attr("transform", "translate(0,54)")
      .call(niceTicks(x, width / 130, (v) => digit(v) + "\u00a0GiB"));
    return 84;
  });
  const keys = element("div");
  node.append(keys);
  redraws.push(() =>
    keys.replaceChildren(
    legend(parts.map(([name, value], i) => [seriesColour(i), name + " " + gib(value)]))));
}

// What each stage of a pipeline computes, waits and sends.
function stages() {
  const rows = (Array.isArray(stats.stages) ? stats.stages : [])
    .filter((row) => row
    && ["forward_us", "backward_us", "bubble_us", "bytes_sent"].every((key) => isNumber(row[key])));
  if (!rows.length) return;
  const part = fewer();
  section("stages", "Stages of the pipeline",
    "Means over the GPUs of a stage and over the measured steps"
    + (part ? ", of " + count(part.blocks_simulated[0]) + " blocks." : "."))
    .append(wideTable("", ["stage", "forward", "backward", "bubble", "sent, a GPU"],
    rows.map((row, i) => [String(i), number(time(row.forward_us)), number(time(row.backward_us)),
    number(time(row.bubble_us)), number(bytes(row.bytes_sent))]), true));
}

function collectives() {
  const own = stats.collectives || [], compared = own.length ? stats.compared || [] : [];
  const algorithms = d3.set(own.map((row) => row.algorithm)).values(),
    taken = d3.set(compared.map((row) => row.choice));
  const choice = algorithms.length === 1 && !taken.has(algorithms[0]) ? algorithms[0]
    : "as asked for";
  const rows = !compared.length ? own : own.map((row) => ({ ...row, choice })).concat(compared);
  if (!rows.length) return;
  const node = section("collectives", "Collectives",
    "Time: from the first GPU\u2019s entry to the last one\u2019s leaving. algbw: bytes over "
    + "time; busbw: comparable with the "
    + "rate of the hardware (as nccl-tests defines them). GB/s: 10\u2079 B/s."
    + (data.collectives_left_out
    ? " The list has the first " + count(rows.length) + "; " + count(data.collectives_left_out)
    + " more are left out of it." : ""));
  const measured = (stats.reference && stats.reference.rows) || []; // --reference
  // Curves over sizes: of one size the table says all.
  if (stats.program === "collperf" && d3.set(rows.map((row) => row.bytes)).size() > 1) {
    const lines = compared.length
      ? d3.nest().key((row) => row.choice).entries(rows)
      .map(({ key, values }) => ({ name: key, key: "busbw_GBps", rows: values }))
      : [["busbw_GBps", "busbw"], ["algbw_GBps", "algbw"]]
      .map(([key, name]) => ({ name, key, rows }));
    bandwidth(node, measured.length
      ? lines.concat([{ name: "busbw measured", key: "busbw_GBps", rows: measured }])
      : lines, compared.length > 0);
    const took = d3.nest().key((row) => compared.length ? row.choice : row.op).entries(rows);
    times(node, measured.length ? took.concat([{ key: "measured", values: measured }]) : took);
  }
  if (measured.length) {
    node.append(element("div", { class: "wide tall", tabindex: 0 },
      table("Measured, " + stats.reference.file + ": these take " + digit(stats.reference.factor, 3)
      + " times as long, geometric mean",
      ["bytes", "time measured", "busbw measured", "time here over measured"],
        measured.map((row) => [number(count(row.bytes) + "\u00a0B"), number(time(row.time_us, 4)),
        number(digit(row.busbw_GBps, 4) + "\u00a0GB/s"), number(digit(row.factor, 3))]))));
  }
  const sums = data.operations; // over all, also those that the list below has no room for
  if (stats.program !== "collperf" && sums) {
    const workers = stats.gpus - idleGpus();
    const ofOne = (sum) => number(time(sum / (workers || 1) / sums.steps));
    const waits = sums.rows.every((row) => row[4] !== null); // older runs do not say
    node.append(element("div", { class: "wide" },
      table("By operation, a step",
      ["operation", "count", "bytes", "time in them, mean over GPUs"
      + (idleGpus() ? " that do something" : ""),
      ...(waits ? ["until the last has entered"] : []), "busbw"],
      sums.rows.map(([name, many, size, inThem, waiting, busbw]) =>
        [name, number(digit(many / sums.steps, 4)), number(bytes(size / sums.steps)), ofOne(inThem),
        ...(waits ? [ofOne(waiting)] : []), number(digit(busbw, 4) + "\u00a0GB/s")]))));
  }
  const protocols = rows.some((row) => row.protocol && row.protocol !== "-");
  const head = [...(rows[0].name !== undefined ? ["step", "collective"] : compared.length
    ? ["choice", "operation"] : ["operation"]), "algorithm", ...(protocols ? ["protocol"] : []),
    "bytes", "time", "algbw", "busbw"];
  const body = rows.map((row) =>
    [...(row.name !== undefined ? [number(count(row.step)), row.name] : compared.length
    ? [row.choice, row.op] : [row.op]), row.algorithm,
    ...(protocols ? [row.protocol || "\u2013"] : []), number(count(row.bytes) + "\u00a0B"),
    number(time(row.time_us, 4)),
    number(digit(row.algbw_GBps, 4) + "\u00a0GB/s"),
      number(digit(row.busbw_GBps, 4) + "\u00a0GB/s")]);
  const details = element("details", { open: rows.length <= 12 },
    element("summary", {}, "Each of them"));
  const fill = () => { if (details.open && details.children.length === 1)
    details.append(element("div", { class: "wide tall", tabindex: 0 }, table(null, head, body))); };
  details.addEventListener("toggle", fill);
  node.append(details);
  fill();
}

// GB/s of the hardware beside the curves: a server's NICs, if all have the same, and a GPU's NVLink
// port (PCIe is shared).
function hardwareRates() {
  const net = data.topology, inside = stats.scale_up || {}, out = [];
  if (net && stats.servers > 1 && !net.left_out) {
    const ofHost = new Map();
    net.links.forEach((link) => [link.a, link.b].filter((end) => net.nodes[end][1] === "host")
      .forEach((end) => ofHost.set(end, (ofHost.get(end) || 0) + link.rate_gbps)));
    const rates = d3.set([...ofHost.values()]).values();
    if (rates.length === 1) out.push([Number(rates[0]) / 8, "the NICs of a server"]);
  }
  if (inside.gpu_gbps > 0 && String(inside.kind).startsWith("nv"))
    out.push([inside.gpu_gbps / 8, "NVLink of a GPU"]);
  return out;
}

// A curve each: {name, rows, key: which number of a row}.
function bandwidth(node, lines, several) {
  // beyond `far` times the curves a line would press them to the floor: it is told at the top
  const rates = hardwareRates(), far = 4;
  const rows = d3.merge(lines.map((line) => line.rows));
  const given = d3.set(rows.map((row) => row.bytes)).values().map(Number).sort(d3.ascending);
  const binary = areBinary(given), size = sizeIn(binary);
  const keys = element("div");
  node.append(keys);
  redraws.push(() =>
    keys.replaceChildren(legend(lines.map(({ name }, i) => [seriesColour(i), name]))));
  chart(node, several ? "Bus bandwidth against size, of each choice"
    : "Bandwidth against size", (svg, width) => {
    const left = 60, right = 30, top = 24, bottom = 46, height = 280;
    const x = d3.scale.log().domain(d3.extent(rows, (row) => Math.max(1, row.bytes)))
      .range([left, width - right]);
    const highest = d3.max(lines, (line) => d3.max(line.rows, (row) => row[line.key])),
      near = rates.map(([rate]) => rate).filter((rate) => rate <= far * highest);
    // where none is near, the lowest
    const told = near.length || !rates.length ? near : [d3.min(rates, ([rate]) => rate)];
    const y = d3.scale.linear()
      .domain([0, d3.max([highest, ...told]) * (told.length < rates.length ? 1.2 : 1.08)]).nice(5)
      .range([height - bottom, top]);
    svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
      .call(d3.svg.axis().scale(y).orient("left").ticks(5).tickSize(-(width - left - right))
      .tickFormat(""));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
      .call(d3.svg.axis().scale(y).orient("left").ticks(5));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.svg.axis().scale(x).tickValues(given.length <= width / 90 ? given
      : sizeTicks(x.domain(), width / 90, binary)).tickFormat(size));
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12).text("GB/s");
    svg.append("text").attr("class", "muted").attr("x", (left + width) / 2).attr("y", height - 8)
      .attr("text-anchor", "middle").text("size of the vector");
    const drawn = rates.map(([rate]) => rate).filter((rate) => rate <= y.domain()[1]);
    rates.forEach(([rate, words]) => {
      const inside = rate <= y.domain()[1], at = inside ? y(rate) : top;
      // of two that are close the lower one's words
      const below = drawn.some((other) => other > rate && at - y(other) < 26);
      if (inside)
        svg.append("line").attr("class", "hardware").attr("x1", left).attr("x2", width - right)
          .attr("y1", at).attr("y2", at).style("stroke", colour("muted"))
          .style("stroke-dasharray", "1 3");
      svg.append("text").attr("class", "muted hardware").attr("x", inside ? left + 4
        : width - right - 4).attr("y", inside && !below ? at - 4
        : at + 12).attr("text-anchor", inside ? "start" : "end")
        .text((inside ? "" : "\u2191 ") + digit(8 * rate, 6) + "\u00a0Gb/s, " + words);
    });
    lines.forEach(({ name, key, rows }, i) => {
      svg.append("path").attr("class", "curve")
        .attr("d", d3.svg.line().x((row) => x(Math.max(1, row.bytes)))
        .y((row) => y(row[key]))(rows)).style("stroke", seriesColour(i));
      svg.append("g").selectAll("circle").data(rows).enter().append("circle")
        .attr("cx", (row) => x(Math.max(1, row.bytes))).attr("cy", (row) => y(row[key]))
        .attr("r", 5).style("fill", seriesColour(i))
        .on("mousemove", (row) =>
        showTooltip(d3.event.clientX, d3.event.clientY, size(row.bytes),
        [[name, digit(row[key], 4) + " GB/s"], ["time", time(row.time_us, 4)]])).on("mouseleave",
        hideTooltip);
    });
    return height;
  });
}

// Where bandwidths are all near the floor, times tell choices apart: both axes are logarithmic. A
// curve each: {key: its name, values: rows}.
function times(node, lines) {
  const rows = d3.merge(lines.map((line) => line.values)).filter((row) => row.time_us > 0);
  if (!rows.length) return;
  const given = d3.set(rows.map((row) => row.bytes)).values().map(Number).sort(d3.ascending);
  const binary = areBinary(given), size = sizeIn(binary), keys = element("div");
  node.append(keys);
  redraws.push(() => keys.replaceChildren(lines.length > 1
    ? legend(lines.map(({ key }, i) => [seriesColour(i), key])) : ""));
  chart(node, lines.length > 1 ? "Time against size, of each choice"
    : "Time against size", (svg, width) => {
    const left = 60, right = 30, top = 24, bottom = 46, height = 240;
    const x = d3.scale.log().domain(d3.extent(rows, (row) => Math.max(1, row.bytes)))
      .range([left, width - right]);
    const [least, most] = d3.extent(rows, (row) => row.time_us);
    const y = d3.scale.log().domain([least / 1.2, most * 1.2]).range([height - bottom, top]),
      ticks = logTicks(y.domain(), 5);
    svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
      .call(d3.svg.axis().scale(y).orient("left").tickValues(ticks)
      .tickSize(-(width - left - right)).tickFormat(""));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
      .call(d3.svg.axis().scale(y).orient("left").tickValues(ticks).tickFormat((us) => time(us)));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.svg.axis().scale(x).tickValues(given.length <= width / 90 ? given
      : sizeTicks(x.domain(), width / 90, binary)).tickFormat(size));
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12).text("time; logarithmic");
    svg.append("text").attr("class", "muted").attr("x", (left + width) / 2).attr("y", height - 8)
      .attr("text-anchor", "middle").text("size of the vector");
    lines.forEach(({ key, values }, i) => {
      const timed = values.filter((row) => row.time_us > 0);
      svg.append("path").attr("class", "curve")
        .attr("d", d3.svg.line().x((row) => x(Math.max(1, row.bytes)))
        .y((row) => y(row.time_us))(timed)).style("stroke", seriesColour(i));
      svg.append("g").selectAll("circle").data(timed).enter().append("circle")
        .attr("cx", (row) => x(Math.max(1, row.bytes))).attr("cy", (row) => y(row.time_us))
        .attr("r", 4).style("fill", seriesColour(i))
        .on("mousemove", (row) => showTooltip(d3.event.clientX, d3.event.clientY, size(row.bytes),
        [[key, time(row.time_us, 4)]])).on("mouseleave", hideTooltip);
    });
    return height;
  });
}

// Rows of the configuration: [options that were given, the others]. Attributes of ns-3 stand there
// only when given.
function optionRows(source) {
  const given = new Set(Array.isArray(source.given) ? source.given : []);
  const rows = [[], []];
  const add = (path, group, key, value) => {
    const known = Object.hasOwn(meanings.options, path) ? meanings.options[path] : [group, ""];
    const [of, meaning, name = key.replace(/_/g, "-")] = known;
    rows[given.has(name) || group === "ns3" ? 0 : 1].push([
      element("span", { class: "key" }, group === "ns3" ? "ns-3 attributes" : of),
      element("code", { class: "key" }, key), codeOf(textOf(value)), meaning]);
  };
  for (const [group, values] of Object.entries(source)) {
    if (group === "given" || group === "program") continue; // no options
    if (values === null || typeof values !== "object" || Array.isArray(values)) {
      add("/" + group, "", group, values);
      continue;
    }
    for (const [key, value] of Object.entries(values)) {
      add("/" + group + "/" + key, group, key, value);
    }
  }
  return rows;
}

// A section whose tables are closed at first; a link to the section opens them.
function foldedTables(parent, title, ...tables) {
  const box = element("details", { class: "fold" }, element("summary", {}, title), tables);
  parent.append(box);
  return box;
}

function configuration() {
  const source = stats.configuration;
  if (!source) return;
  const mostOpen = 12; // more are no overview, and stand in the box
  const node = section("configuration", "Configuration as run",
    "stats.json holds it as a scenario file: --scenario takes it.");
  const [given, others] = optionRows(source), open = given.length <= mostOpen;
  const rows = (caption, of) => of.length
    ? element("div", { class: "wide" }, table(caption, ["of", "option", "value", "meaning"], of))
    : null;
  const first = rows(counted(given.length, "option") + " given", given);
  const all = counted(given.length + others.length, "option");
  if (open && first) node.append(first);
  // A folder of before "given" was written does not tell.
  else if (open && Array.isArray(source.given)) {
    node.append(element("p", {}, "No option was given."));
  }
  if (!open) {
    foldedTables(node, all + ", those that were given first", first, rows("Others", others));
  } else if (others.length) {
    foldedTables(node, first ? "Others: " + count(others.length) : all, rows(null, others));
  }
}
const codeOf = (text) => element("code", { class: text.length > 60 ? "long" : null }, text);
const textOf = (value) => typeof value === "string" ? value : JSON.stringify(value);

function numbers() {
  const node = section("numbers", "Every number",
    "What stats.json holds, with its unit and meaning, and the columns of the other files. "
    + "1 GB = 10\u2079 B, 1 Gb/s = 10\u2079 bit/s. Statistics begin after the warm-up unless they "
    + "say \u201cwhole run\u201d.");
  const rows = [];
  // Lists that are tables beside stats.json, too.
  const leave = new Set(["configuration", "collectives", "links", "nondeterministic",
    "step_times_us", "step_begins_us", "critical_path.path", "critical_path.longest_messages"]);
  const walk = (object, prefix) => {
    for (const [key, value] of Object.entries(object)) {
      const name = prefix + key;
      if (leave.has(name)) continue;
      const known = Object.hasOwn(meanings.stats, name) ? meanings.stats[name]
        : prefix === "bytes_sent_per_gpu." ? ["B", "of this operation"] : prefix === "drops."
        ? ["frames", "for this reason"] : ["", ""];
      if (value !== null && typeof value === "object" && !Array.isArray(value))
        { walk(value, name + "."); continue; }
      const list = Array.isArray(value), objects = list
        && value.some((one) => one !== null && typeof one === "object");
      const text = objects ? "(" + count(value.length) + ")" : list
        ? value.slice(0, 8).map(textOf).join(", ")
        + (value.length > 8 ? ", \u2026 (" + count(value.length) + ")" : "")
        : value === null && !data.measured ? "not measured" : textOf(value);
      rows.push([element("code", { class: "key" }, name), text.length > 24 ? codeOf(text)
        : number(text), known[0] || "", known[1] || ""]);
    }
  };
  walk(stats, "");
  const box = foldedTables(node, counted(rows.length, "number") + " and the columns of files");
  if (rows.length) {
    box.append(element("div", { class: "wide", id: "all-numbers" },
      table("stats.json", ["key", "value", "unit", "meaning"], rows)));
  }
  for (const [file, columns] of Object.entries(meanings.files)) {
    const rows = Object.entries(columns).map(
      ([name, [unit, meaning]]) => [element("code", {}, name), unit, meaning]);
    box.append(element("details", {}, element("summary", {}, "Columns of " + file),
      element("div", { class: "wide" }, table(null, ["column", "unit", "meaning"], rows))));
  }
}
