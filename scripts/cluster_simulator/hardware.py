# SPDX-License-Identifier: GPL-2.0-only
"""GPUs and servers, as options of the simulator's programs."""

import enum
import json
import os

from .errors import InvalidInput


class GPUmodel(enum.Enum):
    """GPUs that the simulator knows (dltrain --help=gpus describes them)."""

    K80 = "K80"
    TITANX_MAXWELL = "TitanX-Maxwell"
    TITANX_PASCAL = "TitanX-Pascal"
    P100 = "P100"
    V100 = "V100"
    V100_16GB = "V100-16GB"
    A100 = "A100"
    A100_40GB = "A100-40GB"
    A40 = "A40"
    H100 = "H100"
    H100_500W = "H100-500W"
    H200 = "H200"
    B200 = "B200"
    GB200 = "GB200"
    B300 = "B300"
    GB300 = "GB300"
    H800 = "H800"
    H20 = "H20"
    A800 = "A800"
    T4 = "T4"
    A10 = "A10"
    RTX_3090 = "RTX-3090"
    RTX_A6000 = "RTX-A6000"
    RTX_4090 = "RTX-4090"
    L40S = "L40S"
    L4 = "L4"
    RTX_PRO_6000 = "RTX-PRO-6000"
    MI300X = "MI300X"
    MI325X = "MI325X"
    MI355X = "MI355X"

    def __repr__(self):
        return f"GPUmodel.{self.name}"


# The server whose links between GPUs are those that such GPUs are sold with. GB200, B300 and GB300
# have the NVLink of B200; cards without NVLink stand in servers with PCIe of their generation
# (assumed).
SOLD_IN = {
    GPUmodel.K80: "pcie3-v100",
    GPUmodel.TITANX_MAXWELL: "pcie3-v100",
    GPUmodel.TITANX_PASCAL: "pcie3-v100",
    GPUmodel.A40: "pcie4-a100",
    GPUmodel.P100: "dgx-1-p100",
    GPUmodel.V100: "dgx-1-v100",
    GPUmodel.V100_16GB: "dgx-1-v100",
    GPUmodel.A100: "dgx-a100",
    GPUmodel.A100_40GB: "dgx-a100",
    GPUmodel.H100: "dgx-h100",
    GPUmodel.H200: "dgx-h200",
    GPUmodel.B200: "dgx-b200",
    GPUmodel.GB200: "dgx-b200",
    GPUmodel.B300: "dgx-b200",
    GPUmodel.GB300: "dgx-b200",
    GPUmodel.H800: "hgx-h800",
    GPUmodel.H20: "hgx-h20",
    GPUmodel.A800: "hgx-a800",
    GPUmodel.T4: "pcie3-v100",
    GPUmodel.A10: "pcie4-a100",
    GPUmodel.RTX_3090: "pcie4-a100",
    GPUmodel.RTX_A6000: "pcie4-a100",
    GPUmodel.RTX_4090: "pcie4-a100",
    GPUmodel.L40S: "pcie4-a100",
    GPUmodel.L4: "pcie4-a100",
    GPUmodel.RTX_PRO_6000: "pcie5-h100",
    GPUmodel.MI300X: "mi300x-8",
    GPUmodel.MI325X: "mi325x-8",
    GPUmodel.MI355X: "mi355x-8",
}


