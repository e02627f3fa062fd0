/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-datagrams.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/node.h"

namespace ns3
{

RdmaDatagrams::RdmaDatagrams(RdmaQueuePair* qp)
    : m_qp(qp),
      m_timer(this)
{
}

void
RdmaDatagrams::Reset()
{
    m_waiting.clear();
    m_leaving.clear();
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaDatagrams::Post(const RdmaSendRequest& request, int64_t now)
{
    RdmaNic* nic = m_qp->m_nic;
    RdmaRequester& requester = m_qp->m_requester;
    RdmaWorkRequest posted(request, now);
    posted.firstPsn = requester.m_endPsn;
    posted.packets = 1;
    posted.firstByte = requester.m_postedBytes;
    nic->TellPost(m_qp, posted);
    if (m_qp->m_state == RdmaQueuePair::State::ERROR ||
        m_qp->m_state == RdmaQueuePair::State::SEND_QUEUE_ERROR)
    {
        Refuse(request, RdmaStatus::FLUSHED, now);
        return;
    }
    if (request.bytes > nic->m_mtu)
    {
        // What was posted before still goes; what comes behind is flushed (10.3.1.5).
        m_qp->m_state = RdmaQueuePair::State::SEND_QUEUE_ERROR;
        Refuse(request, RdmaStatus::LOCAL_LENGTH_ERROR, now);
        return;
    }
    m_waiting.push_back({request,
                         rdma::FlowHash({nic->m_endpoint,
                                         request.peerEndpoint,
                                         rdma::RoceSourcePort(m_qp->m_number, request.peerNumber)}),
                         now,
                         0,
                         RdmaStatus::SUCCESS});
    requester.Send();
    ++requester.m_endPsn;
    requester.m_postedBytes += request.bytes;
    requester.UpdateSendEnd();
    nic->Activate(m_qp, now);
}

void
RdmaDatagrams::Refuse(const RdmaSendRequest& request, RdmaStatus status, int64_t now)
{
    if (!m_waiting.empty())
    {
        m_waiting.push_back({request, 0, now, 0, status});
    }
    else if (!m_leaving.empty())
    {
        m_leaving.push_back({request, 0, now, m_leaving.back().gone, status});
    }
    else
    {
        Complete(request, now, status, now);
    }
}

void
RdmaDatagrams::Flush(int64_t now)
{
    const uint32_t resets = m_qp->m_resets;
    while (m_qp->m_resets == resets && !m_waiting.empty())
    {
        Datagram datagram = m_waiting.front();
        m_waiting.pop_front();
        if (datagram.status == RdmaStatus::SUCCESS)
        {
            datagram.status = RdmaStatus::FLUSHED;
        }
        if (m_leaving.empty())
        {
            Complete(datagram.request, datagram.posted, datagram.status, now);
        }
        else
        {
            datagram.gone = m_leaving.back().gone;
            m_leaving.push_back(datagram);
        }
    }
}

RdmaFrame*
RdmaDatagrams::MakeFrame(int64_t now)
{
    RdmaNic* nic = m_qp->m_nic;
    RdmaRequester& requester = m_qp->m_requester;
    Datagram datagram = m_waiting.front();
    m_waiting.pop_front();
    const RdmaSendRequest& request = datagram.request;
    const uint32_t payload = static_cast<uint32_t>(request.bytes);
    const auto opcode =
        request.hasImmediate ? RdmaOpcode::UD_SEND_ONLY_IMM : RdmaOpcode::UD_SEND_ONLY;
    const uint32_t wire = nic->m_sizes.DataWire(static_cast<rdma::RoceOpcode>(opcode), payload);
    RdmaFrame* frame = m_qp->NewFrame(opcode,
                                      requester.m_sender->nextPsn,
                                      wire,
                                      RdmaFrame::END_OF_POST,
                                      request.id);
    frame->dst = request.peerEndpoint;
    frame->destQp = request.peerNumber;
    frame->route = RdmaRoute::OfFlow(datagram.flowHash);
    if (const RdmaPathSource* paths = nic->m_paths)
    {
        const RdmaPathSource::Path path = paths->GetPath(nic->m_endpoint,
                                                         request.peerEndpoint,
                                                         m_qp->m_serviceLevel,
                                                         datagram.flowHash);
        frame->route = path.route;
        frame->priority = path.lane;
        frame->serviceLevel = path.serviceLevel;
    }
    frame->payload = static_cast<uint16_t>(payload);
    frame->aux = request.immediate;
    frame->dmaLength = m_qp->m_number;
    if (m_qp->m_needs & RdmaQueuePair::RANK)
    {
        frame->extra = RdmaFramePool::Get().AllocateExtra();
        frame->extra->rank = payload;
    }

    ++nic->m_counters.dataPackets;
    nic->m_counters.dataBytes += payload;
    RdmaRequester::Sender& own = *requester.m_sender;
    ++own.nextPsn;
    own.highestPsn = own.nextPsn;
    own.sentBytes += payload;
    own.cc.bytesSent += payload;
    // Complete when the last bit has left: a datagram is not acknowledged.
    datagram.gone = now + nic->m_port->GetSerialization(wire);
    m_leaving.push_back(datagram);
    while (!m_waiting.empty() && m_waiting.front().status != RdmaStatus::SUCCESS)
    {
        m_leaving.push_back(m_waiting.front());
        m_leaving.back().gone = datagram.gone;
        m_waiting.pop_front();
    }
    m_timer.ScheduleAt(datagram.gone, nic->m_port->GetContext());
    requester.Sent(payload, wire, now);
    return frame;
}

void
RdmaDatagrams::OnGone()
{
    const int64_t now = RdmaClock::Now();
    RdmaRequester& requester = m_qp->m_requester;
    while (!m_leaving.empty() && m_leaving.front().gone <= now)
    {
        const Datagram datagram = m_leaving.front();
        m_leaving.pop_front();
        if (datagram.status == RdmaStatus::SUCCESS)
        {
            requester.m_sender->ackedPsn += 1;
            requester.m_sender->ackedBytes += datagram.request.bytes;
        }
        Complete(datagram.request, datagram.posted, datagram.status, now);
    }
    m_qp->m_nic->Activate(m_qp, now); // a window may have opened
}

void
RdmaDatagrams::Complete(const RdmaSendRequest& request,
                        int64_t posted,
                        RdmaStatus status,
                        int64_t now)
{
    RdmaWorkRequest done(request, posted);
    done.packets = 1;
    m_qp->m_peerEndpoint = request.peerEndpoint; // what the completion tells
    m_qp->m_peerNumber = request.peerNumber;
    m_qp->m_requester.Complete(done, status, now);
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaDatagrams::OnFrame(const RdmaFrame& frame, int64_t now)
{
    RdmaNicCounters& counters = m_qp->m_nic->m_counters;
    RdmaResponder& responder = m_qp->m_responder;
    auto& receives = m_qp->m_verbs->responder.receives;
    if (receives.empty() || receives.front().bytes < frame.payload)
    {
        ++counters.datagramsDropped; // silently (9.8.3: no acknowledgement, no retry)
        return;
    }
    const RdmaReceiveRequest receive = receives.front();
    receives.pop_front();
    RdmaMessage message;
    message.sequence = responder.m_messages++;
    message.bytes = frame.payload;
    message.hasImmediate = HasImmediate(frame.opcode);
    message.immediate = frame.aux;
    responder.m_receivedBytes += frame.payload;
    ++counters.messagesReceived;
    m_qp->TellMessage(message, now);
    RdmaWorkCompletion completion = m_qp->MakeCompletion(receive.id, RdmaOperation::RECEIVE, now);
    completion.hasImmediate = message.hasImmediate;
    completion.immediate = message.hasImmediate ? message.immediate : 0;
    completion.bytes = message.bytes;
    completion.peerEndpoint = frame.src;
    completion.peerQueuePair = frame.dmaLength;
    responder.CompleteReceive(completion);
}

} // namespace ns3
