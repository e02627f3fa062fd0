// A search for a layout (dlplan): step against memory, the table, what starts the best one.

const planned = stats.planning || {};
const planRows = () => (Array.isArray(planned.plans) ? planned.plans : []);
const planStep = (plan) => (isNumber(plan.verified_us) ? plan.verified_us : plan.estimate_us);

function planPicture() {
  const points = ((data.estimates || {}).points || [])
    .map(([memory, estimate, verified, options, frontier]) =>
    ({ memory, estimate, verified, options, frontier }));
  if (!points.length) return;
  const words = "Every dot is a layout with an estimate; layouts whose lower bound is too long "
    + "have none. The frontier has the shortest step for its memory.";
  const left = data.estimates.left_out;
  const node = section("plans", "Step against memory", words
    + (left ? " " + counted(left, "more layout") + " with longer steps are left out." : ""));
  node.append(legend([[colour("idle"), counted(points.length, "estimate")],
    [colour("accent"), "frontier"], [colour("exposed"), "run by dltrain, at its own step"]]));
  const room = planned.gpu_memory_bytes;
  chart(node, "Step over memory of a GPU, " + counted(points.length, "layout"), (svg, width) => {
    const height = 360, margin = { left: 70, right: 24, top: 12, bottom: 44 };
    const steps = points.map((point) => point.estimate)
      .concat(points.map((point) => point.verified).filter(isNumber));
    const x = d3.scale.linear()
      .domain([0, 1.04 * Math.max(room || 0, d3.max(points, (point) => point.memory))])
      .range([margin.left, width - margin.right]);
    const y = d3.scale.log().domain([0.95 * d3.min(steps), 1.05 * d3.max(steps)])
      .range([height - margin.bottom, margin.top]);
    const inner = width - margin.left - margin.right;
    const gib = Math.pow(1024, 3), most = x.domain()[1] / gib,
      every = [1, 2, 5, 10, 20, 40, 50, 100, 200]
      .find((each) => most / each <= Math.max(2, inner / 80)) || 500;
    const ticks = logTicks(y.domain(), 6).length > 1 ? logTicks(y.domain(), 6)
      : d3.scale.linear().domain(y.domain()).ticks(5);
    svg.append("g").attr("class", "axis")
      .attr("transform", "translate(0," + (height - margin.bottom) + ")")
      .call(d3.svg.axis().scale(x).tickValues(d3.range(0, most, every).map((value) => value * gib))
      .tickFormat((value) => digit(value / gib)).tickSize(5).tickPadding(5));
    svg.append("g").attr("class", "grid").attr("transform", "translate(" + margin.left + ",0)")
      .call(d3.svg.axis().scale(y).orient("left").tickValues(ticks).tickFormat("")
      .tickSize(-inner));
    svg.append("g").attr("class", "axis").attr("transform", "translate(" + margin.left + ",0)")
      .call(d3.svg.axis().scale(y).orient("left").tickValues(ticks).tickFormat((us) => time(us, 3))
      .tickSize(5).tickPadding(5));
    svg.append("text").attr("class", "muted").attr("x", margin.left + inner / 2)
      .attr("y", height - 6).attr("text-anchor", "middle").text("tensors of a GPU (GiB)");
    if (isNumber(room)) {
      svg.append("line").attr("class", "mark").attr("x1", x(room)).attr("x2", x(room))
        .attr("y1", margin.top).attr("y2", height - margin.bottom);
      svg.append("text").attr("class", "muted").attr("x", x(room) - 5).attr("y", margin.top + 10)
        .attr("text-anchor", "end").text("memory of a GPU");
    }
    const edge = points.filter((point) => point.frontier).sort((a, b) => a.memory - b.memory);
    svg.append("path").attr("class", "curve").style("stroke", colour("accent"))
      .attr("d", d3.svg.line().x((point) => x(point.memory)).y((point) => y(point.estimate))
      .interpolate("step-after")(edge));
    svg.selectAll("circle").data(points.filter((point) => !point.frontier).concat(edge)).enter()
      .append("circle")
      .attr("cx", (point) => x(point.memory)).attr("cy", (point) => y(point.estimate))
      .attr("r", (point) => (point.frontier ? 4 : 2.5))
      .style("fill", (point) => (point.frontier ? colour("accent") : colour("quiet")));
    svg.selectAll("path.run").data(points.filter((point) => isNumber(point.verified))).enter()
      .append("path").attr("class", "run")
      .attr("d", d3.svg.symbol().type("diamond").size(70))
      .attr("transform", (point) => "translate(" + x(point.memory) + "," + y(point.verified) + ")")
      .style("fill", "none").style("stroke", colour("exposed")).style("stroke-width", 2);
    const lines = (point) =>
      [["estimate", time(point.estimate)],
      ...(isNumber(point.verified) ? [["dltrain", time(point.verified)]] : []),
      ["tensors", memorySize(point.memory)]];
    svg.append("rect").attr("x", margin.left).attr("y", margin.top)
      .attr("width", Math.max(0, inner)).attr("height", height - margin.top - margin.bottom)
      .style("fill", "transparent")
      .on("mousemove", function () {
        const [px, py] = d3.mouse(this),
          far = (point) => Math.hypot(x(point.memory) - px, y(point.estimate) - py);
        const nearest = points.reduce((a, b) => (far(b) < far(a) ? b : a));
        if (far(nearest) < 40)
          showTooltip(d3.event.clientX, d3.event.clientY, nearest.options, lines(nearest));
          else hideTooltip();
      }).on("mouseleave", hideTooltip);
    let at = -1;
    svg.on("keydown", () => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[d3.event.key];
      if (!step) return;
      d3.event.preventDefault();
      at = Math.max(0, Math.min(edge.length - 1, at + step));
      const box = svg.node().getBoundingClientRect();
      showTooltip(box.left + x(edge[at].memory), box.top + y(edge[at].estimate), edge[at].options,
        lines(edge[at]));
      say(edge[at].options, lines(edge[at]));
    }).on("blur", hideTooltip);
    return height;
  }, { tabindex: 0 });
}

