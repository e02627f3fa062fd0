// Where nodes of a network stand, and where its links end: tiers from the hosts up, pods side by
// side.

// Beyond this many, hosts behind the same switches are one box; but not if hardly anything were
// left to see.
const MOST_HOSTS = 128, FEW_BOXES = 8, MOST_THIN_HOSTS = 2000;

// Parts of switches that add up ("units") stand beside their switch, so they are apart from the
// rest: {net without them, units}. A unit's links are one line, in `members`.
function apartFromUnits(net) {
  const isUnit = net.nodes.map((node) => node[1] === "unit");
  if (!isUnit.includes(true)) return { net, units: [] };
  let count = 0;
  const index = isUnit.map((unit) => (unit ? -1 : count++));
  const kept = (_, i) => !isUnit[i], byUnit = {}, links = [];
  for (const link of net.links) {
    const unit = [link.a, link.b].find((i) => isUnit[i]), at = link.a === unit ? link.b : link.a;
    if (unit === undefined) links.push({ ...link, a: index[link.a], b: index[link.b] });
    else if (!isUnit[at])
      (byUnit[unit] = byUnit[unit]
        || { label: net.nodes[unit][0], at: index[at], members: [] }).members.push(link);
  }
  return { units: Object.values(byUnit), net: { ...net, nodes: net.nodes.filter(kept), links,
    places: net.places && { ...net.places, coordinates: net.places.coordinates.filter(kept) } } };
}

// Hosts with the same switches become one box if there are too many of them; the same for their
// links.
function fold(net) {
  const places = net.places;
  const nodes = net.nodes
    .map(([name, kind, tier], i) =>
    ({ id: i, label: name, title: name, kind, tier, level: tier, place: places
    && places.coordinates[i] }));
  let links = net.links.map((link) => ({ a: link.a, b: link.b, members: [link] }));
  const hosts = nodes.filter((n) => n.kind === "host");
  let folded = false;
  if (hosts.length > MOST_HOSTS) {
    const switches = nodes.map(() => []);
    links.forEach((link) => { switches[link.a].push(link.b); switches[link.b].push(link.a); });
    const groups = d3.nest().key((n) => switches[n.id].slice().sort(d3.ascending).join(" "))
      .entries(hosts).map((entry) => entry.values);
    if (groups.length < hosts.length
      && (groups.length >= FEW_BOXES || hosts.length > MOST_THIN_HOSTS)) {
      folded = true;
      const into = {}, kept = nodes.filter((n) => n.kind !== "host");
      for (const group of groups) {
        const first = group[0], last = group[group.length - 1];
        const box = { id: first.id, kind: "host", tier: 0, many: group.length,
          label: count(group.length),
          title: group.length > 1
            ? count(group.length) + " hosts: " + first.label + " to " + last.label : first.label };
        group.forEach((n) => { into[n.id] = box; });
        kept.push(box);
      }
      kept.sort((a, b) => a.id - b.id);
      kept.forEach((n, i) => { n.at = i; });
      const index = (id) => (into[id] || nodes[id]).at, merged = new Map();
      for (const link of links) {
        const a = index(link.a), b = index(link.b), key = a + " " + b;
        if ((into[link.a] || into[link.b]) && merged.has(key))
          merged.get(key).members.push(...link.members);
        else merged.set(into[link.a] || into[link.b] ? key
          : key + " " + merged.size, { a, b, members: link.members });
      }
      return finish(kept, [...merged.values()], folded, places);
    }
  }
  return finish(nodes, links, folded, places);
}

function finish(nodes, links, folded, places) {
  nodes.forEach((n, i) => { n.at = i; n.degree = 0; });
  const between = {};
  for (const link of links) { // several links between the same two nodes stand side by side
    for (const end of [link.a, link.b]) nodes[end].degree++;
    const key = Math.min(link.a, link.b) + " " + Math.max(link.a, link.b);
    link.ordinal = between[key] = key in between ? between[key] + 1 : 0;
  }
  return { nodes, links, folded, places };
}

