/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The lottery among arrivals at a full queue, in a queue of its own: senders whose phase never
 * changes, of many rates, sizes and numbers.
 */
#include "contrib/rdma/core/arrival-lottery.h"
#include "contrib/rdma/core/flow-hash.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

using namespace rdma;

namespace
{

struct Frame
{
    Frame* next = nullptr;
    uint16_t port = 0;
    uint32_t bytes = 0;
    uint64_t number = 0; ///< of its port
};

/// A sender of frames of one size, each `period` after the last.
struct LotterySender
{
    int64_t period; ///< ps
    int64_t phase;  ///< ps
    uint32_t bytes;
    int64_t frameTime; ///< on its link, ps
};

/// A tail-drop queue of a line, which takes as many ps a byte as it is told.
class LotteryQueue
{
  public:
    LotteryQueue(std::vector<LotterySender> senders,
                 uint64_t room,
                 int64_t psPerByte,
                 uint64_t seed,
                 bool lottery = true)
        : m_senders(std::move(senders)),
          m_room(room),
          m_psPerByte(psPerByte),
          m_draws(seed),
          m_lottery(lottery),
          m_law(static_cast<uint32_t>(m_senders.size())),
          lost(m_senders.size()),
          sent(m_senders.size()),
          m_left(m_senders.size())
    {
    }

    void Run(int64_t until)
    {
        std::vector<int64_t> next;
        for (const auto& sender : m_senders)
        {
            next.push_back(sender.phase);
        }
        for (;;)
        {
            const auto first = std::min_element(next.begin(), next.end()) - next.begin();
            if (next[first] > until)
            {
                return;
            }
            Drain(next[first]);
            Arrive(static_cast<uint16_t>(first), next[first]);
            next[first] += m_senders[first].period;
        }
    }

    /// \return share of all losses, in %
    double Share(std::size_t port) const
    {
        uint64_t all = 0;
        for (const uint64_t one : lost)
        {
            all += one;
        }
        return 100. * static_cast<double>(lost[port]) /
               static_cast<double>(std::max<uint64_t>(1, all));
    }

    /// \return five standard deviations of a share, in %
    double Deviation() const
    {
        double all = 0;
        for (const uint64_t one : lost)
        {
            all += static_cast<double>(one);
        }
        const double p = 1. / static_cast<double>(lost.size());
        return 500 * std::sqrt(p * (1 - p) / all);
    }

  private:
    void Drain(int64_t now)
    {
        while (!m_queue.empty() && m_busyUntil <= now)
        {
            Frame* frame = m_queue.front();
            EXPECT_GT(frame->number, m_left[frame->port]) << "a port's frames keep their order";
            m_left[frame->port] = frame->number;
            m_bytes -= frame->bytes;
            m_busyUntil += frame->bytes * m_psPerByte;
            m_queue.pop_front();
            m_free.push_back(frame);
        }
        if (m_queue.empty())
        {
            m_busyUntil = std::max(m_busyUntil, now);
        }
    }

    double Draw()
    {
        m_draws += 0x9e3779b97f4a7c15ULL;
        return static_cast<double>(Mix64(m_draws) >> 11) * 0x1p-53;
    }

    void Arrive(uint16_t port, int64_t now)
    {
        const LotterySender& sender = m_senders[port];
        ++sent[port];
        if (m_bytes + sender.bytes > m_room)
        {
            const auto loser =
                m_lottery ? m_law.Lose(port,
                                       sender.bytes,
                                       now,
                                       std::max(sender.frameTime, sender.bytes * m_psPerByte),
                                       m_bytes,
                                       [this] { return Draw(); })
                          : ArrivalLottery<Frame>::Loser();
            if (!loser.frame)
            {
                ++lost[port];
                return;
            }
            const auto at = std::find(m_queue.begin(), m_queue.end(), loser.frame);
            ASSERT_NE(at, m_queue.end()) << "the loser is in the queue";
            ASSERT_EQ(at == m_queue.begin() ? nullptr : *(at - 1), loser.before);
            ASSERT_NE((*at)->port, port);
            ASSERT_GE((*at)->bytes, sender.bytes);
            ++lost[(*at)->port];
            m_bytes -= (*at)->bytes;
            if (loser.before)
            {
                loser.before->next = loser.frame->next;
            }
            m_free.push_back(*at);
            m_queue.erase(at);
        }
        // A frame that left is used again, as a pool would.
        if (m_free.empty())
        {
            m_all.push_back(std::make_unique<Frame>());
            m_free.push_back(m_all.back().get());
        }
        Frame* frame = m_free.back();
        m_free.pop_back();
        *frame = {nullptr, port, sender.bytes, sent[port]};
        if (!m_queue.empty())
        {
            m_queue.back()->next = frame;
        }
        m_queue.push_back(frame);
        m_bytes += sender.bytes;
        m_law.OnJoin(frame, port, sender.bytes, now);
    }

    std::vector<LotterySender> m_senders;
    uint64_t m_room;
    int64_t m_psPerByte;
    uint64_t m_draws;
    bool m_lottery;
    ArrivalLottery<Frame> m_law;
    std::deque<Frame*> m_queue;
    std::vector<Frame*> m_free;
    std::vector<std::unique_ptr<Frame>> m_all;
    uint64_t m_bytes = 0;
    int64_t m_busyUntil = 0;

  public:
    std::vector<uint64_t> lost;
    std::vector<uint64_t> sent;

