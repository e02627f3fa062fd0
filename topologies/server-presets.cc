/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The server presets, as JSON in the program itself, so that no file has to be found at run time.
 *
 * Sources. "ml-eng" is stas00/ml-engineering@744d01e, compute/accelerator/README.md and
 * network/README.md, which cite the vendors' data sheets: NVLink rates per GPU and direction P100
 * 80, V100 150, A100 300, H100 and H200 450, B200 900 GB/s. "pcie-model" is
 * pcie-bench/pcie-model@1fe7cde, model/pcie.py (Neugebauer et al., "Understanding PCIe performance
 * for end host networking", SIGCOMM 2018): PCIe 3.0, 4.0 and 5.0 have 8, 16 and 32 GT/s a lane in
 * 128b/130b, so x16 carries 126.03, 252.06 and 504.12 Gb/s; with a payload of 256 B a packet
 * (assumed) acknowledgements and credits of the other direction take 8 B each 168 B at most, skip
 * sets 4 B each 1,538 B, and of 280 B that are left a memory write with an address of 64 bits has 24
 * of overhead: framing, sequence number and LCRC 8, header 16. That leaves (1 - 16/168 - 4/1538) x
 * 256/280 = 82.5%: 103.95, 207.9 and 415.8 Gb/s.
 *
 * "nccl-tuner" is NVIDIA/nccl@5067397 src/graph/tuning.cc: the latency of one hop with the LL
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
     "scale_up": {"kind": "pcie", "per_gpu": "103.95Gbps", "host_bridge": "415.8Gbps", "latency": "1us"},
     "source": "PCIe 3.0 x16, 126.0 Gb/s before overhead: pcie-model; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"},
    {"name": "pcie4-a100", "gpu": "A100", "gpus": 8, "nics": 1, "nic_rate": "200Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "207.9Gbps", "host_bridge": "831.6Gbps", "latency": "1us"},
     "source": "PCIe 4.0 x16, 252.1 Gb/s before overhead: pcie-model; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"},
    {"name": "pcie5-h100", "gpu": "H100", "gpus": 8, "nics": 1, "nic_rate": "400Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "415.8Gbps", "host_bridge": "1663.3Gbps", "latency": "1us"},
     "source": "PCIe 5.0 x16, 504.1 Gb/s before overhead: pcie-model; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; latency: nccl-tuner (PCIe, LL)"}
  ]
}
)json";
}

} // namespace topo
