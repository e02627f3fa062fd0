// Completion times and slowdowns with their tails.

// By number of messages, as in the curves: an operation has one colour everywhere.
const operationNames = data.flows
  ? Object.keys(data.flows.fct).filter((name) => name !== "all"
  || !("all" in data.flows.fct && Object.keys(data.flows.fct).length > 1)) : [];
const operationColour = (name) => seriesColour(operationNames.indexOf(name));

// ---- cumulative distributions on an axis that is stretched towards 100%: p99.9 is as far from p99
// as p99 from p90

// curves: {name: {n, points}}; mark: a value with a line of its own, which markName and the value
// name.
function distribution(parent, curves, title, quantiles, format, unitLabel,
  { what = "messages", colourOf = curveColour, mark = null, markName = "" } = {}) {
  const names = Object.keys(curves);
  const main = curves.all || curves[names[0]];
  const holder = element("div");
  parent.append(holder);
  holder.append(element("h3", {}, title));
  let redraw = null, cursor = null;
  const box = chart(holder, title + ": cumulative distribution", (svg, width) => {
    svg.attr("tabindex", 0);
    // Quantiles stand in the margin, each at the height of its share: there is no curve.
    const left = 62, right = quantiles ? 104 : 24, top = 26, bottom = 48, height = 380;
    const values = names.flatMap((name) => curves[name].points.map((p) => p[1]))
      .filter((v) => v > 0);
    let low = d3.min(values) || 0.001, high = d3.max(values) || 1;
    if (mark > 0) { low = Math.min(low, mark); high = Math.max(high, mark); }
    if (high / low < 1.5) { low /= 1.3; high *= 1.3; }
    const x = d3.scale.log().domain([low / 1.05, high * 1.08]).range([left, width - right]);
    const deepest = Math.max(1, Math.log(main.n) / Math.LN10) + 0.25;
    const y = (p) => height - bottom
      - Math.min(deepest, p >= 1 ? deepest : -Math.log(1 - p) / Math.LN10) / deepest
      * (height - bottom - top);
    const ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999]
      .filter((p) => -Math.log(1 - p) / Math.LN10 < deepest - 0.3
      && (p !== 0.5 || y(0) - y(0.5) > 17)).concat([1]);
    const nameOf = (p) => p === 1 ? "100%" : +(100 * p).toPrecision(6) + "%";
    svg.append("rect").attr("class", "tail").attr("x", left).attr("width", width - left - right)
      .attr("y", top).attr("height", Math.max(0, y(0.99) - top));
    if (main.n > 100) { // where no curve passes
      const reached = (p) =>
        names.map((name) => (curves[name].points.find((point) => point[0] >= p) || [0, high])[1])
        .map((v) => x(Math.max(v, low)));
      const room = 175, marked = mark > 0 ? x(mark) : -1; // nor the line of the mark
      const begin = marked < left + room ? Math.max(left, marked)
        : left, end = marked > width - right - room ? marked : width - right;
      const at = d3.min(reached(0.99)) - begin > room ? "start" : end - d3.max(reached(1)) > room
        ? "end" : "";
      if (at) {
        svg.append("text").attr("class", "muted").attr("x", at === "end" ? end - 8 : begin + 8)
          .attr("y", y(0.99) - 6).attr("text-anchor", at).text("the tail: the slowest 1%");
      }
    }
    ticks.forEach((p) => {
      svg.append("line").attr("x1", left).attr("x2", width - right).attr("y1", y(p))
        .attr("y2", y(p)).style("stroke", colour("grid"));
      svg.append("text").attr("class", "muted").attr("x", left - 8).attr("y", y(p) + 4)
        .attr("text-anchor", "end").text(nameOf(p));
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.svg.axis().scale(x).tickValues(roundTicks(x.domain(), width - left - right, 54))
      .tickFormat((v) => trimmed(format(v))));
    svg.append("text").attr("class", "muted").attr("x", (left + width) / 2).attr("y", height - 8)
      .attr("text-anchor", "middle").text(unitLabel + ", logarithmic");
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12)
      .text("share of the " + what + " that took at most this");
    // its words stand where no curve passes: below the curve where most are faster, else above it
    if (mark > 0) {
      const early = names
        .every((name) => (curves[name].points.find((point) => point[0] >= 0.5) || [1, high])[1]
        <= mark), room = 96;
      const after = early ? x(mark) + room < width - right : x(mark) - room < left;
      svg.append("line").attr("class", "mark").attr("x1", x(mark)).attr("x2", x(mark))
        .attr("y1", top).attr("y2", height - bottom);
      svg.append("text").attr("class", "halo objective").attr("x", x(mark) + (after ? 6 : -6))
        .attr("y", early ? height - bottom - 8 : top + 14)
        .attr("text-anchor", after ? "start" : "end").text(markName + " " + trimmed(format(mark)));
    }
    names.forEach((name, i) => {
      const path = d3.svg.line().x((p) => x(Math.max(p[1], low))).y((p) => y(p[0]))
        .interpolate("step-after");
      svg.append("path").attr("class", "curve")
        .attr("d", path([[0, curves[name].points[0][1]], ...curves[name].points]))
        .style("stroke", colourOf(name)).style("stroke-width", name === "all" ? 3 : 1.8)
        .style("stroke-opacity", name === "all" ? 0.85 : 1);
    });
    if (quantiles) {
      let last = -Infinity;
      [["max", 1], ["p999", 0.999], ["p99", 0.99], ["p90", 0.9], ["p50", 0.5]]
        .forEach(([key, p]) => {
        if (!isNumber(quantiles[key]) || p < 1 && -Math.log(1 - p) / Math.LN10 >= deepest - 0.3
          || y(p) - last < 15) return;
        last = y(p);
        svg.append("circle").attr("class", "quantile").attr("cx", x(Math.max(quantiles[key], low)))
          .attr("cy", y(p)).attr("r", 4).style("fill", colour("bg"))
          .style("stroke", colour("text")).style("stroke-width", 1.8);
        svg.append("text").attr("class", "quantile").attr("x", width - right + 8)
          .attr("y", y(p) + 4)
          .text((key === "p999" ? "p99.9" : key) + " ").append("tspan").style("font-weight", 600)
          .text(format(quantiles[key]));
      });
    }
    readAlong(svg, x, { left, top, width: width - left - right, height: height - top - bottom },
      (wanted) => {
      const value = cursor = Math.max(x.domain()[0], Math.min(x.domain()[1], wanted));
      return [value, "at most " + format(value), names.map((name) => {
        const points = curves[name].points, i = d3.bisector((p) => p[1]).right(points, value);
        return [name, nameOf(i ? points[i - 1][0] : 0) + " of " + count(curves[name].n)];
      })];
    }, (step) => cursor === null ? (quantiles ? quantiles.p50 : low)
      : cursor * Math.pow(x.domain()[1] / x.domain()[0], step / 60));
    return height;
  });
  return box;
}
// The sum of all is grey, which is none of the colours of operations (seriesColour).
const curveColour = (name) =>
  (operationNames.includes(name) ? operationColour(name) : colour("muted"));

function completionTimes() {
  if (!data.flows) return;
  const names = Object.keys(data.flows.fct), sampled = data.flows.rows < data.flows.messages;
  const node = section("completion", "Completion times and slowdown",
    "From the posting of a message to its last byte at the receiver; slowdown: over the time of "
    + "the "
    + "same message alone on the idle network. The scale of shares is stretched towards 100%, so "
    + "that the tail can be seen. Rings are the quantiles of stats.json, which stand beside. "
    + "Arrow keys read the curves."
    + (sampled ? " flows.csv is a sample: its messages count for as many as they stand for." : ""));
  const keys = element("div");
  node.append(keys);
  const two = element("div", { class: "two" });
  node.append(two);
  const ok = stats.messages > 0;
  distribution(two, data.flows.fct, "Completion time", ok ? stats.fct_us
    : null, (us) => time(us), "completion time");
  distribution(two, data.flows.slowdown, "Slowdown", ok ? stats.fct_slowdown
    : null, (v) => three(v) + "\u00d7", "completion time over that on the idle network");
  redraws.push(() => keys.replaceChildren(names.length > 1
    ? legend(names.map((name) => [curveColour(name), name])) : ""));
}
