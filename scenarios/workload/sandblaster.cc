/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/sandblaster.h"

#include <algorithm>

namespace workload
{

namespace
{

/// The word of a Notice: which batch, and which of the two things a runner does in it.
uint32_t
WordOf(uint32_t batch, bool second)
{
    return 2 * batch + (second ? 1 : 0);
}

} // namespace

Sandblaster::Sandblaster(const training::TrainingPlan& plan,
                         const training::ServedPlan& served,
                         uint32_t warmup,
                         uint32_t measured)
    : Served(plan, served, warmup, measured),
      m_begun(plan.Runners()),
      m_replicas(served.Replicas())
{
    for (Rank r = 0; r < served.Replicas(); ++r)
    {
        m_replicas[r].fetching = 1 + RemoteShards(r);
    }
}

std::optional<Round>
Sandblaster::Next(coll::Rank runner)
{
    // All begin with the first fetch; then they do as they are told.
    const Kind kind = m_served.WhoIs(runner).kind;
    if (m_begun[runner] || kind == Kind::kUpdater || kind == Kind::kSender)
    {
        return std::nullopt;
    }
    return Woken(runner, WordOf(0, false));
}

std::optional<Round>
Sandblaster::Woken(coll::Rank runner, uint32_t word)
{
    m_begun[runner] = true;
    const Who who = m_served.WhoIs(runner);
    const uint32_t batch = word / 2;
    const bool second = word % 2 == 1;
    switch (who.kind)
    {
    case Kind::kReplica:
        return RoundOf(second ? m_served.Piece(who.replica) : m_served.Fetch(who.replica), batch);
    case Kind::kUpdater:
        return RoundOf(m_served.Update(who.shard), batch);
    case Kind::kSender:
        return RoundOf(m_served.Send(who.replica), batch);
    default:
        return m_served.IsLocal(who.replica, who.shard)
                   ? std::nullopt
                   : std::optional(RoundOf(second ? m_served.Push(who.replica, who.shard)
                                                  : m_served.Reply(who.replica, who.shard),
                                           batch));
    }
}

void
Sandblaster::Join(const Who& who, const Round& round, Notice& notice)
{
    if (who.kind == Kind::kUpdater)
    {
        if (--m_updating == 0)
        {
            NextBatch(notice);
        }
        return;
    }
    Replica& replica = m_replicas[who.replica];
    if (who.kind == Kind::kReplica && round.graph == m_served.Piece(who.replica))
    {
        EndPiece(who.replica, notice);
        return;
    }
    const bool connection = who.kind == Kind::kConnection;
    if (who.kind == Kind::kReplica ||
        (connection && round.graph == m_served.Reply(who.replica, who.shard)))
    {
        if (connection)
        {
            CountSent(who.shard);
        }
        if (--replica.fetching == 0)
        {
            Assign(who.replica, notice);
        }
        return;
    }
    if (connection)
    {
        CountReceived(who.shard);
    }
    if (--replica.pushing == 0)
    {
        // A sum of pieces, at each shard.
        m_statistics.applied += IsMeasured() ? m_served.Shards() : 0;
        --m_pushing;
        Push(who.replica, notice);
        UpdateIfWhole(notice);
    }
}

void
Sandblaster::Assign(Rank replica, Notice& notice)
{
    const Replica& of = m_replicas[replica];
    const auto copy =
        std::find_if(m_pending.begin(), m_pending.end(), [replica](const auto& pending) {
            return !pending.second.second && pending.second.first != replica;
        });
    if (m_given == m_served.Pieces() && copy == m_pending.end())
    {
        return; // until the next batch
    }
    if (of.fetched != m_ended)
    {
        Fetch(replica, notice);
        return;
    }
    if (m_given < m_served.Pieces())
    {
        m_pending[m_given].first = replica;
        Give(replica, m_given++, notice);
        return;
    }
    copy->second.second = replica;
    m_statistics.backups += IsMeasured();
    Give(replica, copy->first, notice);
}

void
Sandblaster::Give(Rank replica, uint32_t piece, Notice& notice)
{
    Replica& of = m_replicas[replica];
    of.computes = true;
    of.batch = m_ended;
    of.piece = piece;
    notice.wake.emplace_back(replica, WordOf(m_ended, true));
}

void
Sandblaster::Fetch(Rank replica, Notice& notice)
{
    Replica& of = m_replicas[replica];
    of.fetched = m_ended;
    of.fetching = 1 + RemoteShards(replica);
    notice.wake.emplace_back(replica, WordOf(m_ended, false));
    for (uint32_t s = 0; s < m_served.Shards(); ++s)
    {
        if (!m_served.IsLocal(replica, s))
        {
            notice.wake.emplace_back(m_served.Connection(replica, s), WordOf(m_ended, false));
        }
    }
}

void
Sandblaster::EndPiece(Rank replica, Notice& notice)
{
    Replica& of = m_replicas[replica];
    of.computes = false;
    m_statistics.pieces += IsMeasured();
    m_statistics.roundsOf[replica] += IsMeasured();
    const auto pending = of.batch == m_ended ? m_pending.find(of.piece) : m_pending.end();
    if (pending != m_pending.end())
    {
        const Outstanding both = pending->second;
        if (both.second)
        {
            notice.stop.push_back(*both.second == replica ? both.first : *both.second);
        }
        m_pending.erase(pending);
        ++m_done;
        ++of.accrued;
        const uint32_t every = m_served.Options().pushEvery;
        if (every > 0 && of.accrued >= every)
        {
            Push(replica, notice);
        }
    }
    else
    {
        m_statistics.wasted += IsMeasured();
    }
    if (m_done < m_served.Pieces())
    {
        Assign(replica, notice);
        return;
    }
    if (m_updating == 0)
    {
        for (Rank r = 0; r < m_served.Replicas(); ++r)
        {
            Push(r, notice);
        }
        UpdateIfWhole(notice);
    }
}

void
Sandblaster::Push(Rank replica, Notice& notice)
{
    Replica& of = m_replicas[replica];
    const uint32_t every = m_served.Options().pushEvery;
    const bool whole = m_done == m_served.Pieces();
    if (of.pushing > 0 || of.accrued == 0 || !(whole || (every > 0 && of.accrued >= every)))
    {
        return;
    }
    of.accrued = 0;
    of.pushing = 1 + RemoteShards(replica);
    ++m_pushing;
    notice.wake.emplace_back(m_served.Sender(replica), WordOf(m_ended, true));
    for (uint32_t s = 0; s < m_served.Shards(); ++s)
    {
        if (!m_served.IsLocal(replica, s))
        {
            notice.wake.emplace_back(m_served.Connection(replica, s), WordOf(m_ended, true));
        }
    }
}

void
Sandblaster::UpdateIfWhole(Notice& notice)
{
    if (m_done == m_served.Pieces() && m_pushing == 0 && m_updating == 0)
    {
        m_updating = m_served.Shards();
        for (uint32_t s = 0; s < m_served.Shards(); ++s)
        {
            notice.wake.emplace_back(m_served.Updater(s), WordOf(m_ended, false));
        }
    }
}

void
Sandblaster::NextBatch(Notice& notice)
{
    m_given = 0;
    m_done = 0;
    m_pending.clear();
    if (!EndStep(notice))
    {
        return;
    }
    for (Rank r = 0; r < m_served.Replicas(); ++r)
    {
        if (m_replicas[r].fetching == 0 && !m_replicas[r].computes)
        {
            Assign(r, notice);
        }
    }
}

} // namespace workload