// As close to their wishes as a row of even gaps allows, in the order of the wishes; over as much
// room as these take.
function spread(row, from, to) {
  row.sort((a, b) => a.wish - b.wish || a.at - b.at);
  const wanted = row[row.length - 1].wish - row[0].wish;
  const gap = wanted > 0.3 * (to - from)
    ? Math.min((to - from) / row.length, wanted / (row.length - 1)) : (to - from) / row.length;
  let least = from + gap / 2;
  row.forEach((n) => { n.x = Math.max(least, n.wish); least = n.x + gap; });
  let most = to - gap / 2;
  for (let i = row.length - 1; i >= 0; i--)
    { row[i].x = Math.min(most, row[i].x); most = row[i].x - gap; }
}

// Tiers from the hosts up. Below the top tier the switches fall into parts (pods), each as wide as
// its widest tier. What a host is wired to says where it stands, and never what is one pod: the
// NICs of a server may be in several.
function place(graph) {
  const { nodes, links } = graph;
  const used = d3.set(nodes.map((n) => n.tier)).values().map(Number).sort(d3.ascending);
  nodes.forEach((n) => { n.tier = used.indexOf(n.tier); });
  graph.tiers = used.length;
  const top = graph.tiers - 1, isHost = (n) => n.kind === "host";
  if (placeOnGrid(graph)) return;
  const neighbours = nodes.map(() => []);
  links.forEach((link) => { neighbours[link.a].push(link.b); neighbours[link.b].push(link.a); });
  const parent = nodes.map((_, i) => i);
  const find = (i) => { while (parent[i] !== i)
    { parent[i] = parent[parent[i]]; i = parent[i]; } return i; };
  // Of a dragonfly+ the highest switches are in parts as well, joined by links between these.
  const whole = top > 1
    && nodes.every((n) => isHost(n) || partNumber(n, graph.places) !== undefined);
  const below = (n) => !isHost(n) && (top === 0 || n.tier !== top || whole);
  for (const link of links) {
    if (!below(nodes[link.a]) || !below(nodes[link.b])) continue;
    if (whole && partNumber(nodes[link.a], graph.places)
      !== partNumber(nodes[link.b], graph.places)) continue;
    const a = find(link.a), b = find(link.b);
    parent[Math.max(a, b)] = Math.min(a, b);
  }
  const parts = d3.nest().key((n) => find(n.at)).entries(nodes.filter(below))
    .map((entry) => ({ switches: entry.values, hosts: [] }));
  const partOf = {};
  parts.forEach((part) => part.switches.forEach((n) => { partOf[n.at] = part; }));
  const hosts = nodes.filter(isHost),
    partsOf = hosts.map((n) => new Set(neighbours[n.at].map((i) => partOf[i])));
  const loose = []; // hosts in no part; and all of them, if any is in several
  const spanning = partsOf.some((at) => at.size > 1);
  hosts.forEach((n, i) => {
    if (!spanning && partsOf[i].size === 1 && !partsOf[i].has(undefined))
      [...partsOf[i]][0].hosts.push(n); else loose.push(n);
  });
  parts.sort((a, b) => a.switches[0].at - b.switches[0].at);
  const rowOf = (part, tier) => [...part.switches, ...part.hosts].filter((n) => n.tier === tier);
  const widestRow = (part) =>
    d3.max(d3.range(graph.tiers), (tier) => rowOf(part, tier).length) || 1;
  // A leaf that is not full has room for its name and links all the same.
  const least = d3.mean(parts, widestRow) / 2, weight = (part) => Math.max(widestRow(part), least);
  const total = d3.sum(parts, weight) || 1;
  let from = 0;
  graph.pods = [];
  parts.forEach((part, index) => {
    const to = from + weight(part) / total;
    for (let tier = 0; tier < graph.tiers; tier++) {
      const row = rowOf(part, tier);
      // above the middle of what it is wired to, as far as that says anything
      for (const n of row) {
        const lower = neighbours[n.at].map((i) => nodes[i])
          .filter((m) => m.tier < tier && m.x !== undefined && partOf[m.at] === part);
        n.wish = lower.length ? Math.round(d3.mean(lower, (m) => m.x) * 1e6) : 2e6;
      }
      row.sort((a, b) => a.wish - b.wish || a.at - b.at);
      row.forEach((n, i) => { n.x = from + (i + 0.5) / row.length * (to - from); });
    }
    alignHosts(part, neighbours, nodes, from, to);
    for (const n of [...part.switches, ...part.hosts]) n.within = part;
    part.from = from; part.to = to; part.index = index;
    from = to;
  });
  if (top >= 2 && parts.length > 1) {
    // Round the hosts too, if each is in one pod; a switch alone needs no box.
    const floor = loose.length ? 1 : 0;
    graph.pods = parts.filter((part) => part.switches.length + part.hosts.length > 1).map((part) =>
      ({ from: part.from, to: part.to, floor, top: d3.max(part.switches, (n) => n.tier),
        ...podName(part, graph.places), switches: part.switches.map((n) => [n, n.x]) }))
      .filter((pod) => pod.top > pod.floor);
  }
  if (top > 0) {
    const row = nodes.filter((n) => n.tier === top && n.x === undefined && !isHost(n));
    row.forEach((n, i) => { n.x = (i + 0.5) / row.length; });
  }
  for (const tier of d3.set(loose.map((n) => n.tier)).values().map(Number)) {
    const row = loose.filter((n) => n.tier === tier);
    row.forEach((n) => {
      const at = neighbours[n.at].map((i) => nodes[i].x).filter((x) => x !== undefined);
      n.wish = at.length ? d3.mean(at) : 1;
    });
    spread(row, 0, 1);
  }
  graph.rows = d3.range(graph.tiers)
    .map((tier) => nodes.filter((n) => n.tier === tier).sort((a, b) => a.x - b.x));
  graph.widest = d3.max(graph.rows, (row) => row.length);
  graph.tierNames = graph.rows.map((row) => {
    const sizes = d3.set(row.map((n) => n.many)).values();
    if (row.every(isHost))
      return graph.folded ? (sizes.length === 1 ? sizes[0] + " hosts each" : "hosts (count)")
        : row.every((n) => /^server-/.test(n.label)) ? "servers" : "hosts";
    return tierName(row.filter((n) => !isHost(n))[0], graph.places) || "switches";
  });
}

