# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Families of networks: each runs in all three programs on both fabrics, from options and JSON;
rails that are apart, planes, and lossless networks that can deadlock, say so or refuse.
"""

import json
import os
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _mpi import ENVIRONMENT, MPIRUN
from _robust import at_most
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import SystemTest, captured, main

PROGRAMS = ("traffic", "collperf", "dltrain")

# family: parameters that make several switches of a few servers.
FAMILIES = {
    "rail-optimized": {"hosts_per_rail": 2},
    "rail-only": {"hosts_per_rail": 2},
    "dual-plane": {"hosts_per_leaf": 2},
    "dragonfly": {"groups": 3, "group_switches": 2, "hosts_per_switch": 2},
    "dragonfly-plus": {"groups": 2, "group_leaves": 2, "group_spines": 2, "hosts_per_leaf": 2},
    "hyperx": {"hyperx": "3x2", "hosts_per_switch": 2},
    "xgft": {"children": "2x2x2", "parents": "2x1"},
    "fat-tree": {"k": 4, "core_oversubscription": 2, "planes": 2},
}
# Four servers of two NICs, or eight hosts.
SMALL = {
    "traffic": " --hosts=8 --pattern=all-to-all --bytes=20kB",
    "collperf": (
        " --servers=4 --gpus-per-server=2 --nics-per-server=2 -b 64K -e 64K --op=alltoall"
        " --library=none"
    ),
    "dltrain": (
        " --model=gpt2 --servers=4 --gpus-per-server=2 --nics-per-server=2 --micro-batch=1 --seq=64"
        " --layers=2 --warmup=0"
    ),
}
QUICK = " --report=0 --timeline=0 --progress=0"


def options(parameters):
    return "".join(f" --{key.replace('_', '-')}={value}" for key, value in parameters.items())


class FamiliesTest(SystemTest):
    def check_done(self, program, run):
        if program == "traffic":
            flows = run.rows("flows.csv")
            self.assertEqual(len(flows), 8 * 7)
            self.assertTrue(all(row["fct_us"] > 0 for row in flows))
        elif program == "collperf":
            self.assertGreater(run.stats["collectives"][0]["busbw_GBps"], 0)
        else:
            self.assertGreater(run.stats["step_time_us"], 0)
        self.assertEqual(sum(run.stats["drops"].values()), 0)

    def test_all_run_in_all_programs_on_both_fabrics(self):
        for family, parameters in FAMILIES.items():
            for program in PROGRAMS:
                for fabric in ("", " --fabric=ib"):
                    line = f"{program} --topology={family}{options(parameters)}{SMALL[program]}"
                    with self.subTest(line + fabric):
                        run = self.run_program(line + fabric + QUICK)
                        self.check_done(program, run)
                        topology = json.loads(run.text("topology.json"))
                        self.assertEqual(topology["family"], family)
                        for key, value in parameters.items():
                            text = topology["parameters"][key]
                            text = "x".join(map(str, text)) if isinstance(text, list) else text
                            self.assertIn(str(text), (str(value), f"{value}.0"), key)

    def test_json_and_the_configuration_as_run(self):
        for family, parameters in FAMILIES.items():
            scenario = self.write(
                "s.json", {"program": "traffic", "network": {"topology": family, **parameters}}
            )
            line = f"traffic --topology={family}{options(parameters)}{SMALL['traffic']}{QUICK}"
            with self.subTest(family):
                first = self.run_program(line)
                told = self.run_program(
                    f"traffic --scenario={scenario}{SMALL['traffic']}{QUICK}"
                )
                again = self.run_program(
                    "traffic --scenario="
                    + self.write("again.json", first.stats["configuration"])
                )
                for other in (told, again):
                    self.assertEqual(first.text("flows.csv"), other.text("flows.csv"))
                    networks = [json.loads(run.text("topology.json")) for run in (first, other)]
                    self.assertEqual(*[(net["name"], net["links"]) for net in networks])

    def test_links_of_a_files_hosts_that_no_server_uses(self):
        """Two switches, and three hosts with a link to each (one has a third): two NICs are there
        for the asking. A server that brings more than there are is one error, not one a host."""
        links = [{"from": host, "to": switch} for switch in "st" for host in "abc"]
        graph = self.write(
            "planes.json",
            {
                "nodes": [{"name": name, "kind": "host"} for name in "abc"]
                + [{"name": name, "kind": "switch"} for name in "st"],
                "links": links + [{"from": "a", "to": "s"}, {"from": "s", "to": "t"}],
                "defaults": {"rate": "40Gbps", "delay": "500ns"},
            },
        )
        for program in ("dltrain --model=gpt2 --seq=64", "collperf"):
            line = f"{program} --gpus-per-server=2 --topology={graph} --dry-run"
            said = self.run_program(line).err
            self.assertIn("hosts have 2 links or more", said)
            self.assertIn("--nics-per-server=2 uses them", said)
            for nics in (1, 2):
                self.assertNotIn("links", self.run_program(f"{line} --nics-per-server={nics}").err)
            self.refuse(f"{line} --nics-per-server=3", "more than the 2 links of host b")
        # Switches are of EDR, whatever the file's links, unless it is said; no rate is told twice.
        with open(graph, encoding="utf-8") as file:
            path = self.write("fast.json", json.loads(file.read().replace("40Gbps", "400Gbps")))
        for file, more, told in ((graph, "", 0), (path, "", 1), (path, " --ib-switch=quantum", 0)):
            plan = self.run_program(f"traffic --topology={file} --fabric=ib --dry-run{more}")
            self.assertEqual(plan.err.count("for which there is --ib-switch=quantum-2"), told)
            self.assertNotIn("InfiniBand InfiniBand", plan.out)
        self.refuse(f"traffic --topology={graph} --nic=HDR", "needs a topology by name")

    def test_a_large_file_is_planned_in_little_memory(self):
        """65,536 hosts at 2,048 leaves: routes to all of them would be 270 MB."""
        tier = "Downlink_speed_Gbps 100\nRadix_Down {}\nDownlink_Latency_ns 500\n"
        topo = "Nodes 65536\nTiers 2\nPodsize 65536\nTier 0\nRadix_Up 4\n" + tier.format(32)
        file = self.write("large.topo", topo + "Tier 1\n" + tier.format(2048))
        words, _ = self.command(f"traffic --topology={file} --bytes=1kB --dry-run")
        done = captured(words, cwd=self.folder, timeout=60, preexec_fn=at_most(300 << 20))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("65,536", done.stdout.replace("65536", "65,536"))

    def test_files_have_their_hosts(self):
        """A number of hosts that is not the file's is an error, whatever the format."""
        links = [{"from": host, "to": "s"} for host in "abc"]
        graph = {
            "nodes": [{"name": name, "kind": "host"} for name in "abc"]
            + [{"name": "s", "kind": "switch"}],
            "links": links,
            "defaults": {"rate": "40Gbps", "delay": "500ns"},
        }
        tier = "Downlink_speed_Gbps 100\nRadix_Down {}\nDownlink_Latency_ns 500\n"
        topo = "Nodes 3\nTiers 2\nPodsize 3\nTier 0\nRadix_Up 1\n" + tier.format(1)
        files = (
            self.write("graph.json", graph),
            self.write("hpcc.txt", "4 1 3\n3\n" + "".join(f"{i} 3 100G 1us 0\n" for i in range(3))),
            self.write("htsim.topo", topo + "Tier 1\n" + tier.format(3)),
        )
        for file in files:
            with self.subTest(file):
                line = f"traffic --topology={file} --pattern=permutation --bytes=10kB --dry-run"
                self.run_program(line + " --hosts=3")
                self.refuse(line + " --hosts=2", "--hosts=2", "the file has 3 hosts")
                self.refuse(line + " --hosts=4", "--hosts=4", "has 3 hosts")

    def test_what_is_said_of_them(self):
        for program in PROGRAMS:
            text = self.run_program(f"{program} --help").out
            names = self.run_program(f"{program} --list=topologies").out
            for family, parameters in FAMILIES.items():
                self.assertRegex(names, rf"(?m)^  {family} ")
                for key in parameters:
                    self.assertIn(f"--{key.replace('_', '-')}", text)
        self.refuse("traffic --topology=rail-optimised", "did you mean 'rail-optimized'?")
        self.refuse("traffic --topology=torus --rails=2", "--rails=2", "belongs to rail-only")
        self.refuse("traffic --topology=hyperx --hyperx=4x1", "--hyperx", "from 2 to 65535")
        self.refuse(
            "traffic --topology=xgft --children=2x2 --parents=2x2", "--parents", "2 levels"
        )
        self.refuse("traffic --topology=dragonfly --hosts=30 --groups=40", "--groups", "at most")
        self.refuse("traffic --planes=9", "--planes=9", "1 to 8")
        self.refuse("collperf --peer-nic=own", "--peer-nic=own", "one NIC")


