/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rate of one pair of ranks in grouped sends and receives (alltoall, sendrecv, ...), where that
 * is below the rate of its links: a library splits a message over a few of its channels, each with
 * a rate of its own (topo::ExchangeChannels).
 *
 * **The law** is that of NVIDIA/nccl@04cdb80, src/graph/paths.cc (ncclTopoComputeP2pChannels) and
 * src/enqueue.cc (scheduleP2pTasksToPlan, addP2pToPlan); tables of NCCL 2.29.2 agree with it. With
 * n ranks:
 *
 *                            one server               several
 *     channels in all, C     inServer                 min(aNic x NICs in use, most)
 *     most of a pair, m      C                        NIC rate / 14 GB/s, rounded up, to a power of
 *                                                     two; halved while m x (n / 8, rounded up) > C
 *     least of a pair        m, halved while that x n > C
 *     of a message of b      the least, doubled while each has more than 16 MiB (one server) or
 *                            128 KiB (several) of it, to at most m
 *
 * so that pairs in a server have few channels as soon as one rank is elsewhere. Between servers a
 * pair has its m whatever the size: a message that is too small for it is over within
 * microseconds.
 *
 *     H100, 4 in a server: 8 channels a pair up to 128 MiB, 16 up to 256 MiB, else 32.
 *     H100, 10 servers with 1 each: C = 4, m = 4, but 4 x 2 > 4, so 2 of 13 GB/s: half a NIC.
 */
#ifndef COLLECTIVES_TUNER_EXCHANGE_RATES_H
#define COLLECTIVES_TUNER_EXCHANGE_RATES_H

#include "collectives/tuner/tuner.h"
#include "contrib/rdma/core/units.h"

#include <cstdint>

namespace coll
{

class ExchangeRates
{
  public:
    /// As fast as links are.
    ExchangeRates() = default;

    /// The rates for the ranks of a placement. Without channels in the machine's library: the rates
    /// of links.
    ExchangeRates(const Placement& placement, const Machine& machine);

    /// The most that a pair in a server gets for a message. \return 0: the rate of the links
    rdma::BitRate Inside(uint64_t bytes) const;

    /// The most that a pair in different servers gets, on the wire, where that is less than a NIC's
    /// rate. \return 0: the rate of the links
    rdma::BitRate Outside() const
    {
        return m_outside;
    }

    /// Channels of a pair in a server, for a message.
    uint32_t Channels(uint64_t bytes) const;

  private:
    uint32_t m_least = 0;
    uint32_t m_most = 0;
    uint64_t m_part = 0;    ///< most bytes per channel before more channels are used
    rdma::BitRate m_inside; ///< rate of a channel
    rdma::BitRate m_outside;
};

} // namespace coll

#endif // COLLECTIVES_TUNER_EXCHANGE_RATES_H