// What the network's family says of it (topology.json) stands in `places`. A network from
// somebody's own file, or of an older run, has none: there the names are all there is, and those
// that are made as a family makes them are read so.
const TIER_NAMES = { edge: "edge", agg: "aggregation", core: "core", leaf: "leaf", spine: "spine",
  switch: "switch" };
function tierName(n, places) {
  if (places) return places.tiers[n.level - 1];
  const prefix = /^[a-z]+/.exec(n.label);
  return prefix && Object.hasOwn(TIER_NAMES, prefix[0]) && TIER_NAMES[prefix[0]];
}

// Of the part that a family's switch is in; undefined: in none, or nobody says.
function partNumber(n, places) { return places && places.part && n.place && n.place.length > 1
  ? n.place[0] : undefined; }

// {name: "pod 3", short: "3"} if all its switches are of pod 3; without a number, as of somebody's
// own, both are empty.
function podName(part, places) {
  const numberOf = (n) => places ? partNumber(n, places)
    : (/^(?:edge|agg)-(\d+)-\d+$/.exec(n.label) || [])[1];
  const numbers = d3.set(part.switches.map(numberOf)).values();
  return numbers.length === 1 && numbers[0] !== "undefined"
    ? { name: (places ? places.part : "pod") + " " + numbers[0], short: numbers[0] }
    : { name: "", short: "" };
}

