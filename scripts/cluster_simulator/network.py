# SPDX-License-Identifier: GPL-2.0-only
"""The network between the servers, as options of the simulator's programs."""

import os
import types

from . import programs
from .errors import InvalidInput, SimulatorError
from .nearest import nearest

INFINIBAND = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR200", "NDR", "XDR")
ETHERNET_GBPS = (10, 25, 40, 50, 100, 200, 400, 800)


class NetworkConfig:
    """A network: its family or a file, and any option of the groups Network and Fabric of dltrain
    --help.

        NetworkConfig("fattree", **NetworkConfig.IB_EDR)
        NetworkConfig("leafspine", **NetworkConfig.ETH_400G, hosts_per_leaf=8, oversubscription=2)
        NetworkConfig("two-racks.json", mtu=1024, pfc=False)

    Families: those of dltrain --help=topologies (fattree, leafspine, ...; hyphens or not). Presets:
    ETH_10G to ETH_800G for RoCE, IB_SDR to IB_XDR for InfiniBand (NICs, links and switches).
    """

    def __init__(self, family="fat-tree", **options):
        self.family = _family(family)
        self.given = dict(options)

    def options(self):
        """Options of every program."""
        return {"topology": self.family, **self.given}

    def __eq__(self, other):
        return isinstance(other, NetworkConfig) and (self.family, self.given) == (
            other.family,
            other.given,
        )

    __hash__ = None

    def __repr__(self):
        return (
            "NetworkConfig("
            + ", ".join([repr(self.family)] + [f"{k}={v!r}" for k, v in self.given.items()])
            + ")"
        )


for _name in INFINIBAND:
    setattr(NetworkConfig, f"IB_{_name}", types.MappingProxyType({"nic": _name}))
for _gbps in ETHERNET_GBPS:
    setattr(NetworkConfig, f"ETH_{_gbps}G", types.MappingProxyType({"nic": f"{_gbps}GbE"}))


def _family(family):
    text = os.fspath(family)
    if os.path.exists(text) and not os.path.isdir(text):
        return os.path.abspath(text)
    try:
        families = programs.options("dltrain")["topology"]["names"]
    except SimulatorError:
        return text  # the program says itself, when it runs, what it knows or what ails it
    plain = {family.replace("-", ""): family for family in families}
    wanted = text.lower().replace("-", "").replace("_", "").replace(" ", "")
    if wanted in plain:
        return plain[wanted]
    raise InvalidInput(
        f"NetworkConfig: {text!r} is neither a family nor a file; allowed: {', '.join(plain)}, or a"
        f" topology file{nearest(wanted, plain)}"
    )
