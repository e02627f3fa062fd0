// What every GPU did when. Rows are GPUs, servers or groups of servers; of a row of several GPUs
// each column of pixels shows which share of them was in which state, so thousands of GPUs need no
// more rows than fit.

const STATES = { C: "compute", O: "overlap", X: "exposed", I: "idle", R: "held",
  M: "held" };
const STATE_NAMES = { C: "computing", O: "computing and communicating", X: exposedName, I: idleName,
  R: heldName, M: memoryName };

function timeline() {
  const source = data.timeline;
  if (!source) return;
  const order = ["C", "O", "X", "I", ...(stats.recovery ? ["R"] : []),
    ...(stats.memory_tiers ? ["M"] : [])];
  // ns, of all that the source has. Below 0 if a GPU was early: measuring begins when the last one
  // ends its warm-up.
  const origin = isNumber(source.begin_us) ? (source.begin_us - clockZero) * 1000 : 0;
  const sequences = source.sequences.map(([states, durations]) => {
    const ends = new Float64Array(durations.length); // from the sequence's own start
    let at = 0;
    durations.forEach((duration, i) => { at += duration; ends[i] = at; });
    return { states: Uint8Array.from(states, (state) => order.indexOf(state)), ends };
  });
  const gpus = source.gpus
    .map(([rank, start, sequence]) => ({ rank, start: start + origin, ...sequences[sequence] }));
  const whole = [origin,
    d3.max(gpus, (gpu) => gpu.start + (gpu.ends.length ? gpu.ends[gpu.ends.length - 1] : 0))];
  const perServer = source.gpus_per_server;
  const serverOf = (gpu) => Math.floor(gpu.rank / perServer);
  const servers = d3.set(gpus.map(serverOf)).size();
  const node = section("timeline", "Timeline of the GPUs",
    "Drag over the strip at the top to choose a time; drag the rows to move, "
    + "Ctrl + wheel to zoom. Click a row to see what it is made of. Keys, once the rows have the "
    + "focus: arrows move, + and \u2212 zoom, 0 shows "
    + "all, Enter opens a row, Backspace goes back."
    + (source.logged_every > 1 ? " calls.log holds one GPU of " + source.logged_every + "." : "")
    + (source.shown_every > 1 ? " One logged GPU of " + source.shown_every + " is shown." : "")
    + (source.named_every > 1 ? " Calls have their names for one GPU of " + source.named_every
    + "; of the others the state is shown." : ""));

  // ---- levels of grouping, in GPUs a row
  const levels = [{ size: 1, name: "a GPU" }];
  if (perServer > 1 && servers > 1)
    levels.push({ size: perServer, name: "a server (" + perServer + " GPUs)" });
  let many = 8;
  while (servers > many)
    { levels.push({ size: perServer * many, name: many + " servers (" + perServer * many
      + " GPUs)" }); many *= 8; }
  if (gpus.length > 1) levels.push({ size: Infinity, name: "all GPUs together" });
  const rowsAt = (level, filter) => {
    const rows = new Map();
    for (const gpu of gpus) {
      if (filter && (gpu.rank < filter[0] || gpu.rank >= filter[1])) continue;
      const first = level.size === Infinity ? 0 : Math.floor(gpu.rank / level.size) * level.size;
      if (!rows.has(first))
        rows.set(first, { first, level, gpus: [], label: labelOf(first, level) });
      rows.get(first).gpus.push(gpu);
    }
    return [...rows.values()];
  };
  function labelOf(first, level) {
    if (level.size === 1) return "GPU " + first;
    if (level.size === Infinity) return "all " + count(gpus.length) + " GPUs";
    const server = first / perServer, n = level.size / perServer;
    return n === 1 ? "server " + server : "servers " + server + "\u2013" + (server + n - 1);
  }
  let levelIndex = levels.findIndex((level) => gpus.length / level.size <= 48);
  if (levelIndex < 0) levelIndex = levels.length - 1;
  let filter = null, history = [];
  let rows = [], rowHeight = 20, view = whole.slice(), cursor = null;

  // ---- elements
  const select = element("select", { "aria-label": "A row is", id: "timeline-level" },
    levels.map((level, i) => element("option", { value: i }, level.name)));
  const back = element("button", { type: "button", id: "timeline-back" }, "Back");
  const button = (label, text, action) =>
    element("button", { type: "button", "aria-label": label, on: { click: action } }, text);
  const range = element("output", { id: "timeline-range" });
  node.append(element("div", { class: "controls" }, element("label", {}, "A row is ", select), back,
    button("Zoom in", "+", () => zoom(0.5)), button("Zoom out", "\u2212", () => zoom(2)),
    button("Show all of the time", "All", () => setView(whole)), range));
  const keys = element("div");
  node.append(keys);
  const overviewBox = element("div", { class: "chart" }),
    axisBox = element("div", { class: "chart" });
  const scroll = element("div", { id: "timeline-rows" }), spacer = element("div");
  const canvas = element("canvas",
    { id: "timeline-canvas", tabindex: 0, role: "application",
    "aria-label": "Timeline: arrows, plus, minus, Enter" });
  scroll.append(canvas, spacer);
  node.append(overviewBox, axisBox, scroll);
  const GUTTER = 118;
  let width = 0, x = d3.scale.linear(), brush = null;

  // ---- shares of a row's GPUs in each state, per column of pixels
  function shares(row, from, to, columns) {
    const sums = order.map(() => new Float32Array(columns));
    const perPixel = (to - from) / columns;
    for (const gpu of row.gpus) {
      let low = 0, high = gpu.ends.length;
      while (low < high)
        { const middle = (low + high) >> 1; if (gpu.start + gpu.ends[middle] <= from)
          low = middle + 1; else high = middle; }
      for (let i = low; i < gpu.ends.length; i++) {
        const begin = gpu.start + (i ? gpu.ends[i - 1] : 0), end = gpu.start + gpu.ends[i];
        if (begin >= to) break;
        const a = Math.max(0, (begin - from) / perPixel),
          b = Math.min(columns, (end - from) / perPixel);
        const sum = sums[gpu.states[i]], first = Math.floor(a),
          last = Math.min(columns - 1, Math.floor(b));
        if (first === last) { sum[first] += b - a; continue; }
        sum[first] += first + 1 - a;
        for (let column = first + 1; column < last; column++) sum[column] += 1;
        sum[last] += b - last;
      }
    }
    return sums;
  }
  const colours = () => order.map((state) => colour(STATES[state]));

  function paint(context, row, left, top, columns, height, from, to, fill) {
    const sums = shares(row, from, to, columns), n = row.gpus.length;
    for (let column = 0; column < columns; column++) {
      let y = top;
      for (let state = 0; state < order.length; state++) {
        const part = sums[state][column] / n * height;
        if (part > 0.02)
          { context.fillStyle = fill[state]; context.fillRect(left + column, y, 1.02, part + 0.02);
          y += part; }
      }
    }
  }

  function fit(target, w, h) {
    const ratio = devicePixelRatio || 1;
    target.width = Math.round(w * ratio); target.height = Math.round(h * ratio);
    target.style.width = w + "px"; target.style.height = h + "px";
    const context = target.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  function draw() {
    const height = Math.min(rows.length * rowHeight, 560);
    scroll.style.height = height + 2 + "px";
    spacer.style.height = Math.max(0, rows.length * rowHeight - height) + "px";
    const context = fit(canvas, width, height), fill = colours();
    context.fillStyle = colour("bg");
    context.fillRect(0, 0, width, height);
    context.font = Math.min(12, rowHeight - 2) + "px system-ui, sans-serif";
    context.textBaseline = "middle";
    const first = Math.floor(scroll.scrollTop / rowHeight);
    const plot = Math.max(10, Math.floor(width - GUTTER));
    for (let i = first; i < rows.length && i * rowHeight - scroll.scrollTop < height; i++) {
      const top = i * rowHeight - scroll.scrollTop;
      paint(context, rows[i], GUTTER, top + 1, plot, rowHeight - (rowHeight > 8 ? 2 : 1), view[0],
        view[1], fill);
      context.fillStyle = colour("text");
      context.textAlign = "right";
      if (rowHeight >= 11 || i % 2 === 0)
        context.fillText(rows[i].label, GUTTER - 8, top + rowHeight / 2, GUTTER - 12);
    }
    context.strokeStyle = colour("text");
    context.lineWidth = 1;
    for (const [, since] of source.steps) {
      const begin = since + origin;
      if (since <= 0 || begin < view[0] || begin > view[1]) continue;
      context.beginPath(); context.moveTo(x(begin), 0); context.lineTo(x(begin), height);
      context.stroke();
    }
    if (cursor) {
      const top = cursor.row * rowHeight - scroll.scrollTop;
      context.strokeRect(GUTTER + 0.5, top + 0.5, plot - 1, rowHeight - 1);
      context.beginPath(); context.moveTo(x(cursor.time), 0);
      context.lineTo(x(cursor.time), height); context.stroke();
    }
  }

  function drawAxis() {
    x.domain(view).range([GUTTER, width]);
    d3.select(axisBox).select("svg").remove();
    const svg = d3.select(axisBox).append("svg").attr("width", width).attr("height", 26)
      .attr("aria-hidden", "true");
    const step = (view[1] - view[0]) / Math.max(2, width / 110),
      precision = Math.ceil(Math.log(Math.max(-view[0], view[1]) / step) / Math.LN10) + 1;
    svg.append("g").attr("class", "axis").attr("transform", "translate(0,25)")
      .call(d3.svg.axis().scale(x).orient("top")
      .ticks(Math.max(2, width / 130)).tickSize(5)
      .tickFormat((ns) => time(ns / 1000, Math.max(3, precision))));
    // Beside the axis there is no room for it: its first tick may be at its very beginning.
    range.textContent = "shown: " + time(view[0] / 1000, 5) + " to " + time(view[1] / 1000, 5)
      + ", " + clockName;
    range.dataset.from = view[0]; range.dataset.to = view[1];
  }

  function drawOverview() {
    overviewBox.replaceChildren();
    const strip = element("canvas", { "aria-hidden": "true" });
    overviewBox.append(strip);
    const plot = Math.max(10, Math.floor(width - GUTTER));
    paint(fit(strip, width, 40), { gpus }, GUTTER, 0, plot, 40, whole[0], whole[1], colours());
    const svg = d3.select(overviewBox).append("svg").attr("width", width).attr("height", 40)
      .attr("aria-hidden", "true")
      .style("position", "absolute").style("top", 0).style("left", 0);
    svg.append("text").attr("class", "muted").attr("x", GUTTER - 8).attr("y", 24)
      .attr("text-anchor", "end").text("all, whole time");
    const scale = d3.scale.linear().domain(whole).range([GUTTER, width]);
    brush = d3.svg.brush().x(scale)
      .on("brush", () => setView(brush.empty() ? whole : brush.extent(), true));
    svg.append("g").attr("class", "brush").call(brush).selectAll("rect").attr("height", 40);
    moveBrush();
  }
  function moveBrush() {
    const all = view[0] <= whole[0] && view[1] >= whole[1];
    if (all) brush.clear(); else brush.extent(view);
    d3.select(overviewBox).select(".brush").call(brush);
  }

  function setView([from, to], fromBrush) {
    const least = 100; // 100 ns fill the width: shorter than any call
    const length = Math.min(whole[1] - whole[0], Math.max(least, to - from));
    from = Math.max(whole[0], Math.min(whole[1] - length, from));
    view = [from, from + length];
    if (!fromBrush) moveBrush();
    drawAxis(); draw();
  }
  function zoom(factor, at) {
    const center = at === undefined ? (cursor ? cursor.time : (view[0] + view[1]) / 2) : at;
    setView([center - (center - view[0]) * factor, center + (view[1] - center) * factor]);
  }

  function setRows() {
    rows = rowsAt(levels[levelIndex], filter);
    rowHeight = rows.length <= 24 ? 22 : rows.length <= 48 ? 15 : 12;
    cursor = null;
    select.value = String(levelIndex);
    back.disabled = !history.length;
    scroll.scrollTop = 0;
    draw();
  }
  function open(row) {
    if (levelIndex === 0) return;
    history.push([levelIndex, filter]);
    filter = row.level.size === Infinity ? filter : [row.first, row.first + row.level.size];
    levelIndex--;
    setRows();
  }
  function goBack() {
    if (!history.length) return;
    [levelIndex, filter] = history.pop();
    setRows();
  }
  select.addEventListener("change",
    () => { history = []; filter = null; levelIndex = Number(select.value); setRows(); });
  back.addEventListener("click", goBack);

  // ---- what is at a place
  function describe(row, at) {
    const lines = [["at", time(at / 1000, 6)]];
    const perPixel = (view[1] - view[0]) / Math.max(1, width - GUTTER);
    const from = Math.max(whole[0], at - perPixel / 2),
      sums = shares(row, from, from + perPixel, 1);
    const n = row.gpus.length, known = d3.sum(sums, (sum) => sum[0]);
    order.forEach((state, i) => {
      const share = sums[i][0] / n;
      if (share > 0.0005)
        lines.push([STATE_NAMES[state], n === 1 && share > 0.9995 ? "yes" : percent(share)]);
    });
    if (known / n < 0.0005) lines.push(["", "not in a measured step"]);
    if (n === 1) {
      const flat = source.calls[row.gpus[0].rank] || [];
      for (let i = 0; i < flat.length; i += 4) {
        const begin = flat[i + 2] + origin;
        if (begin <= at && at < begin + flat[i + 3]) {
          lines.push([source.streams[flat[i + 1]], source.names[flat[i]] + ", "
            + time(flat[i + 3] / 1000)]);
        }
      }
    }
    return lines;
  }
  function point(event) {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top + scroll.scrollTop) / rowHeight);
    return { row, inside: event.clientX - box.left >= GUTTER && row >= 0 && row < rows.length,
      time: x.invert(event.clientX - box.left) };
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0)
      { drag = { x: event.clientX, view: view.slice(), moved: false };
      canvas.setPointerCapture(event.pointerId); }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = (event.clientX - drag.x) / Math.max(1, width - GUTTER)
        * (drag.view[1] - drag.view[0]);
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      if (drag.moved) { hideTooltip(); setView([drag.view[0] - by, drag.view[1] - by]); return; }
    }
    const at = point(event);
    if (at.inside)
      showTooltip(event.clientX, event.clientY, rows[at.row].label,
        describe(rows[at.row], at.time)); else hideTooltip();
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = point(event), click = drag && !drag.moved;
    drag = null;
    if (click && at.row >= 0 && at.row < rows.length) open(rows[at.row]);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", hideTooltip);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.altKey) return;
    event.preventDefault();
    zoom(Math.pow(1.0015, event.deltaY), point(event).time);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = (view[1] - view[0]) / 50;
    if (!cursor) cursor = { row: 0, time: (view[0] + view[1]) / 2 };
    if (event.key === "ArrowLeft") cursor.time -= step;
    else if (event.key === "ArrowRight") cursor.time += step;
    else if (event.key === "ArrowUp") cursor.row--;
    else if (event.key === "ArrowDown") cursor.row++;
    else if (event.key === "+" || event.key === "=") zoom(0.5, cursor.time);
    else if (event.key === "-") zoom(2, cursor.time);
    else if (event.key === "0") setView(whole);
    else if (event.key === "Enter") { open(rows[cursor.row]); event.preventDefault(); return; }
    else if (event.key === "Backspace") { goBack(); event.preventDefault(); return; }
    else return;
    event.preventDefault();
    cursor.row = Math.max(0, Math.min(rows.length - 1, cursor.row));
    cursor.time = Math.max(whole[0], Math.min(whole[1] - 1, cursor.time));
    if (cursor.time < view[0] || cursor.time > view[1])
      setView([cursor.time - (view[1] - view[0]) / 2, cursor.time + (view[1] - view[0]) / 2]);
    const top = cursor.row * rowHeight;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top + rowHeight > scroll.scrollTop + canvas.clientHeight)
      scroll.scrollTop = top + rowHeight - canvas.clientHeight;
    draw();
    const box = canvas.getBoundingClientRect(), lines = describe(rows[cursor.row], cursor.time);
    showTooltip(box.left + x(cursor.time), box.top + top - scroll.scrollTop + rowHeight,
      rows[cursor.row].label, lines);
    say(rows[cursor.row].label, lines);
  });
  canvas.addEventListener("blur", () => { hideTooltip(); cursor = null; draw(); });
  scroll.addEventListener("scroll", draw);

  redraws.push(() => {
    width = scroll.clientWidth;
    keys.replaceChildren(legend(order.map((state) => [colour(STATES[state]), STATE_NAMES[state]])));
    if (source.steps.some(([, since]) => since > 0)) {
      const mark = swatch(colour("text"));
      mark.style.width = "2px";
      keys.firstChild.append(element("li", { id: "timeline-marks" }, mark, stats.recovery
        ? "a step that counts begins" : "a step begins"));
    }
    drawAxis(); drawOverview(); setRowsKeepingPlace();
  });
  function setRowsKeepingPlace() { if (rows.length) draw(); else setRows(); }
}
