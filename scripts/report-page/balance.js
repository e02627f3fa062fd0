// What several share: jobs alone and together, and links that packets could choose from.

// One bar a row, of [[name of a colour, value, words], ...] one below the other, on one scale from
// 0.
function barRows(parent, label, rows, ticks) {
  const most = d3.max(rows, (row) => d3.max(row.bars, (bar) => bar[1]));
  if (!(most > 0)) return;
  chart(parent, label, (svg, width) => {
    const left = Math.min(190, width * 0.3), right = 16, thick = 14, gap = 12;
    const x = d3.scale.linear().domain([0, most]).nice(5).range([left, width - right]);
    let y = 4;
    for (const row of rows) {
      const high = row.bars.length * thick;
      const name = row.name.length > left / 7
        ? row.name.slice(0, Math.max(1, Math.floor(left / 7) - 1)) + "\u2026" : row.name;
      svg.append("text").attr("x", left - 8).attr("y", y + high / 2 + 4).attr("text-anchor", "end")
        .text(name).append("title").text(row.name);
      row.bars.forEach(([shade, value, words], i) => {
        svg.append("rect").attr("x", left).attr("y", y + i * thick).attr("width",
          Math.max(1, x(value) - left)).attr("height", thick - 2).style("fill", colour(shade))
          .on("mousemove", () => showTooltip(d3.event.clientX, d3.event.clientY, row.name, words))
          .on("mouseleave", hideTooltip);
      });
      if (row.mark > 0) {
        svg.append("line").attr("x1", x(row.mark)).attr("x2", x(row.mark)).attr("y1", y - 2)
          .attr("y2", y + high).style("stroke", colour("text")).style("stroke-width", 1.5);
      }
      y += high + gap;
    }
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y})`)
      .call(niceTicks(x, Math.max(2, (width - left) / 110), ticks));
    return y + 28;
  });
}

const MOST_BARS = 40;

// Each job by itself and with the others.
function jobBars(parent) {
  const jobs = (Array.isArray(stats.jobs) ? stats.jobs : [])
    .filter((job) => job && isNumber(job.time_us) && isNumber(job.time_alone_us));
  if (!jobs.length) return;
  const box = element("div", { id: "job-bars" },
    element("h3", {}, "Jobs, alone and together"
    + (jobs.length > MOST_BARS ? ": the " + MOST_BARS + " that are slowed most" : "")));
  parent.append(box);
  const shown = jobs.length > MOST_BARS
    ? jobs.slice().sort((a, b) => b.time_us / b.time_alone_us - a.time_us / a.time_alone_us)
    .slice(0, MOST_BARS) : jobs;
  const slower = (job) => job.time_alone_us > 0
    ? three(job.time_us / job.time_alone_us) + "\u00d7" : "\u2013";
  barRows(box, "Times of jobs: "
    + shown.map((job) => job.name + " alone " + time(job.time_alone_us) + ", together "
    + time(job.time_us)).join("; "), shown.map((job) => {
    const words = [["alone", time(job.time_alone_us)], ["together", time(job.time_us)],
      ["slower by others", slower(job)]];
    return { name: String(job.name),
      bars: [["quiet", job.time_alone_us, words], ["compute", job.time_us, words]] };
  }), (us) => time(us));
  const keys = element("div");
  box.append(keys);
  redraws.push(() =>
    keys.replaceChildren(legend([[colour("quiet"), "alone"], [colour("compute"), "together"]])));
}

// How evenly links of one choice were loaded.
function balance() {
  const told = stats.load_balancing || {};
  const tiers = (Array.isArray(told.equal_cost_links) ? told.equal_cost_links : [])
    .filter((tier) => tier && tier.sets > 0 && isNumber(tier.max_over_mean)
    && isNumber(tier.worst_max_over_mean));
  if (!tiers.length) return;
  const node = section("balance", "Links to choose from", "Where several shortest ways lead on, "
    + (told.balancer === "tables" ? "forwarding tables choose"
    : String(told.balancer || "a hash") + " chooses")
    + ". How much the busiest link of such a set carried, "
    + "against the mean of the set: 1 is even. Bars are means over the sets of a tier, weighted "
    + "by their bytes; the mark is the worst busy set.");
  barRows(node, "Busiest link over the mean of its set: "
    + tiers.map((tier) => "tier " + tier.tier + " " + three(tier.max_over_mean)).join(", "),
    tiers.map((tier) => ({
    name: "tier " + tier.tier + ", " + count(tier.sets) + (tier.sets === 1 ? " choice" : " choices")
      + " of links",
    mark: tier.worst_max_over_mean,
    bars: [["compute", tier.max_over_mean,
      [["busiest over mean", three(tier.max_over_mean)], ["Jain\u2019s index", three(tier.jain)],
      ["worst", three(tier.worst_max_over_mean) + " at " + String(tier.worst_switch)]]],
      ["grid", tier.worst_max_over_mean,
        [["worst busy set", three(tier.worst_max_over_mean) + " at "
        + String(tier.worst_switch)]]]],
  })), (value) => trimmed(digit(value, 3)));
  const keys = element("div");
  node.append(keys);
  redraws.push(() =>
    keys.replaceChildren(
    legend([[colour("compute"), "busiest link over the mean of its set, mean of the sets"],
    [colour("grid"), "of the worst busy set"]])));
  if (isNumber(told.hash_collisions)) {
    node.append(element("p", {}, told.hash_collisions
      ? count(told.hash_collisions) + (told.hash_collisions === 1 ? " pair" : " pairs")
      + " of flows shared a link while another one of the same choice had none."
      : "Each link of a choice that flows shared had one at least, over the whole time: none "
      + "stayed without."));
  }
  if (told.out_of_order_packets > 0)
    node.append(element("p", {}, counted(told.out_of_order_packets, "packet")
      + " came behind one that was missing."));
}
