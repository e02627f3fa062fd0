// The network: thickness of a line is traffic, its colour utilization. Both directions of a link are lines of
// their own, side by side, as long as there is room.

// Beyond this many, hosts behind the same switches are one box; but not if hardly anything were left to see.
const MOST_HOSTS = 128, FEW_BOXES = 8, MOST_THIN_HOSTS = 2000;

function topology() {
  const net = data.topology;
  if (!net || !net.nodes.length) return;
  const graph = fold(net);
  place(graph);
  const bins = net.bins, two = graph.links.length <= 400;
  const node = section("topology", "The network", "Thickness: traffic. Colour: utilization, the share of the time in which the link was sending. "
    + (two ? "Each direction is a line of its own. " : "Of the two directions of a link the busier one is shown. ")
    + "Move the slider to see one interval; point at a link, or give the picture the focus and use the arrow keys (busiest link first)."
    + (graph.folded ? " Hosts behind one switch are drawn as one box; the line to it shows the busiest of their links." : "")
    + (net.left_out ? " The " + count(net.left_out) + " links with the least traffic are left out." : "")
    + " Traffic inside servers (NVLink) is not part of it.");

  // ---- controls
  const slider = element("input", { type: "range", min: 0, max: bins, value: 0, step: 1, id: "time-slider", "aria-label": "Time: 0 is the whole measured time" });
  const shown = element("output", { id: "time-shown", for: "time-slider" });
  const play = element("button", { type: "button", id: "play" }, "Play");
  node.append(element("div", { class: "controls" }, element("label", { class: "grow" }, "Time", slider), play, shown));
  const layout = element("div");
  node.append(layout);

  // ---- what a direction carried: at = 0 the whole time, else interval at - 1
  const share = (use, at) => (at === 0 ? use.mean : use.over_time ? use.over_time[at - 1] / 1e4 : 0);
  const span = (at) => at === 0 ? [net.begin_us, net.end_us] : [Math.max(net.begin_us, net.first_bin_us + (at - 1) * net.bin_us),
    Math.min(net.end_us, net.first_bin_us + at * net.bin_us)];
  const traffic = (link, d, at) => d3.max(link.members, (member) => share(member.use[d], at) * member.rate_gbps);
  const hottest = (link, d, at) => d3.max(link.members, (member) => share(member.use[d], at));
  const directions = [];
  graph.links.forEach((link) => [0, 1].forEach((d) => directions.push({ link, d })));
  const most = [];
  const largest = (at) => {
    if (most[at] === undefined) most[at] = d3.max(directions, ({ link, d }) => traffic(link, d, at)) || 0;
    return most[at];
  };
  let peak = null; // one thickness scale for all intervals, so that they compare
  const peakOfIntervals = () => {
    if (peak === null) { peak = 0; for (let at = 1; at <= bins; at++) peak = Math.max(peak, largest(at)); }
    return peak;
  };
  let at = 0, chosen = null, lines = null, thickness = null, widest = 12, svgNode = null;

  function describe({ link, d }) {
    const member = link.members.reduce((a, b) => (share(b.use[d], at) > share(a.use[d], at) ? b : a));
    const use = member.use[d], [from, to] = span(at), carried = at === 0 ? use.bytes : share(use, at) * member.rate_gbps * 125 * (to - from);
    const rowsOut = [["utilization" + (at ? " in this interval" : ""), percent(share(use, at), 2)], ["traffic", bytes(carried)
      + " on the wire, " + rate(share(use, at) * member.rate_gbps) + " of " + rate(member.rate_gbps)]];
    if (at) rowsOut.push(["whole time", percent(use.mean, 2)]);
    const other = member.use[1 - d];
    rowsOut.push(["other direction", percent(share(other, at), 2)]);
    rowsOut.push(["longest queue", bytes(use.queue)], ["paused", percent(use.pause, 2) + " of the time"]);
    if (member.delay_us) rowsOut.push(["propagation", time(member.delay_us)]);
    if (link.members.length > 1) rowsOut.push(["links in this line", count(link.members.length) + ", " + rate(d3.sum(link.members, (each) => share(each.use[d], at) * each.rate_gbps)) + " together"]);
    return [use.name, rowsOut];
  }

  // ---- the picture
  const box = chart(layout, "The network with its traffic", (svg, width) => {
    svg.attr("id", "network").attr("tabindex", 0).attr("role", "application");
    svgNode = svg.node();
    const narrow = width / Math.max(1, graph.widest);
    const left = 104, right = 16, bottom = graph.pods.length ? 122 : 100;
    const X = (n) => left + n.x * (width - left - right);
    // Neighbours in a tier, as in a ring, are joined by arcs; those of the top one need room above it.
    const lift = (link) => 24 + Math.abs(X(graph.nodes[link.a]) - X(graph.nodes[link.b])) * 0.12 + link.ordinal * (4 * widest + 12);
    widest = Math.max(3, Math.min(9, narrow * 0.22)); // both directions end inside a switch's box
    const arcs = directions.map(({ link }) => link).filter((link) => graph.nodes[link.a].tier === graph.tiers - 1 && graph.nodes[link.b].tier === graph.tiers - 1);
    const top = Math.max(30, (d3.max(arcs, lift) || 0) / 2 + 2 * widest);
    const height = (graph.tiers === 1 ? 340 : Math.max(360, Math.min(680, 140 * graph.tiers + 110))) + top - 30;
    const Y = (n) => height - bottom - n.tier / Math.max(1, graph.tiers - 1) * (height - bottom - top);
    for (const pod of graph.pods) {
      const x0 = left + pod.from * (width - left - right), x1 = left + pod.to * (width - left - right);
      svg.append("rect").attr("class", "pod").attr("x", x0 + 4).attr("width", Math.max(1, x1 - x0 - 8)).attr("rx", 8)
        .attr("y", Y({ tier: pod.top }) - 24).attr("height", Y({ tier: 0 }) - Y({ tier: pod.top }) + 82);
      if (x1 - x0 > 50 && graph.tiers > 3) { // a leaf switch with its hosts is no pod
        svg.append("text").attr("class", "muted").attr("x", (x0 + x1) / 2).attr("y", Y({ tier: 0 }) + 49).attr("text-anchor", "middle").style("font-weight", 600).text("pod " + pod.index);
      }
    }
    for (let tier = 0; tier < graph.tiers; tier++) {
      svg.append("text").attr("x", 10).attr("y", Y({ tier }) + 4).style("font-weight", 600).text(graph.tierNames[tier]);
    }
    const group = svg.append("g");
    const shown = directions.filter(({ d }) => two || d === 0);
    lines = group.selectAll("path").data(shown).enter().append("path").attr("class", "link")
      .on("mousemove", function (entry) { choose(entry, d3.event.clientX, d3.event.clientY); })
      .on("mouseleave", () => choose(null));
    lines.attr("d", ({ link, d }) => {
      const a = graph.nodes[link.a], b = graph.nodes[link.b];
      let x0 = X(a), y0 = Y(a), x1 = X(b), y1 = Y(b);
      const length = Math.hypot(x1 - x0, y1 - y0) || 1, off = (two ? (d ? -1 : 1) * (widest / 2 + 0.6) : 0);
      const ox = (y1 - y0) / length * off, oy = -(x1 - x0) / length * off;
      if (a.tier === b.tier && a !== b) { // neighbours in a tier: an arc
        return `M${x0 + ox},${y0 + oy}Q${(x0 + x1) / 2 + ox},${y0 - lift(link) + oy} ${x1 + ox},${y1 + oy}`;
      }
      const parallel = (link.ordinal - (link.parallel() - 1) / 2) * (2 * widest + 3);
      return `M${x0 + ox + parallel},${y0 + oy}L${x1 + ox + parallel},${y1 + oy}`;
    });
    drawNodes(svg, graph, X, Y, width - left - right);
    drawKey(svg, width, height);
    paint();
    return height;
  });
  box.id = "network-box";

  function drawNodes(svg, graph, X, Y, room) {
    const perTier = d3.nest().key((n) => n.tier).rollup((list) => list.length).map(graph.nodes);
    const longest = d3.nest().key((n) => n.tier).rollup((list) => d3.max(list, (n) => n.label.length)).map(graph.nodes);
    const cells = svg.append("g").selectAll("g").data(graph.nodes).enter().append("g").attr("class", "node")
      .attr("transform", (n) => `translate(${X(n)},${Y(n)})`);
    cells.append("title").text((n) => n.title);
    cells.each(function (n) {
      const cell = d3.select(this), space = room / perTier[n.tier], host = n.kind === "host";
      const text = n.label, wanted = Math.max(host ? 26 : 56, text.length * 6.6 + 14);
      const fits = longest[n.tier] * 6.6 + (host ? 4 : 14) <= space - 4; // all of a tier, or none

      const short = text.replace(/^.*?(\d+(-\d+)*)$/, "$1");
      const w = n.many ? Math.max(3, Math.min(30, space * 0.8)) : host ? Math.min(Math.max(26, n.degree * (2 * widest + 3)), Math.max(3, space * 0.6)) : fits ? wanted : Math.min(space * 0.72, short.length * 6.6 + 10), h = 22;
      cell.append("rect").attr("x", -w / 2).attr("width", w).attr("y", -h / 2).attr("height", h).attr("rx", host ? 3 : 5);
      if (host && !n.many) {
        if (w > 12) for (const y of [-5, 0, 5]) cell.append("path").attr("d", `M${-w / 2 + 4},${y}h${w - 8}`).style("stroke", colour("muted")).style("stroke-width", 1.5);
        if (fits) cell.append("text").attr("y", 25).style("font-size", space < 78 ? "11px" : null).text(text);
        else if (short.length * 7 < space - 1) cell.append("text").attr("y", 25).text(short);
      } else if (n.many ? w > short.length * 6.6 + 2 : fits) cell.append("text").attr("y", 4).text(text);
      else if (!n.many && short.length * 6.6 + 4 <= space * 0.72) cell.append("text").attr("y", 4).text(short);
    });
  }

  function drawKey(svg, width, height) {
    const y = height - 22, bar = Math.min(220, width * 0.2), x0 = 10, steps = 44;
    svg.append("text").attr("class", "muted").attr("x", x0).attr("y", y - 10).text("colour: utilization");
    for (let i = 0; i < steps; i++) {
      svg.append("rect").attr("x", x0 + i * bar / steps).attr("width", bar / steps + 0.5).attr("y", y - 4).attr("height", 9).style("fill", heat((i + 0.5) / steps));
    }
    [0, 0.5, 1].forEach((value) => svg.append("text").attr("class", "muted").attr("x", x0 + value * bar).attr("y", y + 18)
      .attr("text-anchor", value === 0 ? "start" : value === 1 ? "end" : "middle").text(percent(value, 0)));
    thickness = svg.append("g").attr("transform", `translate(${x0 + bar + 40},${y})`);
  }

  function paint() {
    if (!lines) return;
    const scale = at === 0 ? largest(0) : peakOfIntervals();
    const busier = (entry, value) => two ? value(entry.link, entry.d) : Math.max(value(entry.link, 0), value(entry.link, 1));
    const size = (gbps) => (scale > 0 ? Math.max(gbps / scale * widest, gbps > 0 ? 0.8 : 0.5) : 0.5);
    const heatOf = (entry) => busier(entry, (link, d) => hottest(link, d, at));
    if (lines.size() <= 1500) lines.sort((a, b) => heatOf(a) - heatOf(b)); // the hot ones on top
    lines.style("stroke-width", (entry) => size(busier(entry, (link, d) => traffic(link, d, at))) + "px")
      .style("stroke", (entry) => heat(heatOf(entry)));
    thickness.selectAll("*").remove();
    thickness.append("text").attr("class", "muted").attr("y", -10).text("thickness: traffic of a direction");
    (scale > 0 ? [0.25, 1] : []).forEach((part, i) => {
      thickness.append("path").attr("d", `M${i * 140},1h34`).style("stroke", colour("muted")).style("stroke-width", size(scale * part) + "px");
      thickness.append("text").attr("class", "muted").attr("x", i * 140 + 40).attr("y", 5).text(rate(Number((scale * part).toPrecision(3))));
    });
    const [from, to] = span(at);
    shown.textContent = at === 0 ? "the whole measured time, " + time(net.end_us - net.begin_us)
      : "interval " + at + " of " + bins + ": " + time(from - net.begin_us, 4) + " to " + time(to - net.begin_us, 4) + " after measuring began";
    slider.setAttribute("aria-valuetext", shown.textContent);
    list();
    mark();
  }

  // ---- the busiest links, as a list and for the keyboard
  let ranked = [];
  const listBox = element("div", { class: "wide" });
  node.append(listBox);
  function list() {
    ranked = directions.slice().sort((a, b) => hottest(b.link, b.d, at) - hottest(a.link, a.d, at) || traffic(b.link, b.d, at) - traffic(a.link, a.d, at)
      || (describe(a)[0] < describe(b)[0] ? -1 : 1));
    const rowsOut = ranked.slice(0, 8).map((entry) => {
      const member = entry.link.members.reduce((a, b) => (share(b.use[entry.d], at) > share(a.use[entry.d], at) ? b : a)), use = member.use[entry.d];
      const button = element("button", { type: "button", on: { click: () => choose(entry), focus: () => choose(entry), blur: () => choose(null) } }, use.name);
      return [button, number(percent(share(use, at), 2)), number(rate(member.rate_gbps)), number(bytes(use.queue)), number(percent(use.pause, 2))];
    });
    listBox.replaceChildren(table("The busiest links" + (at ? " of this interval" : ""), ["link", "utilization", "rate", "longest queue, whole time", "paused, whole time"], rowsOut));
  }
  function mark() { if (lines) lines.classed("chosen", (entry) => chosen !== null && entry.link === chosen.link && (!two || entry.d === chosen.d)); }
  function choose(entry, clientX, clientY) {
    chosen = entry;
    mark();
    if (!entry) { hideTooltip(); return; }
    const [title, rowsOut] = describe(entry);
    if (clientX === undefined) {
      const path = lines.filter((other) => other.link === entry.link && (!two || other.d === entry.d)).node();
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

// Hosts with the same switches become one box if there are too many of them; the same for their links.
function fold(net) {
  const nodes = net.nodes.map(([name, kind, tier], i) => ({ id: i, label: name, title: name, kind, tier }));
  let links = net.links.map((link) => ({ a: link.a, b: link.b, members: [link] }));
  const hosts = nodes.filter((n) => n.kind === "host");
  let folded = false;
  if (hosts.length > MOST_HOSTS) {
    const switches = nodes.map(() => []);
    links.forEach((link) => { switches[link.a].push(link.b); switches[link.b].push(link.a); });
    const groups = d3.nest().key((n) => switches[n.id].slice().sort(d3.ascending).join(" ")).entries(hosts).map((entry) => entry.values);
    if (groups.length < hosts.length && (groups.length >= FEW_BOXES || hosts.length > MOST_THIN_HOSTS)) {
      folded = true;
      const into = {}, kept = nodes.filter((n) => n.kind !== "host");
      for (const group of groups) {
        const first = group[0], last = group[group.length - 1];
        const box = { id: first.id, kind: "host", tier: 0, many: group.length, label: count(group.length),
          title: group.length > 1 ? count(group.length) + " hosts: " + first.label + " to " + last.label : first.label };
        group.forEach((n) => { into[n.id] = box; });
        kept.push(box);
      }
      kept.sort((a, b) => a.id - b.id);
      kept.forEach((n, i) => { n.at = i; });
      const index = (id) => (into[id] || nodes[id]).at, merged = new Map();
      for (const link of links) {
        const a = index(link.a), b = index(link.b), key = a + " " + b;
        if ((into[link.a] || into[link.b]) && merged.has(key)) merged.get(key).members.push(...link.members);
        else merged.set(into[link.a] || into[link.b] ? key : key + " " + merged.size, { a, b, members: link.members });
      }
      return finish(kept, [...merged.values()], folded);
    }
  }
  return finish(nodes, links, folded);
}

function finish(nodes, links, folded) {
  nodes.forEach((n, i) => { n.at = i; });
  const between = {};
  for (const link of links) { // several links between the same two nodes stand side by side
    for (const end of [link.a, link.b]) nodes[end].degree = (nodes[end].degree || 0) + 1;
    const key = Math.min(link.a, link.b) + " " + Math.max(link.a, link.b);
    link.ordinal = between[key] = key in between ? between[key] + 1 : 0;
    link.parallel = () => between[key] + 1;
  }
  return { nodes, links, folded };
}

// Hosts stand below their switch, also where other switches of the pod have none yet.
function alignHosts(part, neighbours, nodes, from, to) {
  const hosts = part.filter((n) => n.tier === 0), switches = part.filter((n) => n.tier === 1), behind = {};
  for (const n of hosts) {
    const at = d3.set(neighbours[n.at]).values();
    if (at.length !== 1 || nodes[at[0]].tier !== 1) return;
    (behind[at[0]] = behind[at[0]] || []).push(n);
  }
  const most = d3.max(Object.values(behind), (group) => group.length) || 1;
  if (!switches.length || switches.length * most > Math.max(64, 3 * hosts.length)) return; // too few to give the room away
  const slot = (to - from) / (switches.length * most);
  for (const [at, group] of Object.entries(behind)) {
    group.forEach((n, i) => { n.x = nodes[at].x + (i - (group.length - 1) / 2) * slot; });
  }
}

// Tiers from the hosts up. Below the top tier the network falls into parts (pods), each as wide as its hosts are many.
function place(graph) {
  const { nodes, links } = graph;
  const used = d3.set(nodes.map((n) => n.tier)).values().map(Number).sort(d3.ascending);
  nodes.forEach((n) => { n.tier = used.indexOf(n.tier); });
  graph.tiers = used.length;
  const top = graph.tiers - 1;
  const parent = nodes.map((_, i) => i);
  const find = (i) => { while (parent[i] !== i) { parent[i] = parent[parent[i]]; i = parent[i]; } return i; };
  for (const link of links) {
    if (top > 0 && (nodes[link.a].tier === top || nodes[link.b].tier === top)) continue;
    const a = find(link.a), b = find(link.b);
    parent[Math.max(a, b)] = Math.min(a, b);
  }
  const parts = d3.nest().key((n) => find(n.at)).entries(nodes.filter((n) => top === 0 || n.tier !== top)).map((entry) => entry.values)
    .sort((a, b) => a[0].at - b[0].at);
  const neighbours = nodes.map(() => []);
  links.forEach((link) => { neighbours[link.a].push(link.b); neighbours[link.b].push(link.a); });
  const weight = (part) => d3.max(d3.range(graph.tiers), (tier) => part.filter((n) => n.tier === tier).length) || 1;
  const total = d3.sum(parts, weight) || 1;
  let from = 0;
  graph.pods = [];
  parts.forEach((part, index) => {
    const to = from + weight(part) / total;
    for (let tier = 0; tier < graph.tiers; tier++) {
      const row = part.filter((n) => n.tier === tier);
      if (tier > 0) { // a switch stands above the middle of what it is wired to, as far as that says anything
        const middle = (n) => d3.mean(neighbours[n.at].map((i) => nodes[i]).filter((m) => m.tier < tier && m.x !== undefined), (m) => m.x);
        row.forEach((n) => { const wish = middle(n); n.wish = wish === undefined ? 2e6 : Math.round(wish * 1e6); }); // nothing below: last
        row.sort((a, b) => a.wish - b.wish || a.at - b.at);
      }
      row.forEach((n, i) => { n.x = from + (i + 0.5) / row.length * (to - from); });
    }
    alignHosts(part, neighbours, nodes, from, to);
    if (top >= 2 && part.some((n) => n.tier > 0)) graph.pods.push({ from, to, top: d3.max(part, (n) => n.tier), index });
    from = to;
  });
  if (graph.pods.length < 2) graph.pods = [];
  if (top > 0) {
    const row = nodes.filter((n) => n.tier === top);
    row.forEach((n, i) => { n.x = (i + 0.5) / row.length; });
  }
  graph.widest = d3.max(d3.range(graph.tiers), (tier) => nodes.filter((n) => n.tier === tier).length);
  const names = { edge: "edge", agg: "aggregation", core: "core", leaf: "leaf", spine: "spine", switch: "switch" };
  graph.tierNames = d3.range(graph.tiers).map((tier) => {
    const row = nodes.filter((n) => n.tier === tier);
    if (row.every((n) => n.kind === "host")) return graph.folded ? "hosts (count)" : row.every((n) => /^server-/.test(n.label)) ? "servers" : "hosts";
    const prefix = /^[a-z]+/.exec(row.filter((n) => n.kind !== "host")[0].label);
    return (prefix && names[prefix[0]]) || "switches";
  });
}
