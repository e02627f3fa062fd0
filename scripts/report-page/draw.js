// All sections, in the order of what a run was for.

const ORDER = {
  traffic: [completionTimes, flowsBySize, kindsOfTraffic, trafficClasses, whereTheTimeWent, sizes,
    topology,
    balance, ports],
  dlgoodput: [goodputTime, goodputCauses, goodputChoices],
  dlserve: [multiplexPolicies, multiplexModels, multiplexCurves, multiplexSlices,
    multiplexSlicesCompared, servingObjectives, servingLatency, servingLoad, servingTime,
    servingRates, servingSlowest, foldNetwork,
    topology, balance, sizes, completionTimes, flowsBySize, trafficClasses, whereTheTimeWent, ports,
    unfold],
  dlplan: [planPicture, planTable, planFlags],
  collperf: [collectives, topology, balance, completionTimes, flowsBySize, trafficClasses,
    whereTheTimeWent,
    sizes, ports],
};
function foldNetwork() {
  if (!foldsNetwork()) return;
  const limits = networkLimits();
  const title = limits ? "The network, which limits this run" : "The network in detail";
  foldInto("network-details", title + ": links, messages, queues", limits);
  folded.append(element("dl", { class: "tiles" }, networkTiles().filter((each) => each)));
}
const TRAINING = [mistakes, notes, shardStrategies, memory, timeline, criticalPath, stages,
  collectives, staleness, foldNetwork,
  topology, balance, sizes, completionTimes, flowsBySize, trafficClasses, whereTheTimeWent, ports,
  unfold];

// Of a file that somebody has changed, one section may be impossible: it says so, and the others
// are drawn.
function attempt(make) {
  try {
    make();
  } catch (error) {
    document.getElementById("main").append(element("div", { class: "banner note", role: "alert" },
      element("strong", {}, "A section is left out: " + make.name),
        "Its numbers are not as a run writes them: " + String(error.message)));
  }
}

attempt(summary);
(Object.hasOwn(ORDER, stats.program) ? ORDER[stats.program] : TRAINING)
  .concat(configuration, numbers).forEach(attempt);
openFor(location.hash);
redrawAll();
document.documentElement.dataset.ready = "yes";
