# SPDX-License-Identifier: GPL-2.0-only
"""No value of an ns-3 attribute ends a program: every attribute of every device, times absurd
values, is refused by name or simulated.

(The congestion controls' attributes have a test of their own.)
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _robust import RobustTest
from _system_test import main, share_of

CLASSES = {
    "ns3::RdmaNic": ("", " --fabric=ib"),
    "ns3::RdmaPort": ("", " --fabric=ib"),
    "ns3::RdmaChannel": ("",),
    "ns3::RdmaSwitch": ("",),
    "ns3::IbSwitch": (" --fabric=ib",),
    "ns3::RdmaCompletionQueue": ("",),
    "ns3::AdaptiveLoadBalancer": (
        " --ns3::RdmaSwitch::LoadBalancer=adaptive",
        " --fabric=ib --adaptive-routing",
    ),
    "ns3::SprayLoadBalancer": (" --ns3::RdmaSwitch::LoadBalancer=spray",),
    "ns3::EcmpLoadBalancer": ("",),
    "ns3::FlowletLoadBalancer": (
        " --load-balancer=flowlet",
        " --load-balancer=flowlet --fabric=ib",
    ),
    "ns3::DrillLoadBalancer": (" --load-balancer=drill",),
    "ns3::CongaLoadBalancer": (" --load-balancer=conga",),
    "ns3::ConweaveLoadBalancer": (" --load-balancer=conweave",),
    "ns3::WcmpLoadBalancer": (" --load-balancer=wcmp",),
    "ns3::HomaParameters": (" --transport=homa",),
    "ns3::ExpressPassParameters": (" --transport=expresspass",),
    "ns3::CreditQueueDisc": (" --transport=expresspass",),
    "ns3::UgalLoadBalancer": (" --ns3::RdmaSwitch::LoadBalancer=ugal",),
    "ns3::FqQueueDisc": (" --queue-disc=fq",),
    "ns3::SrptQueueDisc": (" --queue-disc=srpt",),
    "ns3::RepsPathSelector": (" --load-balancer=reps",),
    "ns3::PlbPathSelector": (" --load-balancer=plb",),
}
WHOLE = ("0", "1", "2", "255", "65535", "4294967295", "18446744073709551615", "-1")
TIMES = ("0ps", "1ps", "1us", "100s", "9000000s", "-1s")
REALS = ("0", "1e-300", "0.5", "1", "64", "1e300", "nan", "-1")
TEXTS = (
    "",
    "x",
    "0:0",
    "7:63",
    "3:1,4:2",
    "9999999999999999999999:1",
    "0:-1",
    ":",
    "3:",
    "0:1e300",
)
RATES = ("0bps", "1bps", "1Mbps", "1000000Gbps", "99999999999999999999bps")


def values_of(default):
    """What an attribute of such a default takes, roughly: each text is tried all the same."""
    if re.fullmatch(r"[+-]?[\d.]+(ps|ns|us|ms|s)", default):
        return TIMES
    if re.fullmatch(r"\d+bps", default):
        return RATES
    if re.fullmatch(r"\d+", default):
        return WHOLE
    if re.fullmatch(r"[\d.e-]+", default):
        return REALS
    if default in ("true", "false"):
        return ("true", "false", "maybe")
    return TEXTS


class Attributes(RobustTest):
    # A message of several packets to a host that two send to, a window of which some are
    # acknowledged; ends in milliseconds.
    LINE = (
        "traffic --topology=leaf-spine --hosts=6 --leaves=2 --spines=2 --pattern=incast"
        " --bytes=20kB --seed=3 --report=0 --timeline=0 --attribution=0 --stop-after=20ms"
    )

    def attributes(self):
        for name, fabrics in CLASSES.items():
            shown = subprocess.run(
                [self.program("traffic"), f"--PrintAttributes={name}"],
                capture_output=True,
                text=True,
                timeout=20,
            )
            found = re.findall(rf"--{name}::(\w+)=\[(.*)\]", shown.stdout)
            self.assertTrue(found or name == "ns3::RdmaChannel", shown.stdout)
            for attribute, default in found:
                for value in values_of(default):
                    for fabric in fabrics:
                        yield f"{name}::{attribute}", value, fabric

    def one(self, case):
        attribute, value, fabric = case
        words, _ = self.command(
            self.LINE + fabric,
            out=os.path.join(self.folder, re.sub(r"\W", "_", "-".join(case))[:100]),
        )
        words.append(f"--{attribute}={value}")
        try:
            done = subprocess.run(
                words, cwd=self.folder, capture_output=True, text=True, timeout=20
            )
        except subprocess.TimeoutExpired:
            return f"{case}: no end in 20 s"
        if done.returncode not in (0, 2, 3):
            return f"{case}: status {done.returncode}: {done.stderr[-300:]}"
        short = attribute.split("::")[-1]
        errors = [line for line in done.stderr.splitlines() if ": error: " in line]
        if done.returncode == 2 and (len(errors) != 1 or short not in errors[0]):
            return f"{case}: does not name the attribute: {done.stderr[-300:]}"
        return ""

    def test_all(self):
        cases = list(self.attributes())
        self.assertGreater(len(cases), 300)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(self.one, share_of(cases, one_in=3)) if text]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:40]))


if __name__ == "__main__":
    main()
