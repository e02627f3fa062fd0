/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The server presets, as JSON in the program itself, so that no file has to be found at run time.
 *
 * Sources. "ml-eng" is stas00/ml-engineering@744d01e, compute/accelerator/README.md and
 * network/README.md, which cite the vendors' data sheets: NVLink rates per GPU and direction P100
 * 80, V100 150, A100 300, H100 and H200 450, B200 900 GB/s; PCIe x16 3.0 15.75, 4.0 31, 5.0 63
 * GB/s. "nccl-tuner" is NVIDIA/nccl@5067397 src/graph/tuning.cc: the latency of one hop with the LL
 * protocol, in which data and flag travel in one store: 0.6 us over NVLink, 1.0 us over PCIe. It is
 * the least a transfer between GPUs takes; what protocols add on top belongs to the collectives. A
 * PCIe server has one PCIe switch for two GPUs, with one x16 uplink, so its host bridge carries
 * gpus / 2 such links: assumed.
 *
 * NICs are those of the fabric between GPUs. "basepod" is NVIDIA's DGX BasePOD reference architecture,
 * https://docs.nvidia.com/dgx-basepod/reference-architecture-infrastructure-foundation-enterprise-ai/latest/core-components.html:
 * DGX H100, H200 and B200 have eight single-port ConnectX-7, up to 400 Gb/s on InfiniBand or Ethernet. DGX-1 has four EDR
 * ports of 100 Gb/s: NVIDIA's white paper "DGX-1 With Tesla V100 System Architecture" and, with P100,
 * http://iptronics.com/solutions/machine-learning/nvidia.php. Rates of PCIe servers: the fastest that an x16 slot of their
 * generation carries, assumed.
 */
#include "topologies/server.h"

namespace topo
{

const char*
ServerPresetsJson()
{
    return R"json({
  "servers": [
    {"name": "dgx-a100", "gpu": "A100", "gpus": 8, "nics": 8, "nic_rate": "200Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "600ns"},
     "source": "300 GB/s: ml-eng; 8 GPUs, NVSwitch, 8 x 200G HDR: ml-eng; latency: nccl-tuner (NVLink, LL)"},
    {"name": "dgx-1-p100", "gpu": "P100", "gpus": 8, "nics": 4, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "640Gbps", "latency": "600ns"},
     "source": "4 links of 20 GB/s = 80 GB/s: ml-eng; 8 GPUs, 4 NICs (EDR): DGX-1; latency: nccl-tuner (NVLink, LL)"},
    {"name": "dgx-1-v100", "gpu": "V100", "gpus": 8, "nics": 4, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "1200Gbps", "latency": "600ns"},
     "source": "6 links of 25 GB/s = 150 GB/s: ml-eng; 8 GPUs, 4 NICs (EDR): DGX-1; latency: nccl-tuner (NVLink, LL)"},
    {"name": "dgx-h100", "gpu": "H100", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "3600Gbps", "latency": "600ns"},
     "source": "450 GB/s: ml-eng; 8 GPUs, NVLink4, 8 x 400G: ml-eng, basepod; latency: nccl-tuner (NVLink, LL)"},
    {"name": "dgx-h200", "gpu": "H200", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "3600Gbps", "latency": "600ns"},
     "source": "450 GB/s: ml-eng; 8 GPUs, 8 x 400G: basepod; latency: nccl-tuner (NVLink, LL)"},
    {"name": "dgx-b200", "gpu": "B200", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "7200Gbps", "latency": "600ns"},
     "source": "900 GB/s: ml-eng; 8 GPUs, 8 x 400G: basepod; latency: nccl-tuner (NVLink, LL)"},
    {"name": "pcie3-v100", "gpu": "V100", "gpus": 8, "nics": 1, "nic_rate": "100Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "126Gbps", "host_bridge": "504Gbps", "latency": "1us"},
     "source": "PCIe 3.0 x16 15.75 GB/s: ml-eng; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"},
    {"name": "pcie4-a100", "gpu": "A100", "gpus": 8, "nics": 1, "nic_rate": "200Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "248Gbps", "host_bridge": "992Gbps", "latency": "1us"},
     "source": "PCIe 4.0 x16 31 GB/s: ml-eng; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"},
    {"name": "pcie5-h100", "gpu": "H100", "gpus": 8, "nics": 1, "nic_rate": "400Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "504Gbps", "host_bridge": "2016Gbps", "latency": "1us"},
     "source": "PCIe 5.0 x16 63 GB/s: ml-eng; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"}
  ]
}
)json";
}

} // namespace topo
