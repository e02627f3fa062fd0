/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "out-of-order-recovery.h"

#include "ns3/rdma-recovery-schemes.h"

namespace ns3
{

namespace
{

// The cap is what a receiver can keep track of, not a window that fits the idle network: eight
// round trips (assumed).
const RdmaRecoverySchemes::Registered g_outOfOrder{
    {"out-of-order",
     [](const RdmaRecoveryScheme::Setting& setting) -> Ptr<RdmaLossRecovery> {
         return Create<OutOfOrderRecovery>(setting);
     },
     8,
     true}};

} // namespace

OutOfOrderRecovery::OutOfOrderRecovery(const RdmaRecoveryScheme::Setting& setting)
    : SelectiveRepeatRecovery(setting, {setting.timeout, setting.timeout, 0})
{
}

std::string
OutOfOrderRecovery::GetName() const
{
    return "out-of-order";
}

void
OutOfOrderRecovery::Answer(RdmaResponder& responder,
                           uint64_t,
                           RdmaFrame& frame,
                           bool fresh,
                           int64_t now) const
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
