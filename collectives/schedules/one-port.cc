/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/one-port.h"

#include <algorithm>
#include <deque>
#include <queue>

namespace coll
{

namespace
{

constexpr Rank kAnyRank = 0; ///< all are alike

/// Packets whose turns are followed one by one; of more, several go in a turn: then the port has
/// much to send all the time, and whose turn it is does not matter.
constexpr uint64_t kMostTurnsOfOne = 20000;
constexpr uint64_t kMostStepsOfOne = 1000000; ///< a second's work

class OnePort
{
  public:
    OnePort(const Schedule& schedule, const IdleLink& link)
        : m_schedule(schedule),
          m_link(link),
          m_lanes(schedule.Lanes(kAnyRank)),
          m_next(m_lanes, 0),
          m_come(m_lanes, 0),
          m_flows(m_lanes)
    {
        uint64_t packets = 0;
        for (Lane lane = 0; lane < m_lanes; lane++)
        {
            packets += link.Packets(schedule, kAnyRank, lane);
        }
        m_turn = packets / kMostTurnsOfOne + 1;
    }

    double Seconds()
    {
        // The port takes the first post before it knows of the rest (IdleLink::Arrival).
        for (Lane lane = 0; lane < m_lanes; lane++)
        {
            Advance(lane);
        }
        bool first = true;
        while (!m_waiting.empty() || !m_underWay.empty())
        {
            if (m_waiting.empty())
            {
                Take();
                continue;
            }
            Send(first);
            first = false;
            while (!m_underWay.empty() && m_underWay.top().at <= m_now)
            {
                Take();
            }
        }
        return m_end;
    }

  private:
    /// Messages of a lane to a peer, one after the other: a queue pair.
    struct Flow
    {
        Rank peer;
        Lane lane;
        std::deque<uint64_t> messages; ///< bytes
        uint64_t sent = 0;             ///< packets of the first
    };

    struct Message
    {
        double at;
        uint64_t number; ///< those at the same time in their order
        Lane lane;

        bool operator<(const Message& other) const // the latest first
        {
            return at != other.at ? at > other.at : number > other.number;
        }
    };

    /// Does the lane's steps until one has to wait.
    void Advance(Lane lane)
    {
        const StepIndex steps = m_schedule.Steps(kAnyRank, lane);
        for (StepIndex& k = m_next[lane]; k < steps; k++)
        {
            const Step step = m_schedule.At(kAnyRank, lane, k);
            if (step.recvPeer != kNoRank)
            {
                if (m_come[lane] == 0)
                {
                    return;
                }
                m_come[lane]--;
            }
            if (step.sendPeer != kNoRank)
            {
                Flow& flow = FlowTo(lane, step.sendPeer);
                if (flow.messages.empty())
                {
                    m_waiting.push_back(&flow);
                }
                flow.messages.push_back(step.sendBytes);
            }
        }
    }

    Flow& FlowTo(Lane lane, Rank peer)
    {
        std::deque<Flow>& flows = m_flows[lane]; // a few, which stay where they are
        for (Flow& flow : flows)
        {
            if (flow.peer == peer)
            {
                return flow;
            }
        }
        flows.push_back({peer, lane, {}});
        return flows.back();
    }

    /// A turn of the next flow.
    void Send(bool first)
    {
        Flow& flow = *m_waiting.front();
        m_waiting.pop_front();
        const uint64_t bytes = flow.messages.front();
        const uint64_t packets = std::min(m_turn, m_link.Packets(bytes) - flow.sent);
        const double before = m_link.Wire(bytes, flow.sent);
        flow.sent += packets;
        const double wire = m_link.Wire(bytes, flow.sent) - before;
        const bool done = flow.sent == m_link.Packets(bytes);
        // Its last packet, which switches store.
        const double stored = wire / packets;
        if (done)
        {
            flow.messages.pop_front();
            flow.sent = 0;
        }
        if (!flow.messages.empty())
        {
            first ? m_waiting.push_front(&flow) : m_waiting.push_back(&flow);
        }
        m_now += wire;
        // As many packets come in at the same pace, so a short one waits for a long one before it.
        m_received = std::max(m_received, m_now) + wire;
        if (done)
        {
            const double stores = (m_link.switches - 1.0) * stored;
            m_underWay.push(
                {m_received - (wire - stored) + stores + m_link.latency, m_number++, flow.lane});
        }
    }

    /// The next message comes, and is answered.
    void Take()
    {
        const Message message = m_underWay.top();
        m_underWay.pop();
        m_end = std::max(m_end, message.at);
        m_now = std::max(m_now, message.at) + m_link.answer * m_link.perByte;
        m_come[message.lane]++;
        Advance(message.lane);
    }

    const Schedule& m_schedule;
    const IdleLink& m_link;
    Lane m_lanes;
    std::vector<StepIndex> m_next;
    std::vector<uint32_t> m_come; ///< messages that no step has taken
    std::vector<std::deque<Flow>> m_flows;
    std::deque<Flow*> m_waiting; ///< flows with data to send, in turns
    std::priority_queue<Message> m_underWay;
    uint64_t m_turn = 1; ///< packets
    uint64_t m_number = 0;
    double m_now = 0;      ///< when the port is free
    double m_received = 0; ///< when the last switch's link to a rank is
    double m_end = 0;
};

} // namespace

std::optional<double>
SecondsOfOnePort(const Schedule& schedule, const IdleLink& link)
{
    uint64_t steps = 0;
    for (Lane lane = 0; lane < schedule.Lanes(kAnyRank); lane++)
    {
        steps += schedule.Steps(kAnyRank, lane);
    }
    if (steps > kMostStepsOfOne)
    {
        return std::nullopt;
    }
    return OnePort(schedule, link).Seconds();
}

} // namespace coll
