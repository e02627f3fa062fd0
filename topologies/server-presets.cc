/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The server presets, as JSON in the program itself, so that no file has to be found at run time.
 *
 * Sources. "ml-eng" is stas00/ml-engineering@744d01e, compute/accelerator/README.md and
 * network/README.md, which cite the vendors' data sheets: NVLink rates per GPU and direction P100
 * 80, V100 150, A100 300, H100 and H200 450, B200 900 GB/s; PCIe x16 3.0 15.75, 4.0 31.5, 5.0 63
 * GB/s (16 lanes of 8, 16, 32 GT/s times 128/130).
 *
 * Efficiency: what NCCL expects a link to carry, over its rate; NVIDIA/nccl@069a3d4
 * src/graph/topo.h has, in GB/s a link, P100 (SM60) 18 of 20, V100 and A100 (SM70, SM80) 20 of 25,
 * H100 (SM90) 20.6 of 25, B200 (SM100) 40.1 of 50, and PCIe 3.0 x16 12 of 15.75 (others in
 * proportion to their rate). It is not fitted to measurements; those there are agree: all-reduce in
 * 8 A100s reaches 235 GB/s (240 expected; src/graph/tuning.cc bounds it by 235 on SM80 in
 * NVIDIA/nccl@01afd20), in 4 H100s 368, point to point 376 (371), on a GB200 746 (722): ml-eng. Of
 * PCIe's 24% the packets' overhead alone is 17.5%: pcie-bench/pcie-model@1fe7cde, model/pcie.py
 * (Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018), with
 * a payload of 256 B a packet (assumed) has acknowledgements and credits of the other direction of
 * 8 B each 168 B at most, skip sets of 4 B each 1,538 B, and of 280 B that are left 24 of framing,
 * sequence number, LCRC and header: (1 - 16/168 - 4/1538) x 256/280 = 82.5%.
 *
 * Library (library-model.h): "fitted" numbers are those with which tests/golden/nccl-busbw.csv and
 * vidur-collectives.csv, whose sets are named, come out best; scripts/nccl-tables shows what error
 * is left. `base` is in `launch`. They are effective: Simple's 24 us inside a DGX A100 is what
 * all-reduces of 64 MiB and more take beyond their bytes, a message of the ring, and holds whatever
 * else NCCL does meanwhile.
 *
 * Latency: "nccl-tuner" is NVIDIA/nccl src/graph/tuning.cc, hwLatencies of a ring: LL, in which
 * data and flag travel in one store, 0.6 us over NVLink and 1.0 us over PCIe, Simple 3.4 and 5.7 us
 * (NVIDIA/nccl@01afd20 has 0.47 for LL over NVLink, and the others). Its LL128 is left out.
 *
 * Posts: NCCL expects 1 us a post to a NIC, and 2 with AMD's CPUs (netOverhead, three times with
 * Simple; src/graph/tuning.cc). 2 us is assumed. Messages of h100ndr's rows are long enough to hide
 * it. Polaris' all-to-alls of 64 KiB leave at most 4 to 7 us for each of 4 peers in the other
 * server. Of small messages to many peers there is no measurement here.
 *
 * Channels: "nccl-channels" is NVIDIA/nccl@0f900e1 src/graph/connect.cc (rings doubled when they
 * are connected) and src/graph/search.cc, ncclTopoDupChannels (doubled before that from 25 GB/s a
 * channel on, on Hopper and later only up to 4 of them): 4 for each NIC of 400 Gb/s, at most 16;
 * in a server the 2 x 18 links of NVLink 4 are as many as the 32 that fit a launch. A channel in a
 * server carries what topo.h has for a link of NVLink: assumed, and measured of H100s (8 channels
 * of 20.6 GB/s are 165; sendrecv of 4 GPUs of h100ndr reaches 163).
 *
 * Bursts: between two servers with NVLink in pairs 2 MiB took 276 us, 4 MiB 844, 8 MiB 3,094, 64
 * MiB 27,066 (vidur a100_pairwise_nvlink): the first 3.4 MB of a message at 7.7 GB/s and the rest
 * at 2.0 come nearest (least squares of logarithms, from 2 MiB on). Of 2 MiB and less each of a
 * row of messages has the first rate, so what goes before does not count. What network it was, and
 * why it is so, is not said.
 *
 * Expectations: "nccl-amd" is NVIDIA/nccl@069a3d4 src/graph/topo.h, AMD_BW: 16 GB/s is all that
 * NCCL thinks AMD's CPUs carry between GPUs and NICs of different NUMA domains, whatever they do;
 * the next rate that src/graph/search.cc tries is 15 GB/s (speedArrayInter), for each of Polaris'
 * two NICs. 2 us a post is AMD's, too (src/graph/tuning.cc, getNetOverhead). That GPUs and NICs of
 * a Polaris node are that far apart follows from its options for NCCL, NCCL_NET_GDR_LEVEL=PHB
 * (argonne-lcf/alcf-nccl-tests@010b9f4 README.md). What its plug-in tells of the network's latency
 * is not known (aws-ofi-nccl: OFI_NCCL_NET_LATENCY, 0 unless a platform has another): with 10 us
 * NCCL takes trees with Simple from 256 KiB to 2 MiB, as the rows of version 2.21 look.
 *
 * A PCIe server has one PCIe switch for two GPUs, with one x16 uplink, so its host bridge carries
 * gpus / 2 such links: assumed.
 *
 * NICs are those of the fabric between GPUs. "basepod" is NVIDIA's DGX BasePOD reference
 * architecture,
 * https://docs.nvidia.com/dgx-basepod/reference-architecture-infrastructure-foundation-enterprise-ai/latest/core-components.html:
 * DGX H100, H200 and B200 have eight single-port ConnectX-7, up to 400 Gb/s on InfiniBand or
 * Ethernet. DGX-1 has four EDR ports of 100 Gb/s: NVIDIA's white paper "DGX-1 With Tesla V100
 * System Architecture" and, with P100, http://iptronics.com/solutions/machine-learning/nvidia.php.
 * "nvl72" is NVIDIA's GB200 NVL multi-node tuning guide,
 * https://docs.nvidia.com/multi-node-nvlink-systems/multi-node-tuning-guide/system.html: 18 compute
 * trays of 4 GPUs in a rack of 72. Rates of PCIe servers: the fastest that an x16 slot of their
 * generation carries, assumed.
 *
 * "megatron19" is Shoeybi et al., arXiv 1909.08053, section 5: DGX-2H servers of 16 V100 SXM3 with
 * 32 GB, 300 GB/s between GPUs over NVSwitch (both directions together: 6 links of 25 GB/s each
 * way), and 100 GB/s between servers by 8 InfiniBand adapters (8 of 100 Gb/s, both directions
 * together, are 200; each way 100). "goyal17" is Goyal et al., arXiv 1706.02677, section 4.3: Big
 * Basin, 8 P100 with NVLink, one ConnectX-4 of 50 Gb/s. "tr11" is bigscience-workshop/bigscience
 * train/tr11-176B-ml/README.md (Jean Zay's A100 nodes: 8 GPUs with NVLink, 4 Omni-Path links);
 * that NVLink joins all 8 of them at an A100's rate is assumed, and fits with its
 * chronicles-prequel.md, where tensor parallelism over 8 GPUs is about as fast as over 4.
 * "jz-bench" is bigscience-workshop/bigscience@358e3c8 experiments/bandwidth/
 * all_reduce_bench-a100-n4.txt and @74c6c3d n4_a100_all_reduce_bench.txt, runs of its
 * all_reduce_bench.py on four of these nodes: 4 GB take 1.53 s on 4 GPUs a node and on 8, which is
 * a bus bandwidth of 39.9 and 40.5 Gb/s. Its log has NCCL 2.10.3 with both channels over one port
 * in and one out, and no "GDRDMA" behind them: data goes by way of the host's memory. So a port of
 * 100 Gb/s carries 40.5; that several of them at once carry as much each is assumed. "p3.2xlarge"
 * is mlsys-seo/ooo-backprop AWS-doc/README.md: 1 V100 with 16 GB, up to 10 Gb/s.
 *
 * H800 and A800 have 8 links of NVLink of an H100's and A100's rate, 200 GB/s each way, H20 all of
 * H100's ("philisun": philisun.com/technical-analysis/nvidia-h800-vs-h100-a-technical-deep-dive-
 * into-politically-defined-ai-chips, 400 GB/s both ways; "willitrunai": willitrunai.com/es/gpus/
 * h20-96gb, 900 GB/s both ways). "gb300" is ai-infrastructure.net/nvidia-blackwell-platform: 72
 * GPUs with NVLink 5 at 1.8 TB/s both ways, a ConnectX-8 of 800 Gb/s each. An MI300X has seven
 * links of Infinity Fabric, one to each other GPU of eight, of 64 GB/s each way ("emergentmind":
 * emergentmind.com/topics/amd-mi300x-gpu, 128 GB/s both ways, 448 GB/s together), an MI355X of 76.5
 * ("humeconsulting": humeconsulting.co/amd-mi355x-strong-node-level-inference-but-not-yet-rack-
 * scale, 153 GB/s both ways). What RCCL gets of them is not measured here.
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
     "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "library": {"launch": "33us", "exchange_launch": "13us",
                 "ll": {"base": "0ns", "inside": "500ns", "outside": "2.7us", "inside_share": 0.09, "outside_share": 0.5},
                 "ll128": {"base": "0ns", "inside": "2.4us", "outside": "4us", "inside_share": 0.71, "outside_share": 0.9375},
                 "simple": {"base": "0ns", "inside": "24us", "outside": "14us"},
                 "exchange": {"outside": "12us"},
                 "source": "launch, inside, shares: fitted (mleng-a100-n1, vidur a100_dgx); outside: nccl-tuner; exchange: fitted (vidur a100_dgx)"},
     "source": "300 GB/s: ml-eng; 8 GPUs, NVSwitch, 8 x 200G HDR: ml-eng; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "dgx-1-p100", "gpu": "P100", "gpus": 8, "nics": 4, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "640Gbps", "efficiency": 0.9, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "4 links of 20 GB/s = 80 GB/s: ml-eng; 8 GPUs, 4 NICs (EDR): DGX-1; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "dgx-1-v100", "gpu": "V100", "gpus": 8, "nics": 4, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "1200Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "6 links of 25 GB/s = 150 GB/s: ml-eng; 8 GPUs, 4 NICs (EDR): DGX-1; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "dgx-h100", "gpu": "H100", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "3600Gbps", "efficiency": 0.824, "latency": "600ns", "bulk_latency": "3.4us", "adds": true},
     "library": {"launch": "17us", "exchange_launch": "20us", "post": "2us",
                 "ll": {"base": "0ns", "inside": "500ns", "outside": "2.7us", "inside_share": 0.6, "outside_share": 0.5},
                 "ll128": {"base": "0ns", "inside": "900ns", "outside": "4us", "inside_share": 0.84, "outside_share": 0.9375},
                 "simple": {"base": "0ns", "inside": "7us", "outside": "6us"},
                 "exchange": {"inside": "17us", "outside": "50us", "outside_share": 0.95},
                 "nvls": {"inside": "1us", "outside": "6us", "inside_share": 0.8325},
                 "channels": {"inside": "164.8Gbps", "outside": "107Gbps", "in_server": 32, "a_nic": 4, "most": 16},
                 "source": "launch, simple, exchange, rate of a channel outside: fitted (h100ndr); post: assumed; of one inside, numbers: nccl-channels; ll, ll128 inside: as dgx-h200, assumed; outside: nccl-tuner"},
     "source": "450 GB/s: ml-eng; 8 GPUs, NVLink4, 8 x 400G: ml-eng, basepod; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "aws-p5", "base": "dgx-h100", "gpu": "H100",
     "library": {"base": "dgx-h100",
                 "fall": [{"gpus": 16, "all_reduce": 361.7, "all_gather": 184.6, "reduce_scatter": 181.6},
                          {"gpus": 32, "all_reduce": 160.1, "all_gather": 119.0, "reduce_scatter": 115.8},
                          {"gpus": 64, "all_reduce": 99.6, "all_gather": 69.0, "reduce_scatter": 68.6},
                          {"gpus": 128, "all_reduce": 84.7, "all_gather": 55.0, "reduce_scatter": 54.5},
                          {"gpus": 256, "all_reduce": 64.9, "all_gather": 28.0, "reduce_scatter": 27.9},
                          {"gpus": 512, "all_reduce": 32.9, "all_gather": 11.0, "reduce_scatter": 11.1}],
                 "fall_a_gpu": 27,
                 "source": "as dgx-h100, assumed; fall: medians of 256 MB over 2 to 64 servers (measured_collectives_efa.csv: Ultra-Scale Playbook's cluster); fall_a_gpu: fitted to nanotron's rows with TP 4 and 8 in measured_training.csv"},
     "source": "32 EFA interfaces of 100 Gb/s (the cluster as the Ultra-Scale Playbook describes it), four a GPU taken as one of 400; all else as dgx-h100, assumed"},
    {"name": "polaris", "gpu": "A100-40GB", "gpus": 4, "nics": 2, "nic_rate": "200Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "2400Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "library": {"launch": "15us", "exchange_launch": "24us", "exchange_nics": 1,
                 "ll": {"base": "0ns", "inside": "500ns", "outside": "2.8us", "inside_share": 0.09, "outside_share": 0.17},
                 "ll128": {"base": "0ns", "inside": "2.4us", "outside": "4us", "inside_share": 0.71, "between_servers": false},
                 "simple": {"base": "0ns", "inside": "24us", "outside": "50us", "outside_share": 0.74},
                 "exchange": {"outside": "14us", "outside_share": 0.89},
                 "expects": {"nic_rate": "120Gbps", "net_latency": "10us", "net_overhead": "2us"},
                 "source": "inside: as dgx-a100; launch, outside, exchange: fitted (alcf-polaris-n2: Slingshot-11 through libfabric); expects: nccl-amd, net_latency fitted"},
     "source": "300 GB/s: ml-eng; 4 GPUs, 2 x Slingshot-11 of 200G: the machine's name in nccl_busbw.csv (ALCF Polaris); 40 GiB a GPU: its row there, and github argonne-lcf/user-guides docs/polaris/hardware-overview/machine-overview.md; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "dgx-h200", "gpu": "H200", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "3600Gbps", "efficiency": 0.824, "latency": "600ns", "bulk_latency": "3.4us", "adds": true},
     "library": {"base": "dgx-h100", "launch": "31us",
                 "source": "launch, ll, ll128 inside: fitted (mleng-h200-n1); simple, exchange, channels: as dgx-h100, assumed; outside: nccl-tuner"},
     "source": "450 GB/s: ml-eng; 8 GPUs, 8 x 400G: basepod; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "dgx-b200", "gpu": "B200", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "7200Gbps", "efficiency": 0.75, "latency": "600ns", "bulk_latency": "3.4us", "adds": true},
     "library": {"base": "dgx-h200", "channels": {"inside": "320.8Gbps"},
                 "source": "as dgx-h200, assumed; channels: nccl-channels"},
     "source": "900 GB/s: ml-eng; 8 GPUs, 8 x 400G: basepod; efficiency: 673 GB/s in mleng-b200-ngpu4; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "pcie3-v100", "gpu": "V100", "gpus": 8, "nics": 1, "nic_rate": "100Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "126Gbps", "host_bridge": "504Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "PCIe 3.0 x16 15.75 GB/s: ml-eng; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (PCIe; LL, Simple)"},
    {"name": "pcie4-a100", "gpu": "A100", "gpus": 8, "nics": 1, "nic_rate": "200Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "252Gbps", "host_bridge": "1008Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "PCIe 4.0 x16 31.5 GB/s (16 GT/s x 16 x 128/130); 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (PCIe; LL, Simple)"},
    {"name": "pcie5-h100", "gpu": "H100-PCIe", "gpus": 8, "nics": 1, "nic_rate": "400Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "504Gbps", "host_bridge": "2016Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "PCIe 5.0 x16 63 GB/s: ml-eng; 8 GPUs, 1 NIC, host bridge of 4 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (PCIe; LL, Simple)"},
    {"name": "gb200-nvl72", "gpu": "GB200", "gpus": 72, "nics": 72, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "7200Gbps", "efficiency": 0.802, "latency": "600ns", "bulk_latency": "3.4us", "adds": true},
     "library": {"base": "dgx-b200", "nvls": {"base": "500us", "inside_share": 0.61},
                 "source": "nvls: fitted (cw-gb200-nvl72); channels: nccl-channels; others: as dgx-h200, assumed"},
     "source": "900 GB/s: ml-eng; 72 GPUs: nvl72; a 400G ConnectX-7 a GPU: as dgx-b200, assumed; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "a100-nvlink-pairs", "gpu": "A100", "gpus": 4, "nics": 1, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvlink-islands", "per_gpu": "2400Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us", "island": 2,
                  "between": {"kind": "pcie", "per_gpu": "252Gbps", "host_bridge": "504Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"}},
     "library": {"launch": "48us", "exchange_launch": "5us",
                 "ll": {"base": "0ns", "inside": "1us", "outside": "2.7us", "inside_share": 0.5, "outside_share": 0.5},
                 "ll128": {"base": "0ns", "inside": "2.4us", "outside": "4us", "inside_share": 0.71, "between_servers": false},
                 "simple": {"base": "0ns", "inside": "1.5us", "outside": "14us"},
                 "exchange": {"outside": "10us", "outside_share": 0.63, "bulk_from": 3400000, "bulk_share": 0.16},
                 "source": "launches, simple inside, exchange: fitted (vidur a100_pairwise_nvlink); ll128 inside: as dgx-a100, assumed; others: nccl-tuner (PCIe)"},
     "source": "300 GB/s, PCIe 4.0 x16 31.5 GB/s: ml-eng; pairs of 4 GPUs: the machine's name in vidur-collectives.csv; 1 NIC of 100G, host bridge of 2 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (NVLink, PCIe; LL, Simple)"},
    {"name": "dgx-2h", "gpu": "V100", "gpus": 16, "nics": 8, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "1200Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "16 GPUs, 150 GB/s each way, 8 NICs of 100G (EDR): megatron19; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "big-basin", "gpu": "P100", "gpus": 8, "nics": 1, "nic_rate": "50Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "640Gbps", "efficiency": 0.9, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "8 GPUs, NVLink, 1 NIC of 50G: goyal17; 80 GB/s: ml-eng; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "jean-zay", "gpu": "A100", "gpus": 8, "nics": 4, "nic_rate": "100Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "library": {"base": "dgx-a100",
                 "ll": {"outside_share": 0.2025}, "ll128": {"between_servers": false},
                 "simple": {"outside_share": 0.405}, "exchange": {"outside_share": 0.405},
                 "source": "simple outside: measured (jz-bench); ll, exchange: the same share of what they leave, assumed; ll128: NICs without access to GPUs (jz-bench); others: as dgx-a100, assumed"},
     "source": "8 GPUs, NVLink, 4 NICs (Omni-Path): tr11; 100G: bloom rows of train_throughput.csv; all 8 at 300 GB/s (ml-eng): assumed; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "pipedream-a", "gpu": "TitanX-Pascal", "gpus": 1, "nics": 1, "nic_rate": "25Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "126Gbps", "host_bridge": "126Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "1 Titan X, 25G (PipeDream's cluster A, arXiv 1806.03377): pipedream_table.json, from memory, so assumed; Pascal's, which was sold when the paper was written: assumed; PCIe: as pcie3-v100, with one GPU nothing uses it"},
    {"name": "pipedream-b", "gpu": "V100-16GB", "gpus": 1, "nics": 1, "nic_rate": "10Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "126Gbps", "host_bridge": "126Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "1 V100, 10G (PipeDream's cluster B, arXiv 1806.03377): pipedream_table.json, from memory, so assumed; p3.2xlarge has these; PCIe: as pcie3-v100, with one GPU nothing uses it"},
    {"name": "pcie3-k80", "gpu": "K80", "gpus": 8, "nics": 1, "nic_rate": "10Gbps",
     "scale_up": {"kind": "pcie", "per_gpu": "126Gbps", "host_bridge": "504Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"},
     "source": "PCIe 3.0 x16 15.75 GB/s: ml-eng; 4 cards of 2 GPUs, 1 NIC of 10G, host bridge of 4 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (PCIe; LL, Simple)"},
    {"name": "hgx-h800", "base": "dgx-h100", "gpu": "H800", "scale_up": {"per_gpu": "1600Gbps"},
     "library": {"channels": {"in_server": 16},
                 "source": "as dgx-h100, assumed; channels in a server: 2 x 8 links of NVLink, as nccl-channels"},
     "source": "200 GB/s: philisun; 8 GPUs, 8 x 400G and others: as dgx-h100, assumed"},
    {"name": "hgx-h20", "base": "dgx-h100", "gpu": "H20",
     "source": "450 GB/s: willitrunai; 8 GPUs, 8 x 400G and others: as dgx-h100, assumed"},
    {"name": "hgx-a800", "base": "dgx-a100", "gpu": "A800", "scale_up": {"per_gpu": "1600Gbps"},
     "source": "200 GB/s: 8 links of 25 GB/s, as H800, assumed; others: as dgx-a100, assumed"},
    {"name": "gb300-nvl72", "base": "gb200-nvl72", "gpu": "GB300", "nic_rate": "800Gbps",
     "source": "72 GPUs, 900 GB/s, an 800G ConnectX-8 a GPU: gb300; others: as gb200-nvl72, assumed"},
    {"name": "pcie5-h100-nvl", "gpu": "H100-NVL", "gpus": 4, "nics": 1, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvlink-islands", "per_gpu": "2400Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us", "island": 2,
                  "between": {"kind": "pcie", "per_gpu": "504Gbps", "host_bridge": "1008Gbps", "efficiency": 0.762, "latency": "1us", "bulk_latency": "5.7us"}},
     "source": "600 GB/s between paired GPUs, both ways: server-parts.eu; PCIe 5.0 x16 63 GB/s: ml-eng; 2 pairs, 1 NIC, host bridge of 2 x16: assumed; efficiency: nccl topo.h; latency: nccl-tuner (NVLink, PCIe; LL, Simple)"},
    {"name": "pcie4-l40s", "base": "pcie4-a100", "gpu": "L40S",
     "source": "as pcie4-a100: 8 GPUs on PCIe 4.0 x16, 1 NIC: assumed"},
    {"name": "pcie4-rtx-4090", "base": "pcie4-a100", "gpu": "RTX-4090",
     "source": "as pcie4-a100: 8 GPUs on PCIe 4.0 x16, 1 NIC: assumed"},
    {"name": "pcie5-rtx-pro-6000", "base": "pcie5-h100", "gpu": "RTX-PRO-6000",
     "source": "as pcie5-h100: 8 GPUs on PCIe 5.0 x16, 1 NIC: assumed"},
    {"name": "gh200", "gpu": "GH200", "gpus": 1, "nics": 1, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvswitch", "per_gpu": "3600Gbps", "efficiency": 0.824, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "one GPU a server: with one GPU nothing uses its links (as dgx-h100); a 400G NIC: assumed"},
    {"name": "marenostrum5", "gpu": "H100-64GB", "gpus": 4, "nics": 4, "nic_rate": "200Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "3600Gbps", "efficiency": 0.824, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "4 H100 of 64 GB: rows of measured_serving.csv; 4 x NDR200, 450 GB/s without a switch, as H100's: assumed; efficiency: nccl topo.h; latency: nccl-tuner (NVLink; LL, Simple)"},
    {"name": "mi300x-8", "gpu": "MI300X", "gpus": 8, "nics": 8, "nic_rate": "400Gbps",
     "scale_up": {"kind": "nvlink-mesh", "per_gpu": "3584Gbps", "efficiency": 0.8, "latency": "600ns", "bulk_latency": "3.4us"},
     "source": "7 links of 64 GB/s = 448 GB/s, 8 GPUs: emergentmind; efficiency, latency: as dgx-1-v100, assumed; 8 x 400G: assumed"},
    {"name": "mi250-8", "base": "mi300x-8", "gpu": "MI250-GCD", "scale_up": {"per_gpu": "1600Gbps"}, "nic_rate": "200Gbps",
     "source": "links of 50 GB/s, 4 of a die to others: rocm.docs.amd.com gpu-arch/mi250; 4 modules of 2 dies, others: as mi300x-8, assumed"},
    {"name": "mi325x-8", "base": "mi300x-8", "gpu": "MI325X",
     "source": "8 GPUs, 7 links: wiaix.com/amd-instincttm-mi325x-accelerators; their rate and others: as mi300x-8, assumed"},
    {"name": "mi355x-8", "base": "mi300x-8", "gpu": "MI355X", "scale_up": {"per_gpu": "4284Gbps"},
     "source": "7 links of 76.5 GB/s = 535.5 GB/s: humeconsulting; others: as mi300x-8, assumed"}
  ]
}
)json";
}

} // namespace topo
