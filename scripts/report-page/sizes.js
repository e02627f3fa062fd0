// Messages by size: how many there are, and how much longer than alone they took; kinds of traffic
// beside one another.

const scaleButtons = (label, choices, chosen, change) => {
  const buttons = choices
    .map(([value, text]) =>
    element("button", { type: "button", "aria-pressed": String(value === chosen),
    on: { click: () =>
      { buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(choices[i][0] === value)));
      change(value); } } }, text));
  return element("span", { class: "choice", role: "group", "aria-label": label }, buttons);
};

// An axis of sizes: each by itself if they are few, else logarithmic.
function sizeAxis(svg, x, classes, few, [left, right], y, title, binary) {
  const axis = d3.svg.axis().scale(x).tickFormat(sizeIn(binary));
  if (!few) axis.tickValues(sizeTicks(x.domain(), (right - left) / 90, binary));
  if (few && x.rangeBand() < 56)
    axis.tickValues(classes.filter((_, i) => i % Math.ceil(64 / (x.rangeBand() * 1.4)) === 0));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y})`).call(axis);
  svg.append("text").attr("class", "muted").attr("x", (left + right) / 2).attr("y", y + 38)
    .attr("text-anchor", "middle").text(title);
}

function valueAxis(svg, y, [left, right], ticks, format) {
  const axis = () => (ticks ? d3.svg.axis().scale(y).orient("left").tickValues(ticks)
    : d3.svg.axis().scale(y).orient("left").ticks(5));
  svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
    .call(axis().tickSize(-(right - left)).tickFormat(""));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
    .call(axis().tickFormat(format));
}

function sizes() {
  if (!data.flows) return;
  const { operations, exact } = data.flows.sizes;
  const names = operationNames;
  const sampled = data.flows.rows < data.flows.messages;
  const node = section("sizes", "Sizes of transactions",
    "Messages between servers by size and operation"
    + (exact ? ", each size by itself; sizes nearer than 5% to the next are one."
    : ", in classes of a quarter of an octave.")
    + (sampled ? " Of " + count(data.flows.messages) + " messages, flows.csv holds "
    + count(data.flows.rows) + ": a sample and the slowest ones." : ""));
  const classes = d3.set(names.flatMap((name) => operations[name].map((c) => c[0]))).values()
    .map(Number).sort(d3.ascending);
  const extent = (what) =>
    d3.extent(names.flatMap((name) => operations[name].map((c) => c[what])).filter((v) => v > 0));
  const binary = areBinary(classes
    .concat(names.flatMap((name) => operations[name].map((c) => c[1]))));
  let what = 2; // index into a class: 2 messages, 3 bytes
  const wide = (index) => extent(index)[1] > 50 * extent(index)[0]; // small ones would not be seen
  let logarithmic = wide(2);
  const controls = element("div", { class: "controls" },
    scaleButtons("What the bars count", [[2, "Messages"], [3, "Bytes"]], 2,
      (value) => { what = value; redraw(); }),
    scaleButtons("Scale of the bars", [[false, "Linear"], [true, "Logarithmic"]], logarithmic,
      (value) => { logarithmic = value; redraw(); }));
  const keys = element("div");
  node.append(controls, keys);
  const upTo = {}, has = {};
  classes.forEach((from) =>
    { has[from] = names.filter((name) => operations[name].some((c) => c[0] === from)); });
  names.forEach((name) => operations[name].forEach((c) => { upTo[c[0]] = c[1]; }));
  chart(node, "Messages by size and operation", (svg, width) => {
    svg.attr("data-scale", logarithmic ? "logarithmic" : "linear");
    const left = 74, right = 10, top = 24, bottom = 46, height = 300;
    const few = classes.length <= 24;
    const x = few ? d3.scale.ordinal().domain(classes).rangeBands([left, width - right], 0.3, 0.2)
      : d3.scale.log().domain([Math.max(1, classes[0]) / 1.2,
      Math.max(upTo[classes[classes.length - 1]], 2) * 1.2]).range([left, width - right]);
    const [least, most] = extent(what).map((v) => v || 1), floor = height - bottom;
    // On a logarithmic scale a bar begins below the smallest value.
    const y = logarithmic
      ? d3.scale.log().clamp(true)
      .domain([Math.pow(10, Math.floor(Math.log(least) / Math.LN10 - 0.3)),
      Math.max(most, least * 10) * 1.3]).range([floor, top])
      : d3.scale.linear().domain([0, most]).nice(5).range([floor, top]);
    const heightOf = (c) => c[what] > 0 ? Math.max(1.5, floor - y(c[what])) : 0;
    const format = what === 2 ? count : bytes;
    valueAxis(svg, y, [left, width - right],
      (logarithmic ? logTicks(y.domain(), 6) : y.ticks(5))
      .filter((v) => v === 0 || v >= 1 && Number.isInteger(v)), format);
    sizeAxis(svg, x, classes, few, [left, width - right], floor, "size of a message", binary);
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12)
      .text((what === 2 ? "messages" : "bytes in all of them")
      + (logarithmic ? ", logarithmic" : ""));
    // x and width of a bar: side by side are those that have this size
    const bar = ([from, to], name) => {
      const among = has[from];
      if (!few) {
        const begin = x(Math.max(1, from)), each = Math.max(among.length, x(to + 1) - begin - 1)
          / among.length;
        return [begin + among.indexOf(name) * each, Math.max(1, each)];
      }
      const wide = Math.min(80, x.rangeBand() / among.length);
      return [x(from) + x.rangeBand() / 2 + (among.indexOf(name) - among.length / 2) * wide,
        Math.max(1, wide - 2)];
    };
    names.forEach((name) => {
      const bars = svg.append("g").selectAll("rect").data(operations[name]).enter().append("rect")
        .attr("tabindex", -1)
        .attr("x", (c) => bar(c, name)[0]).attr("width", (c) => bar(c, name)[1])
        .attr("y", (c) => floor - heightOf(c)).attr("height", heightOf)
        .style("fill", operationColour(name));
      bars.on("mousemove", (c) => showTooltip(d3.event.clientX, d3.event.clientY, name, tip(c)))
        .on("mouseleave", hideTooltip);
      if (few && classes.length * names.length <= 24 && x.rangeBand() > 50 * names.length) {
        svg.append("g").selectAll("text").data(operations[name]).enter().append("text")
          .attr("text-anchor", "middle").attr("class", "halo")
          .attr("x", (c) => bar(c, name)[0] + bar(c, name)[1] / 2)
          .attr("y", (c) => floor - heightOf(c) - 5).text((c) => format(c[what]));
      }
    });
    return height;
  });
  const redraw = redraws[redraws.length - 1];
  function tip(c) { return [["size", c[0] === c[1] ? count(c[0]) + " B"
    : count(c[0]) + " to " + count(c[1]) + " B"], ["messages", count(c[2])],
    ["bytes", bytes(c[3])]]; }
  redraws.push(() =>
    keys.replaceChildren(legend(names.map((name) => [operationColour(name), name]))));
  const rows = names
    .flatMap((name) => operations[name]
    .map((c) => [name, number(c[0] === c[1] ? count(c[0]) : count(c[0]) + "\u2013" + count(c[1])),
    number(count(c[2])), number(bytes(c[3]))]));
  node.append(element("details", {}, element("summary", {}, "As a table"),
    wideTable("", ["operation", "size in B", "messages", "bytes"], rows, true)));
}

// Slowdown over the size of a message, each kind in its colour: half of the messages, and the
// slowest hundredth.
function flowsBySize() {
  const groups = data.flows && data.flows.by_size;
  const names = operationNames.filter((name) => groups && Object.hasOwn(groups, name));
  // Of one size all is said by the curves; a training's sizes are those of its collectives.
  if (!names.length || d3.set(names.flatMap((name) => groups[name].map((g) => g[0]))).size()
    < (stats.program === "dltrain" ? 3 : 2)) return;
  const node = section("bysize", "Slowdown by size",
    "Time of a message over that of the same message alone on the idle network. A point is a "
    + "size, or a group of sizes with about as many "
    + "messages as the others; messages of one size are never in two groups, and sizes nearer "
    + "than 5% to the next are one. Of fewer than 20 messages a 95th percentile is only their "
    + "slowest, of fewer than 100 a 99th: not shown.");
  const keys = element("div"), two = element("div", { class: "two" });
  node.append(keys, two);
  redraws.push(() => keys.replaceChildren(names.length > 1
    ? legend(names.map((name) => [operationColour(name), name])) : ""));
  const middle = ([from, to]) => Math.sqrt(Math.max(1, from) * Math.max(1, to));
  const all = names.flatMap((name) => groups[name]),
    binary = areBinary(all.flatMap((g) => [g[0], g[1]]));
  const xs = d3.extent(all, middle),
    ys = [d3.min(all, (g) => g[3]), d3.max(all, (g) => g[5] === null ? g[3] : g[5])];
  const panels = [[3, "Half of the messages took at most", "p50"],
    [5, "99 of 100 took at most", "p99"]];
  panels.filter(([index]) => all.some((g) => g[index] !== null))
    .forEach(([index, title, short]) => {
    const box = element("div");
    two.append(box);
    box.append(element("h3", {}, title));
    chart(box, "Slowdown over size: " + short, (svg, width) => {
      const left = 62, right = 16, top = 26, bottom = 48, height = 320;
      const x = d3.scale.log().domain([xs[0] / 1.25, xs[1] * 1.25]).range([left, width - right]);
      const low = Math.min(1, Math.max(0.01, ys[0])), high = Math.max(low * 2, ys[1]);
      const y = d3.scale.log().domain([low * 0.94, high * 1.15]).range([height - bottom, top]);
      valueAxis(svg, y, [left, width - right], logTicks(y.domain(), 8), (v) => digit(v) + "\u00d7");
      sizeAxis(svg, x, [], false, [left, width - right], height - bottom,
        "size of a message", binary);
      svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12)
        .text("slowdown, " + short + "; logarithmic");
      names.forEach((name) => {
        const known = groups[name].filter((g) => g[index] !== null);
        svg.append("path").attr("class", "curve")
          .attr("d", d3.svg.line().x((g) => x(middle(g)))
          .y((g) => y(Math.max(low, g[index])))(known)).style("stroke", operationColour(name));
        svg.append("g").selectAll("circle").data(known).enter().append("circle").attr("cx",
          (g) => x(middle(g))).attr("cy", (g) => y(Math.max(low, g[index]))).attr("r", 4)
          .style("fill", operationColour(name)).style("stroke", colour("bg"))
          .on("mousemove", (g) => showTooltip(d3.event.clientX, d3.event.clientY, name, tip(g)))
          .on("mouseleave", hideTooltip);
      });
      return height;
    });
  });
  if (all.every((g) => g[5] === null)) {
    node.append(element("p", { class: "absent" },
      "No size, nor group of sizes, has the 100 messages of a 99th percentile."));
  }
  const range = (g) => g[0] === g[1] ? count(g[0]) + "\u00a0B"
    : count(g[0]) + " to " + count(g[1]) + "\u00a0B";
  const slower = (value) => value === null ? UNKNOWN : digit(value) + "\u00d7";
  function tip(g) { return [["size", range(g)], ["messages", count(g[2])],
    ["slowdown p50", slower(g[3])], ["p95", slower(g[4])], ["p99", slower(g[5])]]; }
  node.append(element("details", {}, element("summary", {}, "As a table"),
    wideTable("", ["kind", "size", "messages", "p50", "p95", "p99"],
    names.flatMap((name) =>
      groups[name].map((g) => [name, number(range(g)), number(count(g[2])),
      ...[3, 4, 5].map((i) => number(slower(g[i])))])), true)));
}

// Kinds of messages beside one another (incast and the rest), how even their pace was, and Jain's
// index over time.
function kindsOfTraffic() {
  const kinds = data.flows && data.flows.kinds;
  if (!kinds || !kinds.length) return;
  const several = kinds.length > 1;
  const node = section("kinds", several ? "Kinds of traffic, and fairness"
    : "Fairness", (several ? "What each kind of message met. " : "")
    + "Pace: the idle network\u2019s time of a message over its own. Jain\u2019s index of it: 1 "
    + "if all were held up alike, 1/n if one of n had it all.");
  if (several && kinds.length <= 9) slopes(node, kinds);
  const slow = (value) => number(digit(value) + "\u00d7");
  node.append(wideTable("",
    ["kind", "messages", "bytes", "completion p50", "p99", "max", "slowdown p50", "p99", "max",
    "Jain\u2019s index of the pace"],
    kinds.map((kind) =>
      [kind.name, number(count(kind.messages)), number(bytes(kind.bytes)),
      ...kind.fct_us.map((v) => number(time(v))), ...kind.slowdown.map(slow),
      number(digit(kind.jain))])));
  const points = data.fairness && data.fairness.points;
  if (points && points.length)
    fairnessOverTime(node, points.map(([at, ...rest]) => [at - clockZero, ...rest]));
}

// Messages of each congestion control, transport, priority and rate (--class).
function trafficClasses() {
  const classes = (Array.isArray(stats.classes) ? stats.classes : [])
    .filter((one) => one && one.messages > 0);
  if (!classes.length) return;
  const node = section("classes", "Traffic classes",
    "What each class of messages got. Goodput: payload from its first post to its last byte. "
    + "Jain\u2019s index of its messages\u2019 throughputs: 1 if all had the same, 1/n if one of "
    + "n had it all.");
  node.append(wideTable("",
    ["class", "law, transport", "priority", "rate", "messages", "bytes", "goodput",
    "completion p50", "p99", "slowdown p99", "Jain"],
    classes.map((one) =>
      [String(one.name),
      one.cc + (one.preset ? " (" + one.preset + ")" : "") + ", " + one.transport,
      isNumber(one.priority) ? count(one.priority) : "its flows\u2019",
      isNumber(one.rate_gbps) ? rate(one.rate_gbps) : "\u2013", number(count(one.messages)),
      number(bytes(one.bytes)), number(rate(one.goodput_gbps)),
      ...[one.fct_us.p50, one.fct_us.p99].map((v) => number(time(v))),
      number(digit(one.fct_slowdown.p99) + "\u00d7"),
      number(digit(one.jain))])));
}

// Slowdown of each kind from its median to its slowest, on one scale.
function slopes(node, kinds) {
  chart(node, "Slowdown by kind: "
    + kinds.map((kind) => kind.name + " p50 " + digit(kind.slowdown[0]) + ", p99 "
    + digit(kind.slowdown[1]) + ", max " + digit(kind.slowdown[2])).join("; "), (svg, width) => {
    const left = Math.min(width * 0.34, 20 + 7.2 * d3.max(kinds, (kind) => kind.name.length)),
      right = 24, each = 30, top = 30, height = top + each * kinds.length + 30;
    const high = Math.max(2, d3.max(kinds, (kind) => kind.slowdown[2])),
      low = Math.min(1, Math.max(0.01, d3.min(kinds, (kind) => kind.slowdown[0])));
    const x = d3.scale.log().domain([low, high * 1.05]).range([left, width - right]);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 28})`)
      .call(d3.svg.axis().scale(x).tickValues(logTicks(x.domain(), (width - left) / 60))
      .tickFormat((v) => digit(v) + "\u00d7"));
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12)
      .text("slowdown: p50 (ring), p99 (dot), the slowest (bar); logarithmic");
    kinds.forEach((kind, i) => {
      const y = top + each * (i + 0.5), stroke = curveColour(kind.name),
        [median, tail, most] = kind.slowdown.map((v) => x(Math.max(low, v)));
      svg.append("line").attr("x1", left).attr("x2", width - right).attr("y1", y).attr("y2", y)
        .style("stroke", colour("grid"));
      svg.append("text").attr("x", left - 10).attr("y", y + 4).attr("text-anchor", "end")
        .text(kind.name);
      svg.append("line").attr("x1", median).attr("x2", most).attr("y1", y).attr("y2", y)
        .style("stroke", stroke).style("stroke-width", 3);
      svg.append("line").attr("x1", most).attr("x2", most).attr("y1", y - 7).attr("y2", y + 7)
        .style("stroke", stroke).style("stroke-width", 3);
      svg.append("circle").attr("cx", tail).attr("cy", y).attr("r", 5.5).style("fill", stroke)
        .style("stroke", colour("bg"));
      svg.append("circle").attr("cx", median).attr("cy", y).attr("r", 5).style("fill", colour("bg"))
        .style("stroke", stroke).style("stroke-width", 2.5);
    });
    return height;
  });
}

