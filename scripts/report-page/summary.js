// How the run ended, and the step at a glance.

// A deadlock is the reason of all else that a failed run tells, and its last words: they would be
// below the box's edge.
function causeFirst(message) {
  const lines = message.split("\n"),
    at = lines.findIndex((line) => /deadlock\b.*each of these/.test(line));
  return at > 0 ? lines.slice(at).concat("", lines.slice(0, at)).join("\n") : message;
}

function banner() {
  const main = document.getElementById("main");
  const hasStats = Object.keys(stats).length > 0;
  if (hasStats && stats.completed !== true) {
    const share = isNumber(stats.share_done) ? ", " + percent(stats.share_done) + " done" : "";
    const wrong = stats.trace || stats.interrupted ? [] : scriptMistakes();
    const found = wrong.length === 1 ? "a mistake" : count(wrong.length) + " mistakes";
    // The section of mistakes says all: what each one is, and where the script failed.
    const told = wrong.length && (data.traceback || wrong.some((row) => !ALONE.includes(row.kind)));
    main.append(element("div", { class: "banner failed", role: "alert", id: "failed" },
      element("strong", {}, wrong.length ? "The script has " + found + ": nothing was simulated."
        : (stats.interrupted ? "This run was interrupted" : "This run failed") + share
        + ". What follows is of the part that ran."),
      stats.message && !told ? element("pre", {}, causeFirst(String(stats.message))) : null,
      data.measured ? null
        : element("p", { id: "unmeasured" },
        "It ended before its measured time: messages, links and losses have no numbers.")));
  }
  const noted = Array.isArray(stats.faults) ? stats.faults : [];
  const faults = noted.filter((fault) => fault.what !== "circuits");
  if (faults.length) {
    main.append(element("details", { class: "banner note", id: "faults", open: "" },
      element("summary", {},
        (faults.length === 1 ? "A fault" : count(faults.length) + " faults")
        + (clockZero ? ", at times since the run began" : "")),
      element("ul", {}, faults.map((fault) => element("li", {}, faultText(fault))))));
  }
  // They come and go by a plan: nothing is wrong.
  main.append(...noted.filter((fault) => fault.what === "circuits").map((plan) =>
    element("p", { class: "circuits" }, "Circuits of " + plan.where + ": "
      + [counted(plan.times, "change"), ...lossWords(plan)].join("; "))));
  if (data.events && data.events.last.length) {
    main.append(element("details", { class: "banner note", id: "last-events" },
      element("summary", {}, "The last " + data.events.last.length
        + " lines of network_events.log"),
      element("pre", {}, data.events.last.join("\n"))));
  }
  if (data.problems.length) {
    main.append(element("div",
      { class: hasStats ? "banner note" : "banner failed", role: "alert", id: "problems" },
      element("strong", {}, hasStats ? "Not all could be read" : "This run is not complete"),
      element("ul", {}, data.problems.map((text) => element("li", {}, text)))));
  }
}

// One of stats.faults in words.
function faultText(fault) {
  const at = (us) => isNumber(us) ? time(us) : "";
  const more = [fault.cables > 1 ? count(fault.cables) + " cables" : "", faultExtent(fault)]
    .filter((each) => each).join("; ");
  const words = [fault.what + " on " + fault.where + (more ? " (" + more + ")" : "")
    + (fault.begun ? " at " : " was to begin at ") + at(fault.at_us)
    + (fault.begun && isNumber(fault.until_us) ? " to " + at(fault.until_us) : "")];
  if (fault.hits_nobody_because) words.push("it hit nobody: " + fault.hits_nobody_because);
  if (fault.times > 1) words.push(count(fault.times) + " times");
  if (isNumber(fault.detected_us)) words.push("noticed at " + at(fault.detected_us));
  if (isNumber(fault.rerouted_us)) words.push("new tables at " + at(fault.rerouted_us));
  if (isNumber(fault.nic_left_gbps))
    words.push("bonded NIC at " + rate(fault.nic_left_gbps) + " of " + rate(fault.nic_gbps)
      + " meanwhile");
  return [...words, ...lossWords(fault)].join("; ");
}

