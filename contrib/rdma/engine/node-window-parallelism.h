/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_PARALLELISM_H
#define NODE_WINDOW_PARALLELISM_H

#include <chrono>
#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Whether windows are worth several threads, found out by trying: both ways in turn, less and less
 * often the one that was slower; and when several threads have become much slower than they were
 * and stay so, as somebody else has taken a core. So small networks, and threads without a core of
 * their own, cost nothing but the trials. Results do not depend on it.
 *
 * Times of periods are noisy, and a wrong choice holds until the next trial. So a trial goes by the
 * best of TRIAL periods, unless the first is much slower already, and what has lost a trial soon
 * gets another one.
 */
class NodeWindowParallelism
{
  public:
    /// Events between two decisions: some milliseconds.
    static constexpr uint64_t PERIOD = 65536;

    /// Nothing is known yet. \param always nor will be: all windows are for all threads, and a
    /// period is a few of them, for tests
    void Reset(bool always);

    /// \return whether to use all threads
    bool IsParallel() const
    {
        return m_parallel;
    }

    /// A window is over. \return whether a period is
    bool Add(uint64_t events)
    {
        m_events += events;
        ++m_windows;
        return m_always ? m_windows % OFTEN == 0 : m_events >= PERIOD && EndPeriod();
    }

    /// A period is over. \param cost of an event in it, in any unit \param crowded whether its
    /// windows hold enough for several threads
    void Decide(double cost, bool crowded);

  private:
    /// Fewer events than that in a window are done before the threads know of it: assumed.
    static constexpr uint64_t LEAST_EVENTS = 64;
    /// Periods of a trial, behind the first, which counts for nothing.
    static constexpr uint32_t TRIAL = 2;
    /// Periods between two trials: until several threads get their second one, then, and at most.
    static constexpr uint32_t AT_ONCE = 4;
    static constexpr uint32_t SOON = 16;
    static constexpr uint32_t SELDOM = 256;
    /// Several threads must gain that much of the time: others may want the cores.
    static constexpr double GAIN = 0.95;
    /// Several threads that take so many times as long as they did may have lost a core: assumed.
    static constexpr double LOST = 1.3;
    /// Windows of a period, if all are for all threads.
    static constexpr uint64_t OFTEN = 32;

    bool EndPeriod();
    void BeginTrial();
    void EndTrial();

    using Clock = std::chrono::steady_clock;

    bool m_always{false};
    bool m_parallel{false};
    bool m_settling{true}; //!< this period is the first of its kind, which counts for nothing
    uint32_t m_tried{0};   //!< periods of the trial so far
    bool m_trying{false};
    bool m_slow{false};           //!< the period before was much slower than those before it
    double m_cost[2]{};           //!< s an event, with one thread and with all; 0: unknown
    uint32_t m_interval{AT_ONCE}; //!< after the next trial, if that changes nothing
    uint32_t m_left{1};           //!< until the next one
    uint64_t m_events{0};
    uint64_t m_windows{0};
    Clock::time_point m_begin;
};

} // namespace ns3

#endif /* NODE_WINDOW_PARALLELISM_H */
