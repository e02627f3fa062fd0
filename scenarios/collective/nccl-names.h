/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's names of algorithms, protocols and functions, and ours.
 */
#ifndef SCENARIOS_COLLECTIVE_NCCL_NAMES_H
#define SCENARIOS_COLLECTIVE_NCCL_NAMES_H

#include "collectives/core/schedule.h"

namespace scenario
{

/// A name of NCCL's and ours.
struct NcclName
{
    const char* nccl;
    const char* ours;
};

/// The table of NCCL_ALGO in the user guide; its Collnet ended with 2.13.
constexpr NcclName kNcclAlgorithms[] = {{"Ring", "ring"},
                                        {"Tree", "double-binary-tree"},
                                        {"CollnetChain", "collnet-chain"},
                                        {"CollnetDirect", "collnet-direct"},
                                        {"NVLS", "nvls"},
                                        {"NVLSTree", "nvls-tree"},
                                        {"PAT", "pat"}};

constexpr NcclName kNcclProtocols[] = {{"LL", "ll"}, {"LL128", "ll128"}, {"Simple", "simple"}};

/// The functions that parseList knows (ncclFuncStr).
struct NcclFunction
{
    const char* name;
    coll::Op op;
};

constexpr NcclFunction kNcclFunctions[] = {{"Broadcast", coll::Op::kBroadcast},
                                           {"Reduce", coll::Op::kReduce},
                                           {"AllGather", coll::Op::kAllGather},
                                           {"ReduceScatter", coll::Op::kReduceScatter},
                                           {"AllReduce", coll::Op::kAllReduce}};

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_NCCL_NAMES_H