function lossWords(fault) {
  const words = [];
  if (isNumber(fault.frames_lost))
    words.push(counted(fault.frames_lost, "frame") + " lost"
      + (data.measured && stats.measured_from_us > 0 ? " in the whole run" : ""));
  if (fault.frames_without_way) words.push(count(fault.frames_without_way) + " found no way left");
  return words;
}

// How far a fault goes; nothing: all the way.
function faultExtent(fault) {
  if (isNumber(fault.rate_gbps)) return rate(fault.rate_gbps);
  if (isNumber(fault.rate_share)) return digit(100 * fault.rate_share, 3) + "% of its rate left";
  if (isNumber(fault.bit_error_ratio)) return String(fault.bit_error_ratio) + " of the bits";
  if (isNumber(fault.dropped_share)) return digit(100 * fault.dropped_share, 3) + "% of the frames";
  if (isNumber(fault.compute_time_factor))
    return digit(fault.compute_time_factor, 3) + " times as long";
  return isNumber(fault.period_us)
    ? "down " + digit(100 * fault.down_share, 3) + "% of each " + time(fault.period_us) : "";
}

function tile(name, value, small) {
  return element("div", {}, element("dt", {}, name),
    element("dd", {}, value, small ? element("small", {}, small) : null));
}

// A step beside published ones of its kind: the band around it, and which way it is off where it
// lies outside.
// "80% band of 46 measured of 12 series (nanotron, dense transformer)".
function bandWords(band) {
  const unit = band.sources === 1 ? "source" : "sources";
  return percent(band.share, 0) + " band of " + count(band.rows) + " measured"
    + (isNumber(band.sources) ? " of " + count(band.sources) + " " + unit + " or series" : "")
    + (band.like ? " (" + band.like + ")" : "");
}

function sureTile(step, band) {
  const low = band.step_time_low_us, high = band.step_time_high_us;
  if (!isNumber(low)) return tile("How sure", UNKNOWN, "no rows like this were compared");
  const off = (end) => percent(Math.abs(end / step - 1), 0);
  const outside = low > step
    ? "; these took " + off(low) + " to " + off(high) + " longer than their simulations"
    : high < step ? "; these took " + off(high) + " to " + off(low)
    + " less than their simulations" : "";
  return tile("How sure", time(low) + " to " + time(high), bandWords(band) + outside);
}

// Of a recording: GPUs of the cluster that it has no rank for.
function idleGpus() {
  const ranks = stats.trace && stats.trace.ranks;
  return isNumber(ranks) && isNumber(stats.gpus) && ranks < stats.gpus ? stats.gpus - ranks : 0;
}

function meanOver() {
  return idleGpus() ? "mean over the " + count(stats.gpus - idleGpus()) + " of " + count(stats.gpus)
    + " GPUs that do something" : "mean over all GPUs";
}

// Who takes part, of all that are there: "16 of 18 servers with ranks, 2 GPUs each (linked as in
// dgx-a100)". A server's name says what links its GPUs; how many it has may differ from the name's.
function servers(cluster) {
  const jobs = Array.isArray(stats.jobs) ? stats.jobs : null, { hosts } = data.topology || {};
  const withJobs = jobs && jobs.every((job) => job && Array.isArray(job.hosts));
  const used = withJobs ? d3.set(d3.merge(jobs.map((job) => job.hosts))).size() : stats.servers;
  if (stats.program === "traffic") return isNumber(hosts) ? counted(hosts, "host") : null;
  if (!isNumber(used)) return null;
  const there = Math.max(used, hosts || 0), gpus = cluster.gpus_per_server;
  const idle = there > used, who = idle ? (jobs ? " with jobs" : " with ranks") : "";
  return (idle ? count(used) + " of " : "") + counted(there, "server") + who
    + (isNumber(gpus) ? ", " + counted(gpus, "GPU") + (there > 1 ? " each" : "") : "")
    + (gpus > 1 && cluster.server ? " (linked as in " + cluster.server + ")" : "");
}

