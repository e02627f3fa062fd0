#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""scripts/report and the end of a run: what is in the page is what is in the files, whatever state
they are in.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _report import ROOT, page_data, report, write_big_results
from _system_test import SystemTest, main, quantile, share_of

D3 = os.environ.get("DLTRAIN_D3") or "/usr/share/javascript/d3/d3.min.js"
SMALL = "dltrain --gpus=16 --servers=2 --model=gpt2"


def keys_of(value, prefix=""):
    for key, part in value.items():
        yield prefix + key
        if isinstance(part, dict):
            yield from keys_of(part, prefix + key + ".")
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            yield from keys_of(part[0], prefix + key + "[].")


class ReportTest(SystemTest):
    def test_page_of_a_run_holds_what_its_files_hold(self):
        run = self.run_program(SMALL)
        self.assertIn(f"Report           {run.folder}/report.html\n", run.out)
        data, stats = page_data(run.path("report.html")), run.stats
        # A GPU's time, from its calls: computing is computing alone and with communication hidden
        # behind it.
        mean = data["timeline"]["mean_us"]
        self.assertWithin(mean["C"] + mean["O"], stats["compute_time_us"], 1e-6)
        self.assertWithin(mean["O"] + mean["X"], stats["communication_time_us"], 1e-6)
        self.assertEqual(len(data["timeline"]["gpus"]), 16)
        self.assertEqual(
            sum(len(flat) // 4 for flat in data["timeline"]["calls"].values()),
            sum(not line.startswith("#") for line in run.text("calls.log").splitlines()),
        )
        # Links: means over the measured time, written with 6 decimals an interval.
        use = {side["name"]: side for link in data["topology"]["links"] for side in link["use"]}
        self.assertTrue(stats["links"])
        for link in stats["links"]:
            self.assertAlmostEqual(use[link["link"]]["mean"], link["utilization"], delta=2e-6)
        # Every link of the network has its place, used or not; both directions: a row of links.csv
        # names one of them.
        self.assertLessEqual({row["link"] for row in run.rows("links.csv")}, set(use))
        kinds = [kind for _, kind, _ in data["topology"]["nodes"]]
        self.assertEqual(kinds.count("host"), 2)
        # Messages: all of them; the largest completion time; bytes.
        fct = data["flows"]["fct"]
        self.assertEqual((fct.get("all") or next(iter(fct.values())))["n"], stats["messages"])
        self.assertAlmostEqual(
            max(curve["points"][-1][1] for curve in fct.values()),
            stats["fct_us"]["max"],
            delta=1e-5,
        )
        self.assertEqual(data["flows"]["bytes"], stats["message_bytes"])
        self.assertEqual(
            sum(c[2] for of in data["flows"]["sizes"]["operations"].values() for c in of),
            stats["messages"],
        )
        # The parts of the memory are the whole.
        self.assertEqual(
            sum(stats["gpu_memory_parts_bytes"].values()), stats["gpu_memory_bytes_estimate"]
        )

    def test_nearly_equal_sizes_are_one(self):
        """Parts of a collective differ by a byte: they are one size, in all operations, as in
        slowdown by size.
        """
        os.makedirs(os.path.join(self.folder, "near"))
        self.write(
            "near/stats.json",
            json.dumps(
                {"schema_version": 1, "program": "dltrain", "completed": True, "messages": 6}
            ),
        )
        rows = [
            (67448, "a"),
            (67449, "a"),
            (67449, "b"),
            (136533, "a"),
            (136534, "a"),
            (150000, "b"),
        ]
        self.write(
            "near/flows.csv",
            "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n"
            + "".join(f"{i},x,y,{size},0,1,1,1,{tag}\n" for i, (size, tag) in enumerate(rows)),
        )
        folder = os.path.join(self.folder, "near")
        self.assertEqual(report(folder).returncode, 0)
        sizes = page_data(os.path.join(folder, "report.html"))["flows"]["sizes"]
        self.assertEqual(
            sizes,
            {
                "exact": True,
                "operations": {
                    "a": [[67448, 67449, 2, 134897], [136533, 136534, 2, 273067]],
                    "b": [[67448, 67449, 1, 67449], [150000, 150000, 1, 150000]],
                },
            },
        )

    def test_quantiles_of_curves_are_those_of_stats(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=9 --pattern=incast --fan-in=8"
            " --bytes=100kB,20kB,1MB --cc=none"
        )
        curve = page_data(run.path("report.html"))["flows"]["fct"]["incast"]["points"]
        for key, share in (("p50", 0.5), ("max", 1)):
            reached = next(value for cumulated, value in curve if cumulated >= share)
            self.assertAlmostEqual(reached, run.stats["fct_us"][key], delta=1e-5, msg=key)

    def test_kinds_and_sizes_are_those_of_flows_csv(self):
        """Worked out anew from the rows; nearest rank as everywhere."""
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts=16 --leaves=2 --hosts-per-leaf=8 --spines=2"
            " --pattern=poisson --load=0.5 --duration=1ms --warm-up=200us --incast-load=0.1"
            " --incast-fan-in=8 --incast-bytes=50kB"
        )
        data, rows = page_data(run.path("report.html"))["flows"], run.rows("flows.csv")
        slowdown = lambda row: row["fct_us"] / row["ideal_fct_us"]
        kinds = {kind["name"]: kind for kind in data["kinds"]}
        self.assertEqual(list(kinds)[0], "all")
        self.assertEqual(set(kinds) - {"all"}, {row["tag"] for row in rows})
        for name, kind in kinds.items():
            of = [row for row in rows if name in ("all", row["tag"])]
            self.assertEqual(
                (kind["messages"], kind["bytes"]), (len(of), sum(row["bytes"] for row in of))
            )
            for shown, share in zip(kind["fct_us"], (0.5, 0.99, 1)):
                self.assertAlmostEqual(
                    shown, quantile([row["fct_us"] for row in of], share), delta=2e-6
                )
            for shown, share in zip(kind["slowdown"], (0.5, 0.99, 1)):
                self.assertAlmostEqual(shown, quantile(list(map(slowdown, of)), share), delta=2e-6)
            pace = [1 / slowdown(row) for row in of]
            self.assertAlmostEqual(
                kind["jain"], sum(pace) ** 2 / len(pace) / sum(x * x for x in pace), delta=1e-4
            )
        for name, groups in data["by_size"].items():
            of = [row for row in rows if row["tag"] == name]
            self.assertEqual(sum(group[2] for group in groups), len(of))
            self.assertLessEqual(len(groups), 17)
            for low, high, count, *shown in groups:  # a size is in one group
                inside = [slowdown(row) for row in of if low <= row["bytes"] <= high]
                self.assertEqual(len(inside), count)
                for value, share in zip(shown, (0.5, 0.95, 0.99)):
                    if share > 0.5 and count < round(1 / (1 - share)):  # it is only the slowest
                        self.assertIsNone(value)
                    else:
                        self.assertAlmostEqual(value, quantile(inside, share), delta=2e-6)
        # One basis: goodput is of all flows that arrived over the time of all of them.
        flows = run.stats["flows"]
        self.assertEqual(flows["measured_arrived"], run.stats["messages"])
        self.assertLess(run.stats["messages"], flows["all"])
        self.assertGreater(
            flows["goodput_gbps"] * flows["last_arrival_us"] / 8e-3, run.stats["message_bytes"]
        )
        self.assertRegex(
            run.out,
            (
                rf"Flows +{flows['arrived']:,} of {flows['all']:,} arrived.*\nLoad .*\n .*\n"
                rf"Measured flows +{flows['measured_arrived']:,} of {flows['measured']:,} arrived"
            ),
        )

    def test_ranks_of_a_sample_are_those_of_all_it_stands_for(self):
        """A value that stands for 3 messages is as three of it: nearest ranks, and how many have
        come up to there, are those of the list in which each is written out.
        """
        sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.join(ROOT, "scripts", "report-page")]
        import kinds

        for single, several in (
            ([], [1.0, 2.0, 2.0]),
            ([2.0, 2.0, 7.0], [1.0, 2.0, 3.0, 9.0]),
            ([5.0], [1.0, 1.0, 4.0]),
            ([float(i % 37) for i in range(100)], [float(i % 23) for i in range(71)]),
        ):
            ranked = kinds.Ranked(sorted(single), sorted(several), 3)
            all_of_them = sorted([*single, *several * 3])
            self.assertEqual(ranked.total, len(all_of_them))
            shares = (0.01, 0.25, 0.5, 0.9, 0.99, 1)
            self.assertEqual(
                ranked.quantiles(shares), [quantile(all_of_them, share) for share in shares]
            )
            for target in range(1, len(all_of_them) + 1):
                cumulated, value = ranked.reached(target)
                self.assertEqual(value, all_of_them[target - 1], target)
                self.assertTrue(target <= cumulated < target + 3, (target, cumulated))

    def test_operations_are_summed_over_all_collectives(self):
        """The list in the page ends after 2,000; its table of operations, a step, has all. Here 2
        steps of 1,900 all_gathers, 10 us each on 2 of 4 GPUs, and 100 + 2 all_reduces of 8 us on
        all 4, of which the list has the first step's alone.
        """
        collective = lambda step, op, ranks, us: {
            "op": op,
            "algorithm": "ring",
            "bytes": 1000,
            "ranks": ranks,
            "time_us": us,
            "algbw_GBps": 1.0,
            "busbw_GBps": us / 4,
            "name": op,
            "step": step,
            "rank_time_us": us,
            "rank_wait_us": us / 4,
        }
        rows = []
        for step, more in ((1, 100), (2, 2)):
            rows += [collective(step, "all_gather", 2, 10.0) for _ in range(1900)]
            rows += [collective(step, "all_reduce", 4, 8.0) for _ in range(more)]
        os.makedirs(os.path.join(self.folder, "many"))
        self.write(
            "many/stats.json",
            json.dumps(
                {
                    "schema_version": 1,
                    "program": "dltrain",
                    "completed": True,
                    "gpus": 4,
                    "collectives": rows,
                    "collectives_left_out": 0,
                }
            ),
        )
        folder = os.path.join(self.folder, "many")
        self.assertEqual(report(folder).returncode, 0)
        data = page_data(os.path.join(folder, "report.html"))
        self.assertEqual(len(data["stats"]["collectives"]), 2000)
        self.assertEqual(data["collectives_left_out"], 1902)
        # [name, count, bytes, time of all GPUs in them, of this waiting, busbw weighted by time]
        self.assertEqual(
            data["operations"],
            {
                "steps": 2,
                "rows": [
                    ["all_gather (ring)", 3800, 3_800_000, 3800 * 2 * 10.0, 3800 * 2 * 2.5, 2.5],
                    ["all_reduce (ring)", 102, 102_000, 102 * 4 * 8.0, 102 * 4 * 2.0, 2.0],
                ],
            },
        )

    def test_sizes_that_are_nearly_equal_are_one(self):
        """As in scripts/plot: nearer than 5% to the next, at most 1.05^4 together."""
        sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.join(ROOT, "scripts", "report-page")]
        import kinds

        sizes = [10_000_000, 10_100_000, 20_000_000, 10_050_000]
        self.assertEqual(
            kinds.by_size({"x": sizes}, {"x": [1.0, 2.0, 4.0, 3.0]}, None),
            {
                "x": [
                    [10_000_000, 10_100_000, 3, 2.0, None, None],
                    [20_000_000, 20_000_000, 1, 4.0, None, None],
                ]
            },
        )
        # Of n messages the slowest is above a share of 1 - 1 / n: p95 wants 20 of them, p99 100.
        for n, told in ((19, [1.0, None, None]), (20, [1.0, 1.0, None]), (100, [1.0] * 3)):
            (group,) = kinds.by_size({"x": [8] * n}, {"x": [1.0] * n}, None)["x"]
            self.assertEqual(group[2:], [n, *told])
        # 300 sizes within 1% are one point, not 16 groups of some.
        sizes = [10_000_000 + 300 * i for i in range(300)]
        self.assertEqual(
            [group[:3] for group in kinds.by_size({"x": sizes}, {"x": [1.0] * 300}, None)["x"]],
            [[sizes[0], sizes[-1], 300]],
        )
        # More than 16 that are far apart: groups of about as many, none of which cuts sizes that
        # are one.
        sizes = [size + more for size in (1000 * 2**i for i in range(20)) for more in range(3)]
        groups = kinds.by_size({"x": sizes}, {"x": [1.0] * 60}, None)["x"]
        self.assertEqual(sum(group[2] for group in groups), 60)
        self.assertTrue(all(group[2] % 3 == 0 for group in groups), groups)

    def test_same_run_same_page(self):
        first, second = self.run_program(SMALL), self.run_program(SMALL)
        self.assertEqual(first.text("report.html"), second.text("report.html"))
        self.assertEqual(report(first.folder).returncode, 0)
        self.assertEqual(first.text("report.html"), second.text("report.html"))
        self.assertNotIn("wall_s", page_data(first.path("report.html"))["stats"])

    def test_report_0_writes_none_and_an_old_one_goes(self):
        run = self.run_program(SMALL)
        again = self.run_program(SMALL + " --report=0", out=run.folder)
        self.assertFalse(os.path.exists(again.path("report.html")))
        self.assertNotIn("Report ", again.out)
        self.assertEqual(run.stats["configuration"], again.stats["configuration"])

    def test_every_number_has_a_unit_and_a_meaning(self):
        with open(
            os.path.join(ROOT, "scripts", "report-page", "meanings.json"), encoding="utf-8"
        ) as file:
            meanings = json.load(file)
        runs = [
            self.run_program(SMALL),
            *(
                self.run_program(f"{SMALL} --zero=0 --strategy={strategy}")
                for strategy in ("downpour", "sandblaster", "backup-workers")
            ),
            self.run_program("collperf -b 1M -e 1M --ranks=4 --op=all_reduce"),
            self.run_program(
                "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2"
                " --bytes=20kB"
            ),
            self.run_program(
                "traffic --topology=leaf-spine --hosts=4 --leaves=2 --hosts-per-leaf=2 --spines=1"
                " --pattern=poisson --duration=200us --incast-load=0.1 --incast-fan-in=2"
                " --incast-bytes=20kB"
            ),
        ]
        for run in runs:
            stats = json.loads(run.text("stats.json"))
            configuration = stats.pop("configuration")
            # not shown
            with_units = {
                "wall_s",
                "event_loop_s",
                "frame_hops_per_s",
                "peak_rss_bytes",
                "simulated_gpu_s_per_core_s",
                "threads",
                "parallel_share",
                "turns",
            }
            missing = [
                key
                for key in keys_of(stats)
                if key not in meanings["stats"]
                and key not in with_units
                and not key.startswith("bytes_sent_per_gpu.")
            ]
            self.assertEqual(missing, [])
            options = [
                f"/{group}/{key}"
                for group, values in configuration.items()
                if isinstance(values, dict)
                for key in values
            ]
            words = page_data(run.path("report.html"), "meanings")["options"]
            self.assertEqual([path for path in options if path not in words], [])
            self.assertEqual(
                words["/network/k"][1],
                "fat-tree: ports of a switch, even; k^3/4 server ports; 2 to 128",
            )
            said = {
                option["path"]: [
                    option["group"],
                    option["description"],
                    # the name, where it is not the key
                    *({option["name"]} - {option["path"].split("/")[-1].replace("_", "-")}),
                ]
                for option in json.loads(
                    self.run_program([stats["program"], "--list=options"]).out
                )["options"]
                if "path" in option
            }
            self.assertEqual({path: words[path] for path in said}, said)

    def check_warns(self, done, incomplete):
        """Status 0; of a run that is not complete a line says so."""
        self.assertEqual(done.returncode, 0)
        if incomplete:
            self.assertRegex(done.stderr, r"\Areport: warning: .*: incomplete: stats.json .*\n\Z")
        else:
            self.assertEqual(done.stderr, "")

    def test_results_that_are_missing_or_cut_off(self):
        run = self.run_program(SMALL + " --placement=random")
        names = (
            "stats.json",
            "flows.csv",
            "links.csv",
            "calls.log",
            "network_events.log",
            "topology.json",
        )
        for name in share_of(names, one_in=3):
            with self.subTest(missing=name):
                folder = os.path.join(self.folder, "without-" + name)
                shutil.copytree(run.folder, folder)
                os.unlink(os.path.join(folder, name))
                done = report(folder)
                self.check_warns(done, name == "stats.json")
                data = page_data(os.path.join(folder, "report.html"))
                self.assertEqual(data["flows"] is None, name == "flows.csv")
                self.assertEqual(data["timeline"] is None, name == "calls.log")
                self.assertTrue(data["topology"])
                if name == "stats.json":
                    self.assertIn("stats.json", data["problems"][0])
            with self.subTest(cut=name):
                folder = os.path.join(self.folder, "cut-" + name)
                shutil.copytree(run.folder, folder)
                path = os.path.join(folder, name)
                os.truncate(path, os.path.getsize(path) * 2 // 3)
                done = report(folder)
                self.check_warns(done, name == "stats.json")
                data = page_data(os.path.join(folder, "report.html"))
                if name in ("stats.json", "topology.json", "network_events.log"):
                    self.assertTrue(
                        any(
                            name in problem or "topology" in problem for problem in data["problems"]
                        ),
                        data["problems"],
                    )

    def test_pauses_that_were_only_counted_are_not_known_by_port(self):
        run = self.run_program(
            "traffic --pattern=incast --topology=single-switch --hosts=9 --fan-in=8 --bytes=1MB"
            " --cc=none --timeline=0"
        )
        ports = page_data(run.path("report.html"))["ports"]["ports"]
        counted = {}
        for line in run.text("network_events.log").splitlines():
            if line.split(" ")[1] == "pause":
                counted[line.split(" ")[2]] = counted.get(line.split(" ")[2], 0) + 1
        self.assertGreater(len(counted), 3)
        self.assertEqual(
            {port["name"]: port["pauses"] for port in ports},
            {port["name"]: counted.get(port["name"], 0) for port in ports},
        )
        log = run.text("network_events.log").splitlines(keepends=True)
        log.insert(-20, '1.5 note * from here on "pause" is only counted: 20000 are written\n')
        with open(run.path("network_events.log"), "w", encoding="utf-8") as file:
            file.writelines(log)
        self.assertEqual(report(run.folder).returncode, 0)
        ports = page_data(run.path("report.html"))["ports"]["ports"]
        self.assertEqual({port["pauses"] for port in ports}, {None})

    def test_parts_of_switches_are_told(self):
        run = self.run_program("collperf --ranks=4 --algorithm=sharp -b 64K --timeline=0")
        told = json.loads(run.text("topology.json"))
        units = {node["name"]: node for node in told["nodes"] if "unit" in node}
        self.assertEqual(
            units, {"sharp-switch-0": {**units["sharp-switch-0"], "kind": "host", "unit": True}}
        )
        kinds = dict(
            (name, kind)
            for name, kind, _ in page_data(run.path("report.html"))["topology"]["nodes"]
        )
        self.assertEqual(
            kinds,
            {
                **{f"server-{i}": "host" for i in range(4)},
                "switch-0": "switch",
                "sharp-switch-0": "unit",
            },
        )

    def test_topology_file_and_names_of_links_say_the_same(self):
        run = self.run_program(
            "traffic --topology=fat-tree --k=4 --hosts=16 --pattern=permutation --bytes=100kB"
        )
        whole = page_data(run.path("report.html"))["topology"]
        told = json.loads(run.text("topology.json"))
        self.assertEqual(
            [told[key] for key in ("family", "parameters", "part", "tiers")],
            [
                "fat-tree",
                {"k": 4, "oversubscription": 1, "core_oversubscription": 1, "planes": 1},
                "pod",
                ["edge", "aggregation", "core"],
            ],
        )
        # What a name says the coordinates say, and the page has it from them.
        for node, at in zip(told["nodes"], whole["places"]["coordinates"]):
            self.assertEqual(node.get("coordinates", []), at)
            self.assertEqual(
                at,
                []
                if node["kind"] == "host"
                else [int(number) for number in node["name"].split("-")[1:]],
            )
        os.unlink(run.path("topology.json"))
        self.assertEqual(report(run.folder).returncode, 0)
        guessed = page_data(run.path("report.html"))["topology"]
        self.assertNotIn("places", guessed)
        tiers = {name: tier for name, _, tier in whole["nodes"]}
        # k = 4: 16 servers, 8 edge, 8 aggregation, 4 core switches and 16 + 16 + 16 links
        self.assertEqual([list(tiers.values()).count(tier) for tier in range(4)], [16, 8, 8, 4])
        self.assertEqual(len(whole["links"]), 48)
        used = [name for name, _, _ in guessed["nodes"]]
        self.assertGreater(len(used), 24)
        for name, kind, tier in guessed["nodes"]:
            self.assertEqual(
                (kind, tier), ("host" if name.startswith("server") else "switch", tiers[name]), name
            )

    def test_gpus_that_leave_and_steps_that_count(self):
        """Marks are where steps that count begin; a GPU that leaves is there until it stops, and
        the mean at any time is over those that are there.
        """
        folder = os.path.join(self.folder, "leaving")
        os.makedirs(folder)
        failure = {"failed_us": 300, "known_us": 310, "resumed_us": 320, "action": "rebuild"}
        stats = {
            "program": "dltrain",
            "completed": True,
            "gpus": 2,
            "simulated_time_us": 500,
            "measured_from_us": 0,
            "step_times_us": [100, 100],
            "step_begins_us": [0, 400],
            "recovery": {
                "policy": "rebuild",
                "checkpoints_held_from_us": [100],
                "checkpoints_held_until_us": [400],
                "failures": [{**failure, "ranks_left": [1], "gpus_failed": ["server-1:gpu-0"]}],
            },
        }
        self.write("leaving/stats.json", stats)
        rows = [(0, 100, 1, 0), (0, 100, 1, 1), (400, 500, 2, 0)]
        self.write(
            "leaving/calls.log",
            "".join(
                f"{a}\t{b}\t{step}\t{rank}\tc\tcompute\tx\t0\t-\n" for a, b, step, rank in rows
            ),
        )
        self.assertEqual(report(folder).returncode, 0)
        timeline = page_data(os.path.join(folder, "report.html"))["timeline"]
        self.assertEqual([mark[:2] for mark in timeline["steps"]], [[1, 0], [2, 400000]])
        rows = [timeline["sequences"][gpu[2]] for gpu in timeline["gpus"]]
        # Held up from 100 to 400 us, rank 1 until it stops at 300.
        self.assertEqual(rows, [["CRC", [100000, 300000, 100000]], ["CR", [100000, 200000]]])
        # Computing 200 us, held up 300, of two steps: all the 500 us of whoever is there.
        self.assertAlmostEqual(timeline["mean_us"]["C"], 100)
        self.assertAlmostEqual(timeline["mean_us"]["R"], 150)

    def test_a_pipeline_waits_instead_of_communicating(self):
        """A posted receive is no communication of the timeline. In stats.json it is from when its
        message is sent; before it is a bubble.
        """
        lines = (
            "--pp=2 --accumulation=5",
            "--pp=4 --tp=2 --accumulation=3",
            "--pp=2 --virtual-stages=3 --accumulation=4",
        )
        for options in share_of(lines, one_in=3, first=1):
            run = self.run_program(
                "dltrain --model=gpt2 --servers=4 --gpus-per-server=4 --micro-batch=1 --warmup=0"
                f" --network=analytic {options}"
            )
            mean, stats = page_data(run.path("report.html"))["timeline"]["mean_us"], run.stats
            self.assertWithin(mean["C"] + mean["O"], stats["compute_time_us"], 1e-6)
            under_way = stats["communication_time_us"]
            self.assertLessEqual(mean["O"] + mean["X"], under_way * (1 + 1e-6))
            self.assertLessEqual(under_way, (mean["O"] + mean["X"] + mean["I"]) * (1 + 1e-6))
            self.assertGreater(mean["I"], 0.5 * stats["bubble_time_us"])

    def test_3072_gpus_are_bounded(self):
        folder = os.path.join(self.folder, "big")
        write_big_results(folder)
        done = report(folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path = os.path.join(folder, "report.html")
        self.assertLess(os.path.getsize(path), 20e6)
        data = page_data(path)
        self.assertEqual(data["problems"], [])
        # 50 rounds of 3 ms computing alone, 1 ms of both, 1 ms of communication alone
        for state, us in (("C", 150000), ("O", 50000), ("X", 50000)):
            self.assertWithin(data["timeline"]["mean_us"][state], us, 1e-6)
        # 11 pods of 6 + 6 switches, 36 in the core
        self.assertEqual(len(data["topology"]["nodes"]), 384 + 66 + 66 + 36)
        self.assertEqual(len(data["timeline"]["gpus"]) * data["timeline"]["shown_every"], 3072)
        # 190,000 of the rows stand for 890,000 messages, the 10,000 slowest for themselves
        self.assertEqual(data["flows"]["fct"]["reduce-scatter"]["n"], 900000)

    def test_interrupted_run_says_so(self):
        words, out = self.command("dltrain --warmup=0 --placement=random")
        running = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        flows = os.path.join(out, "flows.csv")
        while running.poll() is None and not (
            os.path.isfile(flows) and os.path.getsize(flows) > 1000
        ):
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        shown, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130)
        self.assertIn("report.html", shown)
        data = page_data(os.path.join(out, "report.html"))
        self.assertFalse(data["stats"]["completed"])
        self.assertIn("Ctrl-C", data["stats"]["message"])
        self.assertGreater(data["flows"]["rows"], 0)
        self.assertTrue(data["events"]["last"])

    def test_without_d3(self):
        run = self.run_program(SMALL + " --report=0")
        missing = {"DLTRAIN_D3": os.path.join(self.folder, "none.js")}
        done = report(run.folder, environment=missing)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
        self.assertIn("DLTRAIN_D3", done.stderr)
        self.assertFalse(os.path.exists(run.path("report.html")))
        # A simulation goes on, and says it in one line.
        words, out = self.command(SMALL)
        ended = subprocess.run(
            words,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **missing},
        )
        self.assertEqual(ended.returncode, 1)
        said = [line for line in ended.stderr.splitlines() if "report.html" in line]
        self.assertEqual(len(said), 1, ended.stderr)
        self.assertRegex(
            said[0],
            (
                "^[a-z]+: error: .*/report.html: not written: DLTRAIN_D3=.*; the other files are"
                " complete$"
            ),
        )
        self.assertFalse(os.path.exists(os.path.join(out, "report.html")))

    def test_where_d3_is_not_installed_the_command_to_type_is_said(self):
        copy = os.path.join(self.folder, "scripts")
        for name in ("report-page", "cluster_simulator"):
            shutil.copytree(os.path.join(ROOT, "scripts", name), os.path.join(copy, name))
        with open(os.path.join(ROOT, "scripts", "report"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count('D3 = "/usr/share/'), 1)
        script = self.write("scripts/report", text.replace('D3 = "/usr/share/', 'D3 = "/none/'))
        done = subprocess.run(
            ["/usr/bin/python3", script, self.folder],
            capture_output=True,
            text=True,
            timeout=60,
            env={key: value for key, value in os.environ.items() if key != "DLTRAIN_D3"},
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install --no-install-recommends libjs-d3", done.stderr)

    def test_bad_arguments(self):
        os.mkdir(os.path.join(self.folder, "results"))
        for arguments, words in (
            ([], ["one folder"]),
            (["/a", "/b"], ["one folder", "2"]),
            ([os.path.join(self.folder, "result")], ["no such folder", "did you mean", "results"]),
            ([os.path.join(self.folder, "results")], ["no results", "stats.json"]),
            ([D3], ["is a file"]),
            (["--ouT=x", self.folder], ["--ouT", "--out=FILE", "did you mean '--out'?"]),
            (["--out=", self.folder], ["--out", "FILE"]),
        ):
            done = report(*arguments)
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done
            )
            for word in words:
                self.assertIn(word, done.stderr)
        run = self.run_program(SMALL + " --report=0")
        done = report(run.folder, "--out=" + os.path.join(self.folder, "nowhere", "page.html"))
        self.assertEqual(done.returncode, 1)  # as of every file that cannot be written
        self.assertIn("nowhere/page.html: cannot be written", done.stderr)
        self.assertEqual(
            report("--out", os.path.join(self.folder, "page.html"), run.folder).returncode, 0
        )
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "page.html")))
        self.assertIn("usage: scripts/report DIR", report("--help").stdout)


if __name__ == "__main__":
    main()
