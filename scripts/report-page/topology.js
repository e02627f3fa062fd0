// The network: thickness of a line is traffic, its colour utilization. Both directions of a link
// are lines of their own, side by side, as long as there is room.

function topology() {
  const net = data.topology, packets = typeof stats.network !== "string",
    known = data.measured && packets;
  if (!net || !net.nodes.length) return;
  const apart = apartFromUnits(net), graph = fold(apart.net);
  place(graph);
  // Hosts may be folded into boxes, switches are not: the node of a unit's switch is found by its
  // name.
  const switches = new Map(graph.nodes.filter((n) => n.kind !== "host").map((n) => [n.label, n]));
  graph.units = apart.units
    .map((unit) => ({ ...unit, beside: switches.get(apart.net.nodes[unit.at][0]) }))
    .filter((unit) => unit.beside);
  const bins = net.bins, two = graph.links.length <= 400;
  const node = section("topology", "The network", !packets
    ? "The network alone: it was simulated without packets, and what its links carried when is "
    + "not known."
    : !data.measured ? "The run ended before its measured time: what links carried is not "
    + "measured, and this is the network alone."
    : "Thickness: traffic. Colour: utilization, the share of the time in which the link was "
    + "sending. "
    + (two ? "Each direction is a line of its own. "
    : "Of the two directions of a link the busier one is shown. ")
    + "Move the slider to see one interval; point at a link, or give the picture the focus and "
    + "use the arrow keys (busiest link first)."
    + (graph.grid ? " Switches stand by their coordinates, their hosts beside them; links that go "
    + "round lead past the others." : "")
    + (graph.units.length
    ? " A plus in a circle beside a switch is its part that adds up; the line to it shows the "
    + "busiest of its links." : "")
    + (graph.folded ? " Hosts behind one switch are drawn as one box; the line to it shows the "
    + "busiest of their links." : "")
    + (net.left_out ? " The " + counted(net.left_out, "link")
    + " with the least traffic are left out." : "")
    + (stats.program === "traffic" ? "" : " Traffic inside servers (NVLink) is not part of it."));

  // ---- controls
  const slider = element("input",
    { type: "range", min: 0, max: bins, value: 0, step: 1, id: "time-slider",
    "aria-label": "Time: 0 is the whole measured time" });
  const shown = element("output", { id: "time-shown", for: "time-slider" });
  const play = element("button", { type: "button", id: "play" }, "Play");
  if (known)
    node.append(element("div", { class: "controls" },
      element("label", { class: "grow" }, "Time", slider), play, shown));
  const layout = element("div");
  node.append(layout);

  // ---- what a direction carried: at = 0 the whole time, else interval at - 1
  const share = (use, at) =>
    (at === 0 ? use.mean : use.over_time ? use.over_time[at - 1] / 1e4 : 0);
  // Gb/s: the mean, if a fault has changed it
  const rateOf = (member, use, at) =>
    (use.rates ? (at === 0 ? use.rate : use.rates[at - 1]) : member.rate_gbps);
  const span = (at) => at === 0 ? [net.begin_us, net.end_us]
    : [Math.max(net.begin_us, net.first_bin_us + (at - 1) * net.bin_us),
    Math.min(net.end_us, net.first_bin_us + at * net.bin_us)];
  const traffic = (link, d, at) =>
    d3.max(link.members, (member) => share(member.use[d], at) * rateOf(member, member.use[d], at));
  const hottest = (link, d, at) => d3.max(link.members, (member) => share(member.use[d], at));
  const directions = [];
  graph.links.concat(graph.units)
    .forEach((link) => [0, 1].forEach((d) => directions.push({ link, d })));
  const most = [];
  const largest = (at) => {
    if (most[at] === undefined)
      most[at] = d3.max(directions, ({ link, d }) => traffic(link, d, at)) || 0;
    return most[at];
  };
  let peak = null; // one thickness scale for all intervals, so that they compare
  const peakOfIntervals = () => {
    if (peak === null)
      { peak = 0; for (let at = 1; at <= bins; at++) peak = Math.max(peak, largest(at)); }
    return peak;
  };
  let at = 0, chosen = null, lines = null, thickness = null, widest = 12, svgNode = null;

  function describe({ link, d }) {
    const member = link.members
      .reduce((a, b) => (share(b.use[d], at) > share(a.use[d], at) ? b : a));
    if (!known)
      return [member.use[d].name,
        [["traffic", "not measured"], ["rate", rate(member.rate_gbps)],
        ["propagation", time(member.delay_us)]]];
    const use = member.use[d], [from, to] = span(at), its = rateOf(member, use, at),
      carried = at === 0 ? use.bytes : share(use, at) * its * 125 * (to - from);
    const rowsOut = [["utilization" + (at ? " in this interval" : ""), percent(share(use, at), 2)],
      ["traffic", bytes(carried)
      + " on the wire, " + rate(share(use, at) * its) + " of " + rate(its)
      + (its === member.rate_gbps ? ""
      : " (a fault slowed the cable of " + rate(member.rate_gbps) + ")")]];
    if (at) rowsOut.push(["whole time", percent(use.mean, 2)]);
    const other = member.use[1 - d];
    rowsOut.push(["other direction", percent(share(other, at), 2)]);
    rowsOut.push([longestQueue(net), bytes(use.queue)],
      [heldUp(), percent(use.pause, 2) + " of the time"]);
    if (member.delay_us) rowsOut.push(["propagation", time(member.delay_us)]);
    if (link.members.length > 1)
      rowsOut.push(["links in this line", count(link.members.length) + ", "
        + rate(d3.sum(link.members, (each) => share(each.use[d], at)
        * rateOf(each, each.use[d], at))) + " together"]);
    return [use.name, rowsOut];
  }

  // ---- the picture
  const box = chart(layout, "The network with its traffic", (svg, width) => {
    svg.attr("id", "network").attr("tabindex", 0).attr("role", "application");
    svgNode = svg.node();
    const small = width < 640, laid = graph.grid ? onGrid(graph, width, two)
      : inTiers(graph, width, two), { X, Y } = laid;
    widest = laid.widest;
    for (const pod of graph.pods) {
      const x0 = laid.left + pod.from * laid.room, x1 = laid.left + pod.to * laid.room,
        y1 = Y({ tier: pod.floor }) + (pod.floor ? 20 : laid.podded ? 58 : 36);
      svg.append("rect").attr("class", "pod").attr("x", x0 + Math.min(4, (x1 - x0) / 8))
        .attr("width", Math.max(1, x1 - x0 - Math.min(8, (x1 - x0) / 4)))
        .attr("rx", Math.min(8, (x1 - x0) / 4))
        .attr("y", Y({ tier: pod.top }) - 24).attr("height", y1 - Y({ tier: pod.top }) + 24);
    }
    const group = svg.append("g");
    const shown = directions.filter(({ d }) => two || d === 0);
    lines = group.selectAll("path").data(shown).enter().append("path").attr("class", "link")
      .on("mousemove", function (entry) { choose(entry, d3.event.clientX, d3.event.clientY); })
      .on("mouseleave", () => choose(null));
    lines.attr("d", ({ link, d }) => (link.beside ? unitPath(link, d, X, Y) : laid.path(link, d)));
    drawNodes(svg, X, Y);
    drawUnits(svg, X, Y);
    graph.pods.forEach((pod) => {
      const x0 = laid.left + pod.from * laid.room, x1 = laid.left + pod.to * laid.room;
      const text = pod.floor ? pod.shown : small ? pod.short : pod.name;
      if (!text || x1 - x0 < text.length * 7 + 8) return;
      // Where no link is: below the hosts, or beside the highest switches.
      const label = svg.append("text").attr("class", "muted halo pod-name").text(text);
      if (pod.floor) label.attr("x", x0 + 8).attr("y", Y({ tier: pod.top }) + 4);
      else label.attr("x", (x0 + x1) / 2).attr("y", Y({ tier: 0 }) + 50)
        .attr("text-anchor", "middle");
    });
    for (let tier = 0; tier < graph.tiers; tier++) {
      svg.append("text").attr("class", "halo").attr("x", small ? 4 : 10).attr("y",
        Y({ tier }) + (small ? -17 : 4)).style("font-weight", 600).text(graph.tierNames[tier]);
    }
    if (known) drawKey(svg, width, laid.height);
    paint();
    return laid.height;
  });
  box.id = "network-box";

  function drawNodes(svg, X, Y) {
    const cells = svg.append("g").selectAll("g").data(graph.nodes).enter().append("g")
      .attr("class", "node")
      .attr("transform", (n) => `translate(${X(n)},${Y(n)})`);
    cells.append("title").text((n) => n.title);
    cells.each(function (n) {
      const cell = d3.select(this), host = n.kind === "host", h = host && graph.grid ? 14 : 22;
      cell.append("rect").attr("x", -n.w / 2).attr("width", n.w).attr("y", -h / 2).attr("height", h)
        .attr("rx", Math.min(host ? 3 : 5, n.w / 3));
      if (host && !n.many && n.w > 12) {
        for (const y of graph.grid ? [-3, 3] : [-5, 0, 5])
          cell.append("path").attr("d", `M${-n.w / 2 + 4},${y}h${n.w - 8}`)
            .style("stroke", colour("muted")).style("stroke-width", 1.5);
      }
      if (n.text) cell.append("text").attr("y", host && !n.many ? 25 : 4).text(n.text);
    });
  }

  // Up and to the right from the corner of the switch; over it, where its neighbour is near.
  function unitAt({ beside }, X, Y) {
    const right = X(beside) + beside.w / 2;
    const crowded = graph.nodes.some((n) => n !== beside && Math.abs(Y(n) - Y(beside)) < 30 && X(n)
      > X(beside) && X(n) - n.w / 2 - right < 28);
    return [crowded ? right - Math.min(4, beside.w / 2) : right + 9, Y(beside) - 19];
  }

  function unitPath(unit, d, X, Y) {
    const [x, y] = unitAt(unit, X, Y),
      off = (two ? (d ? -1 : 1) * (Math.min(widest, 4) / 2 + 0.4) : 0) / Math.SQRT2;
    return `M${x - 12 + off},${y + 11 + off}L${x + off},${y + off}`;
  }

  function drawUnits(svg, X, Y) {
    const cells = svg.append("g").selectAll("g").data(graph.units).enter().append("g")
      .attr("class", "unit")
      .attr("transform", (unit) => `translate(${unitAt(unit, X, Y)})`);
    cells.append("title").text((unit) => unit.label + ": adds up what comes over "
      + counted(unit.members.length, "link") + " to " + unit.beside.label);
    cells.append("circle").attr("r", 6);
    cells.append("path").attr("d", "M-3,0h6M0,-3v6").style("stroke", colour("muted"))
      .style("stroke-width", 1.5);
  }

  function drawKey(svg, width, height) {
    const small = width < 640, y = height - (small ? 62 : 22), bar = small
      ? Math.min(220, width - 40) : Math.min(220, width * 0.2), x0 = 10, steps = 44;
    svg.append("text").attr("class", "muted").attr("x", x0).attr("y", y - 10)
      .text("colour: utilization");
    for (let i = 0; i < steps; i++) {
      svg.append("rect").attr("x", x0 + i * bar / steps).attr("width", bar / steps + 0.5)
        .attr("y", y - 4).attr("height", 9).style("fill", heat((i + 0.5) / steps));
    }
    [0, 0.5, 1].forEach((value) => svg.append("text").attr("class", "muted")
      .attr("x", x0 + value * bar).attr("y", y + 18)
      .attr("text-anchor", value === 0 ? "start" : value === 1 ? "end" : "middle")
      .text(percent(value, 0)));
    thickness = svg.append("g").attr("transform", small ? `translate(${x0},${y + 46})`
      : `translate(${x0 + bar + 40},${y})`);
  }

  function paint() {
    if (!lines) return;
    const scale = at === 0 ? largest(0) : peakOfIntervals();
    const busier = (entry, value) => two ? value(entry.link, entry.d)
      : Math.max(value(entry.link, 0), value(entry.link, 1));
    const size = (gbps) =>
      (scale > 0 ? Math.max(gbps / scale * widest, gbps > 0 ? 0.8 : 0.5) : 0.5);
    const heatOf = (entry) => busier(entry, (link, d) => hottest(link, d, at));
    if (lines.size() <= 1500) lines.sort((a, b) => heatOf(a) - heatOf(b)); // the hot ones on top
    lines.style("stroke-width",
      (entry) => size(busier(entry, (link, d) => traffic(link, d, at))) + "px")
      .style("stroke", (entry) => heat(heatOf(entry)));
    if (!known) { list(); mark(); return; }
    thickness.selectAll("*").remove();
    thickness.append("text").attr("class", "muted").attr("y", -10)
      .text(scale > 0 ? "thickness: traffic of a direction" : "no link carried anything");
    (scale > 0 ? [0.25, 1] : []).forEach((part, i) => {
      thickness.append("path").attr("d", `M${i * 140},1h34`).style("stroke", colour("muted"))
        .style("stroke-width", size(scale * part) + "px");
      thickness.append("text").attr("class", "muted").attr("x", i * 140 + 40).attr("y", 5)
        .text(rate(Number((scale * part).toPrecision(3))));
    });
    const [from, to] = span(at);
    shown.textContent = at === 0 ? "the whole measured time, " + time(net.end_us - net.begin_us)
      : "interval " + at + " of " + bins + ": " + time(from - clockZero, 4) + " to "
      + time(to - clockZero, 4) + " after " + clockBegin;
    slider.setAttribute("aria-valuetext", shown.textContent);
    list();
    mark();
  }

  // ---- the busiest links, as a list and for the keyboard
  let ranked = [];
  const listBox = element("div", { class: "wide" });
  node.append(listBox);
  function list() {
    ranked = directions.slice().sort((a, b) => hottest(b.link, b.d, at) - hottest(a.link, a.d, at)
      || traffic(b.link, b.d, at) - traffic(a.link, a.d, at)
      || (describe(a)[0] < describe(b)[0] ? -1 : 1));
    if (!known) return;
    const rowsOut = ranked.slice(0, 8).map((entry) => {
      const member = entry.link.members
        .reduce((a, b) => (share(b.use[entry.d], at) > share(a.use[entry.d], at) ? b : a)),
        use = member.use[entry.d];
      const button = element("button",
        { type: "button", on: { click: () => choose(entry), focus: () => choose(entry),
        blur: () => choose(null) } }, use.name);
      return [button, number(percent(share(use, at), 2)), number(rate(rateOf(member, use, at))),
        number(bytes(use.queue)), number(percent(use.pause, 2))];
    });
    listBox.replaceChildren(table("The busiest links" + (at ? " of this interval" : ""),
      ["link", "utilization", "rate", longestQueue(net) + ", whole time", heldUp()
      + ", whole time"], rowsOut));
  }
  function mark() { if (lines)
    lines.classed("chosen", (entry) => chosen !== null && entry.link === chosen.link
      && (!two || entry.d === chosen.d)); }
  function choose(entry, clientX, clientY) {
    chosen = entry;
    mark();
    if (!entry) { hideTooltip(); return; }
    const [title, rowsOut] = describe(entry);
    if (clientX === undefined) {
      const path = lines
        .filter((other) => other.link === entry.link && (!two || other.d === entry.d)).node();
      const place = path.getBoundingClientRect();
      clientX = place.left + place.width / 2; clientY = place.top + place.height / 2;
      say(title, rowsOut);
    }
    showTooltip(clientX, clientY, title, rowsOut);
  }
  let rank = -1;
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    rank = Math.max(0, Math.min(ranked.length - 1, rank + step));
    choose(ranked[rank]);
  });
  box.addEventListener("focusout", () => { rank = -1; choose(null); });
  slider.addEventListener("input", () => { at = Number(slider.value); hideTooltip(); paint(); });
  let timer = 0;
  function stop() { clearInterval(timer); timer = 0; play.textContent = "Play"; }
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    play.textContent = "Stop";
    if (at >= bins) at = 0;
    timer = setInterval(() => {
      at = at >= bins ? 0 : at + 1;
      slider.value = at;
      paint();
      if (at === bins) stop();
    }, 150);
  });
}
