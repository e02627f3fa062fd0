/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The work of a GPU's server for it with --offload (ZeRO-Offload, Ren et al., arXiv 2101.06840;
 * DeepSpeed's offload_optimizer and offload_param with the device cpu).
 *
 *   GPU      forward .. backward, bucket by bucket ....
 *   network       reduce  reduce  reduce
 *   to host            copy    copy    copy
 *   CPU                                     tile 0 | tile 1 | tile 2
 *   from host                                        copy   | copy   | copy
 *   network                                                            gather parameters
 *
 * The closed form of a rank's copies, with parameters psi over n ranks and m micro-batches:
 *
 *   to host     m psi / n gradients (stage 1: psi / n, after the last micro-batch)
 *   from host   psi / n updated parameters; with the parameters offloaded instead psi / n for each
 *               gather of a layer, 2 m times each
 *
 * The CPU's update is bound by its memory, which the GPUs of a server share: all of them update at
 * once. It is done tile by tile, and a tile's parameters go back while the next one is updated
 * (DeepSpeedCPUAdam, as its documentation has it, "updates and copies at the same time").
 */
#ifndef SCENARIOS_TRAINING_HOST_WORK_H
#define SCENARIOS_TRAINING_HOST_WORK_H

#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <vector>

namespace training
{

/// Parameters of a tile: DeepSpeed's CPU optimizers go by TILE (DeepSpeed@14e1981
/// csrc/includes/cpu_adam.h), which its simd.h defines as 128 x 1024 x 1024.
constexpr uint64_t kHostTile = 128ULL << 20;

/// Assumed: what CPUs' updates reach of the memory of a server with two sockets, bytes/s. Measured,
/// with the 28 bytes of a parameter that Adam of 16 bits reads and writes:
///
///   40 GB/s         11.6e9 parameters in 8.2 s: github.com/deepspeedai/DeepSpeed/pull/735
///   51 GB/s         72.7e9 on 4 servers in some 10 s: the same, issues/6834
///   148 GB/s        STREAM on a DGX A100, 32 threads:
///                   gist.github.com/v0dro/0559e1d9b205ca9ac0ad1a29fe10377b
///   330 - 350 GB/s  STREAM on Azure's HBv3, DDR4: learn.microsoft.com/en-us/azure/
///                   high-performance-computing/performance-benchmarking/stream-benchmark
///
/// (read 2026-12-01, as excerpts).
constexpr double kHostMemoryRate = 100e9;

/// PCIe's share that copies reach: 55.4 GB/s measured from host to GPU, of 63 of PCIe 5.0 x16
/// (stas00/ml-engineering@744d01e, network/README.md); others the same, assumed.
constexpr double kHostLinkShare = 55.4 / 63;

/// How many parameters are updated together, one tile after another; at least one tile.
std::vector<uint64_t> HostTiles(uint64_t parameters);

/// The time of the CPU's update of so many parameters of one GPU, beside those of all others of the
/// server.
rdma::Duration HostUpdate(const TrainingOptions& options, uint64_t parameters);

/// The time of a copy between a GPU and its host.
rdma::Duration HostCopy(const TrainingOptions& options, uint64_t bytes);

} // namespace training

#endif // SCENARIOS_TRAINING_HOST_WORK_H
