/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-runner.h"

#include "results/collective-paths.h"

#include "ns3/assert.h"

namespace dltrain
{

namespace
{

constexpr uint32_t NO_PATH = results::CollectivePaths::NONE;
/// Lanes of messages are those of no collective.
constexpr uint16_t FIRST_LANE = 0x8000;

std::string
Counted(std::size_t n, const std::string& what)
{
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

} // namespace

MessageRunner::MessageRunner(Interconnect& interconnect,
                             rdma::Duration stepLatency,
                             MessageUser& user,
                             uint32_t job)
    : m_interconnect(interconnect),
      m_stepLatency(stepLatency),
      m_user(user),
      m_job(job),
      m_events(this)
{
}

uint32_t
MessageRunner::GetLine(const MessageOrder& order)
{
    const auto [found, isNew] = m_lineOf.try_emplace(order, static_cast<uint32_t>(m_lines.size()));
    if (isNew)
    {
        m_lines.emplace_back();
        m_lines.back().order = order;
    }
    return found->second;
}

void
MessageRunner::Send(const MessageOrder& order,
                    uint64_t bytes,
                    uint32_t name,
                    uint64_t cookie,
                    int64_t now)
{
    const uint32_t path = m_paths ? m_paths->Enter(order.from, name, now) : NO_PATH;
    const EventPayload send{true, GetLine(order), name, path, bytes, cookie};
    if (m_stepLatency.ps)
    {
        m_events.Schedule(now + m_stepLatency.ps,
                          m_interconnect.GetPlaces().ContextOf(order.from),
                          send);
        return;
    }
    Post(send);
}

void
MessageRunner::Post(const EventPayload& send)
{
    Line& line = m_lines[send.line];
    const Places& places = m_interconnect.GetPlaces();
    if (!line.transport)
    {
        ChannelName name;
        name.job = m_job;
        name.communicator = line.order.group;
        name.from = line.order.from;
        name.to = line.order.to;
        name.lane = static_cast<uint16_t>(FIRST_LANE + line.order.tag);
        name.rail = places.GpuOf(line.order.from);
        line.transport = &m_interconnect.Serving(name.from, name.to);
        line.channel = line.transport->Open(name, *this, send.line);
    }
    line.sending.push_back(send.cookie);
    line.causes.push_back(send.path);
    m_bytes += send.bytes;
    TransportPost post;
    post.bytes = send.bytes;
    post.id = send.name;
    post.hasImmediate = true;
    line.transport->Post(line.channel, post);
}

void
MessageRunner::Receive(const MessageOrder& order, uint64_t cookie, int64_t now)
{
    const uint32_t number = GetLine(order);
    Line& line = m_lines[number];
    if (line.arrived.empty())
    {
        line.receiving.push_back(cookie);
        return;
    }
    // It waits for nothing, so its end has no path of a message; and is told through the event
    // loop, never from within its start.
    if (m_paths)
    {
        m_paths->Drop(line.arrived.front());
    }
    line.arrived.pop_front();
    m_events.Schedule(now,
                      m_interconnect.GetPlaces().ContextOf(order.to),
                      {false, number, 0, NO_PATH, 0, cookie});
}

void
MessageRunner::OnEvent(const EventPayload& e, int64_t now)
{
    if (e.send)
    {
        Post(e);
        return;
    }
    End(m_lines[e.line].order.to, e.cookie, e.path, now);
}

void
MessageRunner::End(Rank rank, uint64_t cookie, uint32_t path, int64_t now)
{
    if (m_paths)
    {
        m_paths->SetLeaving(path);
    }
    m_user.OnMessageDone(rank, cookie, now);
    if (m_paths)
    {
        m_paths->Drop(path);
    }
}

void
MessageRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    const auto number = static_cast<uint32_t>(delivery.cookie);
    Line& line = m_lines[number];
    const uint32_t cause = line.causes.front();
    line.causes.pop_front();
    const Rank from = line.order.from;
    const Rank to = line.order.to;
    uint32_t path = NO_PATH;
    if (m_paths)
    {
        path = delivery.posted < 0 ? m_paths->ArriveAfter(cause, from, to, now)
                                   : m_paths->ArriveInside(cause, from, to, delivery.posted, now);
        m_paths->Hold(path);
        line.delivered.push_back(path);
    }
    if (line.receiving.empty())
    {
        line.arrived.push_back(path);
        return;
    }
    const uint64_t cookie = line.receiving.front();
    line.receiving.pop_front();
    End(to, cookie, path, now);
}

void
MessageRunner::OnSent(ChannelId channel, uint64_t cookie, uint64_t, bool failed, int64_t now)
{
    Line& line = m_lines[cookie];
    if (failed)
    {
        line.failed = line.transport->Describe(channel);
        return;
    }
    const uint64_t sent = line.sending.front();
    line.sending.pop_front();
    uint32_t path = NO_PATH;
    if (m_paths)
    {
        path = line.delivered.front();
        line.delivered.pop_front();
    }
    End(line.order.from, sent, path, now);
}

std::vector<std::string>
MessageRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (const Line& line : m_lines)
    {
        const std::string from = "rank " + std::to_string(line.order.from);
        const std::string to = "rank " + std::to_string(line.order.to);
        const std::string tag =
            line.order.tag ? " with tag " + std::to_string(line.order.tag) : std::string();
        const std::string under =
            line.sending.empty()
                ? ", which has sent all it wanted to"
                : ", " + Counted(line.sending.size(), "message") + " not acknowledged";
        if (!line.receiving.empty())
        {
            lines.push_back(to + " waits for " + Counted(line.receiving.size(), "message") + tag +
                            " of " + from +
                            (line.transport ? under : std::string(", which has sent it none")));
        }
        else if (!line.sending.empty())
        {
            lines.push_back(from + " sends to " + to + tag + under);
        }
        if (!line.arrived.empty())
        {
            lines.push_back(to + " has not received " + Counted(line.arrived.size(), "message") +
                            tag + " that " + from + " sent it");
        }
        if (!line.failed.empty())
        {
            lines.push_back("messages of " + from + " to " + to + " failed on " + line.failed);
        }
    }
    return lines;
}

} // namespace dltrain