function planTable() {
  const rows = planRows();
  if (!rows.length) return;
  const node = section("ranking", "The best layouts", String(planned.words || ""));
  const several = new Set(rows.map((plan) => plan.gpus)).size > 1,
    verified = rows.some((plan) => isNumber(plan.verified_us));
  const head = ["", ...(several ? ["GPUs"] : []), "layout", "tensors", "estimate",
    ...(verified ? ["dltrain"] : []), "over the best"];
  node.append(wideTable("", head,
    rows.map((plan, i) => [number(String(i + 1)), ...(several ? [number(count(plan.gpus))] : []),
    String(plan.layout), number(memorySize(plan.memory_bytes)), number(time(plan.estimate_us)),
    ...(verified ? [number(isNumber(plan.verified_us) ? time(plan.verified_us) : UNKNOWN)] : []),
      number(i === 0 ? UNKNOWN : percent(planStep(plan) / planStep(rows[0]) - 1))])));
  const moves = Array.isArray(planned.moves) ? planned.moves : [];
  if (moves.length) {
    node.append(wideTable("Small changes of the best layout, run by dltrain",
      ["option", "step", ""],
      moves.map((move) => ["--" + move.option + "=" + move.value, number(time(move.step_us)),
        move.kept ? "kept" : ""])));
  }
}

function planFlags() {
  const best = planRows()[0];
  if (!best) return;
  const node = section("flags", "Start the best layout", "");
  const box = (title, words) => node.append(element("h3", {}, title),
    element("pre", {}, element("code", { class: "long" }, words)));
  box("dltrain", "dltrain --scenario=plan.json    " + best.options);
  box("Megatron-LM", (planned.megatron || []).join("\n"));
  box("torchrun", String(planned.torchrun || ""));
  node.append(element("p", {}, "deepspeed.json beside this page is DeepSpeed's configuration."));
  const notes = [...(planned.megatron_notes || []), ...(planned.deepspeed_notes || []),
    ...(planned.nccl_notes || [])];
  if (notes.length)
    node.append(element("ul", {}, ...notes.map((note) => element("li", {}, String(note)))));
}

// The best layout at a glance.
function planTiles() {
  const best = planRows()[0], band = planned.compared_with || {};
  if (!best) return [];
  return [
    tile("Step", time(planStep(best)), isNumber(best.verified_us)
      ? "dltrain; estimated " + time(best.estimate_us) : "estimated"),
    sureTile(planStep(best), band),
    tile("Best layout", best.layout, counted(best.gpus, "GPU")),
    tile("Tensors of a GPU", memorySize(best.memory_bytes), "of "
      + memorySize(planned.gpu_memory_bytes)),
    tile("Search", counted(planned.layouts, "layout"), count(planned.too_large) + " do not fit, "
      + count(planned.estimated) + " estimated" + (planned.whole ? "" : "; ended early"))];
}
