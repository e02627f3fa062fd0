/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-port-state.h"

#include "contrib/rdma/core/flow-hash.h"

#include <cmath>
#include <cstddef>

namespace ns3
{

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // g++ and clang++ know it of such classes, too

void
RdmaPortState::CheckLines()
{
    static_assert(offsetof(RdmaPortState, m_busyUntil) - offsetof(RdmaPortState, m_rxFrames) == 64);
    static_assert(offsetof(RdmaPortState, m_queue) - offsetof(RdmaPortState, m_busyUntil) == 64);
}

#pragma GCC diagnostic pop

RdmaPortState::RdmaPortState()
    : m_errorProne(false),
      m_remote(false),
      m_cutThrough(false),
      m_hasCredits(false),
      m_suspicious(false),
      m_expectsBad(false),
      m_down(false),
      m_cut(false),
      m_countsAhead(false),
      m_sendsWithCare(false),
      m_hasControl(false),
      m_peerCutsThrough(false),
      m_everPaused(false),
      m_ownOrder(false)
{
}

int64_t
RdmaPortState::ToPs(uint64_t bits, uint64_t rateBps)
{
    return std::llround(static_cast<double>(bits) * 1e12 / static_cast<double>(rateBps));
}

int64_t
RdmaPortState::ComputeSerialization(uint32_t wireBytes) const
{
    const int64_t ps = rdma::SerializationTime(rdma::Bytes(wireBytes),
                                               rdma::BitRate(m_rate),
                                               rdma::Duration(m_timeUnit))
                           .ps;
    return m_clock == 1 ? ps : std::llround(static_cast<double>(ps) * m_clock);
}

uint8_t
RdmaPortState::GetPint(int64_t period, int64_t now)
{
    const double utilization = m_pint.OnPacket(now, m_txWireBytes, m_queuedBytes, m_rate, period);
    const uint64_t chance = rdma::Mix64(m_txWireBytes ^ static_cast<uint64_t>(now) << 20);
    return rdma::PintEncode(utilization, static_cast<uint32_t>(chance));
}

} // namespace ns3
