# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--protocol=udp: datagrams of ns-3's UDP over the same ports as RDMA, alone, beside a job and as a
job: what arrives and what is lost, against closed forms.

A full datagram carries 1,500 - 28 = 1,472 B and takes 1,500 + 14 + 4 + 20 = 1,538 B of line time
(Ethernet's header, FCS, preamble and gap)."""

import math
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, repeatable

SMALL = " --report=0 --timeline=0 --progress=0"
UDP = SMALL + " --protocol=udp"
PAYLOAD, FRAME = 1472, 1538
JOB = (
    "collperf --op=allreduce -b 4M -e 4M -n 2 -w 1 --servers=4 --gpus-per-server=1"
    " --topology=leaf-spine --leaves=2 --spines=2" + SMALL
)
# 64 MB from each of two servers to the other. UDP from the third one to one of them meets them at
# the switch's port, target=0 of hosts 1 and 2; the other way, target=1, in the NIC of server 1.
MEETING = (
    "collperf --op=sendrecv -b 64M -e 64M -n 2 -w 1 --ranks=2 --gpus-per-server=1 --servers=3"
    " --topology=single-switch --cc=none" + SMALL
)


def conserved(test, counts):
    test.assertEqual(
        counts["datagrams_sent"],
        counts["datagrams_received"] + counts["datagrams_lost"] + counts["datagrams_under_way"],
    )


class Alone(SystemTest):
    def test_a_flow_below_the_line_loses_nothing(self):
        for nic, gbps, rate, mtu in (
            ("100GbE", 100, 30, 1500),
            ("25GbE", 25, 7.5, 1500),
            ("40GbE", 40, 12, 9000),
        ):
            size = 9000001
            line = (
                f"traffic --topology=single-switch --hosts=3 --nic={nic} --pattern=incast"
                f" --fan-in=1 --bytes={size} --rate={rate}Gbps --packet-mtu={mtu}" + UDP
            )
            with self.subTest(nic=nic):
                run = self.run_program(line)
                flows = run.stats["flows"]
                self.assertEqual(run.stats["attribution"]["messages_unknown"], flows["all"])
                datagrams = math.ceil(size / (mtu - 28))
                self.assertEqual(flows["datagrams_sent"], datagrams)
                self.assertEqual(flows["datagrams_received"], datagrams)
                self.assertEqual(flows["datagrams_lost"], 0)
                self.assertEqual(flows["arrived"], 1)
                self.assertEqual(sum(run.stats["drops"].values()), 0)
                # The last one is sent when all bytes before it had their time; then two links of
                # 1 us and a switch.
                last = (datagrams - 1) * (mtu - 28) * 8 / (rate * 1e3)
                self.assertGreater(flows["last_arrival_us"], last + 2)
                self.assertLess(flows["last_arrival_us"], last + 2 + 5)
                # All but the last datagram take the same time: store and forward on both links.
                delay = flows["datagram_delay_us"]
                least = 2 + 2 * (mtu + 18) * 8 / (gbps * 1e3)
                self.assertGreater(delay["p50"], 0.99 * least)
                self.assertLess(delay["max"], least + 2)
                self.assertIn("UDP  ", run.out)
                self.assertIn("no congestion control;", run.out)

    def test_two_above_the_line_lose_the_rest(self):
        # Two of 0.7 of the line each, counted as payload. The receiver's port is busy from the
        # first datagram to the last, so what comes is its line's, and what its queue holds then:
        # at most the switch's buffer, 1 MB per 100 Gb/s of port rate.
        for nic, gbps in (("100GbE", 100), ("25GbE", 25)):
            size = 100e6 * gbps / 100
            rate = 0.7 * gbps
            run = self.run_program(
                f"traffic --topology=single-switch --hosts=3 --nic={nic} --pattern=incast"
                f" --fan-in=2 --bytes={int(size)} --rate={rate}Gbps" + UDP
            )
            flows = run.stats["flows"]
            conserved(self, flows)
            self.assertEqual(flows["datagrams_under_way"], 0)
            seconds = size * 8 / (rate * 1e9)
            line = gbps * 1e9 / 8 / FRAME * seconds
            buffer = 3 * gbps / 100 * 1e6 / (FRAME - 20)
            self.assertGreater(flows["datagrams_received"], 0.999 * line)
            self.assertLess(flows["datagrams_received"], line + buffer + 10)
            self.assertEqual(flows["datagrams_lost"], sum(run.stats["drops"].values()))
            self.assertIn("datagrams lost", run.out)

    def test_without_a_rate_it_fills_the_line(self):
        for nic, gbps, mtu in (("100GbE", 100, 1500), ("40GbE", 40, 9000)):
            run = self.run_program(
                f"traffic --topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=1"
                f" --nic={nic} --pattern=permutation --bytes=20MB --packet-mtu={mtu}" + UDP
            )
            flows = run.stats["flows"]
            self.assertEqual(flows["datagrams_lost"], 0)
            self.assertEqual(flows["arrived"], 2)
            time = 20e6 * 8 / (gbps * 1e3) * (mtu + 38) / (mtu - 28)
            self.assertWithin(run.stats["fct_us"]["max"], time, 0.01)

    def test_flows_come_and_go(self):
        for pattern in ("random", "on-off"):
            run = self.run_program(
                f"traffic --pattern={pattern} --load=0.2 --sizes=fb-hadoop --duration=1ms"
                " --topology=leaf-spine --hosts=8 --leaves=2 --spines=2 --rate=40Gbps" + UDP
            )
            self.assertTrue(run.stats["completed"])
            conserved(self, run.stats["flows"])
            self.assertGreater(run.stats["flows"]["arrived"], 0)

    def test_engines_are_the_same(self):
        line = (
            "traffic --pattern=incast --topology=leaf-spine --hosts=8 --leaves=4 --spines=3"
            " --fan-in=7 --bytes=1000001 --rate=33Gbps" + UDP
        )
        runs = [self.run_program(line + f" --engine={engine}") for engine in ("windows", "ns3")]
        stats = [repeatable(run.stats) for run in runs]
        for one in stats:
            one.pop("configuration", None)
        self.assertEqual(stats[0], stats[1])
        for name in ("flows.csv", "links.csv", "network_events.log"):
            self.assertEqual(runs[0].text(name), runs[1].text(name))


class Beside(SystemTest):
    def test_weights_divide_the_line(self):
        """RDMA in priority 3 beside UDP at the rate of the line in priority 0, at one port: RDMA
        has the share of its weight, and if it is strict, all.
        """
        alone = self.run_program(MEETING).stats["collectives"][0]["time_us"]
        for ets, share, target in (
            ("0:30,3:70", 0.7, 0),
            ("0:30,3:70", 0.7, 1),
            ("0:50,3:50", 0.5, 0),
            ("3:strict", 1, 0),
            ("3:strict", 1, 1),
        ):
            run = self.run_program(
                f"{MEETING} --background=pattern=incast,fan-in=1,target={target},hosts=1-2,"
                f"bytes=1MB,protocol=udp --ets={ets}"
            )
            took = run.stats["collectives"][0]["time_us"]
            # Bytes of frames are shared; headers of RDMA's frames cost what they do alone.
            self.assertWithin(took, alone / share, 0.03, ets)
            counts = run.stats["background"]
            conserved(self, counts)
            self.assertEqual(counts["protocol"], "udp")
            seen = counts["datagrams_received"] + counts["datagrams_lost"]
            came = counts["datagrams_received"] / seen
            self.assertAlmostEqual(came, 1 - share, delta=0.02)
            # What does not come was refused by its NIC or dropped by the switch.
            ordinary = run.stats["ordinary"]
            dropped = sum(run.stats["drops"].values())
            self.assertEqual(run.stats["drops"]["nic_queue_full"], ordinary["packets_refused"])
            self.assertAlmostEqual(
                dropped, counts["datagrams_lost"], delta=counts["datagrams_under_way"] + 3000
            )
            self.assertEqual(run.stats["ordinary"]["protocol"], "udp")
            self.assertNotIn("control", run.stats["ordinary"])

    def test_a_third_of_the_line_slows_nobody_who_has_the_rest(self):
        """UDP at 0.3 of the line beside RDMA in a strict priority below it: RDMA has what UDP's
        frames leave, 1 - 0.3 x 1,538 / 1,472.
        """
        alone = self.run_program(MEETING).stats["collectives"][0]["time_us"]
        run = self.run_program(
            MEETING + " --background=pattern=incast,fan-in=1,target=1,hosts=1-2,bytes=1MB,"
            "protocol=udp,rate=30Gbps --ets=0:strict"
        )
        self.assertEqual(run.stats["background"]["datagrams_lost"], 0)
        took = run.stats["collectives"][0]["time_us"]
        self.assertWithin(took, alone / (1 - 0.3 * FRAME / PAYLOAD), 0.03)

    def test_a_link_that_fails_loses_what_is_sent_into_it(self):
        # 20 Gb/s of payload for 500 us are 849 datagrams of 1,472 B; and what is told late: hosts
        # hear of it at once, so refusals are in the NIC of the sender if the link is its own.
        for link in ("server-1-switch-0", "server-2-switch-0"):
            run = self.run_program(
                MEETING + " --background=pattern=incast,fan-in=1,target=1,hosts=1-2,bytes=200kB,"
                f"protocol=udp,rate=20Gbps --fault=link-down,at=2ms,on={link},for=500us"
            )
            self.assertTrue(run.stats["completed"])
            counts = run.stats["background"]
            conserved(self, counts)
            lost = 20e9 / 8 * 500e-6 / PAYLOAD
            self.assertWithin(counts["datagrams_lost"], lost, 0.1, link)

    def test_interference_is_its_own(self):
        run = self.run_program(
            MEETING + " --background=pattern=incast,fan-in=1,target=0,hosts=1-2,bytes=1MB,"
            "protocol=udp"
        )
        interference = run.stats["background"]["interference"]
        self.assertIsNone(interference["background"])
        job = interference["job"]
        self.assertEqual(job["links"][0]["link"], "switch-0->server-1")
        self.assertEqual(job["links"][0]["slowed_by"], "background")

    def test_engines_are_the_same(self):
        line = JOB + " --background=pattern=random,load=0.3,sizes=fb-hadoop,protocol=udp"
        runs = [self.run_program(line + f" --engine={engine}") for engine in ("windows", "ns3")]
        self.assertEqual(runs[0].text("flows.csv"), runs[1].text("flows.csv"))
        for key in ("ordinary", "background"):
            self.assertEqual(runs[0].stats[key], runs[1].stats[key])


class AsAJob(SystemTest):
    LINE = (
        "dltrain --topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=2"
        " --fabric-rate=100Gbps --gpus-per-server=1 --nics-per-server=1 --jobs="
    )

    def test_each_has_its_results(self):
        ring = {"op": "all_reduce", "bytes": "8MB", "iterations": 3, "warmup": 1}
        flows = {"pattern": "permutation", "bytes": "40MB", "protocol": "udp", "rate": "50Gbps"}
        jobs = self.write(
            "jobs.json",
            {
                "jobs": [
                    {"name": "ring", "hosts": [0, 2], "collective": ring},
                    {"name": "cameras", "hosts": [1, 3], "flows": flows},
                ]
            },
        )
        run = self.run_program(self.LINE + jobs + SMALL)
        ring, cameras = run.stats["jobs"]
        self.assertEqual(cameras["protocol"], "udp")
        self.assertEqual(cameras["datagrams_sent"], 2 * math.ceil(40e6 / PAYLOAD))
        conserved(self, cameras)
        self.assertEqual(cameras["datagrams_under_way"], 0)
        self.assertIsNone(cameras["interference"])
        self.assertGreater(ring["slower_by_others"], 1.02)
        self.assertEqual(ring["interference"]["shares"]["job"], "cameras")
        self.assertIn("permutation by UDP", run.out)
        self.refuse(
            self.LINE + jobs + " --background=pattern=permutation,bytes=1MB,protocol=tcp",
            "--background",
            "by TCP",
            "cameras by UDP",
        )

    def test_a_job_that_lost_datagrams_has_no_time(self):
        """Both send at the rate of the one uplink. What is lost never arrives, so there is no last
        arrival, and nothing to compare with the time alone.
        """
        flows = {"pattern": "permutation", "bytes": "20MB"}
        udp = {"pattern": "permutation", "bytes": "5MB", "protocol": "udp"}
        jobs = self.write(
            "lost.json",
            {
                "jobs": [
                    {"name": "copy", "hosts": [0, 2], "flows": flows},
                    {"name": "cameras", "hosts": [1, 3], "flows": udp},
                ]
            },
        )
        run = self.run_program(self.LINE + jobs + SMALL)
        copy, cameras = run.stats["jobs"]
        self.assertGreater(cameras["datagrams_lost"], 0)
        self.assertLess(cameras["flows_arrived"], cameras["flows"])
        self.assertIsNone(cameras["time_us"])
        self.assertIsNone(cameras["slower_by_others"])
        self.assertGreater(cameras["time_alone_us"], 5e6 * 8 / 100e3)
        self.assertGreater(copy["slower_by_others"], 1)
        self.assertIn(f"; {cameras['flows_arrived']} of 2 flows arrived\n", run.out)


class Refused(SystemTest):
    def test_what_cannot_be(self):
        traffic = "traffic --topology=single-switch --hosts=4 --bytes=1MB" + UDP
        self.refuse(traffic + " --fabric=ib", "--protocol", "udp", "IPoIB", "rdma")
        self.refuse(traffic + " --threads=2", "--threads", "2", "allowed: 1", "UDP")
        self.refuse(traffic + " --mpi-ranks=2", "--protocol", "udp", "--mpi-ranks")
        self.refuse(traffic + " --network=analytic", "--protocol", "udp", "--network=analytic")
        self.refuse(traffic + " --tcp-control=cubic", "--tcp-control", "--protocol=tcp")
        self.refuse(traffic + " --operation=read", "--operation", "read", "--protocol=udp")
        self.refuse(traffic + " --queue-pairs=per-pair", "--queue-pairs", "per-flow, reused")
        self.refuse(traffic + " --completion=sender", "--completion", "receiver")
        self.refuse(traffic + " --load-balancer=plb", "--load-balancer=plb", "--protocol=udp")
        self.refuse(
            traffic.replace("udp", "tcp") + " --rate=1Gbps", "--rate=1Gbps", "--protocol=udp"
        )
        self.refuse(JOB + " --background=rate=1Gbps", "--background: rate", "needs protocol=udp")
        self.refuse(JOB + " --background=protocol=udp,rate=0", "--background: rate", "0")
        run = self.run_program(traffic + " --window=4096 --rate=3Gbps --dry-run")
        self.assertIn("--window has no effect with --protocol=udp", run.err)
        self.assertIn("UDP, 3Gbps a flow", run.out)


if __name__ == "__main__":
    unittest.main()
