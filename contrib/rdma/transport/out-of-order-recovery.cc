/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "out-of-order-recovery.h"

#include "ns3/rdma-responder.h"
#include "ns3/rdma-transport-schemes.h"

namespace ns3
{

namespace
{

// The cap is what a receiver can keep track of, not a window that fits the idle network: eight
// round trips (assumed).
const RdmaTransportSchemes::Registered g_outOfOrder{
    {"out-of-order",
     [](const RdmaTransportScheme::Setting& setting) -> Ptr<RdmaTransport> {
         return Create<RdmaOutOfOrderRecovery>(setting);
     },
     8,
     true}};

} // namespace

RdmaOutOfOrderRecovery::RdmaOutOfOrderRecovery(const RdmaTransportScheme::Setting& setting)
    : RdmaSelectiveRepeatRecovery(setting, {setting.timeout, setting.timeout, 0})
{
}

std::string
RdmaOutOfOrderRecovery::GetName() const
{
    return "out-of-order";
}

void
RdmaOutOfOrderRecovery::OnOutOfOrder(RdmaResponder& responder,
                                     uint64_t,
                                     RdmaFrame& frame,
                                     bool fresh,
                                     rdma::TimePoint now)
{
    if (responder.AnswersAll()) // that a packet has come, and how far this end is
    {
        responder.SendAck(&frame, now);
    }
    else if (!fresh) // sent after a time-out: how far this end is
    {
        responder.SendAck(nullptr, now);
    }
}

} // namespace ns3
