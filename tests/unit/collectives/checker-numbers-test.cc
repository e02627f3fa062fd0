/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The checker against numbers: every algorithm, with one step left out, done twice, or in another
 * place, is run on random numbers instead of symbols, in random orders of its lanes. What the
 * checker lets pass has to have the right sums; so whatever breaks a result, it has found. Buffers,
 * what they have to hold in the end, and messages are written anew here.
 */
#include "all-written.h"
#include "collectives/core/checker.h"
#include "tests/unit/full.h"

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <tuple>

namespace coll
{
namespace
{

using Numbers = std::vector<uint64_t>; ///< one for each byte; sums are modulo 2^64

constexpr Rank kNobody = kNoRank;

class NumberRun
{
  public:
    /// \param late does nothing at all
    NumberRun(const Schedule& schedule, uint32_t seed, Rank late = kNobody)
        : m_schedule(schedule),
          m_what(schedule.What()),
          m_random(seed),
          m_late(late)
    {
        const uint64_t bytes = m_what.bytes;
        for (Rank r = 0; r < schedule.Members(); r++)
        {
            m_inputs.push_back(Garbage(bytes));
            const bool second = HasSecondBuffer(m_what.op) && r < m_what.ranks;
            const uint64_t size = second ? ResultBytes(r) : bytes;
            m_buffers.push_back(Garbage(size + schedule.ScratchBytes(r)));
        }
        for (Rank r = 0; r < m_what.ranks; r++)
        {
            Numbers& buffer = m_buffers[r];
            for (uint64_t b = 0; b < bytes && !HasSecondBuffer(m_what.op); b++)
            {
                // Where the operation gives it nothing there is garbage.
                const bool root = r == m_what.root;
                const bool has =
                    Reduces(m_what.op) ||
                    ((m_what.op == Op::kAllGather || m_what.op == Op::kGather) &&
                     OwnerOf(b) == r) ||
                    ((m_what.op == Op::kBroadcast || m_what.op == Op::kScatter) && root);
                buffer[b] = has ? m_inputs[r][b] : buffer[b];
            }
            for (uint64_t b = 0; IsAllToAll(m_what.op) && b < PieceBytes(r); b++)
            {
                buffer[r * PieceBytes(r) + b] = m_inputs[r][PieceBegin(r) + b];
            }
        }
    }

    /// Whether all lanes come to their end.
    bool Go()
    {
        for (Rank r = 0; r < m_schedule.Members(); r++)
        {
            for (Lane lane = 0; lane < m_schedule.Lanes(r); lane++)
            {
                m_lanes.push_back({r, lane, 0});
            }
        }
        std::vector<size_t> order(m_lanes.size());
        for (bool moved = true; moved;)
        {
            moved = false;
            for (size_t i = 0; i < order.size(); i++)
            {
                order[i] = i;
            }
            std::shuffle(order.begin(), order.end(), m_random);
            for (const size_t i : order)
            {
                // A few steps, or as many as it can do.
                for (uint32_t most = m_random() % 8; most > 0 && Advance(m_lanes[i]); most--)
                {
                    moved = true;
                }
                moved = moved || CanGo(m_lanes[i]);
            }
        }
        return std::all_of(m_lanes.begin(), m_lanes.end(), [&](const LaneState& lane) {
            return lane.next == m_schedule.Steps(lane.rank, lane.lane);
        });
    }

    bool IsThrough(Rank rank) const
    {
        return std::all_of(m_lanes.begin(), m_lanes.end(), [&](const LaneState& lane) {
            return lane.rank != rank || lane.next == m_schedule.Steps(rank, lane.lane);
        });
    }

