/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-team.h"

#include "node-window-ports.h"
#include "node-window-scale.h"
#include "node-window-thread-pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace ns3
{

NodeWindowTeam::NodeWindowTeam(std::deque<Unit>& units)
    : m_units(units)
{
    m_shards.push_back(std::make_unique<NodeWindowShard>(0, 1));
}

NodeWindowTeam::~NodeWindowTeam() = default;

void
NodeWindowTeam::SetThreads(uint32_t threads, bool always)
{
    m_threads = std::clamp(threads, 1U, MAX_THREADS);
    m_always = always;
}

uint64_t
NodeWindowTeam::GetEventCount() const
{
    uint64_t count = m_eventsBefore;
    for (const auto& shard : m_shards)
    {
        count += shard->GetEventCount();
    }
    return count;
}

void
NodeWindowTeam::Begin(uint32_t most)
{
    m_parallelism.Reset(m_always);
    const uint32_t threads = std::max(1U, std::min(GetThreads(), most));
    const bool moved = m_sidesNext > 1 && std::any_of(m_units.begin(), m_units.end(), [&](auto& u) {
                           return u.shard->GetIndex() % m_sides != u.side;
                       });
    if (threads == CountThreads() && m_sides == m_sidesNext && !moved)
    {
        return;
    }
    const auto mail = TakeMail();
    m_eventsBefore = GetEventCount();
    const int64_t now = ShardOf(0, m_side).BeginOf(m_bucket[m_side]);
    m_shards.clear();
    m_sides = m_sidesNext;
    m_side = 0;
    const uint32_t shards = threads * m_sides;
    for (uint32_t i = 0; i < shards; ++i)
    {
        m_shards.push_back(std::make_unique<NodeWindowShard>(i, shards));
    }
    for (uint32_t i = 0; m_sides == 2 && i < shards; ++i)
    {
        m_shards[i]->SetNear(*m_shards[i ^ 1]);
    }
    for (Unit& unit : m_units)
    {
        Assign(unit, 0);
    }
    PlaceWindows(now);
    RegisterAll();
    GiveBack(mail);
    m_balancer = threads > 1 ? std::make_unique<NodeWindowBalancer>(threads, m_always) : nullptr;
}

void
NodeWindowTeam::End()
{
    m_parallel = false;
    m_pool = nullptr;
}

// Units -------------------------------------------------------------------------------------------

std::vector<std::pair<NodeWindowTeam::Unit*, NodeWindowTeam::Mail>>
NodeWindowTeam::TakeMail()
{
    DeliverPosts();
    std::vector<std::pair<Unit*, Mail>> mail;
    for (Unit& unit : m_units)
    {
        unit.shard->EmptyBins(unit, [&](const Mail& of) { mail.emplace_back(&unit, of); });
    }
    return mail;
}

void
NodeWindowTeam::GiveBack(const std::vector<std::pair<Unit*, Mail>>& mail)
{
    for (const auto& [unit, of] : mail)
    {
        unit->shard->Add(*unit, of);
    }
}

void
NodeWindowTeam::PlaceWindows(int64_t now)
{
    m_window = m_sides * m_lookAhead;
    for (uint32_t side = 0; side < m_sides; ++side)
    {
        m_bucket[side] = (now + side * m_lookAhead) / m_window;
    }
}

void
NodeWindowTeam::SetLookAhead(int64_t lookAhead, int64_t now)
{
    const auto mail = TakeMail(); // windows are others
    m_lookAhead = lookAhead;
    PlaceWindows(now);
    RegisterAll();
    GiveBack(mail);
}

void
NodeWindowTeam::RegisterAll()
{
    DeliverPosts();
    NodeWindowScale::units = m_units.size();
    NodeWindowScale::isLarge = m_units.size() >= NodeWindowScale::LARGE;
    for (uint32_t i = 0; i < m_shards.size(); ++i)
    {
        const uint32_t side = i % m_sides;
        m_shards[i]->Reset(m_window, side * m_lookAhead, m_bucket[side]);
    }
    for (Unit& unit : m_units)
    {
        unit.bucket = Unit::NEVER;
        unit.shard->RegisterNext(unit);
        for (const Mail& mail : unit.inbox)
        {
            unit.shard->Register(unit, mail.ts);
        }
    }
}

int64_t
NodeWindowTeam::FirstBegin(uint32_t side)
{
    int64_t first = Unit::NEVER;
    int64_t post = Unit::NEVER;
    for (std::size_t i = side; i < m_shards.size(); i += m_sides)
    {
        first = std::min(first, m_shards[i]->FirstBucket());
    }
    // Units of the other side post what is for this one.
    for (std::size_t i = side ^ (m_sides - 1); m_shards.size() > m_sides && i < m_shards.size();
         i += m_sides)
    {
        post = std::min(post, m_shards[i]->GetFirstPost());
    }
    const NodeWindowShard& one = ShardOf(0, side);
    first = post == Unit::NEVER ? first : std::min(first, one.WindowOf(post));
    return first == Unit::NEVER ? first : one.BeginOf(first);
}

void
NodeWindowTeam::DeliverPosts()
{
    for (const auto& to : m_shards)
    {
        for (const auto& from : m_shards)
        {
            to->TakePosts(m_turn, *from);
        }
    }
    for (const auto& shard : m_shards)
    {
        shard->ForgetPosts();
    }
}

void
NodeWindowTeam::Assign(Unit& unit, uint32_t thread)
{
    const uint32_t shard = thread * m_sides + (m_sides > 1 ? unit.side : 0);
    unit.shard = m_shards[shard].get();
    for (const NodeWindowPort* port : unit.arrivals.GetPorts())
    {
        NodeWindowPorts::Get().SetShard(*port, shard);
    }
}

void
NodeWindowTeam::Balance()
{
    std::vector<uint32_t> threadOf(m_units.size());
    for (std::size_t i = 0; i < m_units.size(); ++i)
    {
        threadOf[i] = m_units[i].shard->GetIndex() / m_sides;
    }
    m_balancer->Distribute(m_units, threadOf);
    DeliverPosts();
    for (std::size_t i = 0; i < m_units.size(); ++i)
    {
        m_units[i].load = 0;
        if (threadOf[i] != m_units[i].shard->GetIndex() / m_sides)
        {
            Assign(m_units[i], threadOf[i]);
        }
    }
    RegisterAll();
}

// Running -----------------------------------------------------------------------------------------

void
NodeWindowTeam::RunShard(uint32_t thread)
{
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t side = 0; side < m_sides; ++side)
    {
        NodeWindowShard& shard = ShardOf(thread, side);
        shard.ForgetPosts(); // those of before are being taken
        for (const auto& from : m_shards)
        {
            shard.TakePosts(m_turn ^ 1, *from);
        }
    }
    ShardOf(thread, m_side).Run(m_bucket[m_side], m_cut);
    m_balancer->AddBusy(
        thread,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

bool
NodeWindowTeam::RunTogether()
{
    // What is not worth a word to the others.
    constexpr std::size_t FEW = 8;
    std::size_t crowd = 0;
    for (uint32_t thread = 0; thread < CountThreads(); ++thread)
    {
        crowd += ShardOf(thread, m_side).GetCrowd(m_bucket[m_side]);
    }
    if (!m_always && (!m_balancer->HasDistributed() || crowd < FEW))
    {
        return false;
    }
    if (!m_pool && !m_refused)
    {
        try
        {
            m_pool = std::make_unique<NodeWindowThreadPool>(CountThreads(), [this](uint32_t who) {
                RunShard(who);
            });
        }
        catch (const std::system_error&)
        {
            m_refused = true; // whoever limits them has a reason
        }
    }
    if (m_refused)
    {
        return false;
    }
    m_turn ^= 1;
    m_parallel = true;
    m_pool->Work();
    m_parallel = false;
    return true;
}

void
NodeWindowTeam::Run(uint32_t side, int64_t begin, int64_t cut)
{
    const int64_t bucket = ShardOf(0, side).WindowOf(begin);
    const uint32_t threads = CountThreads();
    m_side = side;
    m_bucket[side] = bucket;
    m_cut = cut;
    for (uint32_t thread = 0; thread < threads; ++thread)
    {
        ShardOf(thread, side).Begin(bucket);
    }
    if (threads == 1)
    {
        ShardOf(0, side).Run(bucket, cut);
        return;
    }
    const uint64_t before = GetEventCount();
    const bool together = m_parallelism.IsParallel() && RunTogether();
    if (!together)
    {
        DeliverPosts();
        for (uint32_t thread = 0; thread < threads; ++thread)
        {
            NodeWindowShard& shard = ShardOf(thread, side);
            if (shard.FirstBucket() == bucket)
            {
                shard.Run(bucket, cut);
            }
        }
    }
    m_windowEvents = GetEventCount() - before;
    m_parallelEvents += together ? m_windowEvents : 0;
}

void
NodeWindowTeam::EndWindow()
{
    if (m_balancer && m_parallelism.Add(m_windowEvents) && m_parallelism.IsParallel() &&
        m_balancer->EndPeriod())
    {
        Balance();
    }
}

} // namespace ns3
