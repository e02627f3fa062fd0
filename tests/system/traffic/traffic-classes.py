# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Traffic classes: flows of several congestion controls, transports, priorities and rates on one
network.

A class whose law is L is what the whole network is with --cc=L: alone, its flows end at the same
picosecond, whatever the network's own law."""

import csv
import io
import itertools
import json
import os
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _mpi import ENVIRONMENT, MPIRUN
from _system_test import SystemTest, captured, repeatable, share_of, write_time_us

LAWS = [
    "dcqcn",
    "dctcp",
    "hpcc",
    "hpcc-pint",
    "none",
    "powertcp",
    "swift",
    "theta-powertcp",
    "timely",
]
BASE = "traffic --report=0 --timeline=0 --progress=0 --attribution=0"
LEAVES = BASE + " --topology=leaf-spine --leaves=2 --spines=2 --hosts=8"
STAR = BASE + " --topology=single-switch"
# A packet of 4,096 B takes 4,178 B of the line: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4,
# preamble and gap 20.
MTU, WIRE = 4096, 4178


def table(flows, **columns):
    """A flow file: (src, dst, bytes) each, at 0, with columns of one value, or of one a flow."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["start_ns", "src", "dst", "bytes", *columns])
    for i, flow in enumerate(flows):
        more = [c[i] if isinstance(c, list) else c for c in columns.values()]
        writer.writerow([0, *flow, *more])
    return text.getvalue()


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


# Three to one, through the spines, and one back.
MANY = [(0, 5, 300000), (1, 5, 200001), (6, 5, 400000), (5, 0, 300000), (2, 7, 1)]


class Classes(SystemTest):
    def times(self, run):
        return [(r["end_us"], r["ideal_fct_us"]) for r in run.rows("flows.csv")]

    def test_alone_a_class_is_a_network_of_its_law(self):
        # The path of a flow follows from its priority, too.
        self.write("plain.csv", table(MANY, priority=4))
        as_network = {}
        for network, own in share_of(itertools.product(LAWS, LAWS), one_in=4):
            if own not in as_network:
                run = self.run_program(f"{LEAVES} --flows=plain.csv --cc={own}")
                as_network[own] = self.times(run)
            self.write("own.csv", table(MANY, cc=own, priority=4))
            run = self.run_program(f"{LEAVES} --flows=own.csv --cc={network}")
            with self.subTest(network=network, own=own):
                self.assertEqual(self.times(run), as_network[own])
                names = {c["name"]: c for c in run.stats["classes"]}
                self.assertEqual(names[own]["cc"], own)
                self.assertEqual(names[own]["messages"], len(MANY))
                self.assertEqual(names["default"]["messages"], 0)
                self.assertEqual({r["class"] for r in run.rows("flows.csv")}, {own})

    def test_beside_a_class_without_traffic(self):
        # The other class sends long after: until then nothing is other than alone.
        for own in ("hpcc", "powertcp", "dctcp", "swift"):
            self.write("plain.csv", table(MANY, priority=4))
            alone = self.times(self.run_program(f"{LEAVES} --flows=plain.csv --cc={own}"))
            later = table(MANY, cc=own, priority=4) + "60000000,3,4,100000,,3\n"
            self.write("later.csv", later)
            run = self.run_program(f"{LEAVES} --flows=later.csv --cc=dcqcn --ets=3:50,4:50")
            with self.subTest(own=own):
                self.assertEqual(self.times(run)[:-1], alone)

    def test_transports(self):
        # Bit errors: both recover in their own way, at the same time.
        for transport in ("rc", "irn"):
            self.write("own.csv", table(MANY, transport=transport, priority=4))
            self.write("plain.csv", table(MANY, priority=4))
            more = " --bit-error-rate=4e-7 --timeout-exponent=6 --pfc=0 --cc=none"
            network = self.run_program(f"{LEAVES} --flows=plain.csv --transport={transport}" + more)
            self.assertGreater(network.stats["retransmitted_packets"], 0)
            for other in ("rc", "irn"):
                run = self.run_program(f"{LEAVES} --flows=own.csv --transport={other}" + more)
                with self.subTest(own=transport, network=other):
                    self.assertEqual(self.times(run), self.times(network))

    def test_irn_is_lossy_beside_rc(self):
        # Eight to one with little buffer: rc's priority pauses, irn's drops and repeats.
        flows = [(i, 8, 400000) for i in range(8)]
        self.write(
            "two.csv",
            table(flows, transport=["rc", "irn"] * 4, priority=[3, 4] * 4, cc="none"),
        )
        run = self.run_program(f"{STAR} --hosts=9 --flows=two.csv --buffer=100kB")
        self.assertGreater(run.stats["pfc_pauses"], 0)
        self.assertGreater(sum(run.stats["drops"].values()), 0)
        self.assertGreater(run.stats["retransmitted_packets"], 0)
        self.assertEqual(run.stats["flows"]["arrived"], 8)

    def test_beside_uet(self):
        # Switches trim UET's packets and no others.
        flows = [(i, 8, 400000) for i in range(8)]
        self.write(
            "two.csv",
            table(
                flows,
                transport=["", "irn"] * 4,
                priority=["", 4] * 4,
                cc=["", "dcqcn"] * 4,
            ),
        )
        run = self.run_program(f"{STAR} --hosts=9 --flows=two.csv --transport=uet")
        self.assertGreater(run.stats["trimming"]["trimmed_packets"], 0)
        self.assertEqual(run.stats["flows"]["arrived"], 8)

    def test_rates(self):
        # Paced packets: the last one leaves when all before had their time at that rate; then it is
        # alone on both links.
        size = 100 * MTU
        for gbps in (5, 40, 99.5):
            self.write("slow.csv", table([(0, 1, size)], rate=f"{gbps}Gbps", cc="none"))
            run = self.run_program(f"{STAR} --hosts=2 --flows=slow.csv --cc=hpcc")
            (row,) = run.rows("flows.csv")
            # The first packet has 16 B more (RETH).
            before = (99 * WIRE + 16) * 8 / (gbps * 1e3)
            last = 2 * WIRE * 8 / 100e3 + 2 * 1 + 0.5
            self.assertWithin(row["fct_us"], before + last, 1e-4)
            (of,) = [c for c in run.stats["classes"] if c["messages"]]
            self.assertEqual(of["rate_gbps"], gbps)

    def test_two_laws_share_by_ets(self):
        # Four of each to one host, a queue each. A law that fills its queue has its share; HPCC
        # keeps its own to eta, 95%, and DCQCN takes the rest. Each law is fair among its own.
        # HPCC's W_AI is for the 4 flows. The laws settle for 6 ms.
        flows = [(i, 8, 60000000) for i in range(8)]
        self.write("two.csv", table(flows, **{"class": ["a", "b"] * 4}))
        for law, weight in (
            ("hpcc", 50),
            ("hpcc", 70),
            ("hpcc", 30),
            ("powertcp", 70),
            ("swift", 50),
            ("dctcp", 30),
            ("none", 70),
        ):
            run = self.run_program(
                f"{STAR} --hosts=9 --flows=two.csv --ets=3:{100 - weight},4:{weight}"
                f" --class=a:cc=dcqcn,priority=3 --class=b:cc={law},priority=4"
                " --stop-after=9ms --rate-interval=100us"
                + (" --ns3::HpccCongestionOps::Flows=4" if law == "hpcc" else "")
            )
            with self.subTest(law=law, weight=weight):
                self.assertNotIn("has no effect", run.err)
                each = [[0] * 4, [0] * 4]
                for row in run.rows("rates.csv"):
                    if row["time_us"] > 6000:
                        each[row["flow"] % 2][row["flow"] // 2] += row["gbps"]
                share = sum(each[1]) / (sum(each[0]) + sum(each[1]))
                of = 0.95 if law == "hpcc" else 1
                self.assertWithin(share, of * weight / 100, 0.03)
                for of_class in each:
                    self.assertGreater(jain(of_class), 0.9)

    def test_marks_of_each_priority(self):
        # DCTCP marks at one threshold, DCQCN from two on: each queue has its own.
        self.write("own.csv", table(MANY, cc="dctcp", priority=4))
        run = self.run_program(f"{LEAVES} --flows=own.csv --dry-run")
        self.assertIn("dctcp", run.out)
        # In one queue they do not go together, unless the user says where switches mark.
        both = table([(0, 2, 10000), (1, 2, 10000)], cc=["dcqcn", "dctcp"])
        self.write("both.csv", both)
        self.refuse(f"{LEAVES} --flows=both.csv", "dcqcn and dctcp share priority 3", "Kmin")
        self.run_program(
            f"{LEAVES} --flows=both.csv --ecn-kmin=100kB --ecn-kmax=300kB --ecn-pmax=0.5"
        )

    def test_replay_threads_ranks(self):
        flows = [(i, (i + 3) % 8, 200000 + i) for i in range(8)] + MANY
        columns = {
            "class": ["bulk", "", "default", ""] * 3 + ["bulk"],
            "cc": ["", "swift", "", "dctcp"] * 3 + [""],
            "priority": ["", 5, 3, 6] * 3 + [2],
            "rate": ["", "", "60Gbps", ""] * 3 + [""],
        }
        self.write("mixed.csv", table(flows, **columns))
        line = (
            f"{LEAVES} --flows=mixed.csv --class=bulk:cc=hpcc,transport=irn,priority=4"
            " --ets=3:40,4:60,5:10"
        )
        run = self.run_program(line + " --threads=1")
        self.assertGreater(len(run.stats["classes"]), 4)
        self.write("again.json", json.dumps(run.stats["configuration"]))
        for other in (
            "traffic --scenario=again.json --report=0 --timeline=0 --progress=0",
            line + " --threads=2",
            line + " --engine=ns3",
        ):
            again = self.run_program(other)
            with self.subTest(other=other):
                self.assertEqual(again.text("flows.csv"), run.text("flows.csv"))
                a, b = repeatable(again.stats), repeatable(run.stats)
                for stats in (a, b):
                    stats.pop("configuration", None)
                    stats.pop("events", None)
                self.assertEqual(a, b)
        if MPIRUN:
            out = os.path.join(self.folder, "ranks")
            words, _ = self.command(line, out=out)
            done = captured([MPIRUN, "-np", "2", *words], env=ENVIRONMENT, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(out, "flows.csv")) as file:
                self.assertEqual(file.read(), run.text("flows.csv"))
            with open(os.path.join(out, "stats.json")) as file:
                self.assertEqual(json.load(file)["classes"], run.stats["classes"])

    def test_errors(self):
        self.write("f.csv", table([(0, 1, 1000)], **{"class": "bulk"}))
        self.refuse(f"{LEAVES} --flows=f.csv", "column class=bulk", "allowed: default")
        for wish, *words in (
            ("bulk:cc=hpc", "hpcc"),
            ("bulk:transport=uet", "--transport=uet"),
            ("bulk:priority=8", "allowed: 0 to 7"),
            ("bulk:rate=4", "a rate such as"),
            ("bulk:cc=hpcc,preset=x", "is no preset of hpcc"),
            ("bulk:law=hpcc", "'law' is no key"),
            ("default:cc=hpcc", "another class's name"),
            ("b/k:cc=hpcc", "letters, digits"),
        ):
            with self.subTest(wish=wish):
                self.refuse(f"{LEAVES} --class={wish} --flow-class=bulk", *words)
        self.refuse(f"{LEAVES} --class=bulk:cc=hpcc --flow-class=bulc", "did you mean 'bulk'?")
        self.refuse(f"{LEAVES} --class=bulk:cc=hpcc --fabric=ib", "--class", "--fabric=ib")
        self.refuse(f"{LEAVES} --class=bulk:cc=hpcc --network=fluid", "--class")
        self.refuse(
            f"{LEAVES} --class=bulk:cc=hpcc --flow-class=bulk --protocol=udp",
            "--protocol",
        )
        run = self.run_program(f"{LEAVES} --class=bulk:cc=hpcc --bytes=1kB")
        self.assertIn("nothing is of bulk", run.err)


if __name__ == "__main__":
    unittest.main()
