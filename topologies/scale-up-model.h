/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a message between two GPUs of one server takes: a law at message granularity, so that
 * NVLink costs no packets.
 *
 *     GPU a --egress--> [ non-blocking switch, latency L           ] --ingress--> GPU b
 *                       [ PCIe: host bridge, rate H, shared by all ]
 *
 * Each port has rate R and carries one message at a time.
 *
 * **The law.** Cut-through: the first byte arrives L after it left, and both ports are busy for the
 * message's duration D = bytes / R, the ingress one L later. A message posted at `now` therefore
 * starts at
 *
 *     start   = max(now, egressFree[a], ingressFree[b] - L, bridgeFree)       bridge: PCIe only
 *     arrival = start + L + D
 *     egressFree[a] = start + D,  ingressFree[b] = start + L + D,  bridgeFree = start + bytes / H
 *
 * If the bridge is slower than a port (H < R), a message takes D = bytes / H. A message of no bytes
 * takes L, and waits for nothing and nobody. A message of a GPU to itself arrives at once (there is
 * nothing to cross; what a copy in memory costs is the compute model's).
 *
 * **Assumptions.** First come (in the order of the calls), first served at every port, without
 * preemption or sharing: three messages to one GPU arrive one after the other, the last one when
 * fair sharing would deliver all three. A message that waits for its receiver holds up the later
 * ones of its sender (head-of-line), as one copy engine would. Both directions are independent. A
 * mesh (DGX-1) is taken as a switch with the sum of a GPU's links: right for ring collectives that
 * NCCL spreads over all links, too fast by up to the number of links for one message to one
 * neighbour.
 *
 * Calls must come in the order of simulated time (`now` never decreases) for this to be first come,
 * first served; nothing breaks otherwise. Cost: a few nanoseconds, no allocation. Times are whole
 * picoseconds from integer arithmetic: the same on every machine.
 */
#ifndef TOPOLOGIES_SCALE_UP_MODEL_H
#define TOPOLOGIES_SCALE_UP_MODEL_H

#include "contrib/rdma/core/units.h"
#include "topologies/server.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace topo
{

/// The scale-up ports of one server.
class ScaleUpModel
{
  public:
    /// Throws std::invalid_argument for a rate below 1 Mb/s, a negative latency, or PCIe without a
    /// host bridge rate.
    ScaleUpModel(const ScaleUp& spec, uint32_t gpus)
        : m_psPerByte(FixedPsPerByte(spec.perGpu)),
          m_latency(spec.latency.ps),
          m_ports(gpus)
    {
        if (spec.latency.ps < 0)
        {
            throw std::invalid_argument("ScaleUpModel: negative latency");
        }
        if (spec.kind == ScaleUp::kPcie)
        {
            m_bridgePsPerByte = FixedPsPerByte(spec.hostBridge);
            m_psPerByte = std::max(m_psPerByte, m_bridgePsPerByte);
        }
    }

    /// Posts a message and tells when its last byte arrives. GPUs are 0..Gpus()-1 (not checked).
    rdma::TimePoint Transfer(uint32_t fromGpu,
                             uint32_t toGpu,
                             rdma::Bytes bytes,
                             rdma::TimePoint now)
    {
        if (fromGpu == toGpu)
        {
            return now;
        }
        if (bytes.value == 0)
        {
            return rdma::TimePoint(now.ps + m_latency);
        }
        Port& from = m_ports[fromGpu];
        Port& to = m_ports[toGpu];
        int64_t start = std::max({now.ps, from.egressFree, to.ingressFree - m_latency});
        if (m_bridgePsPerByte != 0)
        {
            start = std::max(start, m_bridgeFree);
            m_bridgeFree = start + Scale(bytes, m_bridgePsPerByte);
        }
        from.egressFree = start + Scale(bytes, m_psPerByte);
        to.ingressFree = from.egressFree + m_latency;
        m_bytes += bytes;
        return rdma::TimePoint(to.ingressFree);
    }

    /// What Transfer takes when nothing else moves.
    rdma::Duration IdleTime(rdma::Bytes bytes) const
    {
        return rdma::Duration(m_latency + Scale(bytes, m_psPerByte));
    }

    /// Sum of all messages posted between different GPUs.
    rdma::Bytes BytesPosted() const
    {
        return m_bytes;
    }

    uint32_t Gpus() const
    {
        return static_cast<uint32_t>(m_ports.size());
    }

  private:
    struct Port
    {
        int64_t egressFree = std::numeric_limits<int64_t>::min() / 2;
        int64_t ingressFree = std::numeric_limits<int64_t>::min() / 2;
    };

    static constexpr int kFractionBits = 40;

    /// Picoseconds a byte, with 40 bits behind the point: 1 TiB is right to the nearest picosecond
    /// or its neighbour.
    static uint64_t FixedPsPerByte(rdma::BitRate rate)
    {
        if (rate < rdma::Mbps(1))
        {
            throw std::invalid_argument("ScaleUpModel: a rate below 1 Mb/s");
        }
        const unsigned __int128 one = static_cast<unsigned __int128>(8000000000000ULL)
                                      << kFractionBits;
        return static_cast<uint64_t>((one + rate.bps / 2) / rate.bps);
    }

    static int64_t Scale(rdma::Bytes bytes, uint64_t psPerByte)
    {
        const unsigned __int128 half = static_cast<unsigned __int128>(1) << (kFractionBits - 1);
        const unsigned __int128 product = static_cast<unsigned __int128>(bytes.value) * psPerByte;
        return static_cast<int64_t>((product + half) >> kFractionBits);
    }

    uint64_t m_psPerByte = 0;
    uint64_t m_bridgePsPerByte = 0; ///< 0: no bridge
    int64_t m_latency = 0;
    int64_t m_bridgeFree = std::numeric_limits<int64_t>::min() / 2;
    rdma::Bytes m_bytes;
    std::vector<Port> m_ports;
};

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_MODEL_H
