/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/recorded/recorded-matches.h"

#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace formats
{

using coll::Rank;
using training::TaskKind;

namespace
{

constexpr uint32_t kNoCall = UINT32_MAX;

class Matcher
{
  public:
    Matcher(const Recording& recording, std::string file, std::vector<topo::Error>& errors)
        : m_recording(recording),
          m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::optional<Matches> Match()
    {
        return CheckEvents() && LeaveOutNothings() && MatchMessages() && CheckCollectives()
                   ? std::optional(std::move(m_found))
                   : std::nullopt;
    }

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, "", problem);
        return false;
    }

    const Event& EventAt(const At& at) const
    {
        return m_recording.ranks[at.rank][at.event];
    }

    std::string Named(const At& at) const
    {
        return NameOf(m_recording, at);
    }

    bool CheckEvents();
    bool LeaveOutNothings();
    bool MatchMessages();
    bool CheckCollectives();

    const Recording& m_recording;
    const std::string m_file;
    std::vector<topo::Error>& m_errors;
    Matches m_found;
};

bool
Matcher::CheckEvents()
{
    m_found.first.push_back(0);
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        m_found.first.push_back(m_found.first.back() + events.size());
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            const bool message = event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv;
            if (event.nothing || !message)
            {
                continue;
            }
            if (event.peer >= m_recording.ranks.size())
            {
                return Fail(Named({rank, i}) + ": its peer is rank " + std::to_string(event.peer) +
                            "; allowed: 0 to " + std::to_string(m_recording.ranks.size() - 1));
            }
            if (event.peer == rank)
            {
                return Fail(Named({rank, i}) +
                            ": a message of a rank to itself; allowed: to others");
            }
        }
    }
    return true;
}

bool
Matcher::LeaveOutNothings()
{
    m_found.after.resize(m_recording.ranks.size());
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        std::vector<std::vector<uint32_t>> next(events.size());
        std::vector<uint32_t> waits(events.size());
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            for (const uint32_t before : events[i].after)
            {
                next[before].push_back(i);
                ++waits[i];
            }
        }
        auto& after = m_found.after[rank];
        after.resize(events.size());
        std::vector<uint32_t> ready;
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            if (waits[i] == 0)
            {
                ready.push_back(i);
            }
        }
        std::size_t done = 0;
        while (!ready.empty())
        {
            const uint32_t i = ready.back();
            ready.pop_back();
            ++done;
            for (const uint32_t before : events[i].after)
            {
                if (events[before].nothing)
                {
                    after[i].insert(after[i].end(), after[before].begin(), after[before].end());
                }
                else
                {
                    after[i].push_back(before);
                }
            }
            std::sort(after[i].begin(), after[i].end());
            after[i].erase(std::unique(after[i].begin(), after[i].end()), after[i].end());
            if (after[i].size() > kMostAfter)
            {
                return Fail(Named({rank, i}) + " waits for " + std::to_string(after[i].size()) +
                            " others; allowed: at most " + std::to_string(kMostAfter));
            }
            for (const uint32_t behind : next[i])
            {
                if (--waits[behind] == 0)
                {
                    ready.push_back(behind);
                }
            }
        }
        if (done < events.size())
        {
            const auto found =
                std::find_if(waits.begin(), waits.end(), [](uint32_t n) { return n > 0; });
            return Fail(Named({rank, static_cast<uint32_t>(found - waits.begin())}) +
                        " waits for itself: dependencies go round in a circle");
        }
    }
    return true;
}

bool
Matcher::MatchMessages()
{
    using Key = std::tuple<Rank, Rank, uint64_t>; // from, to, tag

    struct Ends
    {
        std::vector<uint32_t> sends;
        std::vector<uint32_t> receives;
    };

    std::map<Key, Ends> ends;
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            const Event& event = events[i];
            if (event.nothing)
            {
                continue;
            }
            if (event.kind == TaskKind::kSend)
            {
                ends[{rank, event.peer, event.tag}].sends.push_back(i);
            }
            else if (event.kind == TaskKind::kRecv)
            {
                ends[{event.peer, rank, event.tag}].receives.push_back(i);
            }
        }
    }
    for (const auto& [key, of] : ends)
    {
        const auto& [from, to, tag] = key;
        if (of.sends.size() != of.receives.size())
        {
            return Fail("rank " + std::to_string(from) + " sends " +
                        topo::Counted(of.sends.size(), "message") + " with tag " +
                        std::to_string(tag) + " to rank " + std::to_string(to) +
                        ", which receives " + std::to_string(of.receives.size()));
        }
        for (std::size_t k = 0; k < of.sends.size(); ++k)
        {
            const At send{from, of.sends[k]};
            const At receive{to, of.receives[k]};
            if (EventAt(send).bytes != EventAt(receive).bytes)
            {
                return Fail(Named(receive) + " expects " + std::to_string(EventAt(receive).bytes) +
                            " B, and " + Named(send) + " sends it " +
                            std::to_string(EventAt(send).bytes));
            }
            m_found.messages[{from, to}].push_back({send, receive});
        }
    }
    return true;
}

