# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--fault: what each costs, what the run says of it, and the same bytes whoever simulates it."""

import csv
import itertools
import os
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import HEADERS, MTU, ROOT, main, share_of, write_packets, write_time_us

sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.join(ROOT, "scripts", "report-page")]
from cluster_simulator import load  # noqa: E402
from cluster_simulator.measures import Links as LinksOf  # noqa: E402
from series import LinkSeries  # noqa: E402

# Seeded runs of the property test: FAULT_RUNS=1000 for all of them.
RUNS = int(os.environ.get("FAULT_RUNS", "24"))

QUIET = "--report=0 --timeline=0 --progress=0"
# Names of cables, and of switches in the middle, of small networks.
NETWORKS = {
    "--topology=fat-tree --k=4": ("agg-0-0-core-0", "core-1"),
    "--topology=fat-tree --k=6": ("agg-1-2-core-7", "core-4"),
    "--topology=leaf-spine --leaves=3 --spines=3 --hosts-per-leaf=4": ("leaf-0-spine-1", "spine-2"),
}


def events(run, kind="fault"):
    """[(us, where, details)] of network_events.log."""
    found = []
    for line in run.text("network_events.log").splitlines():
        fields = line.split(" ", 3)
        if not line.startswith("#") and fields[1] == kind:
            found.append((float(fields[0]), fields[2], fields[3]))
    return found


class Rate:
    """Gb/s of a cable whose faults are (begin, end, Gb/s), in us: the slowest holds."""

    def __init__(self, cable, faults):
        self.cable, self.faults = cable, faults

    def mean(self, begin, end):
        times = {begin, end}
        for fault in self.faults:
            times.update(time for time in fault[:2] if begin < time < end)
        times = sorted(times)
        sent = 0.0
        for a, b in zip(times, times[1:]):
            now = [gbps for first, last, gbps in self.faults if first <= a and b <= last]
            sent += min([self.cable, *now]) * (b - a)
        return sent / (end - begin)


