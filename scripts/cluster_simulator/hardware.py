# SPDX-License-Identifier: GPL-2.0-only
"""GPUs and servers, as options of the simulator's programs."""

import enum
import json
import os

from .errors import InvalidInput
from .zoo import GPUS


class _Model(enum.Enum):
    def __repr__(self):
        return f"GPUmodel.{self.name}"


GPUmodel = _Model(
    "GPUmodel", {name.upper().replace("-", "_"): name for name in GPUS}, module=__name__
)
GPUmodel.__doc__ = "GPUs that the simulator knows (dltrain --help=gpus describes them)."


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
            "server": server or GPUS.get(_name(self.gpu), {}).get("sold_in", "dgx-a100"),
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
