/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/all-ports.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

namespace coll
{

namespace
{

/// Packets whose turns are followed one by one; of more, several go in a turn.
constexpr uint64_t kMostTurns = 1000000;
/// Of all ranks, at most: a second's work.
constexpr uint64_t kMostSteps = 1000000;

class AllPorts
{
  public:
    AllPorts(const Schedule& schedule, uint32_t ranks, const IdleLink& link)
        : m_schedule(schedule),
          m_link(link),
          m_ranks(ranks)
    {
        uint64_t packets = 0;
        for (Rank rank = 0; rank < ranks; rank++)
        {
            const Lane lanes = schedule.Lanes(rank);
            m_ranks[rank].next.assign(lanes, 0);
            for (Lane lane = 0; lane < lanes; lane++)
            {
                for (StepIndex k = 0; k < schedule.Steps(rank, lane); k++)
                {
                    const Step step = schedule.At(rank, lane, k);
                    packets += step.sendPeer != kNoRank ? link.Packets(step.sendBytes) : 0;
                }
            }
        }
        m_turn = packets / kMostTurns + 1;
    }

    double Seconds()
    {
        for (Rank rank = 0; rank < m_ranks.size(); rank++)
        {
            for (Lane lane = 0; lane < m_ranks[rank].next.size(); lane++)
            {
                Advance(rank, lane);
            }
        }
        while (!m_events.empty())
        {
            const Event event = m_events.top();
            m_events.pop();
            m_now = event.at;
            if (event.flow)
            {
                Take(*event.flow);
            }
            else
            {
                m_ranks[event.rank].busy = false;
                Send(event.rank);
            }
        }
        return m_end;
    }

  private:
    /// Messages of a lane to a peer, one after the other: a queue pair.
    struct Flow
    {
        Rank from = 0;
        Rank to = 0;
        Lane lane = 0;
        std::deque<uint64_t> messages = {}; ///< bytes
        uint64_t sent = 0;                  ///< packets of the first
        uint64_t come = 0;                  ///< messages that no step has taken
    };

    struct RankState
    {
        std::vector<StepIndex> next;              ///< by lane
        std::unordered_map<uint64_t, Flow> flows; ///< out of it, by lane and peer
        std::deque<Flow*> waiting;                ///< in turns
        bool busy = false;                        ///< the port that sends
        uint64_t answers = 0;                     ///< to be sent before anything else
        double taken = 0;                         ///< when the other port is free
    };

    /// A port is free, or a flow's next message has come.
    struct Event
    {
        double at;
        uint64_t number; ///< those at the same time in their order
        Rank rank;
        Flow* flow;

        bool operator<(const Event& other) const // the latest first
        {
            return at != other.at ? at > other.at : number > other.number;
        }
    };

    Flow& FlowOf(Rank from, Rank to, Lane lane)
    {
        Flow& flow = m_ranks[from].flows[uint64_t{lane} << 32 | to];
        flow.from = from;
        flow.to = to;
        flow.lane = lane;
        return flow;
    }

    /// Does the lane's steps until one has to wait.
    void Advance(Rank rank, Lane lane)
    {
        const StepIndex steps = m_schedule.Steps(rank, lane);
        for (StepIndex& k = m_ranks[rank].next[lane]; k < steps; k++)
        {
            const Step step = m_schedule.At(rank, lane, k);
            if (step.recvPeer != kNoRank)
            {
                Flow& flow = FlowOf(step.recvPeer, rank, lane);
                if (flow.come == 0)
                {
                    return;
                }
                flow.come--;
            }
            if (step.sendPeer != kNoRank)
            {
                Flow& flow = FlowOf(rank, step.sendPeer, lane);
                if (flow.messages.empty())
                {
                    m_ranks[rank].waiting.push_back(&flow);
                }
                flow.messages.push_back(step.sendBytes);
                Send(rank);
            }
        }
    }

    /// A turn of the next flow, if the port is free.
    void Send(Rank rank)
    {
        RankState& state = m_ranks[rank];
        if (state.busy)
        {
            return;
        }
        if (state.answers > 0)
        {
            const double free = m_now + state.answers * m_link.answer * m_link.perByte;
            state.answers = 0;
            state.busy = true;
            m_events.push({free, m_number++, rank, nullptr});
            return;
        }
        if (state.waiting.empty())
        {
            return;
        }
        Flow& flow = *state.waiting.front();
        state.waiting.pop_front();
        const uint64_t bytes = flow.messages.front();
        const uint64_t all = m_link.Packets(bytes);
        const uint64_t packets = std::min(m_turn, all - flow.sent);
        const double before = m_link.Wire(bytes, flow.sent);
        flow.sent += packets;
        const double wire = m_link.Wire(bytes, flow.sent) - before;
        const double free = m_now + wire;
        const double packet = wire / packets; // which switches store
        double& taken = m_ranks[flow.to].taken;
        taken = std::max(taken, free - (wire - packet)) + wire;
        if (flow.sent == all)
        {
            flow.messages.pop_front();
            flow.sent = 0;
            const double come = taken + (m_link.switches - 1.0) * packet + m_link.latency;
            m_events.push({come, m_number++, flow.to, &flow});
        }
        if (!flow.messages.empty())
        {
            state.waiting.push_back(&flow);
        }
        state.busy = true;
        m_events.push({free, m_number++, rank, nullptr});
    }

    void Take(Flow& flow)
    {
        m_end = m_now;
        flow.come++;
        m_ranks[flow.to].answers++;
        Send(flow.to);
        Advance(flow.to, flow.lane);
    }

    const Schedule& m_schedule;
    const IdleLink& m_link;
    std::vector<RankState> m_ranks;
    std::priority_queue<Event> m_events;
    uint64_t m_turn = 1; ///< packets
    uint64_t m_number = 0;
    double m_now = 0;
    double m_end = 0; ///< of the last message
};

} // namespace

std::optional<double>
SecondsOfAllPorts(const Schedule& schedule, uint32_t ranks, const IdleLink& link)
{
    uint64_t steps = 0;
    for (Rank rank = 0; rank < ranks; rank++)
    {
        for (Lane lane = 0; lane < schedule.Lanes(rank); lane++)
        {
            steps += schedule.Steps(rank, lane);
        }
        if (steps > kMostSteps)
        {
            return std::nullopt;
        }
    }
    return AllPorts(schedule, ranks, link).Seconds();
}

} // namespace coll
