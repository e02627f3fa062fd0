/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Algorithms that pair ranks by the bits of their numbers need a power of two of them. With n = p +
 * f ranks, p the largest power of two, the first 2 f ranks make f pairs, and of each pair one steps
 * back:
 *
 *     n = 6:   0 -> 1   2 -> 3   4   5      before: 0 and 2 hand over their data
 *              .    0   .    1   2   3      then p = 4 places
 *              0 <- 1   2 <- 3   4   5      after: 0 and 2 are given the result
 *
 * (Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; MPICH's all-reduce.)
 *
 * Ranks 4 and 5 of the drawing begin before 1 and 3 have got the data of 0 and 2. Their messages
 * share the ports of 1 and 3, in every round. So 3 ranks take 4 S beta for an all-reduce by
 * doubling, not the 3 of messages in series. The recurrence of rounds and ports gives the time
 * (all-ports.h).
 */
#ifndef COLLECTIVES_SCHEDULES_FOLDING_H
#define COLLECTIVES_SCHEDULES_FOLDING_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/placement.h"
#include "collectives/schedules/all-ports.h"

namespace coll
{

class Folding
{
  public:
    explicit Folding(uint32_t ranks)
        : m_ranks(ranks)
    {
        while (2U << m_rounds <= ranks)
        {
            m_rounds++;
        }
        m_places = 1U << m_rounds;
        m_folded = ranks - m_places;
    }

    uint32_t Ranks() const
    {
        return m_ranks;
    }

    /// log2 of the places.
    uint32_t Rounds() const
    {
        return m_rounds;
    }

    uint32_t Places() const
    {
        return m_places;
    }

    /// Pairs.
    uint32_t Folded() const
    {
        return m_folded;
    }

    /**
     * Messages in series before and after log2 p rounds of exchange. The one before delays no rank
     * where a place's partners stand for themselves alone: their messages set out at once. So it
     * counts only if the pairs reach into the upper half, with which the lower half exchanges last.
     */
    uint32_t ExtraChain() const
    {
        return m_folded > m_places / 2 ? 2 : m_folded > 0 ? 1 : 0;
    }

    /// Its partner is the next rank.
    bool StepsBack(Rank rank) const
    {
        return rank < 2 * m_folded && rank % 2 == 0;
    }

    /// Precondition: !StepsBack(rank).
    uint32_t PlaceOf(Rank rank) const
    {
        return rank < 2 * m_folded ? rank / 2 : rank - m_folded;
    }

    Rank RankAt(uint32_t place) const
    {
        return place < m_folded ? 2 * place + 1 : place + m_folded;
    }

    /// The first rank that a place stands for; they stand in order.
    Rank Begin(uint32_t place) const
    {
        return place < m_folded ? 2 * place : place + m_folded;
    }

    /// The place stands for the rank before it, too.
    bool IsPair(uint32_t place) const
    {
        return place < m_folded;
    }

  private:
    uint32_t m_ranks;
    uint32_t m_rounds = 0;
    uint32_t m_places = 1;
    uint32_t m_folded = 0;
};

/// Rounds, one a bit, in which some ranks exchange with another server.
inline uint32_t
RoundsOutside(const Folding& folding, const Placement& placement)
{
    uint32_t rounds = 0;
    for (uint32_t bit = 0; bit < folding.Rounds(); bit++)
    {
        bool outside = false;
        for (uint32_t place = 0; place < folding.Places() && !outside; place++)
        {
            outside = placement.serverOf[folding.RankAt(place)] !=
                      placement.serverOf[folding.RankAt(place ^ 1U << bit)];
        }
        rounds += outside ? 1 : 0;
    }
    return rounds;
}

/// Less in a message is one packet (of an MTU of 4096) in any case.
constexpr uint64_t kLeastMessage = 4096;

/// The shape for an algorithm with few, whole messages of bytes / `share`. It is as Shape, except
/// that the default is one channel where several would cut messages below kLeastMessage.
inline Shape
FewMessagesShape(const Collective& what,
                 const Placement& placement,
                 AlgorithmOptions options,
                 uint64_t share)
{
    const uint32_t channels = ChannelCount(placement, options);
    if (options.channels == 0 && what.bytes / share / channels < kLeastMessage)
    {
        options.channels = ChannelsOr(1, options);
    }
    return Shape(what, placement, options, share);
}

/// The most bytes that one server's ranks send to others: `sent(rank, visit)` calls visit(receiver,
/// bytes) for what a rank sends.
template <class Sent>
double
MostOutOfServer(const Placement& placement, Sent sent)
{
    double most = 0;
    for (const auto& ranks : RanksByServer(placement))
    {
        double out = 0;
        for (const Rank r : ranks)
        {
            sent(r, [&](Rank to, double bytes) {
                out += placement.serverOf[to] != placement.serverOf[r] ? bytes : 0;
            });
        }
        most = std::max(most, out);
    }
    return most;
}

/// The time of a schedule over pairs, alone on the network: ranks that stand for themselves alone
/// are ahead of those that wait for a partner. Nothing: there are no pairs, and formulas give the
/// time.
/// \tparam S is made from (Collective, Placement, AlgorithmOptions)
template <class S>
std::optional<double>
SecondsWithPairs(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options,
                 const IdleLink& link)
{
    if (Folding(what.ranks).Folded() == 0)
    {
        return std::nullopt;
    }
    return SecondsOfAllPorts(S(what, placement, options), what.ranks, link);
}

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_FOLDING_H
