/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What nccl-tests and rccl-tests print, and collperf, whose table is the same: the operation, the
 * GPUs, and a time for each size.
 *
 *     # Collective test starting: all_reduce_perf                     of 2.17 and later
 *     #  Rank  0 Group  0 Pid  12 on node1 device  0 [0x07] NVIDIA A100
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong  ...
 *             1024           256     float     sum      -1    15.73    0.07    0.11      0  ...
 *
 * The first `time`, out of place, counts; of several rows of a size (datatypes, reductions) the
 * median. Lines of other programs in between are not looked at, and what mpirun or srun puts in
 * front of a line ("[1,0]<stdout>:", "0: ") is taken off. As NVIDIA/nccl-tests' src/common.cu
 * prints them; scripts/cluster_simulator/nccl_output.py reads the same for scripts/nccl-tables.
 */
#ifndef SCENARIOS_FORMATS_NCCL_NCCL_OUTPUT_H
#define SCENARIOS_FORMATS_NCCL_NCCL_OUTPUT_H

#include "topologies/error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

struct NcclOutput
{
    std::string op;                  ///< "all_reduce"; empty: it is not said, as before 2.17
    uint32_t ranks = 0;              ///< GPUs; 0: they are not listed
    uint32_t hosts = 0;              ///< they are on; 0: as ranks
    std::map<uint64_t, double> time; ///< us, above 0, by bytes of the whole vector, above 0
};

/// Reads the output. Nothing, and an error with its line, if there is no table, if it is damaged,
/// or if it has two tests, or a rank twice. \param file for errors
std::optional<NcclOutput> ReadNcclOutput(const std::string& text,
                                         const std::string& file,
                                         std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_NCCL_NCCL_OUTPUT_H
