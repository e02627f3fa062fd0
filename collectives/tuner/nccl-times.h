/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time that NCCL expects of a collective when it chooses. It may be far from the real time: its
 * constants are those of no machine, and it may take a network for slower than it is. For groups on
 * several servers whose library has such expectations (topo::LibraryExpectations).
 *
 * **The law** is that of NVIDIA/nccl@b647562 (2.20.3), src/graph/tuning.cc (ncclTopoTuneModel,
 * ncclTopoGetAlgoTime). With n ranks on k servers, each with g = n / k, NICs in use with rate r, B
 * = r x NICs, L the latency that the network's plug-in reports, and o the time of a post:
 *
 *   - time: latency + S / (B share ratio), S the bytes as nccl-tests has them;
 *   - ring: latency = base + (s - x) max(inside, o) + x (outside + L), with s = 2 (n - 1), x = 2 k
 *     for all_reduce; n - 1, k - 1 for all_gather and reduce_scatter. ratio: n / s. share: LL 1/4,
 *     LL128 0.92 (0.7 if g < 2), Simple 1;
 *   - tree: latency = base + 2 ((g - 1) inside + floor(log2 k) (outside + L)). ratio: 1/2.
 *     share: LL 0.92 / 3.8, LL128 0.92 x 120/128, Simple 0.92; times a factor of the size, 0.4 to
 *     0.5 at some 256 KiB;
 *   - Simple: 2 L instead of L, a flush; of a ring 3 o instead of o, and of an all_reduce from 64 B
 *     a channel and rank on 1.4 times that latency ("plateau effect");
 *   - LL: no more than B share = 22.5 GB/s on two servers, 19 on more (those with AMD's CPUs).
 *
 * base, inside and outside are in nccl-times.cc. A tree's values for Simple are those of
 * NVIDIA/nccl@5067397: 8.4, 4 and 14 us (2.20.3: 0, 28 and 28). With them the choices look like the
 * table of Polaris. One channel per NIC is assumed. NCCL's own bounds on channels are left out:
 * they are above the rate of a 200 Gb/s NIC.
 */
#ifndef COLLECTIVES_TUNER_NCCL_TIMES_H
#define COLLECTIVES_TUNER_NCCL_TIMES_H

#include "collectives/core/schedule.h"
#include "topologies/library-model.h"

#include <cstdint>
#include <optional>

namespace coll
{

/// A group as NCCL's formula sees it.
struct NcclGroup
{
    uint32_t ranks = 0;
    uint32_t servers = 0; ///< at least two
    uint32_t nics = 1;    ///< NICs of a server that are in use
};

/// Algorithms that the formula is for.
enum class NcclAlgorithm : uint8_t
{
    kRing,
    kTree
};

/// \return s; nothing: an operation or a protocol without a formula here. \pre
/// expects.nicRate is not 0
std::optional<double> NcclSeconds(NcclAlgorithm algorithm,
                                  topo::Protocol protocol,
                                  Op op,
                                  uint64_t bytes,
                                  const NcclGroup& group,
                                  const topo::LibraryExpectations& expects);

} // namespace coll

#endif // COLLECTIVES_TUNER_NCCL_TIMES_H
