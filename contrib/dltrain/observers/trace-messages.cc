/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What TraceCollector hears of messages, from their posts to their ends.
 */
#include "contrib/dltrain/ranks/rank-notes.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "reports/attribution/message-id.h"
#include "trace-collector.h"

#include "ns3/node-windows.h"

#include <memory>
#include <utility>

namespace dltrain
{

using ns3::NodeWindows;
using ns3::RdmaClock;
using reports::MessageId;

PendingMessages::Sender&
TraceCollector::Find(uint32_t endpoint, uint32_t number)
{
    return m_pending.Find(endpoint, number);
}

TraceCollector::End
TraceCollector::EndOf(const ns3::RdmaQueuePair& qp)
{
    return {qp.GetNic()->GetEndpoint(), qp.GetNumber(), qp.GetPeerEndpoint(), qp.GetPeerNumber()};
}

void
TraceCollector::OnPost(ns3::RdmaQueuePair* qp, const ns3::RdmaWorkRequest& request)
{
    m_links->Arm();
    if (qp->GetState() == ns3::RdmaQueuePair::State::ERROR)
    {
        return; // it will never arrive
    }
    NodeWindows::Note<&TraceCollector::TellPost>(
        this,
        Post{EndOf(*qp), request.id, request.posted, request.operation});
    // The data of a READ comes from the other end, which is not there yet: OnAccepted.
    if (m_queuePairLog && request.operation != ns3::RdmaOperation::READ)
    {
        NodeWindows::Note<&QueuePairLog::Begin>(m_queuePairLog.get(),
                                                QueuePairLog::Sight::Of(*qp, RdmaClock::Now()));
    }
}

void
TraceCollector::TellPost(const Post& post)
{
    ++m_outstanding;
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.post, post);
        return;
    }
    HearPost(post);
}

void
TraceCollector::EndOne()
{
    m_outstanding -= m_outstanding > 0;
}

void
TraceCollector::HearPost(const Post& post)
{
    const PendingMessages::Message message = Number(post.id, post.posted, post.operation);
    const bool here = m_options.atSender || post.operation == ns3::RdmaOperation::READ;
    // Else the other rank expects it.
    if (m_options.notes || !IsRemote(post.end) || here)
    {
        m_pending.Add(Find(post.end.endpoint, post.end.number), message);
    }
}

PendingMessages::Message
TraceCollector::Number(uint64_t id, int64_t posted, ns3::RdmaOperation operation)
{
    // Posts are numbered as they come, unless the poster has numbers of its own.
    m_marked |= MessageId::IsWarmup(id);
    const bool measured = m_marked ? !MessageId::IsWarmup(id) : m_measuring;
    const uint64_t flow = MessageId::HasFlow(id) ? MessageId::Flow(id) : m_posts;
    m_posts += measured;
    return {posted, flow, MessageId::Tag(id), measured, operation};
}

PendingMessages::Message
TraceCollector::BeginMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation)
{
    m_links->Arm(); // for whoever observes it
    return CountMessage(id, now, operation);
}

PendingMessages::Message
TraceCollector::CountMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation)
{
    ++m_outstanding;
    return Number(id, now, operation);
}

void
TraceCollector::EndMessage(const PendingMessages::Message& message, reports::FlowRecord record)
{
    --m_outstanding;
    NoteSending(message.posted, record.end, record.bytes);
    AddMeasured(message, record);
}

void
TraceCollector::Next()
{
    if (m_journeys)
    {
        m_journeys->Next();
        m_pending.ForgetWays();
    }
}

void
TraceCollector::AddMeasured(const PendingMessages::Message& message, reports::FlowRecord& record)
{
    const bool measured =
        m_marked ? message.measured : m_measuring && message.posted >= m_baseline.time;
    if (measured && !m_finished)
    {
        record.flow = message.flow;
        record.tag = message.tag;
        record.start = message.posted;
        m_flows->Add(record);
        if (m_journeys)
        {
            bool noted = true; // no queue pair has sent it
            m_journeys->Add(record, 0, noted, nullptr, *m_flows);
        }
    }
}

void
TraceCollector::FailMessage()
{
    --m_outstanding;
    ++m_failed;
}

void
TraceCollector::NoteSending(int64_t beginPs, int64_t endPs, uint64_t bytes)
{
    if (m_journeys && !m_finished)
    {
        m_journeys->AddOrdinary(beginPs, endPs, bytes);
    }
}

void
TraceCollector::AddMessage(uint64_t id, int64_t posted, reports::FlowRecord record)
{
    AddMeasured(Number(id, posted, ns3::RdmaOperation::WRITE), record);
}

void
TraceCollector::ExpectMessage(const ns3::RdmaQueuePair& receiver,
                              int64_t posted,
                              uint64_t id,
                              ns3::RdmaOperation operation)
{
    if (m_options.atSender)
    {
        return;
    }
    m_pending.Add(Find(receiver.GetPeerEndpoint(), receiver.GetPeerNumber()),
                  {posted, MessageId::Flow(id), MessageId::Tag(id), true, operation});
}

