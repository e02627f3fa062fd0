/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a responder that answers READs.
 */
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include <algorithm>

namespace ns3
{

uint32_t
RdmaResponder::GetPsnCount(RdmaOpcode opcode, uint32_t dmaLength) const
{
    return opcode != RdmaOpcode::READ_REQUEST || dmaLength == 0
               ? 1
               : 1 + (dmaLength - 1) / m_qp->m_nic->m_mtu;
}

void
RdmaResponder::OnReadRequest(uint64_t psn, uint32_t bytes, uint32_t label, int64_t now)
{
    const uint64_t end = psn + GetPsnCount(RdmaOpcode::READ_REQUEST, bytes);
    AddResponse(psn, end, bytes, label);
    if (end > m_expectedPsn)
    {
        m_expectedPsn = end;
        m_nakSent = false;
        m_duplicate = NO_DUPLICATE;
        m_msn = (m_msn + 1) & 0xffffff;
        if (m_holds)
        {
            ReleaseHeld(nullptr, now);
        }
    }
    m_qp->m_nic->Activate(m_qp, now);
}

void
RdmaResponder::AddResponse(uint64_t psn, uint64_t end, uint64_t bytes, uint32_t label)
{
    using Response = Verbs::Response;
    const uint32_t mtu = m_qp->m_nic->m_mtu;
    std::vector<Response>& responses = GetVerbs().responses;
    m_qp->m_requester.Send(); // with its rate
    // What is still to be sent of it is part of this one now.
    std::vector<Response> kept;
    for (const Response& old : responses)
    {
        if (old.psn < psn)
        {
            Response before = old;
            if (old.end > psn)
            {
                before.end = psn;
                before.bytes = (psn - old.psn) * mtu;
                before.last = false;
            }
            kept.push_back(before);
        }
        if (old.end > end)
        {
            Response behind = old;
            if (old.psn < end)
            {
                behind.psn = end;
                behind.bytes -= (end - old.psn) * mtu;
                behind.first = false;
            }
            kept.push_back(behind);
        }
    }
    kept.push_back({psn, end, bytes, label, true, true});
    std::sort(kept.begin(), kept.end(), [](const Response& a, const Response& b) {
        return a.psn < b.psn;
    });
    responses.swap(kept);
    m_qp->m_respond = true;
}

RdmaFrame*
RdmaResponder::MakeResponse(int64_t now)
{
    Verbs& verbs = m_qp->m_verbs->responder;
    RdmaNic* nic = m_qp->m_nic;
    Verbs::Response& response = verbs.responses.front();
    const uint32_t payload = static_cast<uint32_t>(std::min<uint64_t>(nic->m_mtu, response.bytes));
    const bool end = response.psn + 1 == response.end;
    const rdma::RoceOpcode opcode = rdma::ReadResponseOpcode(response.first, end && response.last);
    const uint32_t wire = m_qp->m_sizes->DataWire(opcode, payload);
    RdmaFrame* frame = m_qp->NewFrame(static_cast<RdmaOpcode>(opcode),
                                      response.psn,
                                      wire,
                                      RdmaFrame::ECT,
                                      response.label);
    frame->payload = static_cast<uint16_t>(payload);
    frame->aux = m_msn;
    frame->dmaLength = rdma::AckSyndrome();
    if (m_qp->m_needs & RdmaQueuePair::RANK)
    {
        frame->extra = RdmaFramePool::Get().AllocateExtra();
        frame->extra->rank = static_cast<uint32_t>(std::min<uint64_t>(response.bytes, UINT32_MAX));
    }

    RdmaNicCounters& counters = nic->m_counters;
    ++counters.dataPackets;
    counters.dataBytes += payload;
    if (response.psn < verbs.highestResponse)
    {
        frame->flags |= RdmaFrame::RETRANSMITTED;
        ++counters.retransmittedPackets;
    }
    ++response.psn;
    response.bytes -= payload;
    response.first = false;
    verbs.highestResponse = std::max(verbs.highestResponse, response.psn);
    verbs.responseNext = false;
    if (end)
    {
        verbs.responses.erase(verbs.responses.begin());
        m_qp->m_respond = !verbs.responses.empty();
    }
    RdmaRequester& pace = m_qp->m_requester;
    pace.m_sender->cc.bytesSent += payload;
    pace.Sent(payload, wire, now);
    return frame;
}

} // namespace ns3