    /// Whether ranks hold what the operation promises.
    bool IsRight() const
    {
        for (Rank r = 0; r < m_what.ranks; r++)
        {
            const Numbers& buffer = m_buffers[r];
            for (uint64_t b = 0; b < m_what.bytes; b++)
            {
                const Rank owner = OwnerOf(b);
                const bool root = r == m_what.root;
                switch (m_what.op)
                {
                case Op::kAllReduce:
                case Op::kReduceScatter:
                case Op::kReduce:
                    if ((m_what.op == Op::kReduceScatter && owner != r) ||
                        (m_what.op == Op::kReduce && !root))
                    {
                        continue;
                    }
                    if (buffer[b] != Sum(b))
                    {
                        return false;
                    }
                    continue;
                case Op::kAllGather:
                case Op::kGather:
                    if ((root || m_what.op == Op::kAllGather) && buffer[b] != m_inputs[owner][b])
                    {
                        return false;
                    }
                    continue;
                case Op::kBroadcast:
                case Op::kScatter:
                    if ((owner == r || m_what.op == Op::kBroadcast) &&
                        buffer[b] != m_inputs[m_what.root][b])
                    {
                        return false;
                    }
                    continue;
                case Op::kSendRecv:
                    if (buffer[b] != m_inputs[(r + m_what.ranks - 1) % m_what.ranks][b])
                    {
                        return false;
                    }
                    continue;
                default:
                    break;
                }
            }
            for (Rank from = 0; IsAllToAll(m_what.op) && from < m_what.ranks; from++)
            {
                for (uint64_t b = 0; b < PieceBytes(r); b++)
                {
                    if (buffer[from * PieceBytes(r) + b] != m_inputs[from][PieceBegin(r) + b])
                    {
                        return false;
                    }
                }
            }
        }
        return true;
    }

  private:
    struct LaneState
    {
        Rank rank;
        Lane lane;
        StepIndex next;
    };

    Numbers Garbage(uint64_t size)
    {
        Numbers numbers(size);
        for (uint64_t& number : numbers)
        {
            number = m_random();
        }
        return numbers;
    }

    uint64_t PieceBegin(Rank r) const
    {
        return r * m_what.bytes / m_what.ranks;
    }

    uint64_t PieceBytes(Rank r) const
    {
        return PieceBegin(r + 1) - PieceBegin(r);
    }

    uint64_t ResultBytes(Rank r) const
    {
        return IsAllToAll(m_what.op) ? m_what.ranks * PieceBytes(r) : m_what.bytes;
    }

    /// The rank whose piece a byte is in.
    Rank OwnerOf(uint64_t byte) const
    {
        Rank r = 0;
        while (PieceBegin(r + 1) <= byte)
        {
            r++;
        }
        return r;
    }

    uint64_t Sum(uint64_t byte) const
    {
        uint64_t sum = 0;
        for (Rank r = 0; r < m_what.ranks; r++)
        {
            sum += m_inputs[r][byte];
        }
        return sum;
    }

    /// Not while a message is not there, or has another length than it waits for.
    bool CanGo(const LaneState& lane)
    {
        if (lane.rank == m_late || lane.next == m_schedule.Steps(lane.rank, lane.lane))
        {
            return false;
        }
        const Step step = m_schedule.At(lane.rank, lane.lane, lane.next);
        if (step.recvPeer == kNoRank)
        {
            return true;
        }
        const auto& queue = m_queues[{step.recvPeer, lane.rank, lane.lane}];
        return !queue.empty() && queue.front().size() == step.recvBytes;
    }

    /// One step; false: none.
    bool Advance(LaneState& lane)
    {
        if (!CanGo(lane))
        {
            return false;
        }
        const Step step = m_schedule.At(lane.rank, lane.lane, lane.next);
        Numbers& buffer = m_buffers[lane.rank];
        const bool input =
            HasSecondBuffer(m_what.op) && lane.rank < m_what.ranks && !step.fromResult;
        const Numbers& source = input ? m_inputs[lane.rank] : buffer;
        const auto read = [&] {
            return Numbers(source.begin() + step.sendOffset,
                           source.begin() + step.sendOffset + step.sendBytes);
        };
        Numbers arrived;
        if (step.local)
        {
            arrived = read();
        }
        else if (step.recvPeer != kNoRank)
        {
            auto& queue = m_queues[{step.recvPeer, lane.rank, lane.lane}];
            arrived = queue.front();
            queue.pop_front();
        }
        for (uint64_t i = 0; i < arrived.size(); i++)
        {
            uint64_t& place = buffer[step.recvOffset + i];
            place = arrived[i] + (step.reduce ? place : 0);
        }
        if (step.sendPeer != kNoRank)
        {
            m_queues[{lane.rank, step.sendPeer, lane.lane}].push_back(read());
        }
        lane.next++;
        return true;
    }