// Which GPU computes what; of several jobs, and of a recorded step, other places tell.
function trainingWords(training) {
  if (!training || stats.jobs || stats.trace) return [];
  const words = [];
  if (training.gpu) words.push(training.gpu + (training.dtype ? " " + training.dtype : ""));
  if (isNumber(training.seq) && training.seq > 0) words.push("sequence " + count(training.seq));
  if (isNumber(training.micro_batch)) {
    words.push("micro-batch " + count(training.micro_batch)
      + (training.accumulation > 1 ? " x " + count(training.accumulation) : ""));
  }
  if (isNumber(training.global_batch)) words.push("global batch " + count(training.global_batch));
  if (training.recompute && training.recompute !== "none")
    words.push(training.recompute + " recomputation");
  if (training.moe_skew > 0) words.push("experts skewed by " + training.moe_skew);
  return words;
}

// What flows arrive by, in the words of the options.
function loadWords(traffic) {
  if (!traffic) return [];
  const words = [];
  if (traffic.load > 0) words.push("load " + signed(traffic.load, 3));
  if (traffic.incast_load > 0) words.push("incast load " + signed(traffic.incast_load, 3));
  if (traffic.sizes) words.push("sizes " + traffic.sizes);
  else if (traffic.bytes) words.push("flows of " + traffic.bytes);
  if (traffic.duration && traffic.load > 0) words.push("for " + traffic.duration);
  return words;
}

function subtitle() {
  const configuration = stats.configuration || {};
  const cluster = configuration.cluster || {}, fabric = configuration.fabric || {};
  const words = [];
  if (stats.program) words.push(stats.program);
  if (Array.isArray(stats.jobs)) words.push(counted(stats.jobs.length, "job"));
  const who = servers(cluster);
  if (who) words.push(who);
  if (idleGpus())
    words.push(count(idleGpus()) + " of " + count(stats.gpus)
      + " GPUs idle: means are of the others");
  const network = (data.topology && data.topology.name) || (stats.topology && stats.topology.name);
  if (network) words.push(network);
  // Networks of dimensions and wafers say the rates of their links themselves.
  const { dims, wafer } = configuration.network || {};
  if (fabric.nic && !dims && !wafer)
    words.push((cluster.nics_per_server > 1 ? count(cluster.nics_per_server) + " x " : "")
      + fabric.nic);
  if (fabric.cc) words.push("congestion control " + fabric.cc + (fabric.pfc ? ", PFC" : ""));
  // What is as usual is not told: of RoCE and InfiniBand.
  if (fabric.load_balancer && !["ecmp", "tables"].includes(fabric.load_balancer))
    words.push("load balancing " + fabric.load_balancer);
  if (fabric.transport && fabric.transport !== "rc") words.push("transport " + fabric.transport);
  // of several jobs each has its own
  if (cluster.placement && !stats.jobs) words.push(cluster.placement + " placement");
  words.push(...trainingWords(configuration.training), ...loadWords(configuration.traffic),
    ...servingWords());
  document.getElementById("subtitle").textContent = words.join(" \u00b7 ");
}

// A share as the terminal has it: so many digits, and a sign where it is below 0.
const signed = (share, digits = 2) => Number((100 * share).toPrecision(digits)) + "%";

// With --layers: a step's means are of the whole model, and all else is of the largest number of
// blocks that was simulated. Nothing: all of them were.
function fewer() {
  const part = stats.extrapolation;
  return part && isNumber(part.blocks) && Array.isArray(part.blocks_simulated)
    && part.blocks_simulated.length > 1
    && part.blocks_simulated.every(isNumber) && Array.isArray(part.step_times_us)
    && part.step_times_us.every(isNumber) ? part : null;
}

function stepsText() {
  const part = fewer();
  if (!part) return stats.steps_measured === 1 ? "1 step measured"
    : "mean of " + stats.steps_measured + " steps";
  return "of " + count(part.blocks) + " blocks, extrapolated from "
    + part.blocks_simulated
    .map((n, i) => count(n) + " (" + time(part.step_times_us[i]) + ")").join(", ")
    + (isNumber(part.error)
    ? "; error " + signed(part.error) + " at " + count(Math.max(...part.blocks_simulated))
    + " blocks" : "; error unknown from two numbers of blocks")
    + (isNumber(part.error_of_whole)
    ? ", about " + signed(part.error_of_whole) + " at " + count(part.blocks) : "");
}

