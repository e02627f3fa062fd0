// What a step and its messages waited for: the critical path, and the parts of all completion
// times.

const meaningOf = (key) => (Object.hasOwn(meanings.stats, key) ? meanings.stats[key][1]
  : key.slice(key.lastIndexOf(".") + 1));
function shareBar(share) {
  const box = element("span", { class: "part", "aria-hidden": "true" }, element("span"));
  box.firstChild.style.width = 100 * Math.min(1, Math.max(0, share)) + "%";
  return box;
}

// What the last step waited for: by cause, the ports where messages were longest, call by call,
// message by message.
function criticalPath() {
  const told = stats.critical_path;
  if (!told || !told.share || !isNumber(told.total_us)) return;
  const node = section("critical", "Critical path",
    "What made the last measured step as long as it was, walked back from its last call: over the "
    + "calls that each one waited "
    + "for, and through collectives message by message, to the step\u2019s beginning. The parts "
    + "add up to " + time(told.total_us, 4) + ".");
  const parts = Object.entries(told.share).filter(([, share]) => isNumber(share) && share >= 0.0005)
    .sort((a, b) => b[1] - a[1]);
  node.append(wideTable("Parts", ["part", "time", "share", ""],
    parts.map(([name, share]) => [meaningOf("critical_path.share." + name),
      number(time(share * told.total_us)), number(percent(share)), shareBar(share)])));
  const words = { tp: "tensor parallelism", cp: "context parallelism", ep: "expert parallelism",
    pp: "pipeline: messages between stages, the shared embedding", dp: "data parallelism, ZeRO",
    other: "groups with other names" };
  const kinds = Object.entries(told.by_parallelism_us || {})
    .filter(([name, us]) => Object.hasOwn(words, name) && isNumber(us) && us >= 0.0005
    * told.total_us).sort((a, b) => b[1] - a[1]);
  if (kinds.length) {
    node.append(wideTable("Its communication, by parallelism", ["parallelism", "time", "share", ""],
      kinds.map(([name, us]) => [words[name], number(time(us)), number(percent(us / told.total_us)),
        shareBar(us / told.total_us)])));
  }
  const rows = (list, ...numbers) =>
    (list || []).filter((row) => row && numbers.every((key) => isNumber(row[key])));
  const word = (part) => meaningOf("critical_path.share." + part);
  const most = (of) => Object.entries(of || {}).filter(([, us]) => isNumber(us)).sort((a, b) => b[1]
    - a[1]).slice(0, 3).map(([part, us]) => word(part) + ", " + time(us)).join("; ");
  const hops = rows(told.hops, "time_us", "waited_us");
  const noted = hops.some((hop) => hop.note);
  if (hops.length) {
    node.append(element("div", { class: "wide" },
      table("Where messages of the path were longest: the longest one at each port, no sum",
      ["link", "collective", "time", "of it waiting", "most of it", "behind"]
      .concat(noted ? ["the link"] : []),
      hops.map((hop) => [String(hop.link), String(hop.call), number(time(hop.time_us)),
        number(time(hop.waited_us)), hop.why ? word(String(hop.why)) : "", hop.behind === null ? ""
        : String(hop.behind)].concat(noted ? [hop.note ? String(hop.note) : ""] : [])))));
  }
  const details = (summary, head, body) => {
    const box = element("details", {}, element("summary", {}, summary));
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1)
        box.append(element("div", { class: "wide tall", tabindex: 0 }, table(null, head, body())));
    });
    node.append(box);
  };
  const calls = rows(told.path, "start_us", "end_us"), from = isNumber(told.start_us)
    ? told.start_us : 0;
  if (calls.length) {
    details("Its calls"
      + (told.calls > calls.length
      ? ", the first " + count(calls.length) + " of " + count(told.calls)
      : ", " + count(calls.length)), ["call", "GPU", "begins", "takes", "messages", "most of it"],
      () => calls.map((call) =>
        [String(call.call), number(count(call.rank)), number(time(call.start_us - from, 4)),
        number(time(call.end_us - call.start_us)), call.messages
        ? number(count(call.messages)) : "",
        call.parts_us ? most(call.parts_us) : call.straggling_us
          ? "straggling, " + time(call.straggling_us) : ""]));
  }
  const messages = rows(told.longest_messages, "start_us", "end_us", "messages");
  if (messages.length) {
    const among = d3.sum(messages, (m) => m.messages);
    details("Its messages, " + (told.messages > among ? count(among) + " of " : "")
      + count(told.messages),
      ["collective", "from GPU", "to GPU", "messages", "begins", "takes", "longest at", "behind",
        "most of it"],
      () => messages.map((m) =>
        [String(m.call), number(count(m.from)), number(count(m.to)), number(count(m.messages)),
        number(time(m.start_us - from, 4)), number(time(m.end_us - m.start_us)),
        m.link === null ? "" : String(m.link), m.behind === null ? ""
          : String(m.behind), most(m.parts_us)]));
  }
}

// The parts of all completion times together, the latest messages in words, the ports where
// messages waited.
function whereTheTimeWent() {
  const told = stats.attribution;
  if (!told || !told.share) return;
  const parts = Object.entries(told.share).filter(([, share]) => isNumber(share) && share >= 0.0005)
    .sort((a, b) => b[1] - a[1]);
  if (!parts.length) return;
  const node = section("why", "Where the time of messages went",
    "Parts of the completion times of all messages, added up: from the posting to the last byte, "
    + "as their last packets met it. attribution.csv has the parts of the 1,000 messages that "
    + "lost most time.");
  node.append(wideTable("Parts", ["part", "share", ""],
    parts.map(([name, share]) =>
    [meaningOf("attribution.share." + name), number(percent(share)), shareBar(share)])));
  const words = (told.slowest || []).filter((line) => typeof line === "string");
  if (words.length)
    node.append(element("h3", {}, "The latest"),
      element("ol", {}, words.map((line) => element("li", {}, line))));
  const ports = (told.ports || [])
    .filter((port) => port && isNumber(port.queued_us) && isNumber(port.paused_us));
  if (ports.length) {
    node.append(wideTable("Where messages waited most: time of their last packets, summed",
      ["link", "queued", heldUp()],
      ports.map((port) =>
        [String(port.link), number(time(port.queued_us)), number(time(port.paused_us))])));
  }
}
