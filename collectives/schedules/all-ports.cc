/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/all-ports.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <unordered_map>

namespace coll
{

namespace
{

/// Packets whose turns are followed one by one; of more, several go in a turn.
constexpr uint64_t kMostTurnsOfAll = 300000;
/// Steps of all ranks, at most: a second's work.
constexpr uint64_t kMostStepsOfAll = 1000000;

int64_t
WholePs(double seconds)
{
    return std::llround(seconds * 1e12);
}

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
                packets += link.Packets(schedule, rank, lane);
            }
        }
        m_turn = packets / kMostTurnsOfAll + 1;
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
                Take(*event.flow, event.whole);
            }
            else
            {
                HasLeft(event.rank);
            }
        }
        return static_cast<double>(m_end) * 1e-12;
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

    /// The data that a port is sending.
    struct Turn
    {
        Rank to = 0;
        int64_t wire = 0;     ///< ps on a link
        int64_t packet = 0;   ///< time of one packet of it, which switches store
        Flow* flow = nullptr; ///< if the receiver must hear of this turn; else null
        bool whole = false;   ///< `flow`: a message is complete
    };

    struct RankState
    {
        std::vector<StepIndex> next;              ///< by lane
        std::unordered_map<uint64_t, Flow> flows; ///< out of it, by lane and peer
        std::deque<Flow*> waiting;                ///< in turns
        bool busy = false;                        ///< the port that sends
        Turn turn;
        std::deque<Rank> answers; ///< ranks to answer, before anything else
        int64_t taken = 0;        ///< when the other port is free
    };

    /// A port is free, or a flow's next message has come.
    struct Event
    {
        int64_t at;      ///< ps
        uint64_t number; ///< those at the same time in their order
        Rank rank;
        Flow* flow;
        bool whole; ///< or some packets of it, which are answered

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
        Turn turn;
        if (!state.answers.empty())
        {
            turn.to = state.answers.front();
            turn.wire = WholePs(m_link.answer * m_link.perByte);
            turn.packet = turn.wire;
            state.answers.pop_front();
        }
        else if (!state.waiting.empty())
        {
            Flow& flow = *state.waiting.front();
            state.waiting.pop_front();
            const uint64_t bytes = flow.messages.front();
            const uint64_t all = m_link.Packets(bytes);
            const uint64_t answered = flow.sent / m_link.packetsAnAnswer;
            const uint64_t packets = std::min(m_turn, all - flow.sent);
            const int64_t before = WholePs(m_link.Wire(bytes, flow.sent));
            flow.sent += packets;
            turn.to = flow.to;
            turn.wire = WholePs(m_link.Wire(bytes, flow.sent)) - before;
            turn.packet = turn.wire / static_cast<int64_t>(packets);
            turn.whole = flow.sent == all;
            turn.flow =
                turn.whole || flow.sent / m_link.packetsAnAnswer != answered ? &flow : nullptr;
            if (turn.whole)
            {
                flow.messages.pop_front();
                flow.sent = 0;
            }
            if (!flow.messages.empty())
            {
                state.waiting.push_back(&flow);
            }
        }
        else
        {
            return;
        }
        state.turn = turn;
        state.busy = true;
        m_events.push({m_now + turn.wire, m_number++, rank, nullptr, false});
    }

    /// The sent data are at the receiver's port, which takes them after data that left earlier.
    void HasLeft(Rank rank)
    {
        const Turn& turn = m_ranks[rank].turn;
        int64_t& taken = m_ranks[turn.to].taken;
        taken = std::max(taken, m_now - (turn.wire - turn.packet)) + turn.wire;
        if (turn.flow)
        {
            const int64_t come = taken + (int64_t{m_link.switches} - 1) * turn.packet + m_latency;
            m_events.push({come, m_number++, turn.to, turn.flow, turn.whole});
        }
        m_ranks[rank].busy = false;
        Send(rank);
    }

    void Take(Flow& flow, bool whole)
    {
        m_ranks[flow.to].answers.push_back(flow.from);
        Send(flow.to);
        if (whole)
        {
            m_end = m_now;
            flow.come++;
            Advance(flow.to, flow.lane);
        }
    }

    const Schedule& m_schedule;
    const IdleLink& m_link;
    std::vector<RankState> m_ranks;
    std::priority_queue<Event> m_events;
    uint64_t m_turn = 1; ///< packets
    uint64_t m_number = 0;
    int64_t m_latency = WholePs(m_link.latency);
    // ps, as what happens at the same time has to be that in sums of different order.
    int64_t m_now = 0;
    int64_t m_end = 0; ///< end of the last message
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
        if (steps > kMostStepsOfAll)
        {
            return std::nullopt;
        }
    }
    return AllPorts(schedule, ranks, link).Seconds();
}

} // namespace coll