// [row, column, plane] of a switch on a grid; null if it is none.
function cellOf(n, places) {
  if (places)
    return places.grid && (n.place.length === 2 || n.place.length === 3)
      && n.place.every((c) => c < 1000) ? [...n.place, 0].slice(0, 3) : null;
  const found = /(?:^|[^\d-])-?(\d{1,3})-(\d{1,3})(?:-(\d{1,3}))?$/.exec(n.label);
  return found && found.slice(1).map((text) => Number(text || 0));
}

// Hosts stand below their switch, also where other switches of the pod have none yet.
function alignHosts(part, neighbours, nodes, from, to) {
  const hosts = part.hosts.filter((n) => n.tier === 0),
    switches = part.switches.filter((n) => n.tier === 1), behind = {};
  for (const n of hosts) {
    const at = d3.set(neighbours[n.at]).values();
    if (at.length !== 1 || nodes[at[0]].tier !== 1)
      { hosts.forEach((m) => { m.wish = d3.mean(neighbours[m.at], (i) => nodes[i].x); });
      spread(hosts, from, to); return; }
    (behind[at[0]] = behind[at[0]] || []).push(n);
  }
  const most = d3.max(Object.values(behind), (group) => group.length) || 1;
  // too few to give the room away
  if (!switches.length || switches.length * most > Math.max(64, 3 * hosts.length)) return;
  const slot = (to - from) / (switches.length * most);
  for (const [at, group] of Object.entries(behind)) {
    group.forEach((n, i) => { n.x = nodes[at].x + (i - (group.length - 1) / 2) * slot; });
  }
}

// A torus or mesh: switches that are wired to one another and have two or three coordinates. Each
// plane is a grid, its rows and columns the first two; what hangs at a switch stands beside it.
// Returns whether it is one.
function placeOnGrid(graph) {
  const { nodes, links } = graph, switches = nodes.filter((n) => n.kind !== "host");
  const isSwitch = (i) => nodes[i].kind !== "host";
  if (switches.length < 4 || !links.some((link) => isSwitch(link.a) && isSwitch(link.b))
    || d3.set(switches.map((n) => n.tier)).size() !== 1) return false;
  const places = new Set();
  for (const n of switches) {
    n.cell = cellOf(n, graph.places);
    if (!n.cell) return false;
    places.add(n.cell.join(" "));
  }
  const sides = [0, 1, 2].map((axis) => d3.max(switches, (n) => n.cell[axis]) + 1);
  if (places.size !== switches.length || sides[0] < 2 || sides[1] < 2 || sides[0] * sides[1]
    * sides[2] > 1.5 * switches.length + 8) return false;
  const beside = {};
  for (const link of links) {
    const [host, at] = isSwitch(link.a) ? [link.b, link.a] : [link.a, link.b];
    if (isSwitch(host) || !isSwitch(at))
      { if (!isSwitch(host) && !isSwitch(at)) return false; continue; }
    (beside[at] = beside[at] || new Set()).add(host);
  }
  const columns = sides[2] * sides[1] + (sides[2] - 1) * 0.6,
    many = d3.max(Object.values(beside), (hosts) => hosts.size) || 0;
  for (const n of switches) {
    n.column = n.cell[2] * (sides[1] + 0.6) + n.cell[1];
    n.row = n.cell[0];
    // a host with several ports stands at the first of its switches
    [...(beside[n.at] || [])].forEach((i, k) => {
      if (nodes[i].column === undefined)
        { nodes[i].column = n.column + 0.3; nodes[i].row = n.row + 0.34 + 0.3 * k / many; }
    });
  }
  nodes.forEach((n) => { if (n.column === undefined)
    { n.column = columns - 1; n.row = sides[0]; } });
  graph.grid = { columns, rows: sides[0] };
  graph.pods = [];
  graph.tiers = 0;
  graph.widest = columns;
  graph.rows = [];
  return true;
}

