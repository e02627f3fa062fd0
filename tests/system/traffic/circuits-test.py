# SPDX-License-Identifier: GPL-2.0-only
"""Circuits of optical switches, which come and go by a plan: closed forms, the same bytes over
engines and threads, and what cannot have them.
"""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import ROOT, main

QUIET = " --report=0 --timeline=0"
RACKS = ("a", "b", "c")
# A full packet, 4,096 B of data in 4,178 B on the line, at 100 and at 25 Gb/s: B/s of data.
FAST = 100e9 / 8 * 4096 / 4178
SLOW = FAST / 4


def network(circuits, more=()):
    """Three racks of a host; two fibres each to ocs (ports 0 and 1 of a's), c's of 25 Gb/s."""
    nodes = [{"name": h, "kind": "host"} for h in RACKS]
    nodes += [{"name": f"tor-{h}", "kind": "switch"} for h in RACKS]
    links = [{"from": h, "to": f"tor-{h}"} for h in RACKS]
    if circuits:
        nodes.append({"name": "ocs", "kind": "circuit-switch"})
        for h in RACKS:
            fibre = {"from": f"tor-{h}", "to": "ocs", "delay": "500ns", "count": 2}
            links.append({**fibre, "rate": "25Gbps" if h == "c" else "100Gbps"})
    graph = {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes}
    graph["links"] = links + list(more)
    return {**graph, "circuits": circuits} if circuits else graph


def slow(a, b):
    return {"from": f"tor-{a}", "to": f"tor-{b}", "rate": "25Gbps"}


DIRECT, OVER_C = ["ocs:0", "ocs:2"], [["ocs:1", "ocs:5"], ["ocs:3", "ocs:4"]]
MOVES = {
    "drain": "50us",
    "changes": [
        {"at": "0s", "connect": [DIRECT, *OVER_C]},
        {"at": "5ms", "disconnect": ["ocs:0"]},
    ],
}

# Four racks, one uplink each, all matchings in turn.
ROTOR = os.path.join(ROOT, "topologies", "examples", "rotor.json")


