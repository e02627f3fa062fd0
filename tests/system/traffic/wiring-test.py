# SPDX-License-Identifier: GPL-2.0-only
"""Paths that senders name, and bonded ports that stand in for each other: closed forms, the same
bytes over engines, threads and ranks, errors.
"""

import csv
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
BOND = (
    "traffic --topology=leaf-spine --hosts=8 --hosts-per-leaf=4 --bond=2 --nic=100GbE --cc=none"
    + QUIET
)
# B/s of data of a NIC of 100 Gb/s: 4,096 B in 4,178 on the line.
FULL = 100e9 / 8 * 4096 / 4178


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
        spaced = [row.replace(">", " > ").replace(",leaf", ", leaf") for row in named]
        self.assertEqual(apart, self.times(line + self.flows(spaced, columns)))
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
            (
                ["0,1,2,1000,", "0,0,2,1000,leaf-0>leaf-1"],
                "",
                "flows.csv:3: column path",
                "leaf-0 has no link to leaf-1",
            ),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1", "0,0,2,1000,"], "", "an earlier flow"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --cut-through", "without --cut-through"),
            (
                ["0,0,2,1000,leaf-0>spine-0>leaf-1"],
                " --set=leaf:cut-through=1",
                "--set=leaf:cut-through=1",
                "leaf-0",
            ),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --fabric=ib", "--fabric=roce"),
            (["0,0,2,1000,leaf-0>spine-0>leaf-1"], " --network=fluid", "--network=packet"),
        ):
            line = LEAF_SPINE.replace(" --cc=none", "") if "fluid" in more else LEAF_SPINE
            self.refuse(line + self.flows(rows, columns) + more, *words)

    def test_a_bond_at_half_rate(self):
        """Two flows, one a port. From 5 to 15 ms one port is dead: the other has both."""
        line = BOND + " --fault-detection=0s --convergence=0s"
        line += " --fault=link-down,at=5ms,on=server-0:0,for=10ms"
        flows = self.flows([f"0,server-0:{p},server-4:{p},100000000" for p in range(2)])
        run = self.run_program(line + flows)
        stats = run.stats
        self.assertEqual(stats["flows"]["arrived"], 2)
        (record,) = stats["faults"]
        self.assertEqual((record["nic_gbps"], record["nic_left_gbps"]), (100, 50))
        self.assertIn("bonded NIC at 50.0 Gb/s of 100 Gb/s", " ".join(run.out.split()))
        last = max(float(row["end_us"]) for row in run.rows("flows.csv"))
        # 200 MB: 5 ms at the full rate, 10 ms at half of it, then at the full rate until the first
        # flow ends. The flow whose port dies sends again what was on the wire, no more.
        expected = 5e-3 + 10e-3 + (200e6 - FULL * 10e-3) / FULL
        self.assertAlmostEqual(last * 1e-6 / expected, 1, delta=0.01)
        shares = {"server-0->leaf-0": {}, "server-0->leaf-1": {}}
        for row in run.rows("links.csv"):
            if row["link"] in shares:
                shares[row["link"]][float(row["time_us"])] = float(row["utilization"])
        dead = [u for t, u in shares["server-0->leaf-0"].items() if 5_300 < t < 14_900]
        left = [u for t, u in shares["server-0->leaf-1"].items() if 5_300 < t < 14_900]
        after = [u for t, u in shares["server-0->leaf-0"].items() if 15_500 < t < 19_000]
        self.assertLess(max(dead, default=0), 0.01)
        self.assertGreater(min(left), 0.98)
        self.assertGreater(min(after), 0.95)

    def test_a_bond_of_three_uses_all_ports_that_are_left(self):
        """Eight flows of port 0, each to another host. When it dies a hash spreads them over ports
        1 and 2: both are full, and each flow keeps its order, so that only what was lost with the
        cable, and what was on its way then (2 us of propagation, 4 us of switches and the path
        back: 30 frames of 1 us), is sent again."""
        line = BOND.replace("--hosts=8", "--hosts=12").replace("--bond=2", "--bond=3")
        line += " --fault-detection=0s --convergence=0s --fault=link-down,at=1ms,on=server-0:0"
        line += " --link-interval=10us"
        flows = [f"0,server-0:0,server-{i}:0,2000000" for i in range(4, 12)]
        expected = self.written(line + self.flows(flows))
        stats = json.loads(expected["stats.json"])
        self.assertEqual(stats["flows"]["arrived"], 8)
        (record,) = stats["faults"]
        self.assertAlmostEqual(record["nic_left_gbps"], 2 / 3 * record["nic_gbps"])
        rows = list(csv.DictReader(expected["links.csv"].decode().splitlines()))
        for leaf in (1, 2):
            used = [
                float(row["utilization"])
                for row in rows
                if row["link"] == f"server-0->leaf-{leaf}" and 1_100 < float(row["time_us"]) < 1_300
            ]
            self.assertGreater(min(used), 0.98)
        self.assertLess(stats["retransmitted_packets"], 60)
        for more in (" --engine=ns3", " --threads=3" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(line + self.flows(flows) + more), expected)

    def test_a_bond_keeps_connections(self):
        """With the usual times: nothing fails, what is lost is sent again."""
        line = BOND + " --pattern=all-to-all --bytes=2MB --timeout-exponent=8"
        line += " --fault=link-down,at=100us,on=server-0:0,for=1ms --convergence=200us"
        expected = self.written(line)
        stats = json.loads(expected["stats.json"])
        self.assertEqual(stats["flows"]["arrived"], 56)
        for more in (" --engine=ns3", " --threads=3" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(line + more), expected)

    def test_a_bond_without_faults_is_as_so_many_ports(self):
        """Until a port dies a bond costs no picosecond."""
        line = BOND.replace(" --cc=none", "") + " --pattern=permutation --bytes=1MB"
        run = self.run_program(line)
        self.assertEqual(run.stats["flows"]["arrived"], 8)
        plan = self.run_program(line + " --dry-run").out
        self.assertIn("NICs of 2 bonded ports", " ".join(plan.split()))
        # The same network by hand, without a bond.
        nodes = [{"name": f"server-{i}", "kind": "host"} for i in range(8)]
        nodes += [{"name": f"leaf-{i}", "kind": "switch"} for i in range(4)]
        nodes += [{"name": f"spine-{i}", "kind": "switch"} for i in range(4)]
        links = [
            {"from": f"server-{i}", "to": f"leaf-{i // 4 * 2 + p}"}
            for i in range(8)
            for p in range(2)
        ]
        links += [{"from": f"leaf-{i}", "to": f"spine-{j}"} for i in range(4) for j in range(4)]
        graph = {"defaults": {"rate": "50Gbps", "delay": "1us"}, "nodes": nodes, "links": links}
        columns = ("src", "dst", "fct_us")
        expected = [[row[c] for c in columns] for row in run.rows("flows.csv")]
        for bond in ({}, {"bond": 2}):
            path = self.write("net.json", json.dumps({**graph, **bond}))
            other = f"traffic --topology={path} --hosts=8{QUIET} --pattern=permutation --bytes=1MB"
            rows = self.run_program(other).rows("flows.csv")
            self.assertEqual([[row[c] for c in columns] for row in rows], expected)

    def test_wrong_bonds(self):
        for more, *words in (
            (" --hosts=6", "--bond", "full switches"),
            (" --planes=2", "--bond=2: with --planes=2", "allowed: --bond or --planes"),
            (" --topology=dual-plane", "--bond=2", "fat-tree or leaf-spine"),
            (" --fabric=ib --nic=HDR", "--bond=2: means bonded ports", "--fabric=roce"),
            (" --mpi-ranks=2", "--bond=2: means bonded ports", "without --mpi-ranks=2"),
            (" --protocol=tcp --dry-run", "--bond=2: means bonded ports", "--protocol=rdma"),
            (" --ns3::RdmaNic::PcieBandwidth=100Gbps --dry-run", "--bond=2", "PcieBandwidth"),
            (" --ns3::RdmaNic::Scheduling=scan --dry-run", "--bond=2", "Scheduling=scan"),
        ):
            hosts = more if "hosts" in more else " --hosts=8" + more
            line = BOND.replace(" --nic=100GbE", "") if "--nic" in more else BOND
            line = line.replace(" --topology=leaf-spine", "") if "--topology" in more else line
            line = line.replace(" --cc=none", "") if "tcp" in more else line
            self.refuse(line.replace(" --hosts=8", hosts), *words)

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