// Where things are on the page: {X, Y, height, widest, path(link, direction), plans}.
function onGrid(graph, width, two) {
  const small = width < 640, { columns, rows } = graph.grid;
  const each = (width - 24) / columns, down = Math.max(56, Math.min(each * 0.8, 110)), HALF = 11;
  const X = (n) => 12 + (n.column + 0.36) * each, Y = (n) => 50 + n.row * down;
  const shortOf = (n) => n.label.replace(/^.*?(\d+([-.:]\d+)*)$/, "$1"),
    switches = graph.nodes.filter((n) => n.kind !== "host");
  const longest = (text) => d3.max(switches, (n) => text(n).length) * 6.7 + 8;
  const named = longest((n) => n.label) <= each * 0.55 ? (n) => n.label
    : longest(shortOf) <= each * 0.62 ? shortOf : () => "";
  graph.nodes.forEach((n) => {
    const host = n.kind === "host";
    n.w = host ? Math.min(22, each * 0.3)
      : Math.max(Math.min(26, each * 0.5), named(n).length * 6.7 + 8);
    n.text = host ? "" : named(n);
  });
  const widest = Math.max(1.4, Math.min(5, each * 0.05));
  const path = ({ a, b, ordinal }, d) => {
    const p = graph.nodes[a], q = graph.nodes[b],
      off = (two ? (d ? -1 : 1) * (widest / 2 + 0.4) : 0) + ordinal * (2 * widest + 2);
    const x0 = X(p), y0 = Y(p), x1 = X(q), y1 = Y(q), length = Math.hypot(x1 - x0, y1 - y0) || 1,
      ox = -(y1 - y0) / length * off, oy = (x1 - x0) / length * off;
    // Columns stand farther apart than rows.
    const far = (Math.abs(x1 - x0) > 1.4 * each || Math.abs(y1 - y0) > 1.4 * down) && p.kind
      !== "host" && q.kind !== "host";
    if (!far) return `M${x0 + ox},${y0 + oy}L${x1 + ox},${y1 + oy}`;
    // Round the outside, past the nodes between: above a row, left of a column.
    const along = Math.abs(x1 - x0) > Math.abs(y1 - y0), lift = along ? Math.min(34, down * 0.42)
      : Math.min(46, each * 0.36);
    const from = `M${x0 + ox},${y0 + oy}`, to = `${x1 + ox},${y1 + oy}`,
      right = (x1 - x0) * 0.12, below = (y1 - y0) * 0.12;
    return along
      ? `${from}C${x0 + right},${y0 - lift + oy} ${x1 - right},${y1 - lift + oy} ${to}`
      : `${from}C${x0 - lift + ox},${y0 + below} ${x1 - lift + ox},${y1 - below} ${to}`;
  };
  return { X, Y, path, widest, HALF, height: 50 + (rows - 0.4) * down + 90 + (small ? 34 : 0) };
}