// ": TP 12 ms, DP 3 ms", those of at least 0.1% of the step.
function exposedBy() {
  const words = { tp: "TP", cp: "CP", ep: "EP", pp: "PP", dp: "DP", other: "other" };
  const parts = Object.entries(stats.exposed_by_parallelism_us || {})
    .filter(([name, us]) => Object.hasOwn(words, name) && isNumber(us) && us > 0.0005
    * stats.step_time_us);
  return parts.length
    ? ": " + parts.sort((a, b) => b[1] - a[1]).map(([name, us]) => words[name] + " " + time(us))
    .join(", ") : "";
}

function stepTiles() {
  const step = stats.step_time_us, tiles = [];
  if (!isNumber(step)) return [];
  tiles.push(tile("Step time", time(step), stepsText()));
  if (isNumber(stats.mfu)) {
    tiles.push(tile("Model FLOPs utilization (MFU)", percent(stats.mfu), "of the peak of "
      + digit(stats.peak_tflops_per_gpu, 4) + " TFLOP/s per GPU"));
  }
  if (stats.compared_with) tiles.push(sureTile(step, stats.compared_with));
  if (isNumber(stats.tokens_per_s))
    tiles.push(tile("Tokens a second", count(stats.tokens_per_s), "all GPUs together"));
  if (isNumber(stats.samples_per_s))
    tiles.push(tile("Samples a second", digit(stats.samples_per_s, 4), "all GPUs together"
      + (isNumber(stats.tflops_per_gpu)
      ? "; " + digit(stats.tflops_per_gpu, 3) + " TFLOP/s per GPU" : "")));
  tiles.push(tile("Computing", time(stats.compute_time_us), percent(stats.compute_time_us / step)
    + " of the step"));
  tiles.push(tile("Exposed communication", time(stats.exposed_communication_time_us),
    percent(stats.exposed_communication_time_us / step)
    + " of the step" + exposedBy() + "; under way for " + time(stats.communication_time_us)
    + (fewer() ? " (rough: no straight line over blocks)" : "")));
  if (stats.bubble_time_us > 0)
    tiles.push(tile("Bubble", time(stats.bubble_time_us), percent(stats.bubble_time_us / step)
      + " of the step: computing waited for a message that another stage had not sent"));
  if (stats.waiting_time_us > 0.0005 * step)
    tiles.push(tile("Waiting", time(stats.waiting_time_us), percent(stats.waiting_time_us / step)
      + " of the step: nothing of the GPU\u2019s own was under way"));
  if (isNumber(stats.queue_wait_us))
    tiles.push(tile("Collective queue", time(stats.queue_wait_us),
      "mean time that a collective was ready and waited; the longest "
      + time(stats.longest_queue_wait_us)));
  for (const [name, value,
    what] of [["Offloading", stats.offload_time_us,
    "copies over PCIe and the CPU\u2019s optimizer"],
    ["Memory", stats.memory_time_us, "loads and stores beyond the GPU"],
    ["Loading data", stats.data_loading_time_us, "the next batch"]]) {
    if (isNumber(value) && value > 0)
      tiles.push(tile(name, time(value), percent(value / step)
        + " of the step with nothing under way but " + what));
  }
  const held = stats.gpu_memory_peak;
  if (held && isNumber(held.reserved_bytes) && isNumber(held.allocated_bytes)) {
    tiles.push(tile("GPU memory", memorySize(held.reserved_bytes),
      "PyTorch's allocator at most, rank " + held.rank + "; " + memorySize(held.allocated_bytes)
      + " of it allocated"));
  }
  const estimate = stats.gpu_memory_bytes_estimate, capacity = stats.gpu_memory_capacity_bytes;
  if (isNumber(estimate))
    tiles.push(tile("GPU memory", memorySize(estimate), "estimated"
      + (capacity ? "; the GPU has " + memorySize(capacity) : "")));
  return tiles;
}

