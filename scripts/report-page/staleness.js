// Asynchronous training: how many updates of others a shard saw between a replica's fetch and its
// push.

function staleness() {
  const told = stats.staleness, servers = stats.parameter_servers || {};
  const rows = told && Array.isArray(told.histogram)
    ? told.histogram.filter((row) => Array.isArray(row) && row.length === 2 && row.every(isNumber)
    && row[1] > 0) : [];
  if (!rows.length) return;
  const all = d3.sum(rows, (row) => row[1]), most = d3.max(rows, (row) => row[1]),
    largest = d3.max(rows, (row) => row[0]);
  const node = section("staleness", "Staleness",
    "Of every gradient that a shard applied: updates by other replicas since its replica fetched "
    + "the parameters. "
    + counted(all, "gradient") + ", " + digit(told.mean, 3) + " updates in the mean, at most "
    + count(told.max) + "."
    + (servers.gradients_dropped > 0
    ? " " + count(servers.gradients_dropped) + " more came too late and were dropped." : ""));
  // Wide ones in classes, so that a bar can be seen.
  const step = Math.max(1, Math.ceil((largest + 1) / 200));
  const bars = d3.nest().key((row) => Math.floor(row[0] / step)).entries(rows)
    .map(({ key, values }) => [Number(key) * step, d3.sum(values, (row) => row[1])])
    .sort((a, b) => a[0] - b[0]);
  const words = (from) => step === 1 ? count(from) : count(from) + " to " + count(from + step - 1);
  chart(node, "Gradients by staleness, " + digit(told.mean, 3) + " in the mean", (svg, width) => {
    const left = 74, right = 10, top = 24, bottom = 46, height = 240, floor = height - bottom;
    const x = d3.scale.linear().domain([-0.6 * step, largest + 0.6 * step])
      .range([left, width - right]);
    const y = d3.scale.linear().domain([0, step === 1 ? most : d3.max(bars, (bar) => bar[1])])
      .nice(5).range([floor, top]);
    valueAxis(svg, y, [left, width - right], null, count);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${floor})`)
      .call(niceTicks(x, Math.min(largest + 1, width / 90), (v) => v < 0 ? "" : count(v)));
    svg.append("text").attr("class", "muted").attr("x", (left + width - right) / 2)
      .attr("y", floor + 38).attr("text-anchor", "middle").text("updates by others");
    svg.append("text").attr("class", "muted").attr("x", 0).attr("y", 12).text("gradients");
    const wide = Math.max(1, Math.min(60, (x(step) - x(0)) * 0.8));
    svg.append("g").selectAll("rect").data(bars).enter().append("rect").attr("tabindex", -1)
      .attr("x", (bar) => x(bar[0] + (step - 1) / 2) - wide / 2).attr("width", wide)
      .attr("y", (bar) => Math.min(floor - 1.5, y(bar[1])))
      .attr("height", (bar) => Math.max(1.5, floor - y(bar[1])))
      .style("fill", colour("compute"))
      .on("mousemove", (bar) =>
      showTooltip(d3.event.clientX, d3.event.clientY, "Staleness",
      [["updates by others", words(bar[0])], ["gradients", count(bar[1])],
      ["share", percent(bar[1] / all)]]))
      .on("mouseleave", hideTooltip);
    return height;
  });
  node.append(element("details", {}, element("summary", {}, "As a table"),
    wideTable("", ["updates by others", "gradients", "share"],
    bars.map((bar) => [number(words(bar[0])), number(count(bar[1])),
      number(percent(bar[1] / all))]), true)));
}