class Circuits(SameBytesTest):
    def line(self, graph, start_ns=0, size=100_000_000, more=""):
        path = self.write("net.json", json.dumps(graph))
        flows = self.write("flows.csv", f"start_ns,src,dst,bytes\n{start_ns},a,b,{size}\n")
        return f"traffic --topology={path} --flows={flows} --cc=none{QUIET} {more}"

    def flow(self, *arguments, **named):
        run = self.run_program(self.line(*arguments, **named))
        return run, round(float(run.rows("flows.csv")[0]["fct_us"]) * 1e6)  # ps

    def test_a_flow_is_as_where_the_links_always_were(self):
        """Before and after the change, to the picosecond."""
        both = [{**slow("a", "b"), "rate": "100Gbps"}, slow("a", "c"), slow("c", "b")]
        after = [slow("a", "c"), slow("c", "b")]
        for start, links in ((1_000_000, both), (6_000_000, after)):
            _, fct = self.flow(network(MOVES), start, 1_000_000)
            _, expected = self.flow(network(None, links), start, 1_000_000)
            self.assertEqual(fct, expected)

    def test_completion_of_a_flow_that_is_moved(self):
        """100 Gb/s until routes avoid the circuit at 4.95 ms, then 25: nothing is lost. Without
        drain 50 us more at the old rate, and what is on the fibre (1 us) is lost."""
        run, fct = self.flow(network(MOVES))
        expected = 4.95e-3 + (100e6 - FAST * 4.95e-3) / SLOW  # 17.79 ms
        self.assertAlmostEqual(fct * 1e-12 / expected, 1, delta=0.001)
        stats = run.stats
        self.assertEqual(stats["drops"], {key: 0 for key in stats["drops"]})
        (record,) = stats["faults"]
        self.assertEqual((record["what"], record["where"]), ("circuits", "ocs"))
        self.assertEqual((record["times"], record["frames_lost"]), (2, 0))
        run, fct = self.flow(network({**MOVES, "drain": "0s"}))
        (record,) = run.stats["faults"]
        # Frames of 334.24 ns on 1 us of fibre; one is sent, and PFC cannot have stopped more.
        self.assertIn(record["frames_lost"], (3, 4))
        # Go-back-N sends again what PFC lets wait at tor-a, 266 kB: 87 us at 25 Gb/s.
        expected = 5e-3 + (100e6 - FAST * 5e-3) / SLOW
        self.assertAlmostEqual(fct * 1e-12 - expected, 50e-6, delta=50e-6)
        self.assertIn("2 changes; ", run.out)

    def test_dark_circuits_carry_nothing(self):
        """Circuits of the change at 0, too: the flow waits 2 ms for the first light. That way ends
        at 5 ms; another one has light 2 ms later. Time-outs of 1 ms."""
        plan = {
            "dark": "2ms",
            "changes": [
                {"at": "0s", "connect": [DIRECT]},
                {"at": "5ms", "connect": [["ocs:1", "ocs:3"]], "disconnect": ["ocs:0"]},
            ],
        }
        run, fct = self.flow(network(plan), more="--timeout-exponent=8")
        rows = [r for r in run.rows("links.csv") if r["link"] == "b->tor-b"]
        self.assertTrue(rows)
        carried = [
            float(r["time_us"]) for r in run.rows("links.csv")
            if r["link"] == "tor-b->b" and float(r["utilization"]) > 0.5
        ]
        self.assertFalse([t for t in carried if t <= 2_000 or 5_200 < t <= 7_000], carried)
        # 100 MB take 8.16 ms; twice 2 ms of dark, and at most a time-out (1.05 ms) each until it
        # goes on.
        self.assertGreater(fct, 12.16e9)
        self.assertLess(fct, 14.3e9)
        self.assertIn("circuits change: 1 circuit", run.text("network_events.log"))

    def test_share_of_a_rotor(self):
        """UDP of 1,538 B on the line, every 123.04 ns from 0 to 1.67 ms, has the direct circuit for
        90 us of each 300: 540 us."""
        line = f"traffic --topology={ROTOR} --hosts=4 --protocol=udp --bytes=20MB{QUIET}"
        run = self.run_program(line + " --pattern=incast --fan-in=1")
        (record,) = run.stats["faults"]
        carried = run.stats["ordinary"]["packets_received"] + record["frames_lost"]
        # A frame at each edge of the six windows.
        self.assertAlmostEqual(carried, 540e-6 / 123.04e-9, delta=12)

    def test_same_bytes(self):
        # Go-back-N between all pairs, over circuits that come and go: time-outs, retransmissions.
        line = f"traffic --topology={ROTOR} --hosts=4 --pattern=all-to-all --bytes=2MB{QUIET}"
        line += " --timeout-exponent=5 --retry-count=7 --fault=link-down,at=250us,on=t0-t1"
        line += ",for=400us --convergence=50us"
        expected = self.written(line)
        for more in (" --engine=ns3", " --threads=3" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(line + more), expected)

    def test_what_cannot_have_them(self):
        for more, *words in (
            ("--network=fluid", "--topology", "--network=packet"),
            ("--fabric=ib", "--topology", "--fabric=roce"),
            ("--mpi-ranks=2", "--topology", "without --mpi-ranks=2"),
        ):
            run = self.run_program(self.line(network(MOVES), more=more), status=2)
            for word in ("circuits that come and go", *words):
                self.assertIn(word, run.err)
        for option in ("--set={}:buffer=1MB", "--watch={}", "--fault=link-down,at=1ms,on={}"):
            for place in ("ocs", "ocs:1", "tor-a-ocs"):
                run = self.run_program(
                    self.line(network(MOVES), more=option.format(place)), status=2
                )
                self.assertIn("circuit switch ocs", run.err)
                self.assertIn("allowed: a circuit, as tor-a->tor-b", run.err)
        wrong = network({"changes": [{"at": "0s", "connect": [["tor-a", "tor-b"]]}]})
        run = self.run_program(self.line(wrong), status=2)
        self.assertIn("/circuits/changes/0/connect/0/0: tor-a has 2 fibres", run.err)


if __name__ == "__main__":
    main()