function flowTiles() {
  const flows = stats.flows;
  if (!flows) return [];
  const apart = isNumber(flows.measured) && flows.measured !== flows.all;
  return [tile(apart ? "Flows, warm-up and cool-down included"
    : "Flows", count(flows.arrived) + " of " + count(flows.all),
    "arrived" + (flows.failed ? "; " + count(flows.failed) + " failed" : "")),
    apart ? tile("Measured flows",
      count(isNumber(flows.measured_arrived) ? flows.measured_arrived : stats.messages) + " of "
      + count(flows.measured), "arrived"
      + (isNumber(stats.message_bytes) ? "; " + bytes(stats.message_bytes) : "")
      + (isNumber(stats.measured_from_us) && stats.measured_from_us > 0
      ? "; those that start from " + time(stats.measured_from_us) + " on" : "")) : null,
    tile("Last arrival", time(flows.last_arrival_us - (flows.first_start_us || 0)),
      "after the first start"),
    tile("Goodput", rate(flows.goodput_gbps), "payload of all flows that arrived, together")];
}

function collectiveTiles() {
  const rows = (stats.collectives || []).filter((row) => isNumber(row.busbw_GBps));
  if (stats.program !== "collperf" || !rows.length) return [];
  const best = rows.reduce((a, b) => (b.busbw_GBps > a.busbw_GBps ? b : a));
  // --compare: others may do better than what was chosen.
  const others = (stats.compared || []).filter((row) => row.bytes === best.bytes && row.op
    === best.op && isNumber(row.busbw_GBps) && row.busbw_GBps > best.busbw_GBps);
  const better = others.length
    ? others.reduce((a, b) => (b.busbw_GBps > a.busbw_GBps ? b : a)) : null;
  return [tile("Largest bus bandwidth" + (better ? ", as chosen" : ""), digit(best.busbw_GBps, 4)
    + "\u00a0GB/s", best.op + " of " + sizeIn(areBinary(rows.map((row) => row.bytes)))(best.bytes)
    + (better ? "; compared, " + better.choice + " has " + digit(better.busbw_GBps, 4) : "")),
    tile("Time of it", time(best.time_us), best.algorithm + ", " + best.ranks + " ranks")];
}

// Of several jobs on the network, what each is slowed by the others, and where.
function jobTable(parent) {
  const jobs = (Array.isArray(stats.jobs) ? stats.jobs : [])
    .filter((job) => job && typeof job === "object");
  if (!jobs.length) return;
  const us = (value) => number(isNumber(value) ? time(value) : "\u2013");
  parent.append(element("div", { class: "wide", id: "jobs" },
    table("Jobs: the time of a step, mean; of flows until the last has arrived; of a served "
    + "request, mean",
    ["job", "kind", "servers", "time", "alone", "slower by others", "bytes", "waited longest"],
      jobs.map((job) => {
      return [String(job.name), String(job.kind),
        number(isNumber(job.servers) ? count(job.servers) : "\u2013"), us(job.time_us),
        us(job.time_alone_us),
        number(isNumber(job.slower_by_others) ? three(job.slower_by_others) + "\u00d7" : "\u2013"),
          number(isNumber(job.bytes) ? bytes(job.bytes) : "\u2013"),
        typeof job.waited_longest === "string" ? job.waited_longest
          : waitedWords(job.interference)];
    })), element("p", { class: "muted" },
      "Percentages under \u201cwaited longest\u201d are of the time of the job\u2019s messages, "
      + "but for those of bytes.")));
  jobLatencies(parent);
  jobBars(parent);
}

// What users of a served model notice.
function jobLatencies(parent) {
  const served = stats.jobs.filter((job) => job && job.serving && typeof job.serving === "object");
  if (!served.length) return;
  const of = (q) => [number(q ? msTime(q.p50) : UNKNOWN), number(q ? msTime(q.p99) : UNKNOWN)];
  parent.append(element("div", { id: "job-latencies" },
    wideTable("Jobs that serve",
    ["job", "answered", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "requests/s",
    "SLO met", ""],
    served.map(({ name, serving: s }) =>
      [String(name), number(count(s.answered) + " of " + count(s.requests)), ...of(s.ttft_ms),
      ...of(s.tpot_ms), number(three(s.requests_per_s)),
      number(s.slo ? percent(s.slo.attainment) : UNKNOWN),
      isNumber(s.arrives_per_s) ? "cannot keep up" : ""]))));
}

// Whether it waited for others for so much of its messages' time that one of them is named, as on
// the terminal. Older results do not know from which share on.
function waitedMuch(interference) {
  return Boolean(interference)
    && !(interference.waited_for_others_us < interference.named_from_share
    * interference.messages_us);
}