    const Schedule& m_schedule;
    const Collective m_what;
    std::mt19937_64 m_random;
    Rank m_late;
    std::vector<Numbers> m_inputs;
    std::vector<Numbers> m_buffers;
    std::vector<LaneState> m_lanes;
    std::map<std::tuple<Rank, Rank, Lane>, std::deque<Numbers>> m_queues;
};

/// Whether it does what it should, in some random orders.
bool
Works(const Schedule& schedule)
{
    for (const uint32_t seed : {1, 2})
    {
        NumberRun run(schedule, seed);
        if (!run.Go() || !run.IsRight())
        {
            return false;
        }
    }
    // Nobody leaves a barrier that somebody has not come to.
    const Rank n = schedule.What().ranks;
    for (Rank late = 0; late < n && schedule.What().op == Op::kBarrier; late++)
    {
        NumberRun run(schedule, late, late);
        run.Go();
        for (Rank r = 0; r < n; r++)
        {
            if (r != late && run.IsThrough(r))
            {
                return false;
            }
        }
    }
    return true;
}

TEST(CheckerByNumbers, WhateverIsBrokenIsFound)
{
    CaseShare share(320, 10);
    uint32_t passed = 0;
    uint32_t refused = 0;
    uint32_t broken = 0;
    for (const auto& [name, good] : AllWritten())
    {
        ASSERT_TRUE(Works(good)) << name;
        const auto judge = [&, &name = name](const ListSchedule& bad, const std::string& how) {
            const bool works = Works(bad);
            const bool ok = Check(bad, {nullptr, false}).Ok();
            passed += ok ? 1 : 0;
            refused += ok ? 0 : 1;
            broken += works ? 0 : 1;
            ASSERT_TRUE(works || !ok) << name << ": " << how;
        };
        for (Rank r = 0; r < good.Members(); r++)
        {
            for (Lane lane = 0; lane < good.Lanes(r); lane++)
            {
                const StepIndex steps = good.Steps(r, lane);
                for (StepIndex k = 0; k < steps; k++)
                {
                    if (!share.Takes())
                    {
                        continue;
                    }
                    const std::string where = "rank " + std::to_string(r) + " lane " +
                                              std::to_string(lane) + " step " + std::to_string(k);
                    ListSchedule dropped(good);
                    dropped.steps[r][lane].erase(dropped.steps[r][lane].begin() + k);
                    judge(dropped, where + " dropped");
                    ListSchedule doubled(good);
                    doubled.steps[r][lane].insert(doubled.steps[r][lane].begin() + k,
                                                  good.At(r, lane, k));
                    judge(doubled, where + " doubled");
                    for (const StepIndex other : {k + 1, k + 2, k + steps / 2})
                    {
                        if (other < steps)
                        {
                            ListSchedule swapped(good);
                            std::swap(swapped.steps[r][lane][k], swapped.steps[r][lane][other]);
                            judge(swapped, where + " in the place of " + std::to_string(other));
                        }
                    }
                    ASSERT_FALSE(testing::Test::HasFailure());
                }
            }
        }
    }
    // Two of three kinds of damage break every schedule; steps that have nothing to do with each
    // other may change places.
    EXPECT_GT(broken, IsFull() ? 10000U : 2000U);
    EXPECT_GE(refused, broken);
    EXPECT_GT(passed, IsFull() ? 1000U : 200U);
}

} // namespace
} // namespace coll