class Rates(SameBytesTest):
    """While a fault slows a link, its rate and busy share are the same wherever they are told."""

    def check_link(self, run, link, rate):
        """\return bits sent over a direction of it"""
        stats = run.stats
        begin, end = stats["measured_from_us"], stats["simulated_time_us"]
        interval = stats["links_csv"]["interval_us"]
        rows = [row for row in run.rows("links.csv") if row["link"] == link]
        bits = 0.0
        for row in rows:
            start = max(begin, (-(-row["time_us"] // interval) - 1) * interval)
            length = row["time_us"] - start
            mean = rate.mean(start, row["time_us"])
            self.assertAlmostEqual(row["rate_gbps"], mean, delta=1e-5 * mean, msg=(link, row))
            self.assertLessEqual(row["utilization"], 1)
            bits += row["utilization"] * mean * length * 1e3
        most = rate.mean(begin, end) * (end - begin) * 1e3
        share = bits / most
        near = 2e-3 * share + 2e-5
        for told in stats["links"]:
            if told["link"] == link:
                self.assertAlmostEqual(told["utilization"], share, delta=near, msg=str(told))
                self.assertAlmostEqual(told["rate_gbps"], rate.mean(begin, end), places=4)
                words = f"{100 * told['utilization']:5.1f}% of {told['rate_gbps']:.4g} Gb/s  {link}"
                if "Busiest links" in run.out:  # not of collperf
                    self.assertIn(words, run.out)
        of_python = LinksOf(load(run.folder))
        place = list(of_python.names).index(link)
        self.assertAlmostEqual(of_python.mean[place], share, delta=1e-6)
        self.assertAlmostEqual(of_python.carried[place] * 8, bits, delta=1e-5 * bits + 1)
        series = LinkSeries(begin, end, interval, 3)
        with open(run.path("links.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        columns = {name: [row[name] for row in table] for name in table[0]}
        series.add(columns, lambda name: [float(text) for text in columns[name]])
        self.assertAlmostEqual(series.summary(link, rate.cable)["mean"], share, delta=2e-6)
        self.assertAlmostEqual(series.carried(link) * 8, bits, delta=1e-5 * bits + 1)
        return bits

    def test_a_link_that_is_slower_for_a_while(self):
        """Three faults on a cable, one of them over the others' ends; both fabrics."""
        size = 3000000
        wire = sum(bytes_ * count for bytes_, count in write_packets(size, MTU)) * 8
        pair = "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=1 --cc=none"
        for nic, cable, shape in (
            ("100GbE", 100, [("rate,to=10Gbps", 0, 900, 10)]),
            ("100GbE", 100, [("rate,to=20Gbps", 33, 400, 20), ("lane-down,to=1", 101, 611, 25)]),
            ("400GbE", 400, [("lane-down,to=3", 7, 30, 300), ("rate,to=1Gbps", 11, 91, 1)]),
            (
                "EDR",
                100,
                [
                    ("rate,to=50Gbps", 50, 150, 50),
                    ("rate,to=7Gbps", 120, 130, 7),
                    ("lane-down,to=2", 149, 307, 50),
                ],
            ),
        ):
            with self.subTest(nic, shape=shape):
                faults = " ".join(
                    f"--fault={what.split(',')[0]},at={begin}us,on=server-0-switch-0,"
                    f"{what.split(',')[1]},for={end - begin}us"
                    for what, begin, end, _ in shape
                )
                run = self.run_program(
                    f"{pair} --nic={nic} --bytes={size}B {faults} {QUIET}"
                )
                rate = Rate(cable, [(begin, end, gbps) for _, begin, end, gbps in shape])
                bits = self.check_link(run, "switch-0->server-0", rate)
                if nic != "EDR":  # whose frames have other headers
                    self.assertAlmostEqual(bits, wire, delta=1e-3 * wire)
                self.check_link(run, "server-0->switch-0", rate)

    def test_in_the_warm_up_and_of_port_classes(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=4 --nic=25GbE --pattern=random --load=0.4"
            " --sizes=fb-hadoop --warm-up=300us --duration=1ms --fault=rate,at=100us,"
            f"on=server-2-switch-0,to=5Gbps,for=500us {QUIET}"
        )
        rate = Rate(25, [(100, 600, 5)])
        for link in ("server-2->switch-0", "switch-0->server-2"):
            self.check_link(run, link, rate)

    def test_of_collectives_and_steps(self):
        fault = "--fault=rate,at=0ns,on=server-1-switch-0,to=20Gbps,for=700us"
        for line in (
            "collperf --servers=3 --gpus-per-server=1 --topology=single-switch -b 2M -n 3",
            "dltrain --model=gpt2 --servers=3 --gpus-per-server=1 --micro-batch=1 --seq=128"
            " --warmup=0 --steps=1 --topology=single-switch",
        ):
            run = self.run_program(f"{line} {fault} {QUIET}")
            for link in ("server-1->switch-0", "switch-0->server-1"):
                self.check_link(run, link, Rate(100, [(0, 700, 20)]))

    def test_a_slow_link_of_equals_is_no_less_loaded(self):
        """Imbalance is of what links could have sent: the slow one of two has less and is as
        busy.
        """
        line = (
            "traffic --topology=leaf-spine --leaves=2 --spines=2 --hosts-per-leaf=8"
            f" --pattern=permutation --offset=8 --bytes=2MB --load-balancer=adaptive {QUIET}"
            " --loss-recovery=out-of-order"
        )
        slow = " --fault=rate,at=0ns,on=leaf-0-spine-0,to=25Gbps"
        run = self.run_program(line + slow)
        for link in ("leaf-0->spine-0", "spine-0->leaf-0"):
            self.check_link(run, link, Rate(100, [(0, 1e9, 25)]))

    def test_a_cut_changes_no_rate(self):
        """What is sent into a cut cable is sent; rows have the cable's rate."""
        run = self.run_program(
            "traffic --topology=leaf-spine --leaves=2 --spines=2 --hosts-per-leaf=2"
            " --pattern=permutation --offset=2 --bytes=2MB --timeout-exponent=8"
            f" --fault=link-down,at=40us,on=leaf-0-spine-0,for=200us {QUIET}"
        )
        self.assertEqual({row["rate_gbps"] for row in run.rows("links.csv")}, {100})
        self.check_link(run, "leaf-0->spine-1", Rate(100, []))


class Links(SameBytesTest):
    def test_a_core_link_is_cut(self):
        """Few frames are lost, no flow, and each fabric and network says when it noticed."""
        cases = itertools.product(NETWORKS.items(), ("", " --nic=EDR"), (2, 17))
        for (network, (link, _)), fabric, detection in share_of(cases, one_in=3):
            with self.subTest(network + fabric, detection=detection):
                run = self.run_program(
                    f"traffic {network}{fabric} --pattern=all-to-all --bytes=200kB"
                    f" --timeout-exponent=8 --fault=link-down,at=50us,on={link}"
                    f" --fault-detection={detection}us --convergence=80us {QUIET}"
                )
                stats = run.stats
                self.assertEqual(stats["failed_queue_pairs"], 0)
                self.assertEqual(stats["flows"]["arrived"], stats["flows"]["posted"])
                (fault,) = stats["faults"]
                self.assertEqual(fault["detected_us"], 50 + detection)
                self.assertEqual(fault["rerouted_us"], 50 + detection + 80)
                self.assertIsNone(fault["until_us"])
                # Both ways, data frames of 4096 B and their ACKs: so many of the smallest
                # frames (84 B on the wire with all its gaps, 34 B of InfiniBand) would go
                # into the cable; the queue is dropped as link_down.
                sent = 2 * 100e9 * (detection + 1) * 1e-6 / (8 * 34)
                on_wire = fault["frames_lost"] - stats["drops"]["link_down"]
                self.assertLessEqual(on_wire, sent)
                self.assertGreater(fault["frames_lost"], 0)
                self.assertEqual(
                    stats["drops"]["link_down"] + stats["drops"]["lost_with_link"],
                    fault["frames_lost"],
                )
                told = [details for _, _, details in events(run)]
                self.assertEqual(told[0], "link-down begins")
                self.assertIn("knows that the link is dead", told[1])
                self.assertEqual(told[-1], "all switches have new tables, without 1 link")
                lost = len(events(run, "drop"))
                self.assertEqual(lost, sum(stats["drops"].values()))

    def test_a_slow_link(self):
        """A message over two idle links, of which one is slower from the beginning: closed form."""
        base = f"traffic --topology=single-switch --hosts=2 --pattern=incast --fan-in=1 {QUIET}"
        size = 400 * MTU
        for to, gbps in (("rate,to=50Gbps", 50), ("lane-down,to=1", 25), ("lane-down,to=3", 75)):
            what, value = to.split(",")
            run = self.run_program(
                f"{base} --bytes={size}B --fault={what},at=0ns,on=server-0-switch-0,{value}"
            )
            # All frames one after the other over the slow link, the first one before over the
            # other: to the nanosecond, as the first frame leaves before faults begin at 0.
            fast = (MTU + HEADERS + 20) * 8e-3 / 100
            slow = write_time_us(size, gbps=gbps)
            got = float(run.rows("flows.csv")[0]["fct_us"])
            self.assertLess(got, slow + 0.01, to)
            self.assertGreater(got, slow - (MTU + HEADERS + 20) * 8e-3 / gbps - fast, to)

    def test_pairs_without_a_way_are_counted(self):
        """The switch knows before the first frame comes, and knows no other way."""
        for senders in (1, 3, 5):
            for convergence in ("1ms", "5us"):  # dead_next_hop; then no_route
                run = self.run_program(
                    f"traffic --topology=single-switch --hosts={senders + 1} --pattern=incast"
                    f" --fan-in={senders} --target=0 --bytes=100kB --timeout-exponent=4"
                    " --fault=link-down,at=0ns,on=server-0-switch-0 --fault-detection=100ns"
                    f" --convergence={convergence} {QUIET}",
                    status=3,
                )
                (fault,) = run.stats["faults"]
                drops = run.stats["drops"]
                self.assertEqual(fault["pairs_hit"], senders)
                self.assertEqual(
                    fault["frames_without_way"], drops["dead_next_hop"] + drops["no_route"]
                )
                # Each sends its 25 packets at least once: nothing is acknowledged.
                self.assertGreaterEqual(fault["frames_without_way"], 25 * senders)

    def test_a_message_is_held_up_by_a_fault_that_is_named(self):
        """The critical path and the latest messages say which link was slow, while it was."""
        line = (
            "dltrain --model=gpt2 --servers=4 --gpus-per-server=1 --micro-batch=1 --seq=128"
            f" --warmup=0 --steps=1 --topology=single-switch {QUIET}"
        )
        slow = " --fault=rate,at=0ns,on=server-2-switch-0,to=5Gbps"
        words = "rate on server-2-switch-0"
        run = self.run_program(line + slow)
        hops = run.stats["critical_path"]["hops"]
        for hop in hops:
            here = "server-2" in hop["link"]
            self.assertEqual(words in hop.get("note", ""), here, hop)
        self.assertTrue([hop for hop in hops if "server-2" in hop["link"]])
        # What holds others up is told beside what they wait for.
        out = " ".join(run.out.split())
        self.assertRegex(out, r"also over \S*server-2\S*, [^:]*: " + words)
        self.assertIn("on its way: " + words, out)
        healthy = self.run_program(line)
        self.assertNotIn("note", str(healthy.stats["critical_path"]["hops"]))
        self.assertNotIn("also over", healthy.out)

    def test_a_slow_link_that_nobody_declared(self):
        """Of twelve hosts one is on a link of a tenth of the rate. Where messages of the path are
        longest somewhere else, before the link, as credits are missing, it is told all the same.
        """
        hosts = [f"h{i}" for i in range(12)]
        leaf = {host: f"leaf{0 if i < 6 else 1 if i < 10 else 2}" for i, host in enumerate(hosts)}
        links = [{"from": host, "to": leaf[host]} for host in hosts]
        links[4]["rate"] = "20Gbps"
        links += [
            {"from": f"leaf{i}", "to": spine, "rate": rate}
            for i in range(3)
            for spine, rate in (("spine0", "400Gbps"), ("spine1", "200Gbps"))
        ]
        names = [f"leaf{i}" for i in range(3)] + ["spine0", "spine1"]
        graph = self.write(
            "one-slow.json",
            {
                "defaults": {"rate": "200Gbps", "delay": "500ns"},
                "nodes": [{"name": name, "kind": "host"} for name in hosts]
                + [{"name": name, "kind": "switch"} for name in names],
                "links": links,
            },
        )
        run = self.run_program(
            f"dltrain --topology={graph} --fabric=ib --model=gpt2 --gpus-per-server=4 --zero=3"
            f" --seq=256 --warmup=0 {QUIET}"
        )
        hops = run.stats["critical_path"]["hops"]
        out = " ".join(run.out.split())
        slow = [hop for hop in hops if "h4->leaf0" == hop["link"]]
        self.assertIn("busiest of 12 links from hosts to tier 1", slow[0]["note"])
        self.assertIsNot(slow[0], hops[0], "the longest is the slow link's own: test another shape")
        self.assertRegex(out, "also over h4->leaf0, [^:]*: busiest of 12 links")

    def test_losses_are_counted(self):
        for what, reason in (("drop,to=0.01", "silent_drop"), ("ber,to=1e-7", "corrupted")):
            name, value = what.split(",")
            run = self.run_program(
                "traffic --topology=single-switch --hosts=4 --bytes=4MB --timeout-exponent=8"
                f" --fault={name},at=20us,on=server-0->switch-0,{value},for=200us {QUIET}"
            )
            stats = run.stats
            (fault,) = stats["faults"]
            self.assertEqual(fault["until_us"], 220)
            self.assertEqual(fault["frames_lost"], stats["drops"][reason])
            self.assertGreater(fault["frames_lost"], 0)
            self.assertEqual(sum(stats["drops"].values()), fault["frames_lost"])
            self.assertEqual(stats["flows"]["arrived"], 4)

    def test_how_far_it_goes(self):
        """As given, in words and with a unit; what goes all the way says nothing more."""
        for fault, words, keys in (
            ("rate,on=LINK,to=12.5Gbps", " (12.5 Gb/s) at", {"rate_gbps": 12.5}),
            ("lane-down,on=LINK,to=3", " (75% of its rate left) at", {"rate_share": 0.75}),
            ("ber,on=LINK,to=1e-9", " (1e-09 of the bits) at", {"bit_error_ratio": 1e-9}),
            ("drop,on=LINK,to=0.002", " (0.2% of the frames) at", {"dropped_share": 0.002}),
            (
                "flap,on=LINK,period=40us,duty=0.25,for=200us",
                " (down 25% of each 40.0 us), 5 times from",
                {"period_us": 40, "down_share": 0.25},
            ),
            ("link-down,on=LINK,for=20us", " at", {}),
        ):
            with self.subTest(fault):
                run = self.run_program(
                    "traffic --topology=single-switch --hosts=3 --bytes=4MB --timeout-exponent=8"
                    f" --fault={fault.replace('LINK', 'server-0-switch-0')},at=20us {QUIET}"
                )
                (of,) = run.stats["faults"]
                self.assertIn(f" on server-0-switch-0{words}", " ".join(run.out.split()))
                known = (
                    "rate_gbps rate_share bit_error_ratio dropped_share compute_time_factor"
                    " period_us down_share"
                ).split()
                self.assertEqual({key: of[key] for key in known if key in of}, keys)

    def test_losses_of_the_warm_up(self):
        """They are no losses of the measured time, and both lines say of which time they are."""
        line = (
            "dltrain --model=resnet-18 --micro-batch=4 --servers=3 --gpus-per-server=1 --steps=1"
            f" --topology=single-switch --timeout-exponent=8 {QUIET}"
        )
        fault = " --fault=drop,on=server-1-switch-0,to=0.05,for=2ms,at="
        run = self.run_program(f"{line} --warmup=1{fault}1.5ms")
        (of,) = run.stats["faults"]
        start = run.stats["measured_from_us"]
        self.assertGreater(start, of["until_us"])
        self.assertGreater(of["frames_lost"], 0)
        self.assertEqual(run.stats["drops"]["silent_drop"], 0)
        words = " ".join(run.out.split())
        self.assertRegex(words, r"Losses no frame dropped; .* on \(measured\)")
        self.assertIn(f"; in the whole run {of['frames_lost']:,} frames lost", words)
        # Without a warm-up both are of the same time.
        run = self.run_program(f"{line} --warmup=0{fault}1.5ms")
        self.assertGreater(run.stats["drops"]["silent_drop"], 0)
        self.assertNotIn("(measured)", run.out)
        self.assertNotIn("whole run", run.out)

    def test_a_fault_that_comes_too_late(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=2 --bytes=10kB"
            f" --fault=link-down,at=5s,on=server-0-switch-0 {QUIET}"
        )
        (fault,) = run.stats["faults"]
        self.assertFalse(fault["begun"])
        self.assertIn("was to begin at 5.00 s, when the run was over", " ".join(run.out.split()))
        self.assertEqual(events(run), [])

    def test_a_pause_storm(self):
        """Nothing moves into the port that pauses; the watchdog of its switch ends that."""
        base = (
            "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2 --bytes=100kB"
            f" --fault=pause-storm,at=0ns,on=server-0,for=3ms {QUIET}"
        )
        held = self.run_program(base)
        self.assertGreater(held.stats["fct_us"]["max"], 2900)
        self.assertGreater(held.stats["pfc_pauses"], 0)
        freed = self.run_program(
            base + " --pfc-watchdog=100us --pfc-watchdog-action=forward --timeout-exponent=8"
        )
        self.assertLess(freed.stats["fct_us"]["max"], 1000)


class Hosts(SameBytesTest):
    def test_a_nic_that_stays_down(self):
        run = self.run_program(
            "traffic --topology=leaf-spine --leaves=2 --spines=2 --hosts-per-leaf=2 --bytes=1MB"
            f" --timeout-exponent=6 --fault=nic-down,at=30us,on=server-1 {QUIET}",
            status=3,
        )
        stats = run.stats
        self.assertFalse(stats["completed"])
        # permutation: one flow to it, one from it
        self.assertEqual(stats["failed_queue_pairs"], 2)
        self.assertEqual(stats["flows"]["arrived"], 2)
        for word in ("failed queue pairs", "fault nic-down on server-1 since 30"):
            self.assertIn(word, stats["message"])
            self.assertIn(word, run.err)
        self.assertIn("# end", run.text("network_events.log"))
        errors = events(run, "qp_error")
        self.assertEqual(len(errors), 2)
        # 7 retries, 4.096 us x 2^6 each, after the time-out itself; the last progress was at most a
        # round trip after the NIC went down.
        for time, _, _ in errors:
            self.assertGreater(time, 30 + 8 * 64 * 4.096 - 30)
            self.assertLess(time, 30 + 8 * 64 * 4.096 + 300)

    def test_a_nic_that_comes_back(self):
        run = self.run_program(
            "traffic --topology=leaf-spine --leaves=2 --spines=2 --hosts-per-leaf=2 --bytes=1MB"
            " --timeout-exponent=6 --convergence=100us"
            f" --fault=nic-down,at=30us,on=server-1,for=1ms {QUIET}"
        )
        self.assertEqual(run.stats["failed_queue_pairs"], 0)
        self.assertEqual(run.stats["flows"]["arrived"], 4)
        self.assertGreater(run.stats["timeouts"], 0)


class Gpus(SameBytesTest):
    JOB = (
        "dltrain --model=gpt2 --servers=2 --gpus-per-server=2 --micro-batch=1 --seq=128 --zero=2"
        f" --warmup=0 {QUIET}"
    )

    def test_collectives_over_a_nic_that_fails(self):
        """Frames lost on the way are not waited for; what has an end is waited for."""
        for more in ("", " --fabric=ib --nic=EDR", " --transport=irn"):
            line = f"collperf --servers=3 --gpus-per-server=1 -b 1M -n 1 -w 0 {QUIET}{more}"
            down = line + " --fault=nic-down,at=10us,on=server-1"
            with self.subTest(down):
                run = self.run_program(down + " --timeout-exponent=10", status=3)
                self.assertGreater(run.stats["failed_queue_pairs"], 0)
            with self.subTest(down + ",for=1ms"):
                # Its first time-out comes long after a second without a frame.
                run = self.run_program(down + ",for=1ms")
                self.assertTrue(run.stats["completed"])
        storm = self.run_program(
            "collperf --servers=3 --gpus-per-server=1 -b 1M -n 1 -w 0 --progress=0"
            " --fault=pause-storm,at=10us,on=server-1,for=2s"
        )
        self.assertGreater(storm.stats["simulated_time_us"], 2e6)

    def test_a_slow_gpu(self):
        """All the time, it is what --slow-gpu is; for a part of the time, less."""
        plain = self.run_program(self.JOB).stats["step_time_us"]
        slow = self.run_program(self.JOB + " --slow-gpu=1:2").stats["step_time_us"]
        fault = self.run_program(
            self.JOB + " --fault=gpu-slow,at=0ns,on=gpu-1,to=2"
        ).stats["step_time_us"]
        self.assertWithin(fault, slow, 1e-6)
        # Slow for the first tenth of the step only.
        part = self.run_program(
            self.JOB + f" --fault=gpu-slow,at=0ns,on=server-0:gpu-1,to=2,for={plain / 10:.0f}us"
        ).stats["step_time_us"]
        self.assertGreater(part, plain)
        self.assertLessEqual(part, plain * 1.11)

    def test_a_gpu_that_stops_for_a_while(self):
        plain = self.run_program(self.JOB).stats["step_time_us"]
        stop = self.run_program(
            self.JOB + f" --fault=gpu-stop,at={plain / 3:.0f}us,on=gpu-3,for=5ms"
        ).stats
        # Nobody can do without it: all of the time is lost, but for what its messages under way
        # and others' computing hide.
        self.assertGreater(stop["step_time_us"], plain + 0.5 * 5000)
        self.assertLess(stop["step_time_us"], plain + 1.01 * 5000)
        self.assertEqual(stop["faults"][0]["times"], 1)

    def test_a_gpu_that_stops_for_good(self):
        run = self.run_program(self.JOB + " --fault=gpu-stop,at=100us,on=gpu-3", status=3)
        message = run.stats["message"]
        for word in ("rank 3", "rank 0", "fault gpu-stop on gpu-3 since 100"):
            self.assertIn(word, message)
        # NCCL: 4.096 us x 2^20 x 8; PyTorch's watchdog: 10 minutes.
        self.assertIn("34.4 s", message)
        self.assertIn("600 s", message)


    def test_queue_pairs_that_wait_for_ever(self):
        """Then no time is told after which they give up."""
        run = self.run_program(
            self.JOB + " --ns3::RdmaNic::TimeoutExponent=0 --fault=gpu-stop,at=100us,on=gpu-3",
            status=3,
        )
        said = " ".join((run.err + run.out).split())
        self.assertIn("a queue pair that hears nothing waits for ever", said)
        self.assertNotIn("gives up after", said)


class WhoIsToBlame(SameBytesTest):
    def test_not_a_fault_elsewhere(self):
        """What a full buffer dropped was not lost by a bad cable at another switch."""
        flows = self.write(
            "flows.csv",
            "start_us,src,dst,bytes\n" + "".join(f"0,{s},0,3000000\n" for s in (1, 2, 3, 4))
            + "0,7,8,3000000\n",
        )
        run = self.run_program(
            f"traffic --topology=leaf-spine --hosts=9 --hosts-per-leaf=3 --flows={flows}"
            " --cc=none --no-pfc --buffer=200kB --timeout-exponent=4"
            f" --fault=drop,at=0us,on=server-8-leaf-2,to=0.01,for=200us {QUIET}",
            status=3,  # two of the flows lose too much, and their queue pairs give up
        )
        why = {(row["src"], row["dst"]): row["why"] for row in run.rows("attribution.csv")}
        self.assertIn("repeating", " ".join(why.values()))
        for (_, dst), words in why.items():
            if dst == "server-0":
                self.assertNotIn("drop on", words)
        self.assertIn("drop on server-8-leaf-2", why["server-7", "server-8"])
        (fault,) = run.stats["faults"]
        self.assertEqual(fault["pairs_hit"], 1)
        self.assertIn("of 1 pair of hosts", " ".join(run.out.split()))

    def test_a_loss_of_one_direction(self):
        """The way on which data was lost is named, and not that of its acknowledgements."""
        for kind, value in (("ber", "1e-7"), ("drop", "0.003")):
            line = (
                "traffic --topology=single-switch --hosts=3 --nic=40GbE --pattern=incast --fan-in=1"
                f" --bytes=10MB --cc=none --timeout-exponent=8 {QUIET} --fault={kind},at=0us"
            )
            for there, hit in (("server-1", True), ("server-0", False)):
                where = f"{there}->switch-0"
                with self.subTest(kind=kind, where=where):
                    run = self.run_program(f"{line},on={where},to={value}")
                    (row,) = run.rows("attribution.csv")
                    self.assertEqual(f"{kind} on {where}" in row["why"], hit, row["why"])

    def test_a_fault_that_did_nothing(self):
        """What loses no frame, or is no slower than the link, makes nobody late."""
        line = (
            "traffic --topology=leaf-spine --hosts-per-leaf=3 --leaves=3 --spines=3"
            f" --pattern=permutation --bytes=2MB --load-balancer=spray {QUIET} --fault="
        )
        for fault, named in (
            ("drop,at=0us,on=all,to=1e-300", False),
            ("ber,at=0us,on=all,to=1e-300", False),
            ("rate,at=0us,on=all,to=100Gbps", False),
            ("rate,at=0us,on=all,to=99Gbps", True),
        ):
            with self.subTest(fault):
                run = self.run_program(line + fault)
                words = f"{fault.split(',')[0]} on all"
                for row in run.rows("attribution.csv"):
                    self.assertEqual(words in row["why"], named, row["why"])
        # Frames of some are lost: these name it, and what queued behind its own packets does not.
        run = self.run_program(line + "drop,at=0us,on=all,to=1e-4")
        for row in run.rows("attribution.csv"):
            late = float(row["fct_us"]) > 60e3  # a time-out of 67 ms: out of order has no NAKs
            self.assertEqual("drop on all" in row["why"], late, row["why"])

    def test_what_waits_for_a_time_out(self):
        """Recovery out of order has no NAKs: the window stays full behind what is lost."""
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts-per-leaf=3 --leaves=3 --spines=3 --nic=100GbE"
            " --cc=dctcp --pattern=permutation --offset=3 --bytes=10MB --load-balancer=spray"
            f" --fault=drop,at=200us,on=leaf-0->spine-1,for=3us,to=0.5 {QUIET}"
        )
        why = run.rows("attribution.csv")
        # A time-out is 4.096 us x 2^14 = 67 ms; without a loss a message takes one.
        late = [row["why"] for row in why if float(row["fct_us"]) > 67e3]
        self.assertGreater(len(late), 0)
        for words in late:
            self.assertIn("(drop on leaf-0->spine-1)", words)
        for row in why:
            if float(row["fct_us"]) < 10e3:
                self.assertNotIn("drop on", row["why"])

    def test_lost_acknowledgements(self):
        """A NAK that a dead link lost costs the time-out, not the bit error that it tells of."""
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts-per-leaf=5 --leaves=3 --spines=5 --nic=25GbE"
            " --pattern=permutation --offset=5 --bytes=3MB --transport=rc"
            " --fault=link-down,at=100us,on=leaf-0-spine-1"
            f" --fault=ber,at=0us,on=leaf-1-spine-0,to=1e-7 {QUIET}"
        )
        late = [row["why"] for row in run.rows("attribution.csv") if float(row["fct_us"]) > 60e3]
        self.assertGreater(len(late), 0)
        for words in late:
            self.assertIn("lost acknowledgements: link-down on leaf-0-spine-1", words)

    def test_a_link_of_several_cables(self):
        """Of three cables between two switches a name means all, a number one."""
        line = (
            "traffic --topology=rail-optimized --rails=2 --hosts-per-rail=3 --hosts=9"
            f" --pattern=random-permutation --bytes=200kB --timeout-exponent=8 {QUIET}"
            " --fault=link-down,at=10us,for=100us,on=rail-0-0-spine-0"
        )
        run = self.run_program(line)
        self.assertEqual(run.stats["faults"][0]["cables"], 3)
        self.assertIn("link-down on rail-0-0-spine-0 (3 cables) at", " ".join(run.out.split()))
        run = self.run_program(line + "#1")
        self.assertEqual(run.stats["faults"][0]["cables"], 1)
        self.assertNotIn("cables)", run.out)
        self.assertNotIn("spine-0#2", run.text("network_events.log"))


class Beside(SameBytesTest):
    """A background goes on whatever the job does."""

    BACKGROUND = " --background=pattern=random,load=0.001,sizes=fb-hadoop"

    def test_a_gpu_that_stops_for_good(self):
        run = self.run_program(
            Gpus.JOB + " --fault=gpu-stop,at=100us,on=gpu-3" + self.BACKGROUND, status=3
        )
        message = run.stats["message"]
        for word in ("stuck: beside the background", "rank 3", "gpu-stop on gpu-3 since 100"):
            self.assertIn(word, message)
        self.assertLess(run.stats["simulated_time_us"], 1.5e6)

    def test_a_job_whose_queue_pairs_have_failed(self):
        """Beside TCP it ends when that has given up as well: by ns-3's 6 retries, which double."""
        jobs = self.write(
            "jobs.json",
            '{"jobs": [{"name": "a", "servers": 3, "collective":'
            ' {"op": "all_reduce", "bytes": "4MB", "iterations": 9}},'
            ' {"name": "b", "servers": 1, "start": "500ms", "collective":'
            ' {"op": "all_reduce", "bytes": "4MB"}}]}',
        )
        for line in (
            "dltrain --model=gpt2 --micro-batch=1 --seq=128 --zero=0 --steps=2 --servers=4",
            "collperf -b 4M -n 9 --servers=4",
            f"dltrain --jobs={jobs} --alone=0",
        ):
            with self.subTest(line):
                run = self.run_program(
                    f"{line} --gpus-per-server=1 --topology=single-switch --timeout-exponent=4"
                    f" --fault=nic-down,at=100us,on=server-1 {QUIET}"
                    " --background=pattern=random,load=0.01,protocol=tcp",
                    status=3,
                )
                self.assertIn("nic-down on server-1 since 100 us", run.stats["message"])
                self.assertLess(run.stats["simulated_time_us"], 130e6)

    def test_it_goes_on_beside_a_job_that_recovers(self):
        """Its load is there behind the failure as before it: bytes that began over all the time."""
        line = (
            "dltrain --model=gpt2 --micro-batch=1 --seq=128 --zero=0 --steps=3 --warmup=0"
            " --servers=3 --gpus-per-server=1 --topology=single-switch --timeout-exponent=4"
            f" --abort-time=1ms --restart-time=300ms {QUIET}"
            " --background=pattern=random,load=0.05,sizes=fb-hadoop,hosts=0,2"
        )
        run = self.run_program(
            line + " --recovery=restart --spares=1 --fault=nic-down,at=1ms,on=server-1"
        )
        self.assertGreater(run.stats["simulated_time_us"], 300e3)
        self.assertWithin(run.stats["background"]["measured_load"], 0.05, 0.25)

    def test_a_checkpoint_is_waited_for(self):
        """Also behind queue pairs that have failed, where nothing else is to be seen."""
        run = self.run_program(
            "dltrain --model=gpt2 --micro-batch=1 --seq=128 --zero=0 --steps=3 --servers=3"
            " --gpus-per-server=1 --topology=single-switch --timeout-exponent=4 --recovery=restart"
            " --spares=1 --abort-time=1ms --restart-time=1ms --checkpoint-every=1"
            # 1.74 GB in 3.5 s.
            " --checkpoint-rate=4Gbps --fault=nic-down,at=100us,on=server-1"
            f" --background=pattern=random,load=0.0001,sizes=fb-hadoop,hosts=0,2 {QUIET}",
        )
        recovery = run.stats["recovery"]
        self.assertEqual(len(recovery["failures"]), 1)
        self.assertGreater(min(recovery["checkpoints_took_us"]), 2e6)

    def test_what_goes_on_again_is_waited_for(self):
        """A GPU that stops for longer than a second, a time-out that is longer than that."""
        stop = self.run_program(
            Gpus.JOB + " --fault=gpu-stop,at=100us,on=gpu-3,for=1500ms" + self.BACKGROUND
        )
        self.assertTrue(stop.stats["completed"])
        down = self.run_program(
            f"collperf --servers=3 --gpus-per-server=1 -b 1M -n 1 -w 0 {QUIET}"
            " --timeout-exponent=19 --fault=nic-down,at=10us,on=server-1,for=1ms" + self.BACKGROUND
        )
        self.assertTrue(down.stats["completed"])
        self.assertGreater(down.stats["simulated_time_us"], 4.096 * 2**19)


class SameBytes(SameBytesTest):
    """Engines and threads write the same."""

    LINES = (
        "traffic --topology=fat-tree --k=4 --pattern=all-to-all --bytes=60kB --timeout-exponent=8"
        " --fault=link-down,at=40us,on=agg-0-0-core-0,for=300us"
        " --fault=switch-down,at=60us,on=agg-1-1,for=100us"
        " --fault=flap,at=10us,on=edge-2-0-agg-2-0,for=400us,period=70us,duty=0.3"
        " --fault=drop,at=30us,on=server-3->edge-0-1,to=0.02"
        " --fault=rate,at=20us,on=core-2:1,to=40Gbps,for=100us --convergence=50us",
        "traffic --nic=EDR --topology=fat-tree --k=4 --pattern=all-to-all --bytes=60kB"
        " --timeout-exponent=8 --fault=link-down,at=40us,on=agg-0-0-core-0,for=300us"
        " --fault=nic-down,at=60us,on=server-5,for=200us"
        " --fault=ber,at=20us,on=all,to=1e-8,for=100us --convergence=50us",
        "dltrain --model=gpt2 --servers=2 --gpus-per-server=2 --micro-batch=1 --seq=128 --warmup=0"
        " --fault=gpu-slow,at=1ms,on=gpu-2,to=3,for=2ms"
        " --fault=gpu-stop,at=2ms,on=gpu-1,for=1ms",
    )

    def test_engines_and_threads(self):
        for line in share_of(self.LINES, one_in=2):
            line += " --report=0"
            expected = self.written(line + " --threads=1", without=["events"])
            for more in (" --engine=ns3", " --threads=2" + ALWAYS):
                with self.subTest(line + more):
                    self.check_same(self.written(line + more, without=["events"]), expected)


class Property(SameBytesTest):
    """Every fault at a random time in small runs: each ends with all that was to be done, or says
    what failed; what was sent arrived once or its sender heard of it.
    """

    KINDS = (
        "link-down,on={link}",
        "link-down,on={link},for={time}us",
        "port-down,on={switch}:1,for={time}us",
        "switch-down,on={switch}",
        "switch-down,on={switch},for={time}us",
        "nic-down,on=server-1",
        "nic-down,on=server-1,for={time}us",
        "flap,on={link},for={time}us,period=13us,duty=0.4",
        "rate,on={link},to=10Gbps",
        "lane-down,on={link},to=1,for={time}us",
        "ber,on=all,to=1e-8",
        "drop,on={link},to=0.02",
        "pause-storm,on=server-2,for={time}us",
    )

    def test_random_faults(self):
        for seed in share_of(range(RUNS), one_in=2):
            chance = random.Random(seed)
            network = chance.choice(list(NETWORKS))
            link, switch = NETWORKS[network]
            words = []
            for _ in range(chance.randint(1, 3)):
                kind = chance.choice(self.KINDS).format(
                    link=link, switch=switch, time=chance.randint(1, 2000)
                )
                what, rest = kind.split(",", 1)
                words.append(f"--fault={what},at={chance.randint(0, 400)}us,{rest}")
            infiniband = chance.random() < 0.4 and "pause-storm" not in "".join(words)
            cuts = any("down,on" in w and "lane" not in w or "flap" in w for w in words)
            line = (
                f"traffic {network} --pattern={chance.choice(['permutation', 'all-to-all'])}"
                f" --bytes={chance.choice(['3kB,50kB', '100kB'])} --timeout-exponent=6"
                f" --seed={seed} {'--nic=EDR' if infiniband else ''} {' '.join(words)} {QUIET}"
            )
            if cuts:
                line += f" --fault-detection={chance.choice([0, 5, 50])}us --convergence=200us"
            with self.subTest(line):
                words, out = self.command(line)
                run = self.run_any(words, out)
                stats = run.stats
                flows = stats["flows"]
                # One whose last ACKs are lost has arrived, and its sender does not know.
                self.assertGreaterEqual(flows["arrived"] + flows["failed"], flows["all"])
                self.assertLessEqual(max(flows["arrived"], flows["failed"]), flows["all"])
                self.assertEqual(stats["completed"], run.status == 0)
                self.assertEqual(flows["failed"] > 0, run.status == 3)
                self.assertEqual(len(run.rows("flows.csv")), flows["arrived"])
                if run.status == 3:
                    self.assertIn("failed queue pairs", stats["message"])

    def run_any(self, words, out):
        from _system_test import PROGRESS, SLOWER, Run, captured

        done = captured(words, cwd=self.folder, timeout=SLOWER * 120)
        run = Run(words, done.returncode, done.stdout, PROGRESS.sub("", done.stderr), out)
        self.assertIn(run.status, (0, 3), str(run))
        return run


class Refused(SameBytesTest):
    def test_bad_input(self):
        self.refuse("traffic --fault=link-dwn,at=1us,on=all", "did you mean 'link-down'")
        for some in ("gpu-slow,at=1ms,on=gpu-1,to=2", "rate,at=0s,for=1ms,on=all,to=10Gbps"):
            self.refuse(f"dltrain --layers=6 --fault={some}", "without --layers")
        self.refuse("dltrain --fault=link-down,at=1us,on=edge-0-0", "is a switch", "a link (a-b)")
        slow = "gpu-slow,at=1us,on=gpu-0,to=2"
        self.refuse(f"collperf --ranks=4 -b 1K --fault={slow}", "with dltrain")
        self.refuse("dltrain --fault=gpu-stop,at=1us,on=gpu-99999", "is no GPU of this job")
        self.refuse("traffic --convergence=1ms", "needs --fault=link-down")
        self.refuse("traffic --mpi-ranks=2 --fault=ber,at=0ns,on=all,to=1e-9", "one process")
        jobs = self.write("jobs.json", {"jobs": [{"name": "a", "servers": 2}]})
        self.refuse(f"dltrain --jobs={jobs} --fault=gpu-stop,at=0ns,on=gpu-0", "of which job")
        self.refuse(f"dltrain --jobs={jobs} --fault=link-down,at=0ns,on=edge-0", "is no node")
        scenario = self.write("s.json", {"faults": [{"what": "rate", "at": "1us", "on": "all"}]})
        self.refuse(f"traffic --scenario={scenario}", "/faults/0", "needs to=VALUE")


if __name__ == "__main__":
    main()