  private:
    std::vector<uint64_t> m_left; ///< number of the last frame that left, by port
};

/// Senders of one size, with phases by chance that never change. \param load of each, of the line's
/// rate \param slower how many times slower their links are
std::vector<LotterySender>
LotterySenders(uint32_t n, double load, double slower, uint32_t bytes, uint64_t seed)
{
    const int64_t line = bytes * 80; // at 100 Gb/s
    std::vector<LotterySender> senders;
    for (uint32_t i = 0; i < n; ++i)
    {
        const auto period = static_cast<int64_t>(static_cast<double>(line) / load);
        senders.push_back(
            {period,
             static_cast<int64_t>(Mix64(seed * 1000 + i) % static_cast<uint64_t>(period)),
             bytes,
             static_cast<int64_t>(static_cast<double>(line) * slower)});
    }
    return senders;
}

} // namespace

// Without a lottery one sender of two has all losses, whatever its phase: the phase effect.
TEST(ArrivalLottery, WithoutItOneSenderLosesAll)
{
    for (uint64_t seed = 1; seed <= 5; ++seed)
    {
        LotteryQueue queue(LotterySenders(2, 1, 1, 1538, seed), 150000, 80, seed, false);
        queue.Run(2000000000);
        EXPECT_GT(std::max(queue.Share(0), queue.Share(1)), 99) << seed;
    }
}

// By symmetry each of n equal senders has p = 1/n of the losses; of N losses, drawn one by one, a
// share has the standard deviation sqrt(p (1 - p) / N), and five of these are allowed: 2.8% for
// two senders. How many are lost in all does not change: the line always sends.
TEST(ArrivalLottery, EqualSendersShareLosses)
{
    for (const uint32_t bytes : {64U, 1538U, 4178U})
    {
        for (const uint32_t n : {2U, 3U, 4U, 8U, 24U})
        {
            for (uint64_t seed = 1; seed <= 4; ++seed)
            {
                const auto senders = LotterySenders(n, 1, 1, bytes, seed);
                LotteryQueue queue(senders, 100 * bytes, 80, seed);
                LotteryQueue fixed(senders, 100 * bytes, 80, seed, false);
                queue.Run(8000 * bytes * 80);
                fixed.Run(8000 * bytes * 80);
                uint64_t all = 0;
                for (uint32_t i = 0; i < n; ++i)
                {
                    EXPECT_NEAR(queue.Share(i), 100. / n, queue.Deviation())
                        << n << " senders, " << bytes << " B, seed " << seed;
                    all += queue.lost[i];
                    all -= fixed.lost[i];
                }
                EXPECT_LE(std::abs(static_cast<int64_t>(all)), 2);
            }
        }
    }
}

// Frames that come at the very same time: they are a frame time after those before them, which are
// competed for, too.
TEST(ArrivalLottery, SimultaneousSendersShareLosses)
{
    const struct
    {
        uint32_t n;
        double load;
    } cases[] = {{2, 1}, {5, 1}, {8, 1}, {3, 0.4}, {5, 0.25}};

    for (const auto& one : cases)
    {
        for (const int64_t room : {1538 * 90, 150000, 150001})
        {
            auto senders = LotterySenders(one.n, one.load, 1 / one.load, 1538, 1);
            for (auto& sender : senders)
            {
                sender.phase = 0;
            }
            LotteryQueue queue(senders, room, 80, 1);
            queue.Run(4000000000);
            for (uint32_t i = 0; i < one.n; ++i)
            {
                EXPECT_NEAR(queue.Share(i), 100. / one.n, queue.Deviation())
                    << one.n << " senders, room " << room;
            }
        }
    }
}

// Slower senders: three at 40% of the line, five at 25%, seven at 17%, by links of that rate.
TEST(ArrivalLottery, SlowerSendersShareLosses)
{
    const struct
    {
        uint32_t n;
        double load;
    } cases[] = {{3, 0.4}, {5, 0.25}, {7, 0.17}};

    for (const auto& one : cases)
    {
        for (uint64_t seed = 1; seed <= 4; ++seed)
        {
            LotteryQueue queue(LotterySenders(one.n, one.load, 1 / one.load, 1538, seed),
                               150000,
                               80,
                               seed);
            queue.Run(8000000000);
            for (uint32_t i = 0; i < one.n; ++i)
            {
                EXPECT_NEAR(queue.Share(i), 100. / one.n, queue.Deviation())
                    << one.n << " senders, seed " << seed;
            }
        }
    }
}

// Two at the line's rate, of which one sends small frames: places are frames, so no small one
// leaves for a large one, and the line is never idle.
TEST(ArrivalLottery, SmallFramesKeepTheirPlacesFromLargeOnes)
{
    for (uint64_t seed = 1; seed <= 4; ++seed)
    {
        auto senders = LotterySenders(2, 1, 1, 4178, seed);
        senders[1].bytes = 418;
        senders[1].period /= 10;
        senders[1].frameTime /= 10;
        LotteryQueue queue(senders, 100000, 80, seed);
        queue.Run(4000000000); // asserts by itself
        EXPECT_GT(queue.lost[0], 0U);
        EXPECT_GT(queue.lost[1], 0U);
    }
}

// One sender alone draws nothing: it loses what comes last, as a queue without a lottery does.
TEST(ArrivalLottery, OneSenderAloneChangesNothing)
{
    auto senders = LotterySenders(1, 2, 0.5, 1538, 1);
    LotteryQueue queue(senders, 150000, 80, 1);
    LotteryQueue fixed(senders, 150000, 80, 1, false);
    queue.Run(1000000000);
    fixed.Run(1000000000);
    EXPECT_GT(queue.lost[0], 0U);
    EXPECT_EQ(queue.lost[0], fixed.lost[0]);
}