// How a tier's nodes are drawn in this many pixels: their room, the width of a box, and what is
// written on which of them. The switches of all tiers are named alike: in full if that fits
// everywhere, else by their numbers.
function boxes(graph, room, pitch) {
  const LETTER = 6.7, shortOf = (n) => n.label.replace(/^.*?(\d+([-.:]\d+)*)$/, "$1");
  // As much as there is to the next one, and no more than its part of the picture.
  const free = (n, ...next) => {
    const { from, to } = n.within || { from: 0, to: 1 };
    const far = next.filter((m) => m).map((m) => Math.abs(m.x - n.x));
    return room * Math.min(...far, 2 * (n.x - from), 2 * (to - n.x));
  };
  const plans = graph.rows.map((row) => {
    row.forEach((n, i) => { n.gap = free(n, row[i - 1], row[i + 1]); });
    const gap = d3.min(row, (n) => n.gap);
    const long = (text) => d3.max(row, (n) => text(n).length) * LETTER;
    return { row, gap, host: row.every((n) => n.kind === "host"), many: row.some((n) => n.many),
      full: long((n) => n.label), short: long(shortOf) };
  });
  // Names of somebody's own, without a number at their end, are cut.
  const cut = (text, room) => { const n = Math.floor(room / LETTER);
  return text.length <= n ? text : n >= 5 ? text.slice(0, n - 1) + "\u2026" : ""; };
  const named = (row) => row.some((n) => !n.many && !/\d$/.test(n.label));
  const inFull = plans.every((plan) => plan.host || plan.full + 7 <= plan.gap - 3);
  for (const plan of plans) {
    const { row, gap, host } = plan;
    plan.labels = row.map(() => "");
    const below = host && !plan.many, inside = gap * 0.86;
    if (below && plan.full <= gap - 6 || !host && inFull) plan.labels = row.map((n) => n.label);
    else if (!below && plan.short + 5 <= inside) plan.labels = row.map(shortOf);
    else if (named(row))
      plan.labels = row.map((n) => n.many ? n.label : cut(n.label, below ? gap - 6 : inside - 7));
    else if (below) { // every n-th
      const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((n) => plan.short + 8 <= n * gap);
      if (every && (every === 1 || row.length / every >= 3))
        plan.labels = row.map((n, i) => (i % every ? "" : shortOf(n)));
    }
    row.forEach((n, i) => {
      const text = below || !plan.labels[i] ? 0 : plan.labels[i].length * LETTER + 7,
        lines = 6 + d3.max(["up", "down"], (side) => sideOf(graph, n, side)) * pitch,
        own = n.gap * 0.86;
      n.w = n.many ? Math.max(3, Math.min(30, own))
        : Math.max(Math.min(3, n.gap),
        Math.min(Math.max(own, host ? 0 : text), Math.max(host ? 26 : text, lines, 8)));
      n.text = plan.labels[i];
    });
  }
  return plans;
}

function sideOf(graph, n, side) {
  if (!graph.sides) {
    graph.sides = graph.nodes.map(() => ({ up: 0, down: 0 }));
    for (const { a, b } of graph.links) {
      const [p, q] = [graph.nodes[a], graph.nodes[b]];
      if (p.tier === q.tier) continue;
      graph.sides[p.tier < q.tier ? a : b].up++;
      graph.sides[p.tier < q.tier ? b : a].down++;
    }
  }
  return graph.sides[n.at][side];
}

// Along the edge of its box each link has a place of its own, in the order of where it leads. Sets
// link.ends: the distances from the middles of a and b, and link.room, the less that these places
// have; returns what nearly all ends have.
function ends(graph, X) {
  const at = graph.nodes.map(() => ({ up: [], down: [] })), rooms = [];
  for (const link of graph.links) {
    link.ends = [0, 0];
    link.room = Infinity;
    const a = graph.nodes[link.a], b = graph.nodes[link.b];
    if (a.tier === b.tier) continue;
    at[link.a][a.tier < b.tier ? "up" : "down"].push({ link, end: 0, other: b });
    at[link.b][b.tier < a.tier ? "up" : "down"].push({ link, end: 1, other: a });
  }
  graph.nodes.forEach((n) => {
    for (const list of [at[n.at].up, at[n.at].down]) {
      if (!list.length) continue;
      list.sort((p, q) => X(p.other) - X(q.other) || p.link.ordinal - q.link.ordinal);
      const pitch = Math.max(0, n.w - 5) / list.length;
      rooms.push(...list.map(() => pitch));
      const step = Math.min(pitch, 24);
      list.forEach(({ link, end }, i) => {
        link.ends[end] = (i - (list.length - 1) / 2) * step;
        link.room = Math.min(link.room, pitch);
      });
    }
  });
  rooms.sort(d3.ascending);
  return rooms.length ? rooms[Math.floor(rooms.length * 0.1)] : 24;
}

