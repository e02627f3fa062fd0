/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Broadcast along a binomial tree, the whole vector in one message:
 *
 *     round 0   0 -> 1                          ranks counted from the root, n = 7
 *     round 1   0 -> 2, 1 -> 3
 *     round 2   0 -> 4, 1 -> 5, 2 -> 6
 *
 * Rank v > 0 receives in round floor(log2 v) from v less its highest bit, and sends in all rounds
 * behind. Small vectors: k alpha, k = ceil(log2 n), the lower bound. Large ones: a rank's sends
 * share its NIC, so the first of its children waits for all of them: up to k (k + 1) / 2 S beta,
 * and a pipelined chain is faster.
 */
#include "collectives/core/registry.h"

namespace coll
{

namespace
{

class BinomialBroadcastSchedule final : public Schedule
{
  public:
    explicit BinomialBroadcastSchedule(const Collective& what)
        : Schedule(what)
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_what.ranks > 1 ? 1 : 0;
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        // A receive goes with the first send, if there is one.
        const uint32_t v = FromRoot(rank);
        StepIndex sends = 0;
        while (v + (uint64_t(FirstHop(v)) << sends) < m_what.ranks)
        {
            ++sends;
        }
        return v > 0 && sends == 0 ? 1 : sends;
    }

    Step At(Rank rank, Lane /* lane */, StepIndex k) const override
    {
        const uint32_t v = FromRoot(rank);
        const uint64_t to = v + (uint64_t(FirstHop(v)) << k);
        Step step;
        if (v > 0 && k == 0)
        {
            step.recvPeer = Absolute(v - FirstHop(v) / 2);
            step.recvBytes = m_what.bytes;
        }
        if (to < m_what.ranks)
        {
            step.sendPeer = Absolute(static_cast<uint32_t>(to));
            step.sendBytes = m_what.bytes;
        }
        return step;
    }

    uint32_t Channel(Lane /* lane */) const override
    {
        return 0;
    }

  private:
    /// How far v's first send goes: the power of two above v.
    static uint32_t FirstHop(uint32_t v)
    {
        uint32_t hop = 1;
        while (hop <= v)
        {
            hop *= 2;
        }
        return hop;
    }

    uint32_t FromRoot(Rank rank) const
    {
        return (rank + m_what.ranks - m_what.root) % m_what.ranks;
    }

    Rank Absolute(uint32_t v) const
    {
        return (v + m_what.root) % m_what.ranks;
    }
};

class BinomialBroadcast final : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        return std::make_unique<BinomialBroadcastSchedule>(what);
    }
};

const Registered<BinomialBroadcast> g_binomial{
    "binomial",
    Op::kBroadcast,
    "ceil(log2 n) rounds of the whole vector",
    // Its time and its source, for --help=algorithms, and the options it reads: none.
    AlgorithmFacts{"log2 n (alpha + S beta)", "Thakur et al., IJHPCA 2005", {}}};

} // namespace

} // namespace coll
