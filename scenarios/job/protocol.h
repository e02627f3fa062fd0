/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What carries flows, as asked for.
 */
#ifndef SCENARIOS_JOB_PROTOCOL_H
#define SCENARIOS_JOB_PROTOCOL_H

#include "contrib/rdma/core/roce-sizes.h"

#include <cstdint>
#include <string>

namespace scenario
{

enum class Carrier : uint8_t
{
    kRdma,
    kTcp,
    kUdp,
};

/// Flows by RDMA, or by TCP or UDP over the same ports.
struct ProtocolSpec
{
    Carrier carrier = Carrier::kRdma;
    /// TCP: a name of --tcp-control. UDP: --rate as given; empty: the rate of a NIC's port.
    std::string control;
    std::string controlType;   ///< TCP: TypeId of the control in ns-3
    uint32_t packetMtu = 1500; ///< bytes of an IP packet, headers included (TCP and UDP)

    bool IsTcp() const
    {
        return carrier == Carrier::kTcp;
    }

    bool IsUdp() const
    {
        return carrier == Carrier::kUdp;
    }

    /// Packets of ns-3's stack.
    bool IsOrdinary() const
    {
        return carrier != Carrier::kRdma;
    }

    /// Header bytes within `packetMtu`: IPv4, and UDP or TCP. TCP has its time stamp option with
    /// padding (RFC 7323, appendix A).
    uint32_t HeaderBytes() const
    {
        return rdma::kIpv4HeaderBytes + (IsTcp() ? 20 + 12 : rdma::kUdpHeaderBytes);
    }

    /// "TCP", "UDP", "RDMA".
    std::string Text() const
    {
        return IsTcp() ? "TCP" : IsUdp() ? "UDP" : "RDMA";
    }

    /// As --protocol has it.
    std::string Name() const
    {
        return IsTcp() ? "tcp" : IsUdp() ? "udp" : "rdma";
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_PROTOCOL_H
