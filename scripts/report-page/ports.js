// Queue, marks and pauses over time of the ports that had most of them.

function ports() {
  const source = data.ports, net = data.topology;
  if (!source || !net || !isNumber(stats.simulated_time_us) && !source.ports.length) return;
  const list = source.ports;
  const node = section("ports", "Queues, marks and pauses", list.length
    ? "The ports with the most ECN marks, the most time paused and the longest queues, at most 8. A port is named by its link, from the transmitting node. Queue: the longest "
      + "at the end of an interval of links.csv; marks are logged by the millisecond. Arrow keys read the values."
    : "No port had a queue at the end of an interval, marked a frame or was paused.");
  if (!list.length) return;
  if (data.events && data.events.cut.length) {
    node.append(element("p", {}, "network_events.log holds the first 20,000 lines of each kind: later ones of " + data.events.cut.join(", ") + " are missing in the counts and marks below."));
  }
  const keys = element("div");
  node.append(keys);
  redraws.push(() => keys.replaceChildren(legend(list.map((port, i) => [seriesColour(i), port.name]))));
  const bin = net.bin_us, start = net.first_bin_us;
  const binSpan = (at) => [Math.max(net.begin_us, start + at * bin), Math.min(net.end_us, start + (at + 1) * bin)];
  const panels = [
    { title: "Queue", unit: "longest in an interval of " + time(bin), format: bytes, value: (port, at) => port.queue_bytes[at] || 0 },
    { title: "ECN marks", unit: "frames in " + time(source.marks_bin_us), format: count, marks: true },
    { title: "Paused by PFC", unit: "share of an interval of " + time(bin), format: (v) => digit(100 * v, 3) + "%", value: (port, at) => port.pause[at] || 0 },
  ];
  list.forEach((port) => { port.marksBy = new Map(port.marks_in); });
  const n = net.bins, markBins = Math.ceil((net.end_us - net.begin_us) / source.marks_bin_us);
  const markAt = (port, us) => port.marksBy.get(Math.floor((us - net.begin_us) / source.marks_bin_us)) || 0;
  let cursor = null;
  chart(node, "Queue, marks and pauses over time", (svg, width) => {
    svg.attr("tabindex", 0).attr("id", "ports-chart");
    const left = 74, right = 12, gap = 50, top = 26;
    const peaks = panels.map((panel) => panel.marks ? d3.max(list, (port) => d3.max(port.marks_in, (m) => m[1]) || 0)
      : d3.max(list, (port) => d3.max(d3.range(n), (at) => panel.value(port, at))));
    const heights = peaks.map((peak) => (peak ? 150 : 22)), height = top + d3.sum(heights) + gap * panels.length;
    const x = d3.scale.linear().domain([0, net.end_us - net.begin_us]).range([left, width - right]);
    panels.forEach((panel, i) => {
      const each = heights[i], y0 = top + d3.sum(heights.slice(0, i)) + gap * i, peak = peaks[i];
      svg.append("text").attr("x", 0).attr("y", y0 - 12).style("font-weight", 600).text(panel.title)
        .append("tspan").attr("class", "muted").attr("dx", 8).style("font-weight", 400).text(panel.unit);
      if (!peak) {
        svg.append("line").attr("x1", left).attr("x2", width - right).attr("y1", y0 + each).attr("y2", y0 + each).style("stroke", colour("line"));
        svg.append("text").attr("class", "muted").attr("x", left + 8).attr("y", y0 + each / 2 + 2).text(panel.marks ? "no frame was marked" : i === 0 ? "no queue" : "no pause");
        return;
      }
      const y = d3.scale.linear().domain([0, peak]).nice(4).range([y0 + each, y0]);
      svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`).call(d3.svg.axis().scale(y).orient("left").ticks(4).tickSize(-(width - left - right)).tickFormat(""));
      svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.svg.axis().scale(y).orient("left").ticks(4).tickFormat(panel.format));
      svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y0 + each})`).call(niceTicks(x, width / 130, (us) => time(us)));
      list.forEach((port, p) => {
        const points = [];
        if (panel.marks) d3.range(markBins).forEach((at) => { const v = port.marksBy.get(at) || 0; points.push([at * source.marks_bin_us, v], [Math.min((at + 1) * source.marks_bin_us, net.end_us - net.begin_us), v]); });
        else d3.range(n).forEach((at) => { const [a, b] = binSpan(at); points.push([a - net.begin_us, panel.value(port, at)], [b - net.begin_us, panel.value(port, at)]); });
        svg.append("path").attr("class", "curve").attr("d", d3.svg.line().x((q) => x(q[0])).y((q) => y(q[1]))(points)).style("stroke", seriesColour(p)).style("stroke-width", 1.6);
      });
    });
    svg.append("text").attr("class", "muted").attr("x", width - right).attr("y", height - 2).attr("text-anchor", "end").text("time since measuring began");
    const line = svg.append("line").attr("class", "mark").attr("y1", top).attr("y2", height - gap).style("display", "none");
    const showAt = (us, clientX, clientY) => {
      cursor = Math.max(0, Math.min(net.end_us - net.begin_us - 1e-6, us));
      line.style("display", null).attr("x1", x(cursor)).attr("x2", x(cursor));
      const at = Math.min(n - 1, Math.max(0, Math.floor((cursor + net.begin_us - start) / bin)));
      const lines = list.map((port) => [port.name, bytes(port.queue_bytes[at] || 0) + " queued, " + count(markAt(port, cursor + net.begin_us)) + " marks, "
        + percent(port.pause[at] || 0, 2) + " paused"]);
      const title = "at " + time(cursor, 4);
      showTooltip(clientX, clientY, title, lines);
      return [title, lines];
    };
    svg.append("rect").attr("x", left).attr("y", 0).attr("width", Math.max(0, width - left - right)).attr("height", height - gap).style("fill", "transparent")
      .on("mousemove", function () { showAt(x.invert(d3.mouse(this)[0]), d3.event.clientX, d3.event.clientY); })
      .on("mouseleave", () => { line.style("display", "none"); hideTooltip(); });
    svg.on("keydown", () => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[d3.event.key];
      if (!step) return;
      d3.event.preventDefault();
      const next = cursor === null ? 0 : cursor + step * (net.end_us - net.begin_us) / 60, place = svg.node().getBoundingClientRect();
      const [title, lines] = showAt(next, place.left + x(Math.max(0, next)), place.top + 60);
      say(title, lines);
    }).on("blur", () => { line.style("display", "none"); hideTooltip(); });
    return height;
  });
  node.append(element("div", { class: "wide" }, table("Over the measured time", ["port", "ECN marks", "times paused", "paused", "longest queue"],
    list.map((port) => [port.name, number(count(port.marks)), number(count(port.pauses)), number(percent(port.pause_share, 2)), number(bytes(port.queue_peak_bytes))]))));
}
