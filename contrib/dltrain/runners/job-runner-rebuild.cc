/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * JobRunner: what was under way when a member failed begins anew with those that are left.
 *
 *     collective    k     k+1    k+2
 *     rank 0        left  in     -          what begins anew: k, as rank 1 is in it, and k+1;
 *     rank 1        in    in     -          rank 0 does k once more without waiting for it: it has
 *     rank 2        in    in     -          what the others need of it
 *     rank 3        failed
 *
 * Nothing of a collective that a rank had left is done again on its streams: its computing goes on.
 * Of the messages between two ranks those begin anew that had not arrived
 * (MessageRunner::TakeOver).
 */
#include "job-runner.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace dltrain
{

void
JobRunner::Suspend()
{
    m_collectives->Abort();
    m_messages->Abort();
}

int64_t
JobRunner::FindInterrupted(const std::vector<bool>& leaving, std::vector<Again>* again) const
{
    int64_t count = 0;
    uint32_t communicator = 0;
    for (std::size_t kind = 0; kind < m_groupKinds.size(); ++kind)
    {
        for (const std::vector<Rank>& group : m_groupKinds[kind].groups)
        {
            if (group.empty())
            {
                continue;
            }
            const uint32_t number = communicator++;

            struct Member
            {
                Rank rank;
                uint32_t entered;
                std::vector<CollectiveRunner::Entered> in;
            };

            std::vector<Member> members;
            uint32_t begin = UINT32_MAX;
            uint32_t end = 0;
            uint32_t least = UINT32_MAX; // number that all have entered
            for (Rank position = 0; position < group.size(); ++position)
            {
                if (leaving[group[position]])
                {
                    continue;
                }
                Member& member = members.emplace_back();
                member.rank = group[position];
                member.entered = m_collectives->CountEntered(number, position);
                member.in = m_collectives->GetEntered(number, position);
                least = std::min(least, member.entered);
                end = std::max(end, member.entered);
                begin = std::min(begin,
                                 member.in.empty() ? member.entered : member.in.front().sequence);
            }
            for (uint32_t sequence = begin; sequence < end; ++sequence)
            {
                const auto isIt = [sequence](const CollectiveRunner::Entered& entered) {
                    return entered.sequence == sequence;
                };
                const CollectiveRunner::Entered* known = nullptr;
                for (const Member& member : members)
                {
                    const auto in = std::find_if(member.in.begin(), member.in.end(), isIt);
                    known = in == member.in.end() ? known : &*in;
                }
                if (!known && sequence < least)
                {
                    continue; // all have left it
                }
                if (!known)
                {
                    return -1;
                }
                ++count;
                coll::Collective what = known->what;
                what.ranks = static_cast<Rank>(members.size());
                for (const Member& member : members)
                {
                    if (member.entered <= sequence)
                    {
                        continue; // it comes to it later
                    }
                    const auto in = std::find_if(member.in.begin(), member.in.end(), isIt);
                    const bool isIn = in != member.in.end();
                    again->push_back({member.rank,
                                      kind,
                                      what,
                                      isIn ? in->tag : known->tag,
                                      isIn ? in->cookie : GHOST});
                }
            }
        }
    }
    return count;
}

void
JobRunner::Leave(const std::vector<Rank>& leaving)
{
    m_start.absent.resize(m_plan.ranks);
    for (const Rank rank : leaving)
    {
        m_start.absent[rank] = true;
        m_ranks[rank]->Abort();
        --m_ranksHere;
        for (std::size_t i = 0; i < m_open.size(); ++i)
        {
            m_open[i].ranksDone -= m_roundsEnded[rank] > m_closed + i;
            ++m_open[i].ranksLeft;
        }
    }
    for (training::GroupKind& kind : m_groupKinds)
    {
        for (std::vector<Rank>& group : kind.groups)
        {
            group.erase(std::remove_if(group.begin(),
                                       group.end(),
                                       [this](Rank rank) { return m_start.IsAbsent(rank); }),
                        group.end());
        }
    }
    const std::vector<workload::Notice> notices = m_workload.Leave(leaving);
    // Rounds that waited only for these ranks, which was not known before.
    while (m_ranksHere > 0 && !m_open.empty() && m_open.front().ranksDone == m_ranksHere)
    {
        m_open.front().end = ns3::RdmaClock::Now();
        EndOldest();
    }
    for (const workload::Notice& notice : notices)
    {
        if (!notice.IsEmpty())
        {
            m_decide(notice);
        }
    }
}

std::string
JobRunner::Rebuild(const RankServices& services,
                   const std::vector<Rank>& leaving,
                   Repeated* repeated)
{
    std::vector<bool> leaves(m_plan.ranks, false);
    for (const Rank rank : leaving)
    {
        leaves[rank] = true;
    }
    std::vector<Again> again;
    const int64_t count = FindInterrupted(leaves, &again);
    if (count < 0)
    {
        return "some ranks have left a collective that others have not begun, and nobody knows any "
               "more what it was";
    }
    repeated->collectives = static_cast<uint64_t>(count);
    Leave(leaving);
    m_join = {}; // drops the parts of collectives that begin anew
    m_firstAt = m_rankAt.size();
    const MessageRunner* messages = m_messages;
    m_collectives = services.collectives;
    m_messages = services.messages;
    const std::vector<std::vector<Seat>> seats = MakeSeats();
    for (Rank runner = 0; runner < m_ranks.size(); ++runner)
    {
        if (m_ranks[runner])
        {
            m_ranks[runner]->SetServices(services, seats[m_plan.PlaceOf(runner)]);
        }
    }
    std::string why = PrepareCollectives();
    const int64_t now = ns3::RdmaClock::Now();
    for (std::size_t i = 0; why.empty() && i < again.size(); ++i)
    {
        const Again& one = again[i];
        const Seat& seat = m_ranks[one.rank]->GetSeat(static_cast<uint32_t>(one.kind));
        m_collectives->Start(seat.communicator, seat.position, one.what, one.tag, one.cookie, now);
    }
    if (why.empty())
    {
        repeated->messages = m_messages->TakeOver(*messages, now);
    }
    return why;
}

} // namespace dltrain