// The same in words, for results of before stats.json had them.
function waitedWords(interference) {
  if (!interference || interference.messages_us === 0) return "not noted";
  const links = waitedMuch(interference) ? interference.links
    : [], shares = interference.shares || {};
  if (Array.isArray(links) && links[0] && links[0].slowed_by)
    return "for " + links[0].slowed_by + " at " + links[0].link;
  return (interference.waited_for_others_us > 0 && !waitedMuch(interference)
    ? "for others below " + percent(interference.named_from_share) + " of its messages\u2019 time"
    : "for nobody") + (interference.throttled_us > 0
    ? "; throttled for " + time(interference.throttled_us) + " in all" : "")
    + (shares.link ? ", meets " + shares.job + " at " + shares.link : "");
}

function backgroundTiles() {
  const beside = stats.background;
  if (!beside || typeof beside !== "object") return [];
  return [tile("Background", isNumber(beside.measured_load) ? percent(beside.measured_load)
    : "\u2013", "of its hosts\u2019 links; " + String(beside.pattern)),
    isNumber(beside.flows) && beside.flows && beside.fct_us
      ? tile("Its flows, completion time p99", time(beside.fct_us.p99),
      counted(beside.flows, "flow") + ", p50 " + time(beside.fct_us.p50)) : null];
}

function networkTiles() {
  const tiles = [];
  if (isNumber(stats.messages) && !stats.flows)
    tiles.push(tile("Messages", count(stats.messages), bytes(stats.message_bytes)
      + " between servers"));
  if (stats.messages && stats.fct_us) {
    tiles.push(tile("Completion time p99.9", time(stats.fct_us.p999), "p50 "
      + time(stats.fct_us.p50) + ", max " + time(stats.fct_us.max)));
    const slowdown = stats.fct_slowdown || {};
    tiles.push(tile("Slowdown p99.9", three(slowdown.p999) + "\u00d7", "p50 " + three(slowdown.p50)
      + "\u00d7, max "
      + three(slowdown.max) + "\u00d7 the idle network's"));
  }
  if (typeof stats.network === "string") {
    tiles.push(tile("Network", stats.network, "without packets: no queues, marks, pauses, losses"));
  }
  if (isNumber(stats.ecn_marks)) {
    tiles.push(stats.credits
      ? tile("FECN marks", count(stats.ecn_marks), counted(stats.cnps, "CN packet") + "; "
      + counted(stats.credits.stalls, "wait")
        + " for credits, " + time(stats.credits.stall_time_us))
      : tile("ECN marks", count(stats.ecn_marks), counted(stats.cnps, "CNP") + "; "
      + counted(stats.pfc_pauses, "pause")
        + ", " + time(stats.pfc_pause_time_us)));
  }
  if (stats.drops) {
    const drops = d3.sum(Object.values(stats.drops));
    tiles.push(tile("Frames lost", count(drops), counted(stats.retransmitted_packets, "packet")
      + " sent again, "
      + counted(stats.timeouts, "time-out")
      + (stats.measured_from_us > 0 && Array.isArray(stats.faults) && stats.faults.length
      ? "; all from " + time(stats.measured_from_us) + " on, as measured" : "")));
  }
  if (stats.links && stats.links.length && stats.links[0].utilization > 0) {
    tiles.push(tile("Busiest link", percent(stats.links[0].utilization), stats.links[0].link + ", "
      + rate(stats.links[0].rate_gbps)));
  }
  return tiles;
}

// Parts of a time as one bar, each [name of its colour, text, us]; and what the colours mean.
function oneBar(parent, label, parts) {
  const whole = d3.sum(parts, ([, , us]) => us);
  chart(parent, label + parts.map(([, text, us]) => text + " " + time(us)).join(", "),
    (svg, width) => {
    const x = d3.scale.linear().domain([0, whole]).range([14, width - 14]);
    let at = 0;
    for (const [name, text, us] of parts) {
      const group = svg.append("g");
      group.append("rect").attr("x", x(at)).attr("width", Math.max(0, x(at + us) - x(at) - 1))
        .attr("y", 0).attr("height", 34).style("fill", colour(name));
      if (x(us) - x(0) > 110) {
        group.append("text").attr("x", x(at) + 8).attr("y", 22).style("fill", name === "idle"
          ? colour("text") : isDark() ? "#10151b" : "#fff")
          .style("font-weight", 600).text(time(us) + " \u00b7 " + percent(us / whole));
      }
      group.append("title").text(text + ": " + time(us));
      at += us;
    }
    svg.append("g").attr("class", "axis").attr("transform", "translate(0,36)")
      .call(niceTicks(x, Math.max(3, width / 130), (us) => time(us)));
    return 64;
  });
  const keys = element("div");
  parent.append(keys);
  redraws.push(() =>
    keys.replaceChildren(
    legend(parts.map(([name, text, us]) => [colour(name), text + ", " + time(us)]))));
}

