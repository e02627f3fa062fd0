# SPDX-License-Identifier: GPL-2.0-only
"""The network between the servers, as options of the simulator's programs."""

import difflib
import os
import types
import warnings

from .errors import InvalidInput, SimulatorWarning

FAMILIES = ("fat-tree", "leaf-spine", "single-switch", "torus")

# InfiniBand comes with a later release. Until then: data rate of four lanes in Gb/s, the Ethernet NIC of the nearest
# rate, and its rate. The same table as scenarios/spec/nic-names.h; a test compares them.
INFINIBAND = {
    "SDR": (8, "10GbE", 10),
    "DDR": (16, "25GbE", 25),
    "QDR": (32, "40GbE", 40),
    "FDR10": (40, "40GbE", 40),
    "FDR": (54.54, "50GbE", 50),
    "EDR": (100, "100GbE", 100),
    "HDR": (200, "200GbE", 200),
    "NDR": (400, "400GbE", 400),
    "XDR": (800, "800GbE", 800),
}
ETHERNET_GBPS = (10, 25, 40, 50, 100, 200, 400, 800)


class NetworkConfig:
    """A network: its family or a file, and any option of the groups Network and Fabric of dltrain --help.

        NetworkConfig("fattree", **NetworkConfig.IB_EDR)
        NetworkConfig("leafspine", **NetworkConfig.ETH_400G, hosts_per_leaf=8, oversubscription=2)
        NetworkConfig("two-racks.json", mtu=1024, pfc=False)

    Families: fattree, leafspine, singleswitch, torus (hyphens or not). Presets: ETH_10G to ETH_800G, and IB_SDR to IB_XDR,
    which run as RoCE over Ethernet of the same rate until InfiniBand is simulated; a SimulatorWarning says so.
    """

    def __init__(self, family="fat-tree", **options):
        self.family = _family(family)
        self.given = dict(options)
        self._ethernet = _ethernet_instead(options.get("nic"))

    def options(self):
        """Options of every program."""
        options = {"topology": self.family, **self.given}
        if self._ethernet:
            options["nic"] = self._ethernet
        return options

    def __eq__(self, other):
        return isinstance(other, NetworkConfig) and (self.family, self.given) == (other.family, other.given)

    __hash__ = None

    def __repr__(self):
        return "NetworkConfig(" + ", ".join([repr(self.family)] + [f"{k}={v!r}" for k, v in self.given.items()]) + ")"


for _name in INFINIBAND:
    setattr(NetworkConfig, f"IB_{_name}", types.MappingProxyType({"nic": _name}))
for _gbps in ETHERNET_GBPS:
    setattr(NetworkConfig, f"ETH_{_gbps}G", types.MappingProxyType({"nic": f"{_gbps}GbE"}))


def _family(family):
    text = os.fspath(family)
    if os.path.exists(text) and not os.path.isdir(text):
        return os.path.abspath(text)
    plain = text.lower().replace("-", "").replace("_", "").replace(" ", "")
    for known in FAMILIES:
        if plain == known.replace("-", ""):
            return known
    near = difflib.get_close_matches(plain, [known.replace("-", "") for known in FAMILIES], 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(
        f"NetworkConfig: {text!r} is neither a family nor a file; allowed: fattree, leafspine, singleswitch, "
        f"torus, or a topology file{hint}"
    )


def _ethernet_instead(nic):
    """The NIC to simulate instead of an InfiniBand one; None for others."""
    if not isinstance(nic, str) or nic.upper() not in INFINIBAND:
        return None
    gbps, ethernet, ethernet_gbps = INFINIBAND[nic.upper()]
    rate = (
        f"the same rate, {gbps:g} Gb/s"
        if gbps == ethernet_gbps
        else f"the nearest rate ({ethernet_gbps} instead of {gbps:g} Gb/s)"
    )
    warnings.warn(
        f"InfiniBand {nic.upper()} is not simulated yet: this network runs as RoCE over Ethernet of {rate} "
        f"(nic={ethernet!r}), with Ethernet's headers, pauses and congestion control",
        SimulatorWarning,
        stacklevel=3,
    )
    return ethernet
