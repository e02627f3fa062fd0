// Queue, marks and pauses over time of the ports that had most of them: a row each, on one scale,
// so that no two cover one another.

function ports() {
  const source = data.ports, net = data.topology;
  if (!source || !net || !isNumber(stats.simulated_time_us) && !source.ports.length) return;
  const list = source.ports
    .filter((port) => port.queue_peak_bytes > 0 || port.marks > 0 || port.pause_share > 0),
    start = net.first_bin_us, bin = net.bin_us, n = net.bins, length = net.end_us - net.begin_us;
  const first = net.begin_us - clockZero, last = first + length;
  const held = heldUp();
  const intervals = " in intervals of " + time(bin), fine = bin > net.interval_us * 1.5
    ? ", which are of " + time(net.interval_us) : "";
  const node = section("ports", stats.credits ? "Queues, marks and waits for credits"
    : "Queues, marks and pauses", list.length
    ? "The ports with the most marks, the most time " + held
    + " and the longest queues, at most 8, worst first. A port is named by its link, from the "
    + "transmitting node. Queue: the longest "
      + (net.queue_peaks ? "that it was" : "at the end of an interval of links.csv" + fine)
      + "; all" + intervals
      + (source.marks_by_interval ? "."
      : ", but marks, which these results have by the millisecond only.")
      + " The scales are the same in all rows. Arrow keys read the values."
    : stats.network ? "Nothing is known of them: --network=" + stats.network
    + " has no packets, so no port has a queue that could mark or pause."
    : "No port had a queue" + (net.queue_peaks ? "" : " at the end of an interval")
    + ", marked a frame or was " + held + ".");
  if (!list.length) return;
  if (data.events && data.events.cut.length) {
    const missing = data.events.cut.filter((kind) => !(source.marks_by_interval && kind === "ecn"));
    if (missing.length)
      node.append(element("p", {},
        "network_events.log holds the first 20,000 lines of each kind: later ones of "
        + missing.join(", ") + " are missing in the counts below."));
  }
  const keys = element("div");
  node.append(keys);
  list.forEach((port) => { port.marksBy = new Map(port.marks_in); });
  const span = (at) => [Math.max(first, start + at * bin - clockZero),
    Math.min(last, start + (at + 1) * bin - clockZero)];
  const markBins = Math.min(20000, Math.ceil(length / source.marks_bin_us));
  // Each measure as [from, to, value] in us on that clock.
  const series = (port) => ({
    queue: d3.range(n).map((at) => [...span(at), port.queue_bytes[at] || 0]),
    pause: d3.range(n).map((at) => [...span(at), port.pause[at] || 0]),
    marks: source.marks_by_interval
      ? d3.range(n).map((at) => [...span(at), port.marks_over_time[at] || 0])
      : d3.range(markBins)
      .map((at) => [first + at * source.marks_bin_us,
      Math.min(last, first + (at + 1) * source.marks_bin_us), port.marksBy.get(at) || 0]),
  });
  const all = list.map(series);
  const peak = (what) => d3.max(all, (of) => d3.max(of[what], (b) => b[2])) || 0;
  const peaks = { queue: peak("queue"), marks: peak("marks"), pause: peak("pause") };
  const strips = [["marks", "marks", "exposed"], ["pause", held, "overlap"]]
    .filter(([what]) => peaks[what] > 0);
  const absent = [["marks", "no frame was marked"], ["pause", "no port was " + held]]
    .filter(([what]) => !peaks[what]).map(([, text]) => text);
  redraws.push(() =>
    keys.replaceChildren(legend([[colour("compute"), "queue, up to " + bytes(peaks.queue)],
    ...strips.map(([what, text, name]) =>
      [colour(name), text + ", up to "
      + (what === "marks" ? count(peaks.marks) + " in an interval"
      : percent(peaks.pause, peaks.pause < 0.1 ? 2 : 0) + " of it")])]),
  absent.length ? element("p", { class: "absent" },
    absent.join("; ").replace(/^./, (c) => c.toUpperCase()) + ".") : ""));
  let cursor = null;
  chart(node, "Queue, marks and pauses over time", (svg, width) => {
    svg.attr("tabindex", 0).attr("id", "ports-chart");
    const left = 62, right = 12, area = 54, strip = 13, each = 26 + area + strips.length
      * (strip + 3) + 14, height = each * list.length + 40;
    const x = d3.scale.linear().domain([first, last]).range([left, width - right]);
    const y = d3.scale.linear().domain([0, peaks.queue || 1]).range([area, 0]);
    const wide = (b) => Math.max(0.4, x(b[1]) - x(b[0]));
    svg.append("g").attr("class", "grid").attr("transform", `translate(0,${height - 40})`)
      .call(niceTicks(x, width / 130, "").tickSize(-(height - 40)));
    list.forEach((port, i) => {
      const top = i * each + 26,
        row = svg.append("g").attr("class", "port").attr("transform", `translate(0,${top})`);
      row.append("text").attr("x", 0).attr("y", -12).style("font-weight", 600).text(port.name);
      const told = bytes(port.queue_peak_bytes)
        + (peaks.marks ? ", " + counted(port.marks, "mark") : "")
        + (peaks.pause ? ", " + percent(port.pause_share, 2) + " " + held : "");
      if (width > 14 * 8 + (port.name.length + told.length) * 7)
        row.append("text").attr("class", "muted").attr("x", width - right).attr("y", -12)
          .attr("text-anchor", "end").text(told);
      row.append("path").attr("class", "queue").style("fill", colour("compute"))
        .attr("d", d3.svg.area().x((p) => x(p[0])).y0(area).y1((p) => y(p[1]))(
        all[i].queue.flatMap(([from, to, value]) => [[from, value], [to, value]])));
      row.append("line").attr("x1", left).attr("x2", width - right).attr("y1", area)
        .attr("y2", area).style("stroke", colour("line"));
      row.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
        .call(d3.svg.axis().scale(y).orient("left").tickValues(peaks.queue ? [0, peaks.queue] : [0])
        .tickSize(4).tickFormat(bytes));
      strips.forEach(([what, text, name], k) => {
        const foot = area + 4 + (k + 1) * (strip + 3) - 1;
        row.append("text").attr("class", "muted").attr("x", left - 6).attr("y", foot - 2)
          .attr("text-anchor", "end").style("font-size", "10px").text(text === "without credits"
          ? "no credits" : text);
        row.append("g").selectAll("rect").data(all[i][what].filter((b) => b[2] > 0)).enter()
          .append("rect").attr("x", (b) => x(b[0])).attr("width", wide)
          .attr("height", (b) => Math.max(1.5, b[2] / peaks[what] * strip)).attr("y", (b) => foot
          - Math.max(1.5, b[2] / peaks[what] * strip)).style("fill", colour(name));
        row.append("line").attr("x1", left).attr("x2", width - right).attr("y1", foot)
          .attr("y2", foot).style("stroke", colour("line"));
      });
    });
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 40})`)
      .call(niceTicks(x, width / 130, (us) => time(us)));
    svg.append("text").attr("class", "muted").attr("x", width - right).attr("y", height - 4)
      .attr("text-anchor", "end").text(clockName);
    readAlong(svg, x, { left, top: 0, width: width - left - right, height: height - 40,
      markTop: 8 }, (us) => {
      cursor = Math.max(first, Math.min(last - 1e-6, us));
      const value = (of) =>
        { const b = of[Math.max(0, d3.bisector((b) => b[0]).right(of, cursor) - 1)];
        return b ? b[2] : 0; };
      return [cursor, "at " + time(cursor, 4),
        list.map((port, i) =>
          [port.name, bytes(value(all[i].queue)) + " queued, "
          + counted(value(all[i].marks), "mark") + ", " + percent(value(all[i].pause), 2)
          + " " + held])];
    }, (step) => cursor === null ? first : Math.max(first, cursor + step * length / 60));
    return height;
  });
  node.append(wideTable("Over the measured time",
    ["port", stats.credits ? "FECN marks" : "ECN marks", "times " + held, held, longestQueue(net)],
    list.map((port) =>
      [port.name, number(count(port.marks)),
      number(port.pauses === null ? "not known" : count(port.pauses)),
      number(percent(port.pause_share, 2)), number(bytes(port.queue_peak_bytes))])));
}
