/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recalled-loads.h"

#include "ns3/node-windows.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

namespace
{

constexpr double kLeast = 2e-4;

} // namespace

void
RecalledLoads::Add(uint32_t end, uint64_t wireBytes, uint64_t frames, int64_t from, int64_t until)
{
    m_ends[end].sending.push_back({wireBytes, from, std::max(until, from + 1)});
    m_frames += frames;
    m_until = std::max(m_until, until);
}

coll::RecallStatistics
RecalledLoads::GetStatistics(int64_t now) const
{
    coll::RecallStatistics all;
    for (const coll::RecallBook* book : m_books)
    {
        const coll::RecallStatistics one = book->GetStatistics();
        all.episodes += one.episodes;
        all.recalled += one.recalled;
        all.foreseen += one.foreseen;
        all.checks += one.checks;
        all.missSum += one.missSum;
        all.missMost = std::max(all.missMost, one.missMost);
        all.recalledTime = std::max(all.recalledTime, one.recalledTime);
        all.uncertainTime += one.uncertainTime;
        all.shared += one.shared;
        all.tracks += one.tracks;
    }
    const coll::RecallRounds rounds = m_network.rounds.Ended(now);
    all.checks += rounds.GetChecks();
    all.missSum += rounds.GetMissSum();
    all.missMost = std::max(all.missMost, rounds.GetMissMost());
    return all;
}

double
RecalledLoads::GetError(int64_t measuredFrom, int64_t now) const
{
    const coll::RecallStatistics all = GetStatistics(now);
    const double doubt = all.uncertainTime + m_network.doubt.Get() +
                         m_network.rounds.Ended(now).GetDoubt(now, m_network.pipelines);
    // Less is not known: rounding, and what follows from other times at the beginning.
    const double least = all.recalled + all.foreseen > 0 ? kLeast : 0;
    const auto since = static_cast<double>(now - measuredFrom);
    return since > 0 ? std::max(least, doubt / since) : 0;
}

void
RecalledLoads::BeginRound(uint32_t rank, uint32_t round, int64_t now)
{
    m_rounds[rank] = round;
    ns3::NodeWindows::NoteCall([this, round, now] {
        constexpr uint32_t kInVain = 2; // two rounds are enough to see it
        if (round == kInVain && !std::exchange(m_isJudged, true) && !m_network.rounds.AreUsed())
        {
            JoinIfInVain(now);
        }
        m_network.rounds.Begin(round, now);
    });
}

void
RecalledLoads::JoinIfInVain(int64_t now)
{
    const coll::RecallStatistics all = GetStatistics(now);
    if (all.recalled + all.foreseen > 0 || all.episodes == 0)
    {
        return;
    }
    for (coll::RecallBook* book : m_books)
    {
        book->JoinAll();
    }
    m_network.meet = true;
    m_network.rounds.Use();
}

uint64_t
RecalledLoads::GetBytes(uint32_t end, int64_t now)
{
    End& its = m_ends[end];
    uint64_t partly = 0;
    const auto over = std::remove_if(its.sending.begin(), its.sending.end(), [&](const Load& load) {
        if (load.until <= now)
        {
            its.sent += load.bytes;
            return true;
        }
        const auto since = static_cast<unsigned __int128>(std::max<int64_t>(0, now - load.from));
        partly += static_cast<uint64_t>(since * load.bytes / (load.until - load.from));
        return false;
    });
    its.sending.erase(over, its.sending.end());
    return its.sent + partly;
}

} // namespace dltrain
