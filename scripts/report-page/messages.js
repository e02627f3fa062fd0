// Sizes of messages by operation; completion times and slowdowns with their tails.

// By number of messages, as in the curves: an operation has one colour everywhere.
const operationNames = data.flows ? Object.keys(data.flows.fct).filter((name) => name !== "all" || !("all" in data.flows.fct && Object.keys(data.flows.fct).length > 1)) : [];
const operationColour = (name) => seriesColour(operationNames.indexOf(name));

function sizes() {
  if (!data.flows) return;
  const { operations, exact } = data.flows.sizes;
  const names = operationNames;
  const sampled = data.flows.rows < data.flows.messages;
  const node = section("sizes", "Sizes of transactions", "Messages between servers by size and operation"
    + (exact ? ", each size by itself." : ", in classes of a quarter of an octave.")
    + (sampled ? " Of " + count(data.flows.messages) + " messages, flows.csv holds " + count(data.flows.rows) + ": a sample and the slowest ones." : ""));
  let what = 2; // index into a class: 2 messages, 3 bytes
  const buttons = [[2, "Messages"], [3, "Bytes"]].map(([index, text]) => element("button", { type: "button", "aria-pressed": String(index === what),
    on: { click: () => { what = index; buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(i + 2 === what))); redraw(); } } }, text));
  const controls = element("div", { class: "controls", role: "group", "aria-label": "What the bars count" }, buttons);
  const keys = element("div");
  node.append(controls, keys);
  const classes = d3.set(names.flatMap((name) => operations[name].map((c) => c[0]))).values().map(Number).sort(d3.ascending);
  const upTo = {}, has = {};
  classes.forEach((from) => { has[from] = names.filter((name) => operations[name].some((c) => c[0] === from)); });
  names.forEach((name) => operations[name].forEach((c) => { upTo[c[0]] = c[1]; }));
  const label = (from) => bytes(from);
  chart(node, "Messages by size and operation", (svg, width) => {
    const left = 74, right = 10, top = 24, bottom = 46, height = 300;
    const few = classes.length <= 24;
    const x = few ? d3.scale.ordinal().domain(classes).rangeBands([left, width - right], 0.3, 0.2)
      : d3.scale.log().domain([Math.max(1, classes[0]) / 1.2, Math.max(upTo[classes[classes.length - 1]], 2) * 1.2]).range([left, width - right]);
    const most = d3.max(names, (name) => d3.max(operations[name], (c) => c[what])) || 1;
    const y = d3.scale.linear().domain([0, most]).nice(5).range([height - bottom, top]);
    const format = what === 2 ? count : bytes;
    svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
      .call(d3.svg.axis().scale(y).orient("left").ticks(5).tickSize(-(width - left - right)).tickFormat(""));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.svg.axis().scale(y).orient("left").ticks(5).tickFormat(format));
    const axis = few ? d3.svg.axis().scale(x).tickFormat(label) : d3.svg.axis().scale(x).tickValues(logTicks(x.domain(), (width - left) / 90)).tickFormat(bytes);
    if (few && x.rangeBand() < 56) axis.tickValues(classes.filter((_, i) => i % Math.ceil(64 / (x.rangeBand() * 1.4)) === 0));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`).call(axis);
    svg.append("text").attr("class", "muted").attr("x", (left + width) / 2).attr("y", height - 8).attr("text-anchor", "middle").text("size of a message");
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12).text(what === 2 ? "messages" : "bytes in all of them");
    const place = ([from], name) => { // x and width of a bar: side by side are those that have this size
      const among = has[from], wide = Math.min(80, x.rangeBand() / among.length);
      return [x(from) + x.rangeBand() / 2 + (among.indexOf(name) - among.length / 2) * wide, Math.max(1, wide - 2)];
    };
    names.forEach((name) => {
      const bars = svg.append("g").selectAll("rect").data(operations[name]).enter().append("rect").attr("tabindex", -1)
        .attr("x", (c) => few ? place(c, name)[0] : x(c[0]))
        .attr("width", (c) => few ? place(c, name)[1] : Math.max(2, x(c[1] + 1) - x(c[0]) - 1))
        .attr("y", (c) => y(c[what])).attr("height", (c) => Math.max(c[what] ? 1.5 : 0, y(0) - y(c[what])))
        .style("fill", operationColour(name)).style("fill-opacity", few ? 1 : 0.7);
      bars.on("mousemove", (c) => showTooltip(d3.event.clientX, d3.event.clientY, name, tip(c))).on("mouseleave", hideTooltip);
      if (few && classes.length * names.length <= 24 && x.rangeBand() > 50 * names.length) {
        svg.append("g").selectAll("text").data(operations[name]).enter().append("text").attr("text-anchor", "middle").attr("class", "halo")
          .attr("x", (c) => place(c, name)[0] + place(c, name)[1] / 2).attr("y", (c) => y(c[what]) - 5).text((c) => format(c[what]));
      }
    });
    return height;
  });
  const redraw = redraws[redraws.length - 1];
  function tip(c) { return [["size", c[0] === c[1] ? count(c[0]) + " B" : count(c[0]) + " to " + count(c[1]) + " B"], ["messages", count(c[2])], ["bytes", bytes(c[3])]]; }
  redraws.push(() => keys.replaceChildren(legend(names.map((name) => [operationColour(name), name]))));
  const rows = names.flatMap((name) => operations[name].map((c) => [name, number(c[0] === c[1] ? count(c[0]) : count(c[0]) + "\u2013" + count(c[1])),
    number(count(c[2])), number(bytes(c[3]))]));
  node.append(element("details", {}, element("summary", {}, "As a table"), element("div", { class: "wide tall", tabindex: 0 },
    table(null, ["operation", "size in B", "messages", "bytes"], rows))));
}

// ---- cumulative distributions on an axis that is stretched towards 100%: p99.9 is as far from p99 as p99 from p90

function distribution(parent, what, title, quantiles, format, unitLabel) {
  const curves = data.flows[what], names = Object.keys(curves);
  const main = curves.all || curves[names[0]];
  const holder = element("div");
  parent.append(holder);
  holder.append(element("h3", {}, title));
  let redraw = null, cursor = null;
  const box = chart(holder, title + ": cumulative distribution", (svg, width) => {
    svg.attr("tabindex", 0);
    const left = 62, right = 24, top = 26, bottom = 48, height = 380;
    const values = names.flatMap((name) => curves[name].points.map((p) => p[1])).filter((v) => v > 0);
    let low = d3.min(values) || 0.001, high = d3.max(values) || 1;
    if (high / low < 1.5) { low /= 1.3; high *= 1.3; }
    const x = d3.scale.log().domain([low / 1.05, high * 1.08]).range([left, width - right]);
    const deepest = Math.max(1, Math.log(main.n) / Math.LN10) + 0.25;
    const y = (p) => height - bottom - Math.min(deepest, p >= 1 ? deepest : -Math.log(1 - p) / Math.LN10) / deepest * (height - bottom - top);
    const ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999]
      .filter((p) => -Math.log(1 - p) / Math.LN10 < deepest - 0.3 && (p !== 0.5 || y(0) - y(0.5) > 17)).concat([1]);
    const nameOf = (p) => p === 1 ? "100%" : +(100 * p).toPrecision(6) + "%";
    svg.append("rect").attr("class", "tail").attr("x", left).attr("width", width - left - right).attr("y", top).attr("height", Math.max(0, y(0.99) - top));
    const tailRight = quantiles && x(Math.max(quantiles.p99, low)) < (left + width) / 2; // away from the label of p99
    if (main.n > 100) {
      svg.append("text").attr("class", "muted").attr("x", tailRight ? width - right - 8 : left + 8).attr("y", y(0.99) - 6)
        .attr("text-anchor", tailRight ? "end" : "start").text("the tail: the slowest 1%");
    }
    ticks.forEach((p) => {
      svg.append("line").attr("x1", left).attr("x2", width - right).attr("y1", y(p)).attr("y2", y(p)).style("stroke", colour("grid"));
      svg.append("text").attr("class", "muted").attr("x", left - 8).attr("y", y(p) + 4).attr("text-anchor", "end").text(nameOf(p));
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.svg.axis().scale(x).tickValues(logTicks(x.domain(), (width - left) / 62)).tickFormat(format));
    svg.append("text").attr("class", "muted").attr("x", (left + width) / 2).attr("y", height - 8).attr("text-anchor", "middle").text(unitLabel);
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12).text("share of the messages that took at most this");
    names.forEach((name, i) => {
      const path = d3.svg.line().x((p) => x(Math.max(p[1], low))).y((p) => y(p[0])).interpolate("step-after");
      svg.append("path").attr("class", "curve").attr("d", path([[0, curves[name].points[0][1]], ...curves[name].points]))
        .style("stroke", curveColour(name)).style("stroke-width", name === "all" ? 3 : 1.8).style("stroke-opacity", name === "all" ? 0.85 : 1);
    });
    if (quantiles) {
      [["p50", 0.5], ["p99", 0.99], ["p999", 0.999], ["max", 1]].filter(([, p]) => p === 1 || -Math.log(1 - p) / Math.LN10 < deepest - 0.3).forEach(([key, p]) => {
        const at = x(Math.max(quantiles[key], low)), end = at > (left + width) / 2 || (key === "p50" && at > left + 100);
        svg.append("circle").attr("cx", at).attr("cy", y(p)).attr("r", 4.5).style("fill", colour("exposed")).style("stroke", colour("bg"));
        svg.append("text").attr("class", "halo").attr("x", at + (end ? -9 : 9)).attr("y", y(p) + (p === 1 ? 15 : -7)).attr("text-anchor", end ? "end" : "start")
          .style("font-weight", 600).text((key === "p999" ? "p99.9" : key) + " " + format(quantiles[key]));
      });
    }
    const line = svg.append("line").attr("class", "mark").attr("y1", top).attr("y2", height - bottom).style("display", "none");
    const showAt = (value, clientX, clientY) => {
      value = Math.max(x.domain()[0], Math.min(x.domain()[1], value));
      cursor = value;
      line.style("display", null).attr("x1", x(value)).attr("x2", x(value));
      const lines = names.map((name) => {
        const points = curves[name].points, i = d3.bisector((p) => p[1]).right(points, value);
        return [name, nameOf(i ? points[i - 1][0] : 0) + " of " + count(curves[name].n)];
      });
      showTooltip(clientX, clientY, "at most " + format(value), lines);
      return lines;
    };
    svg.append("rect").attr("x", left).attr("y", top).attr("width", Math.max(0, width - left - right)).attr("height", height - top - bottom).style("fill", "transparent")
      .on("mousemove", function () { showAt(x.invert(d3.mouse(this)[0]), d3.event.clientX, d3.event.clientY); })
      .on("mouseleave", () => { line.style("display", "none"); hideTooltip(); });
    svg.on("keydown", () => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[d3.event.key];
      if (!step) return;
      d3.event.preventDefault();
      const place = svg.node().getBoundingClientRect();
      const value = cursor === null ? (quantiles ? quantiles.p50 : low) : cursor * Math.pow(x.domain()[1] / x.domain()[0], step / 60);
      const lines = showAt(value, place.left + x(value), place.top + 60);
      say("at most " + format(cursor), lines);
    }).on("blur", () => { line.style("display", "none"); hideTooltip(); });
    return height;
  });
  return box;
}
const curveColour = (name) => (operationNames.includes(name) ? operationColour(name) : colour("muted"));

function completionTimes() {
  if (!data.flows) return;
  const names = Object.keys(data.flows.fct), sampled = data.flows.rows < data.flows.messages;
  const node = section("completion", "Completion times and slowdown", "From the posting of a message to its last byte at the receiver; slowdown: over the time of the "
    + "same message alone on the idle network. The scale of shares is stretched towards 100%, so that the tail can be seen. Dots are the quantiles of stats.json. "
    + "Arrow keys read the curves." + (sampled ? " flows.csv is a sample: its messages count for as many as they stand for." : ""));
  const keys = element("div");
  node.append(keys);
  const two = element("div", { class: "two" });
  node.append(two);
  const ok = stats.messages > 0;
  distribution(two, "fct", "Completion time", ok ? stats.fct_us : null, (us) => time(us), "completion time");
  distribution(two, "slowdown", "Slowdown", ok ? stats.fct_slowdown : null, (v) => digit(v) + "\u00d7", "completion time over that on the idle network");
  redraws.push(() => keys.replaceChildren(names.length > 1 ? legend(names.map((name) => [curveColour(name), name])) : ""));
}

const meaningOf = (key) => (Object.hasOwn(meanings.stats, key) ? meanings.stats[key][1] : key.slice(key.lastIndexOf(".") + 1));
function shareBar(share) {
  const box = element("span", { class: "part", "aria-hidden": "true" }, element("span"));
  box.firstChild.style.width = 100 * Math.min(1, Math.max(0, share)) + "%";
  return box;
}

// What the last step waited for: by cause, the ports where messages were longest, call by call, message by message.
function criticalPath() {
  const told = stats.critical_path;
  if (!told || !told.share || !isNumber(told.total_us)) return;
  const node = section("critical", "Critical path", "What made the last measured step as long as it was, walked back from its last call: over the calls that each one waited "
    + "for, and through collectives message by message, to the step\u2019s beginning. The parts add up to " + time(told.total_us, 4) + ".");
  const parts = Object.entries(told.share).filter(([, share]) => isNumber(share) && share >= 0.0005).sort((a, b) => b[1] - a[1]);
  node.append(table("Parts", ["part", "time", "share", ""],
    parts.map(([name, share]) => [meaningOf("critical_path.share." + name), number(time(share * told.total_us)), number(percent(share)), shareBar(share)])));
  const rows = (list, ...numbers) => (list || []).filter((row) => row && numbers.every((key) => isNumber(row[key])));
  const word = (part) => part.replace(/_/g, "\u00a0");
  const most = (of) => Object.entries(of || {}).filter(([, us]) => isNumber(us)).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([part, us]) => word(part) + "\u00a0" + time(us)).join(", ");
  const hops = rows(told.hops, "time_us", "waited_us");
  if (hops.length) {
    node.append(element("div", { class: "wide" }, table("Where messages of the path were longest", ["link", "collective", "time", "of it waiting", "most of it", "behind"],
      hops.map((hop) => [String(hop.link), String(hop.call), number(time(hop.time_us)), number(time(hop.waited_us)), hop.why ? word(String(hop.why)) : "", hop.behind === null ? "" : String(hop.behind)]))));
  }
  const details = (summary, head, body) => {
    const box = element("details", {}, element("summary", {}, summary));
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1) box.append(element("div", { class: "wide tall", tabindex: 0 }, table(null, head, body())));
    });
    node.append(box);
  };
  const calls = rows(told.path, "start_us", "end_us"), from = isNumber(told.start_us) ? told.start_us : 0;
  if (calls.length) {
    details("Its calls" + (told.calls > calls.length ? ", the first " + count(calls.length) + " of " + count(told.calls) : ", " + count(calls.length)), ["call", "GPU", "begins", "takes", "messages", "most of it"],
      () => calls.map((call) => [String(call.call), number(count(call.rank)), number(time(call.start_us - from, 4)), number(time(call.end_us - call.start_us)), call.messages ? number(count(call.messages)) : "",
        call.parts_us ? most(call.parts_us) : call.straggling_us ? "straggling\u00a0" + time(call.straggling_us) : ""]));
  }
  const messages = rows(told.longest_messages, "start_us", "end_us", "messages");
  if (messages.length) {
    const among = d3.sum(messages, (m) => m.messages);
    details("Its messages, " + (told.messages > among ? count(among) + " of " : "") + count(told.messages),
      ["collective", "from GPU", "to GPU", "messages", "begins", "takes", "longest at", "behind", "most of it"],
      () => messages.map((m) => [String(m.call), number(count(m.from)), number(count(m.to)), number(count(m.messages)), number(time(m.start_us - from, 4)), number(time(m.end_us - m.start_us)),
        m.link === null ? "" : String(m.link), m.behind === null ? "" : String(m.behind), most(m.parts_us)]));
  }
}

// The parts of all completion times together, the latest messages in words, the ports where messages waited.
function whereTheTimeWent() {
  const told = stats.attribution;
  if (!told || !told.share) return;
  const parts = Object.entries(told.share).filter(([, share]) => isNumber(share) && share >= 0.0005).sort((a, b) => b[1] - a[1]);
  if (!parts.length) return;
  const node = section("why", "Where the time of messages went", "Parts of the completion times of all messages, added up: from the posting to the last byte, "
    + "as their last packets met it. attribution.csv has the parts of the 1,000 messages that lost most time.");
  node.append(table("Parts", ["part", "share", ""], parts.map(([name, share]) => [meaningOf("attribution.share." + name), number(percent(share)), shareBar(share)])));
  const words = (told.slowest || []).filter((line) => typeof line === "string");
  if (words.length) node.append(element("h3", {}, "The latest"), element("ol", {}, words.map((line) => element("li", {}, line))));
  const ports = (told.ports || []).filter((port) => port && isNumber(port.queued_us) && isNumber(port.paused_us));
  if (ports.length) {
    node.append(table("Where messages waited most: time of their last packets, summed", ["link", "queued", "paused"],
      ports.map((port) => [String(port.link), number(time(port.queued_us)), number(time(port.paused_us))])));
  }
}