function fairnessOverTime(node, points) {
  const told = stats.fairness || {};
  node.append(element("h3", {}, "Throughput of flows over time"));
  node.append(element("p", {}, "Of the flows that ran through a whole interval"
    + (isNumber(told.interval_us) ? " of " + time(told.interval_us) : "")
    + (data.fairness.every > 1 ? ", one interval of " + data.fairness.every : "")
    + ": Jain\u2019s index of their throughputs, how many they were, and what all sent together."));
  const panels = [[2, "Jain\u2019s index", (v) => digit(v), [0, 1]], [1, "flows", count],
    [3, "Gb/s together", (v) => digit(v)]];
  chart(node, "Jain\u2019s index, flows and throughput over time", (svg, width) => {
    const left = 62, right = 12, each = 90, gap = 34, top = 26, height = panels.length
      * (each + gap) + top + 14;
    const x = d3.scale.linear().domain([-clockZero, Math.max(1e-3, d3.max(points, (p) => p[0]))])
      .range([left, width - right]);
    panels.forEach(([index, title, format, domain], i) => {
      const y0 = top + i * (each + gap),
        y = d3.scale.linear().domain(domain || [0, d3.max(points, (p) => p[index]) || 1]).nice(3)
        .range([y0 + each, y0]);
      svg.append("text").attr("x", 0).attr("y", y0 - 9).style("font-weight", 600).text(title);
      valueAxis(svg, y, [left, width - right], y.ticks(3), format);
      svg.append("path").attr("class", "curve")
        .attr("d", d3.svg.line().x((p) => x(p[0])).y((p) => y(p[index]))
        .defined((p) => p[index] !== null).interpolate("step-before")(points))
        .style("stroke", seriesColour(i)).style("stroke-width", 1.6);
      if (points.length === 1)
        svg.append("circle").attr("class", "lone").attr("cx", x(points[0][0]))
          .attr("cy", y(points[0][index])).attr("r", 4).style("fill", seriesColour(i));
      if (i === panels.length - 1)
        svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y0 + each})`)
          .call(niceTicks(x, width / 130, (us) => time(us)));
    });
    svg.append("text").attr("class", "muted").attr("x", width - right).attr("y", height - 2)
      .attr("text-anchor", "end").text(clockName);
    svg.append("rect").attr("x", left).attr("y", 0).attr("width", Math.max(0, width - left - right))
      .attr("height", height - 30).style("fill", "transparent")
      .on("mousemove", function () {
        const at = Math.min(points.length - 1,
          d3.bisector((p) => p[0]).left(points, x.invert(d3.mouse(this)[0]))), p = points[at];
        showTooltip(d3.event.clientX, d3.event.clientY, "until " + time(p[0], 4),
          [["flows", count(p[1])],
          ["Jain\u2019s index", p[2] === null ? "nothing moves" : digit(p[2], 4)],
          ["together", rate(p[3])]]);
      }).on("mouseleave", hideTooltip);
    return height;
  });
}
