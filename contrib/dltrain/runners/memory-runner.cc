/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "memory-runner.h"

#include "collective-runner.h"
#include "reports/attribution/message-id.h"

#include "ns3/node-windows.h"

#include <algorithm>

namespace dltrain
{

using training::MemoryTier;
using training::Task;

namespace
{

constexpr ChannelId NO_CHANNEL = UINT64_MAX;
/// Of the names of its channels: above those of collectives.
constexpr uint32_t COMMUNICATOR = UINT32_MAX - 1;

} // namespace

MemoryRunner::Channel::Channel()
    : id(NO_CHANNEL)
{
}

MemoryRunner::MemoryRunner(const training::TrainingPlan& plan,
                           const scenario::ClusterSpec& cluster,
                           const Places& places,
                           std::unique_ptr<Interconnect> interconnect,
                           uint32_t memoryServers,
                           MessageUser& user)
    : m_plan(plan),
      m_cluster(cluster),
      m_places(places),
      m_interconnect(std::move(interconnect)),
      m_memoryServers(memoryServers),
      m_user(user),
      m_least(CollectiveRunner::LeastBetween(cluster.topology)),
      m_channels(2 * std::size_t{plan.ranks})
{
    for (const MemoryTier& tier : plan.tiers)
    {
        Tier& one = m_tiers.emplace_back();
        one.first = static_cast<uint32_t>(m_busy.size());
        const uint32_t gpus = cluster.server.gpus;
        const uint32_t in = tier.per == MemoryTier::Per::kGpu       ? 1
                            : tier.per == MemoryTier::Per::kCluster ? plan.ranks
                            : tier.gpus                             ? tier.gpus
                                                                    : gpus;
        one.apart = (plan.ranks <= gpus || gpus % in == 0) && !tier.reduces;
        m_busy.resize(m_busy.size() + std::size_t{(plan.ranks + in - 1) / in} * tier.devices, 0);
    }
    for (uint32_t s = 0; s < places.GetNServers(); ++s)
    {
        m_ends.push_back(std::make_unique<Ends>(this));
    }
}

MemoryRunner::~MemoryRunner() = default;

uint32_t
MemoryRunner::DeviceOf(Rank rank, uint32_t number) const
{
    return m_tiers[number].first +
           m_plan.tiers[number].DeviceOf(rank, m_plan.ranks, m_cluster.server.gpus);
}

bool
MemoryRunner::IsGathered(const Task& task) const
{
    return m_plan.tiers[task.tier].reduces && task.shared != training::kNotShared;
}

void
MemoryRunner::Access(Rank rank,
                     const Task& task,
                     uint32_t round,
                     uint32_t name,
                     uint64_t cookie,
                     int64_t now)
{
    if (m_plan.tiers[task.tier].attached == MemoryTier::Attached::kNetwork)
    {
        Send(rank, task, name, cookie);
        return;
    }
    const uint32_t device = DeviceOf(rank, task.tier);
    if (m_tiers[task.tier].apart)
    {
        Tell({rank, cookie}, Serve(device, task, now));
        return;
    }
    ns3::NodeWindows::Note<&MemoryRunner::Ask>(
        this,
        Request{rank, device, task.bytes, cookie, &task, round, now});
}

int64_t
MemoryRunner::Serve(uint32_t device, const Task& task, int64_t now)
{
    int64_t& busy = m_busy[device];
    busy = std::max(busy, now) + m_plan.tiers[task.tier].TimeOf(task.bytes).ps;
    return busy;
}

void
MemoryRunner::Ask(const Request& request)
{
    const Task& task = *request.task;
    if (!IsGathered(task))
    {
        Tell({request.rank, request.cookie},
             std::max(Serve(request.device, task, request.at), request.at + m_least));
        return;
    }
    const training::SharedData& shared = m_plan.shared[task.shared];
    const uint32_t group = shared.groupOf[request.rank];
    const auto found =
        m_gatherings
            .try_emplace({task.tier, task.shared, group, task.name, request.round}, Gathering())
            .first;
    Gathering& gathering = found->second;
    gathering.ends.push_back({request.rank, request.cookie});
    gathering.last = std::max(gathering.last, request.at);
    if (gathering.ends.size() < shared.sizes[group])
    {
        return;
    }
    // Once over the device, whoever it belongs to: that of the group's first rank.
    const Gathering all = std::move(gathering);
    m_gatherings.erase(found);
    const auto first = std::min_element(all.ends.begin(),
                                        all.ends.end(),
                                        [](const End& a, const End& b) { return a.rank < b.rank; });
    const int64_t end =
        std::max(Serve(DeviceOf(first->rank, task.tier), task, all.last), all.last + m_least);
    for (const End& one : all.ends)
    {
        Tell(one, end);
    }
}

void
MemoryRunner::Tell(const End& end, int64_t at)
{
    const uint32_t server = m_places.ServerOf(end.rank);
    m_ends[server]->Schedule(at, m_places.ContextOfServer(server), end);
}

void
MemoryRunner::OnEvent(const End& end, int64_t now)
{
    if (!m_aborted)
    {
        m_user.OnMessageDone(end.rank, end.cookie, now, -1, nullptr);
    }
}

void
MemoryRunner::Send(Rank rank, const Task& task, uint32_t name, uint64_t cookie)
{
    const std::size_t number = 2 * std::size_t{rank} + task.stores;
    Channel& channel = m_channels[number];
    Transport& between = m_interconnect->Between();
    if (channel.id == NO_CHANNEL)
    {
        const uint32_t gpus = m_cluster.server.gpus;
        const uint32_t servers = (m_plan.ranks + gpus - 1) / gpus;
        ChannelName to;
        to.from = rank;
        to.to = (servers + rank % m_memoryServers) * gpus + rank % gpus;
        to.communicator = COMMUNICATOR;
        to.lane = task.stores;
        to.rail = m_interconnect->GetPlaces().NicBeside(rank);
        channel.id = between.Open(to, *this, number);
    }
    channel.cookies.push_back(cookie);
    TransportPost post;
    post.bytes = task.bytes;
    post.id = reports::MessageId::Of(name);
    post.operation = task.stores ? ns3::RdmaOperation::WRITE : ns3::RdmaOperation::READ;
    between.Post(channel.id, post);
}

void
MemoryRunner::OnDelivered(const Delivery&, int64_t)
{
}

void
MemoryRunner::OnSent(ChannelId, uint64_t number, uint64_t, bool failed, int64_t now)
{
    if (m_aborted || failed)
    {
        return;
    }
    std::deque<uint64_t>& cookies = m_channels[number].cookies;
    const uint64_t cookie = cookies.front();
    cookies.pop_front();
    m_user.OnMessageDone(static_cast<Rank>(number / 2), cookie, now, -1, nullptr);
}

bool
MemoryRunner::GoesOnByItself() const
{
    return std::any_of(m_ends.begin(), m_ends.end(), [](const auto& ends) {
        return ends->IsPending();
    });
}

void
MemoryRunner::Abort()
{
    m_aborted = true;
    if (m_interconnect)
    {
        m_interconnect->Abort();
    }
}

} // namespace dltrain
