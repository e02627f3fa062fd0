# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""What a server's `library` says of bursts and of what it expects of links (docs/scenarios.md).

Expected: of a message of 4,000,000 bytes 1,000,000 go at half of the rate and 3,000,000 at a
tenth, so 2,000,000 + 30,000,000 bytes are on the wire: as long as a message of 32,000,000 bytes
takes at the whole rate, whatever moves them. What a library expects changes its choice, and not
what that takes.
"""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, nccl_table

QUIET = " --report=0 --timeline=0 --attribution=0 --progress=0"


def server(**library):
    return json.dumps(
        {
            "servers": [
                {
                    "name": "box",
                    "gpu": "A100",
                    "gpus": 4,
                    "nics": 2,
                    "nic_rate": "100Gbps",
                    "scale_up": {
                        "kind": "nvlink-mesh",
                        "per_gpu": "2400Gbps",
                        "latency": "600ns",
                        "bulk_latency": "3.4us",
                    },
                    "library": library,
                }
            ]
        }
    )


class Library(SystemTest):
    def time_us(self, line):
        return nccl_table(self.run_program(line + QUIET).out)[0]["time_us"]

    def test_beyond_a_burst_a_message_is_slower_on_every_network(self):
        own = {"outside": "5us"}
        self.write("whole.json", server(exchange=own))
        bulk = {"outside_share": 0.5, "bulk_from": 1000000, "bulk_share": 0.1}
        self.write("bulk.json", server(exchange={**own, **bulk}))
        line = "collperf --op=sendrecv --servers=2 -g 1 --nics-per-server=1 --datatype=int8"
        for network in ("packet", "analytic", "fluid"):
            line_of = line + f" --network={network}"
            whole = self.time_us(line_of + " --server=whole.json -b 32000000")
            self.assertWithin(
                self.time_us(line_of + " --server=bulk.json -b 4000000"), whole, 0.0001, network
            )
            # Within the burst there is none of it: 2,000,000 bytes on the wire.
            self.assertWithin(
                self.time_us(line_of + " --server=bulk.json -b 1000000"),
                self.time_us(line_of + " --server=whole.json -b 2000000"),
                0.0001,
                network,
            )

    def test_the_tuner_by_network_knows_bursts(self):
        own = {"outside": "5us", "outside_share": 0.5, "bulk_from": 1000000, "bulk_share": 0.1}
        self.write("bulk.json", server(exchange=own))
        line = "collperf --op=sendrecv --servers=2 -g 1 --nics-per-server=1 -b 4M"
        line += " --server=bulk.json"
        run = self.run_program(line + " --tuner=network" + QUIET)
        (found,) = run.stats["tuner"]
        self.assertWithin(
            found["chosen"]["formula_us"], nccl_table(run.out)[0]["time_us"], 0.005, "by formula"
        )

    def test_what_a_library_expects_is_what_it_takes(self):
        line = "collperf --server=polaris --nics-per-server=2 --servers=2 -g 4 -b 256K -e 256K"
        taken = self.run_program(line + QUIET)
        (one,) = taken.stats["collectives"]
        self.assertEqual((one["algorithm"], one["protocol"]), ("double-binary-tree", "simple"))
        # The network knows better, and so do those who say it.
        better = self.run_program(line + " --tuner=network" + QUIET)
        self.assertLess(
            better.stats["collectives"][0]["time_us"] * 2,
            one["time_us"],
            "LL takes a third of it",
        )

    def test_bad_numbers_are_told(self):
        run = "collperf --server=bad.json --servers=2 -g 1 --dry-run"
        self.write("bad.json", server(exchange={"bulk_from": 5}))
        self.refuse(run, "bad.json: /servers/0/library/exchange/bulk_share: is missing")
        self.write("bad.json", server(simple={"bulk_from": 5, "bulk_share": 2}))
        self.refuse(run, "/servers/0/library/simple/bulk_share: 2 is not a number from 0.001 to 1")
        self.write("bad.json", server(expects={"net_latency": "1us"}))
        self.refuse(run, "/servers/0/library/expects/nic_rate: is missing")
        self.write("bad.json", server(expects={"nic_rate": "1Gbps", "latency": "1us"}))
        self.refuse(run, "/servers/0/library/expects/latency", "net_latency")


if __name__ == "__main__":
    main()