class RailsTest(SystemTest):
    servers = " --servers=4 --gpus-per-server=2 --nics-per-server=2 -b 64K -e 64K" + QUICK

    def algorithm(self, line):
        return self.run_program(line).stats["collectives"][0]["algorithm"]

    def test_apart_only_pxn_reaches_other_rails(self):
        for more in ("", " --library=none"):
            rails = "collperf --topology=rail-only" + self.servers + more
            alltoall = rails + " --op=alltoall"
            self.assertEqual(self.algorithm(alltoall), "pxn")
            self.assertEqual(self.algorithm(alltoall + " --algorithm=auto"), "pxn")
            direct = alltoall + " --algorithm=direct"
            self.refuse(direct + " --peer-nic=own", "--algorithm=alltoall=pxn", "--peer-nic=pxn")
            for nics in ("", " --peer-nic=same"):
                self.assertEqual(self.algorithm(direct + nics), "direct")
            for op in ("sendrecv", "alltoallv", "gather", "scatter"):
                self.refuse(rails + f" --op={op} --peer-nic=own", "--peer-nic=pxn")
                self.run_program(rails + f" --op={op}")
                self.run_program(rails + f" --op={op} --peer-nic=same")
            for op in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"):
                self.run_program(rails + f" --op={op}")
        # One GPU a server: one rail, so nothing crosses.
        one = "collperf --topology=rail-only --servers=4 --gpus-per-server=1 -b 64K -e 64K"
        one += " --op=sendrecv"
        self.run_program(one + QUICK)

    def test_apart_pipelines_keep_to_their_rail(self):
        # Stages of 2 GPUs of one server: rank r sends to rank r + 2, of the same place. With pp=4
        # rank 1 of server 0 sends to rank 2, which is GPU 0 of server 1.
        line = (
            "dltrain --topology=rail-only --model=gpt2 --servers=2 --gpus-per-server=2"
            " --nics-per-server=2 --micro-batch=1 --seq=64 --layers=8 --warmup=0"
            " --accumulation=4" + QUICK
        )
        own = line + " --peer-nic=own"
        self.refuse(own + " --pp=4", "from rank 1 to rank 2", "--peer-nic=pxn")
        # Rank 2's NIC at both ends, or rank 1's.
        for nics, of in ((" --peer-nic=pxn", "server-1:0"), (" --peer-nic=same", "server-1:1")):
            rows = self.run_program(line + " --pp=4" + nics).rows("flows.csv")
            ends = {row["dst"] for row in rows if (row["from_gpu"], row["to_gpu"]) == (1, 2)}
            self.assertEqual(ends, {of})
        self.run_program(own + " --pp=2")
        self.run_program(line + " --pp=2")

    def test_apart_flows_keep_to_their_rail(self):
        line = "traffic --topology=rail-only --hosts=6 --rails=2 --pattern=permutation --bytes=10kB"
        self.refuse(line + " --offset=1", "cannot be reached", "--rails=1")
        self.run_program(line + " --offset=2" + QUICK)
        self.refuse(
            "collperf --topology=rail-only --rails=2 --nics-per-server=3 --servers=2", "--rails"
        )

    def crossing(self, run):
        """Bytes on the wire from rail switches to spines."""
        interval = run.stats["links_csv"]["interval_us"]
        total = 0
        for row in run.rows("links.csv"):
            if "->spine" in row["link"]:
                lasted = row["time_us"] - interval * ((row["time_us"] - 1e-6) // interval)
                total += row["utilization"] * row["rate_gbps"] * 1e3 / 8 * lasted
        return total

    def test_who_crosses_the_spines(self):
        """4 servers of 2 GPUs and 2 NICs in one group, alltoall of S bytes a rank: of each GPU's
        blocks of S/8, 3 go to the GPU of the other place on other servers. Sent from NIC to NIC
        these cross, 8 x 3 x S/8 in all. With pxn, or by the same NIC at both ends, none does.
        """
        size = 1 << 20
        for fabric in ("", " --fabric=ib"):
            line = (
                "collperf --topology=rail-optimized --servers=4 --gpus-per-server=2"
                f" --nics-per-server=2 -b {size} -e {size} --op=alltoall --library=none"
                f" --warmup-iters=0 --iters=1{fabric}{QUICK}"
            )
            own = " --algorithm=direct --peer-nic=own"
            across = self.crossing(self.run_program(line + own))
            self.assertGreater(across, 3 * size)
            self.assertLess(across, 3 * size * 1.1)
            for more in ("", " --algorithm=direct", " --algorithm=direct --peer-nic=same"):
                self.assertEqual(self.crossing(self.run_program(line + more)), 0)


class PlanesTest(SystemTest):
    def test_a_connection_has_one_plane(self):
        # 8 MB at 100 Gb/s or, by one port of two, at 50.
        line = "traffic --topology=single-switch --hosts=2 --pattern=permutation --bytes=8MB"
        times = []
        for planes in (1, 2, 4):
            run = self.run_program(line + f" --planes={planes}{QUICK}")
            times.append(run.rows("flows.csv")[0]["fct_us"])
        self.assertAlmostEqual(times[1] / times[0], 2, delta=0.05)
        self.assertAlmostEqual(times[2] / times[0], 4, delta=0.1)

    def test_channels_and_queue_pairs_take_them_in_turns(self):
        """A ring of two servers: with as many channels a NIC as planes, or as many queue pairs a
        connection, all of the NIC is there; one gets a plane's share.
        """
        for planes in (2, 3):
            line = (
                "collperf --topology=leaf-spine --hosts-per-leaf=2 --servers=4 --gpus-per-server=1"
                " -b 24M -e 24M --op=all_gather --algorithm=ring --library=none --warmup-iters=0"
                " --iters=1 --cc=none" + QUICK
            )
            whole = self.run_program(line).stats["collectives"][0]["time_us"]
            apart = line + f" --planes={planes}"
            one = self.run_program(apart).stats["collectives"][0]["time_us"]
            self.assertAlmostEqual(one / whole, planes, delta=0.1 * planes)
            for more in (
                f" --channels={planes}",
                f" --qps-per-connection={planes} --split-data-on-qps",
            ):
                several = self.run_program(apart + more).stats["collectives"][0]["time_us"]
                self.assertAlmostEqual(several / whole, 1, delta=0.1, msg=more)

    def test_switches_that_add_up_are_refused(self):
        self.refuse(
            "collperf --topology=dual-plane --servers=4 --op=all_reduce --algorithm=sharp", "planes"
        )


class DeadlockTest(SystemTest):
    def test_pfc_says_so_before_the_run(self):
        for network in ("dragonfly --hosts=16", "hyperx --hyperx=3x3", "torus --torus=5"):
            line = f"traffic --topology={network} --pattern=all-to-all --bytes=1kB{QUICK}"
            with self.subTest(network):
                self.assertIn("can deadlock", self.run_program(line).err)
                for more in (" --no-pfc", " --pfc-watchdog=1ms", " --fabric=ib"):
                    self.assertNotIn("can deadlock", self.run_program(line + more).err, more)
                # Lanes of InfiniBand's tables keep the tables' paths apart, and no others.
                adaptive = self.run_program(line + " --fabric=ib --adaptive-routing").err
                self.assertIn("--adaptive-routing can deadlock", adaptive)
        for network in (
            "dragonfly-plus --hosts=20",
            "rail-optimized --hosts=8 --rails=4",
            "fat-tree",
        ):
            line = f"traffic --topology={network} --pattern=permutation --bytes=1kB{QUICK}"
            for more in ("", " --fabric=ib --adaptive-routing"):
                self.assertNotIn("can deadlock", self.run_program(line + more).err, network + more)

    def test_a_tree_with_a_failed_link_may_wait_in_a_circle(self):
        """Four leaves and four spines, each leaf on two spines next to each other: what goes to the
        leaf opposite goes by a leaf between, down and up again, either way round.
        """
        nodes = [{"name": f"h{i}", "kind": "host"} for i in range(4)]
        nodes += [{"name": f"l{i}", "kind": "switch", "tier": 1} for i in range(4)]
        nodes += [{"name": f"s{i}", "kind": "switch", "tier": 2} for i in range(4)]
        links = [{"from": f"h{i}", "to": f"l{i}"} for i in range(4)]
        links += [{"from": f"l{i}", "to": f"s{(i + j) % 4}"} for i in range(4) for j in range(2)]
        path = self.write(
            "ring.json",
            {"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": nodes, "links": links},
        )
        run = self.run_program(
            f"traffic --topology={path} --pattern=all-to-all --bytes=10kB{QUICK}"
        )
        self.assertIn("can deadlock", run.err)
        self.assertEqual(len(run.rows("flows.csv")), 12)

    def test_infiniband_has_lanes_for_it(self):
        for network in ("dragonfly --hosts=72", "hyperx --hyperx=3x3x2"):
            run = self.run_program(
                f"traffic --fabric=ib --topology={network} --pattern=permutation --offset=7"
                f" --bytes=100kB{QUICK}"
            )
            configuration = run.stats["configuration"]["fabric"]
            self.assertEqual(configuration["ib_routing"], "dfsssp,updn")
            self.assertEqual(configuration["vls"], 2)
            self.assertNotIn("routed by", run.err)


class SameBytesOfRailsAndPlanes(SameBytesTest):
    LINES = (
        (
            "collperf --topology=rail-only --servers=4 --gpus-per-server=2 --nics-per-server=2"
            " -b 256K -e 256K --op=alltoall --library=none"
        ),
        (
            "collperf --topology=rail-optimized --servers=4 --gpus-per-server=2"
            " --nics-per-server=2 -b 256K -e 256K --op=alltoall --algorithm=direct --planes=2"
        ),
    )

    @unittest.skipUnless(MPIRUN, "mpirun is not installed")
    def test_processes(self):
        os.environ.update(ENVIRONMENT)
        for line in (
            self.LINES[0],
            "traffic --topology=dual-plane --hosts=8 --hosts-per-leaf=2 --pattern=all-to-all"
            " --bytes=30kB",
        ):
            self.compare_ranks(line, [2])

    def test_engines_and_threads(self):
        for line in self.LINES:
            expected = self.written(line + " --engine=ns3", without=["events"])
            for more in (" --threads=1", " --threads=2" + ALWAYS):
                with self.subTest(line + more):
                    self.check_same(self.written(line + more, without=["events"]), expected)


if __name__ == "__main__":
    main()
