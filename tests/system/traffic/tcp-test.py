# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--protocol=tcp: flows by ns-3's TCP over the same ports as RDMA, alone, beside a job and as a
job; both engines give the same; what cannot be is refused."""

import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, repeatable, share_of

SMALL = " --report=0 --timeline=0"
TCP = SMALL + " --protocol=tcp"
SHAPES = [
    "--topology=single-switch --hosts=5",
    "--topology=leaf-spine --hosts=9 --leaves=3 --spines=2 --nic=25GbE",
    "--topology=fat-tree --k=4 --nic=40GbE",
    "--topology=fat-tree --k=6",
]
JOB = (
    "collperf --op=allreduce -b 4M -e 4M -n 2 -w 1 --servers=4 --gpus-per-server=1"
    " --topology=leaf-spine --leaves=2 --spines=2 --report=0 --timeline=0"
)


class Alone(SystemTest):
    def test_shapes(self):
        for shape in SHAPES:
            with self.subTest(shape=shape):
                run = self.run_program(
                    f"traffic {shape} --pattern=permutation --bytes=500003" + TCP
                )
                stats = run.stats
                flows = stats["flows"]
                self.assertEqual(flows["arrived"], flows["all"])
                self.assertEqual(flows["failed"], 0)
                ordinary = stats["ordinary"]
                # Segments of 1,448 B and headers of 52 B, and what TCP says besides.
                segments = flows["all"] * (500003 // 1448 + 1)
                self.assertGreaterEqual(ordinary["packets_sent"], 2 * segments)
                self.assertGreaterEqual(ordinary["bytes_sent"], flows["all"] * 500003)
                self.assertEqual(stats["data_packets"], 0)
                # What its packets waited for is not known.
                self.assertEqual(stats["attribution"]["messages"], 0)
                self.assertEqual(stats["attribution"]["messages_unknown"], flows["all"])
                self.assertIn("TCP              cubic", run.out)
                self.assertIn("congestion control cubic;", run.out)
                self.assertNotIn("dcqcn", run.out)

    def test_controls(self):
        for control, priority in (
            ("cubic", 0),
            ("newreno", 3),
            ("dctcp", 0),
            ("dctcp", 3),
            ("dctcp", 5),
            ("vegas", 6),
        ):
            with self.subTest(control=control, priority=priority):
                stats = self.run_program(
                    "traffic --pattern=incast --topology=single-switch --hosts=7 --fan-in=6"
                    f" --bytes=2MB --tcp-control={control} --priority={priority}" + TCP
                ).stats
                self.assertEqual(stats["flows"]["arrived"], 6)
                self.assertEqual(stats["ordinary"]["control"], control)
                # Marks are for who says that it understands them.
                marked = stats["ordinary"]["packets_marked"]
                self.assertEqual(marked > 0, control == "dctcp")

    def test_one_flow_fills_the_line(self):
        # 100 Gb/s x 1448 / 1538 is what is left for bytes: 20 MB take 1.7 ms, slow start aside,
        # which ends after 10 or so round trips of some 6 us.
        for mtu, payload in ((1500, 1448), (9000, 8948)):
            stats = self.run_program(
                "traffic --topology=single-switch --hosts=2 --pattern=incast --fan-in=1"
                f" --bytes=20MB --packet-mtu={mtu}" + TCP
            ).stats
            line = 20e6 * 8 / 100e9 * (mtu + 38) / payload * 1e6
            self.assertGreater(stats["fct_us"]["max"], line)
            self.assertLess(stats["fct_us"]["max"], 1.1 * line + 120)

    def test_what_it_sends_again_is_told(self):
        # An incast that the switch's buffer has no room for, as every dropped packet of data is
        # sent again at least once; one flow alone loses nothing.
        run = self.run_program(
            "traffic --topology=single-switch --hosts=5 --nic=25GbE --pattern=incast --fan-in=4"
            " --bytes=20MB" + TCP
        )
        flows = run.stats["flows"]
        dropped = sum(run.stats["drops"].values())
        self.assertGreater(dropped, 0)
        self.assertGreaterEqual(flows["segments_retransmitted"], 1)
        self.assertGreaterEqual(
            flows["segments_sent"] - flows["segments_retransmitted"], 4 * (20000000 // 1448)
        )
        self.assertIn("segments sent again", run.out)
        alone = self.run_program(
            "traffic --topology=single-switch --hosts=5 --nic=25GbE --pattern=incast --fan-in=1"
            " --bytes=2MB" + TCP
        )
        self.assertEqual(alone.stats["flows"]["segments_retransmitted"], 0)
        self.assertEqual(alone.stats["flows"]["time_outs"], 0)
        self.assertEqual(alone.stats["flows"]["segments_sent"], 2000000 // 1448 + 1)

    def test_what_a_full_nic_gives_up_is_told(self):
        """In a lossless priority nothing is dropped in the network, so what is sent again is what
        the sender's NIC had no room for: as many. All others come and are answered, once each; a
        handshake is three packets.
        """
        for nic in share_of(("40GbE", "25GbE"), one_in=2):
            run = self.run_program(
                f"traffic --topology=single-switch --hosts=3 --nic={nic} --pattern=incast"
                " --fan-in=2 --bytes=10MB --tcp-control=newreno --priority=3" + TCP
            )
            flows, ordinary = run.stats["flows"], run.stats["ordinary"]
            refused = ordinary["packets_refused"]
            self.assertGreater(refused, 0)
            self.assertEqual(run.stats["drops"]["nic_queue_full"], refused)
            self.assertEqual(sum(run.stats["drops"].values()), refused)
            self.assertEqual(run.stats["retransmitted_packets"], flows["segments_retransmitted"])
            self.assertEqual(run.stats["timeouts"], flows["time_outs"])
            self.assertRegex(
                run.out,
                rf"Losses +{refused:,} frames dropped \(nic_queue_full\); "
                rf"{refused:,} of {flows['segments_sent']:,} packets retransmitted",
            )
            self.assertEqual(refused, flows["segments_retransmitted"])
            came = flows["segments_sent"] - refused
            self.assertEqual(ordinary["packets_sent"], 2 * came + 2 * 3)
            self.assertEqual(ordinary["packets_received"], ordinary["packets_sent"])

    def test_time_outs_are_counted_one_by_one(self):
        # The receiver is gone for good: six times is sent again (TcpSocket::DataRetries), each
        # after twice the time, of 0.2 s first.
        run = self.run_program(
            "traffic --topology=single-switch --hosts=3 --nic=25GbE --pattern=incast --fan-in=1"
            " --bytes=3MB --fault=nic-down,at=500us,on=server-0" + TCP,
            status=3,
        )
        self.assertEqual(run.stats["flows"]["time_outs"], 6)
        self.assertEqual(run.stats["flows"]["segments_retransmitted"], 6)

    def test_more_than_a_second(self):
        """The watchdog looks at ordinary packets, too: 130 MB at 1 Gb/s are 1.04 s."""
        network = self.write(
            "slow.json",
            {
                "defaults": {"rate": "1Gbps", "delay": "1us"},
                "nodes": [
                    {"name": "a", "kind": "host"},
                    {"name": "b", "kind": "host"},
                    {"name": "s", "kind": "switch"},
                ],
                "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}],
            },
        )
        run = self.run_program(
            f"traffic --topology={network} --no-pfc --buffer=200MB --pattern=incast --fan-in=1"
            " --bytes=130MB --packet-mtu=9000" + TCP
        )
        self.assertTrue(run.stats["completed"])
        self.assertGreater(run.stats["simulated_time_us"], 1.04e6)

    def test_a_load(self):
        stats = self.run_program(
            "traffic --pattern=random --load=0.2 --sizes=fb-hadoop --duration=2ms"
            " --topology=leaf-spine --hosts=8 --leaves=2 --spines=2" + TCP
        ).stats
        self.assertTrue(stats["completed"])
        self.assertEqual(stats["flows"]["arrived"], stats["flows"]["all"])

    def test_engines_are_the_same(self):
        line = (
            "traffic --pattern=incast --topology=leaf-spine --hosts=8 --leaves=4 --spines=3"
            " --fan-in=7 --bytes=1000001 --tcp-control=dctcp" + TCP
        )
        runs = [self.run_program(line + f" --engine={engine}") for engine in ("windows", "ns3")]
        stats = [repeatable(run.stats) for run in runs]
        for one in stats:
            one.pop("configuration", None)
        self.assertEqual(stats[0], stats[1])
        for name in ("flows.csv", "links.csv", "network_events.log"):
            self.assertEqual(runs[0].text(name), runs[1].text(name))


class Beside(SystemTest):
    def test_it_slows_a_job_down_and_does_not_pause_it(self):
        calm = self.run_program(JOB)
        beside = self.run_program(
            JOB + " --background=pattern=permutation,bytes=1MB,protocol=tcp,tcp-control=newreno"
        )
        self.assertTrue(beside.stats["completed"])
        self.assertGreater(beside.stats["simulated_time_us"], calm.stats["simulated_time_us"])
        background = beside.stats["background"]
        self.assertEqual(background["protocol"], "tcp")
        self.assertGreater(background["flows"], 0)
        self.assertEqual(background["bytes"], background["flows"] * 1000000)
        self.assertNotIn("ordinary", calm.stats)
        tags = {row["tag"] for row in beside.rows("flows.csv")}
        self.assertIn("background permutation", tags)

    def test_weights_divide_the_line(self):
        # The same job beside TCP that always has something to send: with a larger share of the
        # ports it is done sooner.
        times = [
            self.run_program(
                JOB.replace("4M", "8M")
                + " --background=pattern=permutation,bytes=4MB,protocol=tcp,packet-mtu=9000"
                f" --ets={weights}"
            ).stats["simulated_time_us"]
            for weights in ("0:90,3:10", "0:50,3:50", "3:strict")
        ]
        self.assertGreater(times[0], 1.3 * times[1])
        self.assertGreater(times[1], times[2])

    def test_engines_are_the_same(self):
        line = JOB + " --background=pattern=random,load=0.3,sizes=fb-hadoop,protocol=tcp"
        runs = [self.run_program(line + f" --engine={engine}") for engine in ("windows", "ns3")]
        self.assertEqual(runs[0].text("flows.csv"), runs[1].text("flows.csv"))
        self.assertEqual(runs[0].stats["ordinary"], runs[1].stats["ordinary"])

    def test_a_link_fails(self):
        run = self.run_program(
            JOB
            + " --background=pattern=random,load=0.3,protocol=tcp"
            + " --fault=link-down,at=200us,on=leaf-0-spine-0,for=300us"
        )
        self.assertTrue(run.stats["completed"])

    def test_who_waits_behind_it_is_told(self):
        """Two servers' ring and TCP to one of them: about half of what the job waits at that port
        is for TCP, as both have about as many bytes there while the job sends.
        """
        line = (
            "collperf --servers=6 --ranks=2 --gpus-per-server=1 --topology=single-switch -b 1M -n 4"
            " --cc=none --report=0 --timeline=0 --progress=0 --background=pattern=incast,fan-in=4,"
            "target=0,bytes=4MB,protocol=tcp,hosts=0,2-5,priority=3"
        )
        run = self.run_program(line)
        interference = run.stats["background"]["interference"]
        self.assertIsNone(interference["background"])
        job = interference["job"]
        self.assertWithin(job["waited_for_others_us"], 0.5 * job["waited_us"], 0.2)
        self.assertGreater(job["waited_us"], 0)
        self.assertEqual(job["links"][0]["link"], "switch-0->server-0")
        self.assertEqual(job["links"][0]["slowed_by"], "background")
        self.assertWithin(job["links"][0]["share_of_bytes_of_others"], 0.5, 0.2)
        self.assertIn("background", [one["job"] for one in job["behind"]])
        self.assertIn("behind TCP's or UDP's packets", run.text("attribution.csv"))
        alone = self.run_program(line.split(" --background")[0])
        self.assertNotIn("TCP", alone.text("attribution.csv"))

    def test_faults_that_hit_it_alone(self):
        """A cable is cut while TCP's packets are on it, and nobody tells the NIC: they are lost
        with the link, of the pair of hosts that sends, or of both directions.
        """
        for senders in share_of((1, 2, 3), one_in=3, first=1):
            run = self.run_program(
                f"traffic --topology=single-switch --hosts=4 --pattern=incast --fan-in={senders}"
                f" --target=0 --bytes=10MB --fault=link-down,at=300us,on=server-0-switch-0,for=1ms"
                + TCP
            )
            (fault,) = run.stats["faults"]
            self.assertGreaterEqual(fault["pairs_hit"], senders)
            self.assertLessEqual(fault["pairs_hit"], 2 * senders)
            lost = run.stats["ordinary"]["packets_lost_with_link"]
            self.assertGreater(lost, 0)
            self.assertEqual(lost, run.stats["drops"]["lost_with_link"])


class AsAJob(SystemTest):
    """Storage by TCP beside a ring, each on its hosts, in a file of jobs."""

    LINE = (
        "dltrain --topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=2"
        " --fabric-rate=100Gbps --gpus-per-server=1 --nics-per-server=1 --report=0 --timeline=0"
        " --jobs="
    )

    def jobs(self, *jobs):
        return self.LINE + self.write("jobs.json", {"jobs": list(jobs)})

    def storage(self, name="storage", hosts=(1, 3), **more):
        flows = {"pattern": "permutation", "bytes": "40MB", "protocol": "tcp", **more}
        return {"name": name, "hosts": list(hosts), "flows": flows}

    def ring(self):
        op = {"op": "all_reduce", "bytes": "8MB", "iterations": 3, "warmup": 1}
        return {"name": "ring", "hosts": [0, 2], "collective": op}

    def test_each_has_its_results(self):
        kinds = ({}, {"tcp_control": "dctcp"}, {"packet_mtu": 9000})
        for more in share_of(kinds, one_in=3, first=2):
            with self.subTest(more=more):
                run = self.run_program(self.jobs(self.ring(), self.storage(**more)))
                ring, storage = run.stats["jobs"]
                self.assertEqual(storage["protocol"], "tcp")
                self.assertEqual(storage["flows_arrived"], 2)
                self.assertEqual(storage["bytes"], 80000000)
                # One link between the leaves, each way: 40 MB and the ring's meet there.
                self.assertGreater(ring["slower_by_others"], 1.05)
                self.assertIsNone(storage["interference"])
                self.assertEqual(ring["interference"]["shares"]["job"], "storage")
                self.assertEqual(run.stats["ordinary"]["protocol"], "tcp")
                self.assertIn("permutation by TCP", run.out)

    def test_with_a_background_of_rdma(self):
        run = self.run_program(
            self.jobs(self.ring(), self.storage(packet_mtu=9000))  # a sixth of the packets
            + " --background=pattern=permutation,bytes=1MB,hosts=0-3"
        )
        self.assertNotIn("protocol", run.stats["background"])
        self.assertGreater(run.stats["background"]["flows"], 0)

    def test_whose_packets_they_are_is_known_of_one(self):
        two = self.jobs(self.storage("a", (0, 2)), self.storage("b", (1, 3)))
        self.refuse(two, "/jobs/1/flows/protocol", "tcp", "job a")
        one = self.jobs(self.storage())
        background = " --background=pattern=permutation,bytes=1MB,protocol=tcp"
        self.refuse(one + background, "--background", "by TCP", "storage")
        self.refuse(one + " --threads=2", "--threads", "2", "allowed: 1")


class Refused(SystemTest):
    def test_what_cannot_be(self):
        traffic = "traffic --topology=single-switch --hosts=4 --bytes=1MB" + TCP
        self.refuse(traffic + " --fabric=ib", "--protocol", "tcp", "IPoIB", "rdma")
        self.refuse(traffic + " --threads=2", "--threads", "2", "allowed: 1")
        self.refuse(traffic + " --mpi-ranks=2", "--protocol", "tcp", "--mpi-ranks")
        self.refuse(traffic + " --network=analytic", "--protocol", "tcp", "--network=analytic")
        for name, value in (
            ("window", "4096"),
            ("timeout-exponent", "9"),
            ("loss-recovery", "selective-repeat"),
            ("retry-count", "3"),
            ("ack-every", "4"),
        ):
            run = self.run_program(f"{traffic} --{name}={value} --dry-run")
            self.assertIn(f"--{name} has no effect with --protocol=tcp", run.err)
        run = self.run_program(traffic + " --load-balancer=spray --dry-run")
        self.assertIn("TCP takes those that are overtaken", " ".join(run.err.split()))
        self.refuse(traffic + " --operation=read", "--operation", "read", "write")
        self.refuse(traffic + " --rate-interval=1us", "--rate-interval", "1us", "allowed")
        self.refuse(traffic + " --trace-paths=*->server-0", "--trace-paths", "--protocol=tcp")
        self.refuse(traffic + " --trace-qps=*->server-0", "--trace-qps", "--protocol=tcp")
        self.refuse(traffic + " --packet-mtu=9001", "--packet-mtu", "9001", "9000")
        self.refuse(traffic + " --tcp-control=cubik", "--tcp-control", "cubik", "cubic")
        self.refuse(traffic + " --ns3::RdmaNic::Scheduling=scan", "scan", "round-robin")
        for wrong in ("8:1", "0:0", "0:101", "0", "0:1,0:2", "0:x", "-1:3"):
            self.refuse(traffic + " --ets=" + wrong, "--ets", "0:30,3:70,6:strict")
        self.refuse(
            "traffic --hosts=4 --topology=single-switch --fabric=ib --ets=0:1", "--ets", "roce"
        )
        rdma = "traffic --topology=single-switch --hosts=4 --bytes=1MB --report=0"
        self.refuse(rdma + " --tcp-control=cubic", "--tcp-control", "--protocol=tcp")
        self.refuse(rdma + " --packet-mtu=1500", "--packet-mtu", "--protocol=tcp")
        self.refuse(
            JOB + " --background=protocol=sctp", "--background: protocol", "sctp", "rdma, tcp"
        )
        self.refuse(
            JOB + " --background=pattern=permutation,protocol=tcp --threads=2", "--threads", "2"
        )


if __name__ == "__main__":
    unittest.main()