bool
Matcher::CheckCollectives()
{
    const auto& communicators = m_recording.communicators;
    std::vector<std::vector<std::vector<uint32_t>>> lists(communicators.size()); // [c][position]
    std::vector<std::unordered_map<Rank, uint32_t>> positions(communicators.size());
    for (std::size_t c = 0; c < communicators.size(); ++c)
    {
        const auto& ranks = communicators[c].ranks;
        lists[c].resize(ranks.size());
        if (ranks.empty())
        {
            return Fail("group \"" + rdma::Shown(communicators[c].name, 60) + "\" has no ranks");
        }
        for (uint32_t p = 0; p < ranks.size(); ++p)
        {
            if (ranks[p] >= m_recording.ranks.size() || !positions[c].emplace(ranks[p], p).second)
            {
                return Fail("group \"" + rdma::Shown(communicators[c].name, 60) + "\": rank " +
                            std::to_string(ranks[p]) +
                            (ranks[p] >= m_recording.ranks.size()
                                 ? "; allowed: 0 to " + std::to_string(m_recording.ranks.size() - 1)
                                 : " stands there twice; allowed: once"));
            }
        }
    }
    m_found.callOf.resize(m_recording.ranks.size());
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        const auto& events = m_recording.ranks[rank];
        m_found.callOf[rank].assign(events.size(), kNoCall);
        for (uint32_t i = 0; i < events.size(); ++i)
        {
            if (events[i].nothing || events[i].kind != TaskKind::kCollective)
            {
                continue;
            }
            const uint32_t c = events[i].communicator;
            const auto found = positions[c].find(rank);
            if (found == positions[c].end())
            {
                return Fail(Named({rank, i}) + ": the rank is not in its group \"" +
                            rdma::Shown(communicators[c].name, 60) + "\"");
            }
            auto& list = lists[c][found->second];
            m_found.callOf[rank][i] = static_cast<uint32_t>(list.size());
            list.push_back(i);
        }
    }
    m_found.calls.resize(communicators.size());
    m_found.blocks.resize(m_found.first.back());
    for (std::size_t c = 0; c < communicators.size(); ++c)
    {
        const auto& ranks = communicators[c].ranks;
        const auto group = [&] {
            return "group \"" + rdma::Shown(communicators[c].name, 60) + "\"";
        };
        for (uint32_t p = 1; p < ranks.size(); ++p)
        {
            if (lists[c][p].size() != lists[c][0].size())
            {
                return Fail(group() + ": rank " + std::to_string(ranks[0]) + " calls " +
                            topo::Counted(lists[c][0].size(), "collective") + ", rank " +
                            std::to_string(ranks[p]) + " " + std::to_string(lists[c][p].size()));
            }
        }
        for (uint32_t k = 0; k < lists[c][0].size(); ++k)
        {
            auto& members = m_found.calls[c].emplace_back();
            const At first{ranks[0], lists[c][0][k]};
            std::vector<uint64_t> sizes;
            for (uint32_t p = 0; p < ranks.size(); ++p)
            {
                const At at{ranks[p], lists[c][p][k]};
                const Event& event = EventAt(at);
                const Event& other = EventAt(first);
                const bool uneven = event.op == coll::Op::kAllToAllV;
                if (event.op != other.op || (!uneven && event.bytes != other.bytes))
                {
                    return Fail(group() + ", collective " + std::to_string(k) + ": " +
                                Named(first) + " is " + coll::OpName(other.op) + " of " +
                                std::to_string(other.bytes) + " B, " + Named(at) + " " +
                                coll::OpName(event.op) + " of " + std::to_string(event.bytes));
                }
                if (uneven && event.sends.size() != ranks.size())
                {
                    return Fail(Named(at) + " has sizes for " + std::to_string(event.sends.size()) +
                                " ranks; allowed: as many as its group has, " +
                                std::to_string(ranks.size()));
                }
                sizes.insert(sizes.end(), event.sends.begin(), event.sends.end());
                members.push_back(at);
            }
            if (EventAt(first).op == coll::Op::kAllToAllV)
            {
                std::shared_ptr<const coll::BlockSizes> blocks;
                try
                {
                    blocks =
                        std::make_shared<coll::BlockSizes>(static_cast<Rank>(ranks.size()), sizes);
                }
                catch (const std::invalid_argument& e)
                {
                    return Fail(Named(first) + ": " + e.what());
                }
                for (const At& at : members)
                {
                    m_found.blocks[m_found.Number(at)] = blocks;
                }
            }
        }
    }
    return true;
}

} // namespace

std::string
NameOf(const Recording& recording, const At& at)
{
    return "\"" + rdma::Shown(recording.ranks[at.rank][at.event].name, 60) + "\" of rank " +
           std::to_string(at.rank);
}

std::optional<Matches>
MatchEvents(const Recording& recording, const std::string& file, std::vector<topo::Error>& errors)
{
    return Matcher(recording, file, errors).Match();
}

} // namespace formats
