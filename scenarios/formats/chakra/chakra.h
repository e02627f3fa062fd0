/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Chakra execution traces (MLCommons): the computation and communication of each rank, as nodes
 * with dependencies. Sources: mlcommons/chakra schema/protobuf/et_def.proto (6dc63e14), and how
 * ASTRA-sim runs nodes, astra-sim/astra-sim astra-sim/workload/Workload.cc (0383c203).
 *
 * Reading.
 *
 *   compute            as long as duration_micros says; 0: by num_ops and tensor_size on the GPU;
 *                      with is_cpu_op on the host, a thread for each `tid`, beside the GPU
 *   memory load, store tensor_size bytes in remote memory (--remote-memory), one load and one store
 *                      at a time; without it as the next ones
 *   storage, batch,    as computing on a thread of their own
 *   checkpoint
 *   collective         comm_type, comm_size in the group pg_name; without a name all ranks
 *   send, receive      comm_dst or comm_src, comm_size, comm_tag: simulated, the recorded time is
 *                      not used, as that of collectives is not
 *   metadata, invalid  nothing; lists of process groups in `inputs` are read
 *
 * comm_size is the data of a rank at the beginning, as in ASTRA-sim: an all-gather ends with n
 * times as much, a reduce-scatter with the n-th part. Integers may be in any member of the
 * attribute's oneof. involved_dim and comm_priority have no effect here.
 *
 * Writing. The work of a stream is sequential: each node waits for the one before on its stream.
 * Data that Chakra has no field for are in attributes of our own, which other readers skip:
 * dltrain_ps (the exact time), dltrain_phase, dltrain_kind, dltrain_thread, dltrain_bytes (of a
 * collective, whole vector), dltrain_sends (all-to-all-v).
 */
#ifndef SCENARIOS_FORMATS_CHAKRA_CHAKRA_H
#define SCENARIOS_FORMATS_CHAKRA_CHAKRA_H

#include "scenarios/formats/chakra/chakra-node.h"
#include "scenarios/formats/recording.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// How long a GPU takes for so many FLOPs and bytes of memory traffic.
using KernelTime = std::function<rdma::Duration(double flops, double bytes)>;

/// Files of a trace.
struct ChakraFiles
{
    std::vector<std::string> ofRank; ///< paths by rank
    std::string groups;              ///< JSON: {"0": [0, 1], ...}; empty: none
};

/// The files that belong to a path: a folder with PREFIX.RANK.et or .json, each also with .gz, or
/// one of those files. Nothing, and no error, if there are no such files. Nothing, and an error, if
/// ranks are missing.
std::optional<ChakraFiles> FindChakraFiles(const std::string& path,
                                           std::vector<topo::Error>& errors);

/// Reads a trace. Nothing, and an error, if a file is damaged.
std::optional<Recording> ReadChakra(const ChakraFiles& files,
                                    const KernelTime& time,
                                    std::vector<topo::Error>& errors);

/// The same of nodes. \param files their names, for errors \param groups text of a groups file, or
/// empty
std::optional<Recording> RecordingOfNodes(const std::vector<std::vector<ChakraNode>>& ranks,
                                          const std::vector<std::string>& files,
                                          const std::string& groups,
                                          const KernelTime& time,
                                          std::vector<topo::Error>& errors);

/// The nodes of a rank in one step of a plan without actors. Group g of kind k is named by its
/// number among all groups, as in GroupsText.
std::vector<ChakraNode> ChakraNodes(const training::TrainingPlan& plan, coll::Rank rank);

/// The groups of a plan: {"0": [0, 1], ...}.
std::string GroupsText(const training::TrainingPlan& plan);

/// Why a plan cannot be written; empty: it can.
std::string WhyNoChakra(const training::TrainingPlan& plan);

} // namespace formats

#endif // SCENARIOS_FORMATS_CHAKRA_CHAKRA_H
