/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "granted-transport.h"

#include "contrib/rdma/core/psn.h"
#include "credit-exchange.h"

#include "ns3/rdma-frame.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-responder.h"

namespace ns3
{

rdma::Duration
RdmaGrantedTransport::GetTimeout(const RdmaRequester& requester) const
{
    return GetQuiet(requester) + RdmaCreditExchange::GetTimeout(requester, m_patience);
}

void
RdmaGrantedTransport::OnOutOfOrder(RdmaResponder& responder,
                                   uint64_t,
                                   RdmaFrame& frame,
                                   bool fresh,
                                   rdma::TimePoint now)
{
    if (!fresh)
    {
        AnswerArrival(responder, true, frame.psn, &frame, now);
    }
}

void
RdmaGrantedTransport::Acknowledge(RdmaResponder& responder, RdmaFrame* data, rdma::TimePoint now)
{
    if (HasAll(responder) || !m_fresh || (data && (data->flags & RdmaFrame::END_OF_POST)))
    {
        AnswerArrival(responder, true, data ? data->psn : 0, data, now);
    }
}

RdmaPullTransport::Pull
RdmaGrantedTransport::GivePull(RdmaResponder&, bool, rdma::TimePoint)
{
    return {0, false};
}

void
RdmaGrantedTransport::AnswerArrival(RdmaResponder& responder,
                                    bool whole,
                                    uint32_t psn,
                                    RdmaFrame* data,
                                    rdma::TimePoint now)
{
    responder.SendAnswer(whole ? RdmaOpcode::NDP_ACK : RdmaOpcode::NDP_NACK, psn, 0, data, now);
}

void
RdmaGrantedTransport::NoteFresh(const RdmaResponder& responder, uint64_t psn)
{
    m_fresh = psn >= responder.GetExpectedPsn() && !m_kept->IsKept(psn);
}

bool
RdmaGrantedTransport::NackMissing(RdmaResponder& responder, uint64_t sent, rdma::TimePoint now)
{
    const uint64_t expected = responder.GetExpectedPsn();
    bool missing = false;
    // As far as a sender may go: the request may be of another connection.
    for (uint64_t psn = expected; psn < sent && psn < expected + m_cap; ++psn)
    {
        if (!m_kept->IsKept(psn))
        {
            missing = true;
            AnswerArrival(responder, false, rdma::WirePsn(psn), nullptr, now);
        }
    }
    return missing;
}

uint32_t&
RdmaGrantedTransport::SpareOf(RdmaFrame& frame)
{
    return HasImmediate(frame.opcode) ? frame.dmaLength : frame.aux;
}

uint64_t
RdmaGrantedTransport::ExtendCount(uint32_t low, uint64_t near)
{
    return near + static_cast<int64_t>(static_cast<int32_t>(low - static_cast<uint32_t>(near)));
}

} // namespace ns3