void
TraceCollector::BeginConnection(const ns3::RdmaQueuePair& sender, uint32_t from, uint32_t to)
{
    NodeWindows::Note<&TraceCollector::TellBegin>(this, Connection{EndOf(sender), from, to});
}

void
TraceCollector::TellBegin(const Connection& begun)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.begin, begun);
        return;
    }
    HearBegin(begun);
}

void
TraceCollector::HearBegin(const Connection& begun)
{
    PendingMessages::Sender& state = Find(begun.end.endpoint, begun.end.number);
    state.fromGpu = begun.from;
    state.toGpu = begun.to;
}

void
TraceCollector::EndConnection(const ns3::RdmaQueuePair& sender)
{
    NodeWindows::Note<&TraceCollector::TellEnd>(this, EndOf(sender));
}

void
TraceCollector::AbandonConnection(const ns3::RdmaQueuePair& sender)
{
    TellError(EndOf(sender));
}

void
TraceCollector::TellEnd(const End& ended)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.end, ended);
        return;
    }
    HearEnd(ended);
}

void
TraceCollector::HearEnd(const End& ended)
{
    m_pending.Forget(ended.endpoint, ended.number);
}

void
TraceCollector::OnAccepted(ns3::RdmaQueuePair& qp)
{
    if (m_queuePairLog)
    {
        NodeWindows::Note<&TraceCollector::TellAccepted>(
            this,
            QueuePairLog::Sight::Of(qp, RdmaClock::Now()));
    }
}

void
TraceCollector::TellAccepted(const QueuePairLog::Sight& accepted)
{
    const PendingMessages::Sender* sender = m_pending.Known(accepted.dst, accepted.peerNumber);
    const PendingMessages::Message* oldest = sender ? m_pending.Oldest(*sender) : nullptr;
    if (oldest && oldest->operation == ns3::RdmaOperation::READ)
    {
        m_queuePairLog->Begin(accepted);
    }
}

TraceCollector::Completion
TraceCollector::CompletionOf(const ns3::RdmaQueuePair& qp,
                             const ns3::RdmaMessage& message,
                             int64_t now)
{
    return {{qp.GetPeerEndpoint(), qp.GetPeerNumber(), qp.GetNic()->GetEndpoint(), qp.GetNumber()},
            message.bytes,
            now,
            message.hasImmediate,
            false,
            qp.GetClass()};
}

void
TraceCollector::OnJourney(ns3::RdmaQueuePair* qp,
                          const ns3::RdmaMessage& message,
                          const ns3::RdmaJourney& journey,
                          int64_t now)
{
    const Completion completion = CompletionOf(*qp, message, now);
    Arriving& arriving = m_arriving[completion.end.peer];
    // The parts are for this event, and those that are noted lie there until then: no copy.
    const bool isNoted = NodeWindows::InUnit();
    if (!isNoted && !arriving.own)
    {
        arriving.own = std::make_unique<reports::MessageParts>();
    }
    reports::MessageParts& parts =
        isNoted ? NodeWindows::NoteObject<Divided>(*this, completion).parts : *arriving.own;
    m_journeys->Divide(journey, now, parts);
    arriving.parts = &parts;
    arriving.isNew = true;
    if (!isNoted)
    {
        HearComplete(completion, &parts);
    }
}

void
TraceCollector::OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now)
{
    if (!m_arriving.empty())
    {
        Arriving& arriving = m_arriving[qp->GetNic()->GetEndpoint()];
        if (std::exchange(arriving.isNew, false))
        {
            return; // OnJourney has told it
        }
        arriving.parts = nullptr;
    }
    if (!m_options.atSender)
    {
        NodeWindows::Note<&TraceCollector::TellPlain>(this, CompletionOf(*qp, message, now));
    }
}

void
TraceCollector::Prefetch(const Post& post, uint32_t depth) const
{
    if (!m_options.notes)
    {
        m_pending.Prefetch(post.end.endpoint, post.end.number, depth);
    }
}

void
TraceCollector::Prefetch(const Completion& completion, uint32_t depth) const
{
    if (!m_options.notes)
    {
        m_pending.Prefetch(completion.end.endpoint, completion.end.number, depth);
    }
}

void
TraceCollector::TellPlain(const Completion& completion)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.complete, completion);
        return;
    }
    HearPlain(completion);
}

void
TraceCollector::HearPlain(const Completion& completion)
{
    HearComplete(completion, nullptr);
}