class ServerConfig:
    """A server: its GPUs, its network interfaces, and what connects the GPUs.

        ServerConfig([GPUmodel.A100] * 8)
        ServerConfig([GPUmodel.A100] * 4, nics=2, server="pcie4-a100")
        ServerConfig([GPUmodel.H100] * 8, server="dgx-h100")
        ServerConfig([GPUmodel.H100] * 8, interconnect="nvswitch", per_gpu="3600Gbps",
            latency="600ns")
        ServerConfig(["my-gpu.json"] * 8)

    gpus: a list of GPUmodel, names or JSON files; all alike.
    nics: network interfaces; default: as server= has, without it 1.
    server: a name of dltrain --help=servers, or a JSON file, which brings its NICs and their rate
    (nic= of the network, or of a call, wins). Default: the links between GPUs of what such GPUs are
    sold in, and NICs of 100 Gb/s. interconnect: "nvswitch", "nvlink-mesh" or "pcie" with the rate
    per_gpu, each way, instead of the server's; pcie needs host_bridge, a rate, too. efficiency is
    the share of the rates that messages get; with bulk_latency messages go as NCCL's LL (latency,
    twice the bytes) or Simple (bulk_latency), whichever is faster.
    """

    def __init__(
        self,
        gpus,
        nics=None,
        server=None,
        interconnect=None,
        per_gpu=None,
        latency=None,
        host_bridge=None,
        efficiency=None,
        bulk_latency=None,
    ):
        if isinstance(gpus, (str, GPUmodel)):
            raise TypeError("gpus is a list with one entry for each GPU: [GPUmodel.A100] * 8")
        self.gpus = [_model(gpu) for gpu in gpus]
        if not self.gpus:
            raise InvalidInput("ServerConfig: a server needs at least one GPU: [GPUmodel.A100] * 8")
        kinds = sorted({_name(gpu) for gpu in self.gpus})
        if len(kinds) > 1:
            counts = ", ".join(
                f"{sum(_name(gpu) == kind for gpu in self.gpus)} x {kind}" for kind in kinds
            )
            raise InvalidInput(f"ServerConfig: {counts}: all GPUs of a server must be alike today")
        details = {
            "kind": interconnect,
            "per_gpu": per_gpu,
            "latency": latency,
            "host_bridge": host_bridge,
            "efficiency": efficiency,
            "bulk_latency": bulk_latency,
        }
        self.scale_up = {key: value for key, value in details.items() if value is not None}
        if self.scale_up and (interconnect is None or per_gpu is None):
            raise InvalidInput(
                "ServerConfig: give interconnect (nvswitch, nvlink-mesh or pcie) and per_gpu, such"
                " as '2400Gbps', together; without both the GPUs are connected as server= says"
            )
        if self.scale_up and server is not None:
            raise InvalidInput(
                f"ServerConfig: server={os.fspath(server)!r} says what connects the GPUs; "
                "give either that or interconnect and per_gpu"
            )
        self.nics = 1 if nics is None and server is None else nics
        self.server = None if server is None else _file_or_name(server)

    @property
    def gpu(self):
        """What all its GPUs are: a GPUmodel or a file."""
        return self.gpus[0]

    @property
    def unnamed(self):
        """Whether it stands for a server of the programs' without being named: only its links
        between GPUs are meant.
        """
        return self.server is None and not self.scale_up

    def options(self, folder):
        """Options of dltrain and collperf; a server that has no name is written as a JSON file into
        the folder.
        """
        server = self.server
        if self.scale_up:
            server = os.path.join(folder, "server.json")
            os.makedirs(folder, exist_ok=True)
            known = self.gpu if isinstance(self.gpu, GPUmodel) else GPUmodel.A100
            with open(server, "w", encoding="utf-8") as file:
                json.dump(
                    {
                        "servers": [
                            {
                                "name": "server",
                                "gpu": known.value,
                                "gpus": len(self.gpus),
                                "nics": 1,
                                "scale_up": {"latency": "600ns", **self.scale_up},
                            }
                        ]
                    },
                    file,
                )
        return {
            "server": server or SOLD_IN.get(self.gpu, "dgx-a100"),
            "gpus_per_server": len(self.gpus),
            "nics_per_server": self.nics,
            "gpu": _name(self.gpu),
        }

    def __eq__(self, other):
        return isinstance(other, ServerConfig) and vars(self) == vars(other)

    __hash__ = None

    def __repr__(self):
        words = [f"[{self.gpu!r}] * {len(self.gpus)}"]
        words += (
            [f"nics={self.nics!r}"]
            if self.nics not in (None, 1) or (self.server and self.nics == 1)
            else []
        )
        words += [f"server={self.server!r}"] if self.server else []
        words += [
            f"{'interconnect' if key == 'kind' else key}={value!r}"
            for key, value in self.scale_up.items()
        ]
        return f"ServerConfig({', '.join(words)})"


def _model(gpu):
    """A GPUmodel, also by its name as the program writes it; any other text is left to the
    program.
    """
    if isinstance(gpu, GPUmodel):
        return gpu
    if not isinstance(gpu, (str, os.PathLike)):
        raise TypeError(f"{gpu!r} is no GPU: give a GPUmodel, its name, or a JSON file")
    text = os.fspath(gpu)
    for model in GPUmodel:
        if text.upper() in (model.value.upper(), model.name):
            return model
    return _file_or_name(text)


def _name(gpu):
    return gpu.value if isinstance(gpu, GPUmodel) else gpu


def _file_or_name(text):
    """A file by its absolute path, so that it is found whatever folder the program runs in."""
    text = os.fspath(text)
    return os.path.abspath(text) if os.path.exists(text) else text
