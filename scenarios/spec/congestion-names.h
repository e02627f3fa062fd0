/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls and their presets by name. A name here is the TypeId ns3::<Name>CongestionOps of contrib/rdma, which
 * pure code cannot see; a new algorithm adds its line here.
 *
 * A preset also says at which queue length switches mark, since the two belong together: values are per 100 Gb/s of port
 * rate, as FabricSpec's.
 */
#ifndef SCENARIOS_SPEC_CONGESTION_NAMES_H
#define SCENARIOS_SPEC_CONGESTION_NAMES_H

#include "contrib/rdma/core/units.h"

#include <string>
#include <vector>

namespace scenario
{

struct CongestionName
{
    const char* name;
    const char* description;
};

inline const std::vector<CongestionName>&
CongestionNames()
{
    static const std::vector<CongestionName> names = {
        {"dcqcn", "DCQCN (Zhu et al., SIGCOMM 2015): rate cut on CNPs for ECN-marked packets; RoCE's usual one"},
        {"dctcp", "DCTCP (Alizadeh et al., SIGCOMM 2010): window cut by the share of ECN-marked packets"},
        {"hpcc", "HPCC (Li et al., SIGCOMM 2019): window by what the switches say in the packets (42 B of telemetry each)"},
        {"ib-cc", "InfiniBand's (annex A10): packets marked with FECN raise the sender's index into a table of delays"},
        {"none", "no congestion control: line rate, losses and queues left to PFC or to go-back-N"},
        {"powertcp", "PowerTCP (Addanki et al., NSDI 2022): window by the power of links, from telemetry in the packets (42 B each)"},
        {"swift", "Swift (Kumar et al., SIGCOMM 2020): window, also below a packet, by round-trip times against a target"},
        {"theta-powertcp", "theta-PowerTCP (Addanki et al., NSDI 2022): window by power as round-trip times show it"},
        {"timely", "TIMELY (Mittal et al., SIGCOMM 2015): rate by the gradient of round-trip times"},
    };
    return names;
}

struct CongestionPreset
{
    const char* name;
    const char* of; ///< congestion controls that have it, separated by spaces; the first preset of one is its default
    const char* description;
    rdma::Bytes ecnKmin; ///< per 100 Gb/s
    rdma::Bytes ecnKmax; ///< per 100 Gb/s
    double ecnPmax;

    bool IsOf(const std::string& cc) const { return (" " + std::string(of) + " ").find(" " + cc + " ") != std::string::npos; }
};

inline const std::vector<CongestionPreset>&
CongestionPresets()
{
    static const std::vector<CongestionPreset> presets = {
        // HPCC's published run.py: KMIN 100 x rate/25G KB, KMAX 400 x rate/25G KB, PMAX 0.2.
        {"hpcc19-vendor", "dcqcn none",
         "as in HPCC's published run script (SIGCOMM 2019): alpha 1 us, increase 300 us, CNP 4 us; K 400/1600 kB, Pmax 0.2",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        // 5 and 200 KB at 40 Gb/s, Pmax 1% (section 5.3 and table 14).
        {"sigcomm15", "dcqcn none",
         "DCQCN's paper, for 40 Gb/s: timers 55 us, CNP 50 us, F = 5, 10 MB, R_AI 40 Mb/s; K 12.5/500 kB, Pmax 0.01",
         rdma::Bytes(12500), rdma::Bytes(500000), 0.01},
        // NVIDIA's recommended RoCE configuration of switches: 150 and 1,500 KB at 100 Gb/s, marking probability 100%.
        {"nvidia-nic", "dcqcn none",
         "defaults of NVIDIA adapters (mlxconfig): alpha 1 us, increase 300 us, R_AI 5, R_HAI 50 Mb/s; K 150/1500 kB, Pmax 1",
         rdma::Bytes(150000), rdma::Bytes(1500000), 1.0},
        {"mellanox", "ib-cc",
         "manual of Mellanox OFED 2.2, a geometric table for 128 sources of one sink; on Ethernet K 400/1600 kB, Pmax 0.2",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"gran10", "ib-cc", "Gran et al., IPDPS 2010, a linear table; on Ethernet K 400/1600 kB, Pmax 0.2", rdma::Bytes(400000),
         rdma::Bytes(1600000), 0.2},
        // HPCC's published run.py: KMIN = KMAX = 30 x rate/10G KB.
        {"hpcc19", "dctcp", "DCTCP as its paper has it, g = 1/16, with the marking of HPCC's published run script: K 300 kB", rdma::Bytes(300000), rdma::Bytes(300000), 1.0},
        // 65 packets of 1,500 B at 10 Gb/s (section 3.4), which is 97.5 KB.
        {"sigcomm10", "dctcp", "DCTCP with the marking of its paper: K 975 kB (65 packets of 1,500 B at 10 Gb/s)", rdma::Bytes(975000), rdma::Bytes(975000),
         1.0},
        {"sigcomm19", "hpcc", "HPCC's paper: eta 0.95, maxStage 5, W_AI for 100 flows", rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"nsdi22", "powertcp theta-powertcp",
         "PowerTCP's paper, and its authors' Linux module where that leaves things open: gamma 0.9, beta for 10 flows of a host",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"nsdi22-ns3", "powertcp theta-powertcp",
         "as in its authors' ns-3 code: rate + 150 Mb/s, eta 0.95, gamma 0.9; theta: floor 0.5, 1.05 tau, gamma 0.7",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"sigcomm20", "swift",
         "Swift's paper: flow scaling from 0.1 to 100 packets; assumed: target 25 us, 1 us a hop, 25 us for flows, ai 1, beta 0.8, max_mdf 0.5",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"csg-htsim", "swift", "the same law with csg-htsim's constants: target 20 us, 3.05 us a hop, 100 us for flows, windows to 1,000 packets",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"timely15", "timely", "as in the TIMELY authors' code: alpha 0.02, T_low 50 us, T_high 1 ms, delta line rate / 1000, beta 0.8, cuts to half at most",
         rdma::Bytes(400000), rdma::Bytes(1600000), 0.2},
        {"conext16", "timely", "patched TIMELY (Zhu et al., CoNEXT 2016): with a fixed point; alpha 0.875, T_high 500 us, beta 0.008", rdma::Bytes(400000),
         rdma::Bytes(1600000), 0.2},
        {"hpcc-code", "dcqcn dctcp hpcc timely",
         "reactions as HPCC's ns-3 code has them, to replay its results (with --compat=hpcc); parameters as ns-3 attributes", rdma::Bytes(400000),
         rdma::Bytes(1600000), 0.2},
    };
    return presets;
}

} // namespace scenario

#endif // SCENARIOS_SPEC_CONGESTION_NAMES_H
