# SPDX-License-Identifier: GPL-2.0-only
"""Paths that senders name: closed forms, the same bytes over engines, threads and ranks, errors.
"""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main

QUIET = " --report=0 --timeline=0"
LEAF_SPINE = (
    "traffic --topology=leaf-spine --hosts=4 --hosts-per-leaf=2 --spines=2 --cc=none" + QUIET
)


class Wiring(SameBytesTest):
    def flows(self, rows, columns="start_ns,src,dst,bytes"):
        return " --flows=" + self.write("flows.csv", "\n".join([columns, *rows]) + "\n")

    def times(self, line):
        rows = self.run_program(line).rows("flows.csv")
        return {row["src"]: row["fct_us"] for row in rows}

    def test_paths_keep_colliding_flows_apart(self):
        """By ECMP two flows meet at one spine; by paths each is as alone, to the picosecond."""
        columns = "start_ns,src,dst,bytes,path"
        plain = ["0,server-0,server-2,4000000,", "0,server-1,server-3,4000000,"]
        named = [
            f"0,server-{i},server-{i + 2},4000000,leaf-0>spine-{i}>leaf-1" for i in range(2)
        ]
        alone = [self.times(LEAF_SPINE + self.flows([p], columns)) for p in plain]
        for seed in range(1, 9):
            line = f"{LEAF_SPINE} --seed={seed}"
            together = self.times(line + self.flows(plain, columns))
            if together != {**alone[0], **alone[1]}:
                break
        else:
            self.fail("no seed with a collision")
        self.assertGreater(float(together["server-0"]), 1.9 * float(alone[0]["server-0"]))
        apart = self.times(line + self.flows(named, columns))
        self.assertEqual(apart, {**alone[0], **alone[1]})
        # On the path that it takes anyway, a flow is as without.
        self.assertEqual(alone[0], self.times(LEAF_SPINE + self.flows(named[:1], columns)))
        # And over one spine, both at half the rate.
        met = [row.replace("spine-1", "spine-0") for row in named]
        self.assertGreater(
            float(self.times(line + self.flows(met, columns))["server-0"]),
            1.9 * float(alone[0]["server-0"]),
        )

    def test_paths_of_a_topology_file(self):
        """A longer path than the shortest, from a to b; its frames go over it, ACKs do not."""
        nodes = [{"name": n, "kind": "host"} for n in "ab"]
        nodes += [{"name": n, "kind": "switch"} for n in "stu"]
        pairs = ("as", "bt", "st", "su", "ut")
        graph = {
            "defaults": {"rate": "100Gbps", "delay": "1us"},
            "nodes": nodes,
            "links": [{"from": a, "to": b} for a, b in pairs],
            "paths": [{"from": "a", "to": "b", "via": ["s", "u", "t"]}],
        }
        path = self.write("net.json", json.dumps(graph))
        line = f"traffic --topology={path} --hosts=2 --cc=none{QUIET}"
        run = self.run_program(line + self.flows(["0,a,b,1000000"]))
        (row,) = run.rows("flows.csv")
        self.assertEqual(row["fct_us"], row["ideal_fct_us"])
        used = {r["link"] for r in run.rows("links.csv") if float(r["utilization"]) > 0.05}
        self.assertEqual(used & {"s->t", "s->u", "u->t"}, {"s->u", "u->t"})
        for via, *words in (
            (["s", "x", "t"], "/paths/0/via", "x is no switch"),
            (["s", "u", "s", "t"], "goes over s twice"),
            (["u", "t"], "begins at u", "the sender's switch, s"),
            (["s", "u"], "ends at u", "the receiver's switch, t"),
            (["s", "b", "t"], "b is no switch"),
        ):
            graph["paths"][0]["via"] = via
            self.write("net.json", json.dumps(graph))
            self.refuse(line, *words)
        del graph["paths"][0]["via"]
        self.write("net.json", json.dumps(graph))
        self.refuse(line, "/paths/0/via")

    def test_wrong_paths_of_flows(self):
        columns = "start_ns,src,dst,bytes,path"
        for rows, more, *words in (
            (["0,0,2,1000,leaf-0>leaf-1"], "", "column path", "leaf-0 has no link to leaf-1"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1", "0,0,2,1000,"], "", "an earlier flow"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --cut-through", "without --cut-through"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --fabric=ib", "--fabric=roce"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --network=fluid", "--network=packet"),
        ):
            line = LEAF_SPINE.replace(" --cc=none", "") if "fluid" in more else LEAF_SPINE
            self.refuse(line + self.flows(rows, columns) + more, *words)

    def test_ranks(self):
        if not MPIRUN:
            self.skipTest("no MPI")
        columns = "start_ns,src,dst,bytes,path"
        rows = [f"0,server-{i},server-{i + 2},400000,leaf-0>spine-0>leaf-1" for i in range(2)]
        line = LEAF_SPINE + self.flows(rows, columns)
        self.compare_ranks(line, (2,))
        expected = self.written(line)
        for more in (" --engine=ns3", " --threads=2" + ALWAYS):
            self.check_same(self.written(line + more), expected)


if __name__ == "__main__":
    main()