function failures() {
  return stats.recovery && Array.isArray(stats.recovery.failures) ? stats.recovery.failures : [];
}

// The step as one bar, of the figures in the cards above: its parts add up to the step.
function partsOfStep(mean) {
  const step = stats.step_time_us, hidden = mean && !fewer()
    ? Math.min(mean.O || 0, stats.compute_time_us) : 0;
  const parts = [["compute", hidden > 0 ? "computing alone"
    : "computing", stats.compute_time_us - hidden],
    ["overlap", "computing, communication hidden behind it", hidden],
    ["exposed", "exposed communication", stats.exposed_communication_time_us],
      ["bubble", "bubble", stats.bubble_time_us],
    ["held", "offloading", stats.offload_time_us],
    ["held", "memory beyond the GPU", stats.memory_time_us],
      ["held", stats.trace ? "host, other streams" : "host", stats.host_time_us],
    ["held", "loading data", stats.data_loading_time_us],
      ["idle", "waiting for the slowest GPU", stats.waiting_time_us]];
  return parts.filter(([, , us]) => isNumber(us) && us > 1e-6 * step);
}

// A run with failures: what GPUs did from step to step, with what was lost between steps.
function partsOfTimeline(mean) {
  return [["C", "compute", "computing"],
    ["O", "overlap", "computing, communication hidden behind it"],
    ["X", "exposed", exposedName], ["I", "idle", idleName],
      ["R", "held", heldName], ["M", "held", memoryName]].filter(([state]) => mean[state] > 0)
    .map(([state, name, text]) => [name, text, mean[state]]);
}

function stepBar(parent) {
  const mean = data.timeline && data.timeline.mean_us, failed = failures().length > 0;
  if (!isNumber(stats.step_time_us) || !isNumber(stats.compute_time_us) || (failed && !mean))
    return;
  const left = failures().some((f) => Array.isArray(f.ranks_left) && f.ranks_left.length);
  parent.append(element("h3", {}, failed
    ? "A GPU\u2019s time for each step measured, "
    + (left ? "mean over the GPUs that are there at the time" : meanOver())
    + ": with what was lost, and waited for between steps"
    : "A GPU\u2019s step, " + meanOver()));
  oneBar(parent, "The step as one bar: ", failed ? partsOfTimeline(mean) : partsOfStep(mean));
  const part = fewer();
  if (part) {
    parent.append(element("p", { class: "muted", id: "fewer-blocks" },
      count(part.blocks_simulated[0]) + " of the model\u2019s " + count(part.blocks)
      + " blocks were simulated. Step, throughput and bytes a step are those of all blocks. "
      + "Messages, collectives and network are those of "
      + count(part.blocks_simulated[0]) + " blocks, whose step took "
      + time(part.step_times_us[0]) + "."));
    return;
  }
  const critical = stats.critical_path || {}, straggling = (critical.parts_us || {}).straggling;
  if (straggling >= 0.01 * critical.total_us) {
    parent.append(element("p", { class: "muted", id: "straggling" }, time(straggling)
      + " of the last step\u2019s critical path is straggling: computations that took longer than "
      + "the "
      + "median GPU needs for the same, while the others waited."));
  }
}

// GPUs that stand still, and servers that failed as a whole.
function whoFailed(f) {
  const gpus = Array.isArray(f.gpus_failed) ? f.gpus_failed.map(String)
    : [], servers = Array.isArray(f.servers_failed) ? f.servers_failed.map(String) : [];
  return [...gpus, ...servers.filter((server) => !gpus.some((gpu) => gpu.startsWith(server + ":")))]
    .join(", ");
}