int64_t
TraceCollector::IdealOf(const Completion& completion,
                        ns3::RdmaOperation operation,
                        PendingMessages::Sender& state) const
{
    const uint32_t to = completion.end.peer;
    const auto compute = [&] {
        return m_fabric.GetIdealCompletion(completion.end.endpoint,
                                           to,
                                           completion.bytes,
                                           completion.hasImmediate,
                                           operation,
                                           m_options.atSender,
                                           completion.trafficClass);
    };
    if (completion.bytes >= PendingMessages::Sender::NO_SIZE)
    {
        return compute();
    }
    auto& [bytes, bytesBefore] = state.idealBytes;
    auto& [ideal, idealBefore] = state.ideals;
    if (state.idealImmediate != completion.hasImmediate || state.idealOperation != operation ||
        state.idealTo != to) // a queue pair may be reset and have another peer
    {
        state.idealImmediate = completion.hasImmediate;
        state.idealOperation = operation;
        state.idealTo = to;
        bytes = bytesBefore = PendingMessages::Sender::NO_SIZE;
    }
    if (bytes != completion.bytes)
    {
        std::swap(bytes, bytesBefore);
        std::swap(ideal, idealBefore);
    }
    if (bytes != completion.bytes)
    {
        bytes = static_cast<uint32_t>(completion.bytes);
        ideal = compute();
    }
    return ideal;
}

void
TraceCollector::HearComplete(const Completion& completion, const reports::MessageParts* parts)
{
    const uint32_t from = completion.end.endpoint;
    const uint32_t to = completion.end.peer;
    const bool read = completion.read;
    PendingMessages::Sender& state = Find(from, completion.end.number);
    PendingMessages::Message pending;
    if (!m_pending.Take(state, read, pending))
    {
        return; // posted before this collector listened
    }
    // A message from or to another rank is outstanding where it was posted, until it is
    // acknowledged: OnCompletion.
    if (!m_options.notes && !state.failed && m_fabric.IsLocal(from) && m_fabric.IsLocal(to))
    {
        --m_outstanding;
    }
    if (!pending.measured && m_marked && m_journeys && parts && !m_finished)
    {
        // Warm-up of one job beside the measured time of another.
        m_journeys->AddUnmeasured({pending.posted, completion.time, completion.bytes},
                                  *parts,
                                  m_flows->OwnerOf(pending.tag));
    }
    if (!pending.measured || m_finished)
    {
        return;
    }
    reports::FlowRecord record;
    record.flow = pending.flow;
    record.bytes = completion.bytes;
    record.start = pending.posted;
    record.end = completion.time;
    record.ideal = IdealOf(completion, pending.operation, state);
    record.src = read ? to : from;
    record.dst = read ? from : to;
    record.tag = pending.tag;
    record.trafficClass = completion.trafficClass;
    record.fromGpu = read ? state.toGpu : state.fromGpu;
    record.toGpu = read ? state.fromGpu : state.toGpu;
    if (!m_options.notes && Ranks::OfHosts().Several())
    {
        m_records.push_back(record);
        return;
    }
    m_flows->Add(record);
    if (m_journeys)
    {
        m_journeys->Add(record,
                        uint64_t{from} << 32 | completion.end.number,
                        state.wayNoted,
                        parts,
                        *m_flows);
    }
}

void
TraceCollector::OnCompletion(ns3::RdmaQueuePair* qp,
                             const ns3::RdmaWorkRequest& request,
                             ns3::RdmaStatus status,
                             int64_t now)
{
    const bool read = request.operation == ns3::RdmaOperation::READ;
    const bool success = status == ns3::RdmaStatus::SUCCESS;
    const Completion completion{EndOf(*qp),
                                request.bytes,
                                now,
                                request.hasImmediate,
                                read,
                                qp->GetClass()};
    if ((m_options.atSender || read) && success)
    {
        NodeWindows::Note<&TraceCollector::TellPlain>(this, completion);
    }
    if (!success || m_options.notes || IsRemote(completion.end))
    {
        NodeWindows::Note<&TraceCollector::TellStatus>(this, Status{completion.end, success});
    }
}

void
TraceCollector::TellStatus(const Status& status)
{
    m_failed += !status.success;
    if (m_options.notes || IsRemote(status.end))
    {
        EndOne(); // all that this rank hears of it
    }
}

void
TraceCollector::OnRetry(ns3::RdmaQueuePair*, uint64_t, int64_t)
{
    m_links->Arm();
}

void
TraceCollector::OnError(ns3::RdmaQueuePair* qp, uint64_t, int64_t)
{
    NodeWindows::Note<&TraceCollector::TellError>(this, EndOf(*qp));
}

void
TraceCollector::TellError(const End& failed)
{
    if (m_options.notes)
    {
        return; // flushed messages are reported one by one
    }
    PendingMessages::Sender& sender = Find(failed.endpoint, failed.number);
    if (!sender.failed)
    {
        sender.failed = true;
        m_outstanding -= IsRemote(failed) ? 0 : m_pending.Count(sender);
    }
}

} // namespace dltrain
