/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-gateway.h"

#include "rdma-frame-record.h"
#include "rdma-port.h"

#include "ns3/abort.h"
#include "ns3/node-windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ns3
{

RdmaGateway::RdmaGateway(uint32_t rank, uint32_t context, const rdma::LookAhead& split)
    : m_rank(rank),
      m_context(context),
      m_split(split),
      m_message(MAX_PAYLOAD_BYTES),
      m_timer(this)
{
}

void
RdmaGateway::SetTransport(Transport transport)
{
    m_transport = std::move(transport);
}

uint32_t
RdmaGateway::AddLink(RdmaPort* port)
{
    m_ports.push_back(port);
    return static_cast<uint32_t>(m_ports.size() - 1);
}

void
RdmaGateway::SetNoteCallback(std::function<void(const std::string&)> callback)
{
    m_onNote = std::move(callback);
}

void
RdmaGateway::SetArrivalCallback(std::function<void()> callback)
{
    m_onArrival = std::move(callback);
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaGateway::Begin(Kind kind, int64_t base)
{
    m_message[0] = kind;
    std::memcpy(&m_message[1], &m_sent, sizeof(m_sent));
    std::memcpy(&m_message[5], &base, sizeof(base));
    m_base = base;
    m_end = m_message.data() + HEADER_BYTES;
}

inline uint8_t*
RdmaGateway::Write(uint8_t* to, const RdmaFrame& frame, uint32_t link, int64_t at, int64_t base)
{
    to = RdmaFrameRecord::Write(to, frame, link, at, base);
    if (m_numbered && m_ports[link]->GetRetry())
    {
        *to++ = static_cast<uint8_t>(frame.inPort);
        *to++ = static_cast<uint8_t>(frame.inPort >> 8);
    }
    return to;
}

void
RdmaGateway::Send(uint32_t link, RdmaFrame* frame, int64_t from, int64_t at)
{
    NS_ABORT_MSG_IF(frame->extra && (frame->extra->packet || frame->extra->journey),
                    "an ordinary packet or a journey cannot cross to another process: links "
                    "between processes carry RDMA frames and what links say to each other only");
    if (!m_waiting.empty())
    {
        Wait(link, frame, from, at);
        return;
    }
    const int64_t now = RdmaClock::Now();
    if (m_end && m_end + RdmaFrameRecord::GetMaxBytes(*frame) > m_message.data() + m_message.size())
    {
        Flush(); // of frames with telemetry: there was room for another one without
    }
    if (!m_end)
    {
        // Received at the earliest if it is full at once.
        Begin(FRAMES, now + m_split.lookAheadPs);
        m_flushDue = now + m_split.holdPs;
        m_timer.ScheduleAt(m_flushDue, m_context);
    }
    NS_ABORT_MSG_IF(at < m_flushDue + m_split.lookAheadPs,
                    "a frame crosses to another process faster than the look-ahead allows");
    m_end = Write(m_end, *frame, link, at, m_base);
    ++m_framesSent;
    RdmaFramePool::Get().Free(frame);
    if (m_end + RdmaFrameRecord::MAX_PLAIN_BYTES > m_message.data() + m_message.size())
    {
        Flush();
    }
}

void
RdmaGateway::OnFlush()
{
    // A message that was full earlier is gone: the event finds nothing, or comes early for the
    // next.
    if (m_end && RdmaClock::Now() >= m_flushDue)
    {
        Flush();
    }
}

void
RdmaGateway::Flush()
{
    NS_ABORT_MSG_UNLESS(m_transport, "a gateway without a transport");
    const auto packet =
        Create<Packet>(m_message.data(), static_cast<uint32_t>(m_end - m_message.data()));
    m_end = nullptr;
    ++m_sent;
    ++m_messagesSent;
    m_transport(packet, RdmaClock::Now() + m_split.lookAheadPs);
}

void
RdmaGateway::SendNote(const std::string& text)
{
    if (m_end)
    {
        Flush();
    }
    Begin(NOTE, 0);
    const std::size_t size = std::min<std::size_t>(text.size(), MAX_PAYLOAD_BYTES - HEADER_BYTES);
    m_end = std::copy_n(text.begin(), size, m_end);
    Flush();
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaGateway::Receive(Ptr<Packet> message)
{
    std::vector<uint8_t> bytes(message->GetSize());
    message->CopyData(bytes.data(), message->GetSize());
    NS_ABORT_MSG_IF(bytes.size() < HEADER_BYTES, "a message from another process is cut off");
    uint32_t sequence;
    std::memcpy(&sequence, &bytes[1], sizeof(sequence));
    if (sequence != m_expected)
    {
        // Several were sent at one time, and MPI may hand them over in any order then. The one that
        // is missing comes at this time too.
        m_early.emplace(sequence, std::move(bytes));
        return;
    }
    Process(bytes);
    while (!m_early.empty() && m_early.begin()->first == m_expected)
    {
        const auto next = m_early.extract(m_early.begin());
        Process(next.mapped());
    }
}

void
RdmaGateway::Process(const std::vector<uint8_t>& message)
{
    ++m_expected;
    const uint8_t* at = message.data() + HEADER_BYTES;
    const uint8_t* end = message.data() + message.size();
    if (message[0] == NOTE)
    {
        if (m_onNote)
        {
            m_onNote(std::string(at, end));
        }
        return;
    }
    int64_t base;
    std::memcpy(&base, &message[5], sizeof(base));
    TakeFrames(at, end, base);
    if (m_onArrival)
    {
        m_onArrival();
    }
}

void
RdmaGateway::TakeFrames(const uint8_t* at, const uint8_t* end, int64_t base)
{
    while (at < end)
    {
        RdmaFrame* frame = RdmaFramePool::Get().Allocate();
        uint32_t link;
        int64_t arrival;
        at = RdmaFrameRecord::Read(at, end, *frame, link, arrival, base);
        NS_ABORT_MSG_IF(link >= m_ports.size(), "a frame from another process, of no link");
        if (m_numbered && m_ports[link]->GetRetry())
        {
            NS_ABORT_MSG_IF(end - at < 2, "a message from another process is cut off");
            frame->inPort = static_cast<uint16_t>(at[0] | at[1] << 8);
            at += 2;
        }
        ++m_framesReceived;
        m_ports[link]->ArriveFromRemote(frame, arrival);
    }
}

// By node windows --------------------------------------------------------------------------------

namespace
{

/// Ahead of the frames of one thread.
struct Section
{
    int64_t base; //!< base of their times, ps
    uint64_t bytes;
};

} // namespace

void
RdmaGateway::UseWindows()
{
    m_waiting.resize(NodeWindows::MAX_THREADS);
}

void
RdmaGateway::Wait(uint32_t link, RdmaFrame* frame, int64_t from, int64_t at)
{
    const NodeWindowUnit* unit = NodeWindowUnit::Running();
    Waiting& waiting = m_waiting[unit ? unit->shard->GetIndex() : 0];
    if (waiting.used == 0)
    {
        // Units of one thread run one after another, so later ones may send earlier: but not before
        // the window, and their frames are on the way for as long as it is.
        waiting.base = RdmaClock::TicksToPs(NodeWindows::Active()->GetWindowBegin());
    }
    if (waiting.used + RdmaFrameRecord::GetMaxBytes(*frame) > waiting.bytes.size())
    {
        waiting.bytes.resize(2 * waiting.bytes.size() + 64 * RdmaFrameRecord::MAX_BYTES);
    }
    uint8_t* to = waiting.bytes.data() + waiting.used;
    waiting.used += static_cast<std::size_t>(Write(to, *frame, link, at, waiting.base) - to);
    // Units of two sides send to each other only. (One side alone is 0, and nobody asks for 1.)
    const bool twoSides = NodeWindows::Active()->GetSides() > 1;
    for (uint32_t side = 0; side < 2; ++side)
    {
        if (!unit || !twoSides || side != unit->side)
        {
            waiting.first[side] = std::min(waiting.first[side], from);
        }
    }
    ++waiting.frames;
    RdmaFramePool::Get().Free(frame);
}

uint64_t
RdmaGateway::GetFramesSent() const
{
    uint64_t sent = m_framesSent;
    for (const Waiting& waiting : m_waiting)
    {
        sent += waiting.frames;
    }
    return sent;
}

int64_t
RdmaGateway::GetFirstArrival(uint32_t side) const
{
    int64_t first = INT64_MAX;
    for (const Waiting& waiting : m_waiting)
    {
        first = std::min(first, waiting.first[side]);
    }
    return first == INT64_MAX ? first : RdmaClock::TickAt(first);
}

void
RdmaGateway::TakeSent(std::vector<uint8_t>& to)
{
    for (Waiting& waiting : m_waiting)
    {
        if (waiting.used)
        {
            const Section section{waiting.base, waiting.used};
            const auto* head = reinterpret_cast<const uint8_t*>(&section);
            to.insert(to.end(), head, head + sizeof(section));
            to.insert(to.end(), waiting.bytes.data(), waiting.bytes.data() + waiting.used);
            waiting.used = 0;
            waiting.first = {INT64_MAX, INT64_MAX};
        }
    }
}

void
RdmaGateway::TakeReceived(const uint8_t* at, const uint8_t* end)
{
    while (at < end)
    {
        Section section;
        NS_ABORT_MSG_IF(static_cast<std::size_t>(end - at) < sizeof(section),
                        "a message from another process is cut off");
        std::memcpy(&section, at, sizeof(section));
        at += sizeof(section);
        NS_ABORT_MSG_IF(static_cast<std::size_t>(end - at) < section.bytes,
                        "a message from another process is cut off");
        TakeFrames(at, at + section.bytes, section.base);
        at += section.bytes;
    }
    if (m_onArrival)
    {
        m_onArrival();
    }
}

} // namespace ns3