// What failures and checkpoints cost: the time of the job, warm-up included, and each failure.
function recovery(parent) {
  const r = stats.recovery;
  if (!r || !isNumber(r.elapsed_us)) return;
  const parts = [["compute", "steps that count", r.useful_us],
    ["overlap", r.checkpoint_async ? "waiting for checkpoints"
    : "writing checkpoints", r.checkpoint_us],
    ["exposed", "lost: steps done again, and what did not end", r.lost_us],
      ["held", "aborting, starting again, reading", r.recovering_us]]
    .filter(([, , us]) => us > 0);
  const box = element("div", { id: "recovery" },
    element("h3", {}, "Recovery (" + String(r.policy) + "): goodput " + percent(r.goodput)));
  parent.append(box);
  box.append(element("p", { class: "muted" },
    "All the time of the job, its warm-up included, by what it was for: a sum of "
    + time(r.elapsed_us) + ", and no clock."));
  oneBar(box, "The time of the job as one bar: ", parts);
  const us = (value) => number(isNumber(value) ? time(value) : "\u2013");
  const names = (list) => (Array.isArray(list) ? list : []).join(", ");
  if (failures().length) {
    box.append(table("Failures, on the clock of the run: from its first event, the warm-up "
      + "included", ["failed", "known", "by", "what", "who", "goes on at", "with", "work lost"],
      failures().map((f) => [us(f.failed_us), us(f.known_us), String(f.known_by), String(f.what),
        [whoFailed(f), names(f.spares_taken) && "in their place " + names(f.spares_taken),
          names(f.ranks_left) && "ranks that leave: " + names(f.ranks_left),
          names(f.nics_lost) && "without " + names(f.nics_lost), f.not_rebuilt_because
            && "a restart, as " + f.not_rebuilt_because,
          f.collectives_repeated && "collectives anew: " + count(f.collectives_repeated),
            f.messages_repeated && "messages anew: "
            + count(f.messages_repeated)].filter((each) => each).join("; "),
        us(f.resumed_us), !isNumber(f.resumed_us) ? "\u2013"
          : String(f.goes_on_with || count(f.from_step + 1)), us(f.lost_us)])));
  }
  if (r.gave_up) box.append(element("p", {}, "The job gave up: " + String(r.gave_up) + "."));
}

// Of a training run the network is for whoever asks why communication takes so long. Several jobs
// are about the network they share.
const foldsNetwork = () => stats.program === "dlserve" ? isNumber(stats.messages)
  : !Object.hasOwn(ORDER, stats.program) && !stats.jobs && isNumber(stats.step_time_us);

// Parts of the critical path that no network between servers makes longer.
const BESIDE_NETWORK = ["compute", "straggling", "offload", "inside_servers", "software"];

// Whether the run's own data names the network: a pool of dlserve its limit; of a step, the parts
// of the critical path between servers are longer than all others together.
function networkLimits() {
  if (!(stats.messages > 0)) return false;
  const pools = serving && Array.isArray(serving.pools) ? serving.pools : [];
  if (pools.some((pool) => pool && pool.limited_by === "the network")) return true;
  const shares = Object.entries((stats.critical_path || {}).share || {});
  return d3.sum(shares, ([part, share]) =>
    isNumber(share) && !BESIDE_NETWORK.includes(part) ? share : 0) > 0.5;
}

function summary() {
  subtitle();
  banner();
  const tiles = [...servingTiles(), ...multiplexTiles(), ...goodputTiles(), ...stepTiles(),
    ...flowTiles(), ...collectiveTiles(), ...(foldsNetwork() ? [] : networkTiles()),
    ...backgroundTiles(), ...planTiles()].filter((each) => each);
  const node = section("summary", stats.program === "dltrain" && !stats.jobs
    ? "The step at a glance" : "At a glance");
  if (!tiles.length) {
    node.append(element("p", {}, data.measured ? "No number of the measured part is there."
      : "Nothing was measured."));
  } else {
    if (stats.program === "dltrain" && !stats.jobs && !isNumber(stats.step_time_us))
      node.append(element("p", {}, "No measured step was completed."));
    node.append(element("dl", { class: "tiles" }, tiles));
  }
  jobTable(node);
  stepBar(node);
  recovery(node);
}
