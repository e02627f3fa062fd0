// How --auto-parallel has cut each operator.

function shardStrategies() {
  const of = data.sharding;
  if (!of || !of.rows.length) return;
  const staged = of.rows.some(([stage]) => isNumber(stage));
  const node = section("strategies", "How operators are cut",
    "Parts of each dimension, of each input, as --shard takes them."
    + (of.left_out > 0
    ? " " + counted(of.left_out, "more operator") + " left out; sharding.json has all." : ""));
  node.append(wideTable("",
    [...(staged ? ["stage"] : []), "operator", "kind", "cuts of its inputs"],
    of.rows.map(([stage, name, kind, cuts]) =>
      [...(staged ? [number(count(stage))] : []), name, kind, cuts]), true));
}