// As onGrid, for tiers. Beside the highest switches of a pod without hosts is room for its name: no
// link is in their row, but all around it.
function makeRoomForNames(graph, room, small) {
  const pods = graph.pods.filter((pod) => pod.floor);
  const names = [small ? [] : pods.map((pod) => pod.name), pods.map((pod) => pod.short)]
    .find((names) => names.length && pods.every((pod) => {
    const widest = d3.max(d3.range(pod.floor, pod.top + 1),
      (tier) => pod.switches.filter(([n]) => n.tier === tier).length);
    return (pod.to - pod.from) * room - besideOf(names) >= widest * 8;
  }));
  for (const pod of pods) {
    const aside = names ? besideOf(names) / room : 0;
    pod.shown = names ? names[pods.indexOf(pod)] : "";
    for (const [n, x] of pod.switches) n.x = pod.from + aside + (x - pod.from)
      * (1 - (aside + Math.min(6 / room, (pod.to - pod.from) / 16)) / (pod.to - pod.from));
  }
}
const besideOf = (names) => 7.5 * d3.max(names, (name) => name.length) + 12;

function inTiers(graph, width, two) {
  const small = width < 640, left = small ? 8 : 104, right = small ? 8
    : 16, podded = graph.pods.some((pod) => pod.name), HALF = 11;
  const bottom = (podded ? 122 : 100) + (small ? 34 : 0);
  const X = (n) => left + n.x * (width - left - right);
  makeRoomForNames(graph, width - left - right, small);
  boxes(graph, width - left - right, 22);
  const level = graph.links.filter(({ a, b }) => graph.nodes[a].tier === graph.nodes[b].tier);
  // Both directions of a link end inside the boxes.
  const widest = Math.max(2,
    Math.min(level.length > graph.nodes.length / 2 ? 3 : 9, ends(graph, X) / (two ? 2 : 1) + 1.4));
  // Neighbours in a tier, as in a ring, are joined by arcs; those of the top one need room above
  // it.
  const lift = (link) => 24
    + Math.min(420, Math.abs(X(graph.nodes[link.a]) - X(graph.nodes[link.b])) * 0.12 + link.ordinal
    * (4 * widest + 12));
  const arcs = level.filter((link) => graph.nodes[link.a].tier === graph.tiers - 1);
  const top = Math.max(small ? 46
    : 30, (d3.max(arcs, lift) || 0) / 2 + 2 * widest + (small ? 22 : 0) + 8);
  const height = (graph.tiers === 1 ? 340 : Math.max(360, Math.min(680, 140 * graph.tiers + 110)))
    + top - 30 + (small ? 34 : 0);
  const Y = (n) => height - bottom - n.tier / Math.max(1, graph.tiers - 1)
    * (height - bottom - top);
  const path = (link, d) => {
    const a = graph.nodes[link.a], b = graph.nodes[link.b], off = two
      ? (d ? -1 : 1) * (widest / 2 + 0.3) : 0;
    const x0 = X(a) + link.ends[0], x1 = X(b) + link.ends[1];
    if (a.tier === b.tier) {
      const y = Y(a) - HALF + 1, way = x0 < x1 ? 1 : -1;
      const middle = `${(x0 + x1) / 2},${y - lift(link) + off * 2}`;
      return `M${x0 + off * way},${y}Q${middle} ${x1 - off * way},${y}`;
    }
    const up = a.tier < b.tier ? -1 : 1, y0 = Y(a) + up * (HALF - 1), y1 = Y(b) - up * (HALF - 1);
    // so that a slanting pair does not close up
    const slant = Math.hypot(x1 - x0, y1 - y0) / Math.abs(y1 - y0);
    const beside = Math.sign(off)
      * Math.min(Math.abs(off) * Math.min(1.8, slant), link.room / 2 + 2);
    return `M${x0 + beside},${y0}L${x1 + beside},${y1}`;
  };
  return { X, Y, path, widest, HALF, height, left, podded, room: width - left - right };
}
