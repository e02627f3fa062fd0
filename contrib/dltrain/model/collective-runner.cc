/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner.h"

#include "collectives/registry.h"
#include "results/collective-paths.h"
#include "scenarios/spec/cluster-options.h"

#include "ns3/assert.h"

#include <algorithm>
#include <stdexcept>

namespace dltrain
{

namespace
{

/// Lanes for which the connection used last is remembered; others are looked up.
constexpr uint32_t CACHED_LANES = 8;
constexpr std::size_t MOST_SCHEDULES = 32; ///< of a communicator
constexpr uint32_t NO_PATH = results::CollectivePaths::NONE;

} // namespace

CollectiveRunner::CollectiveRunner(const scenario::ClusterSpec& cluster,
                                   const scenario::CollectiveOptions& options,
                                   Interconnect& interconnect,
                                   CollectiveUser* user,
                                   uint32_t job)
    : m_options(options),
      m_interconnect(interconnect),
      m_user(user),
      m_job(job),
      m_gpusPerServer(cluster.server.gpus),
      m_nicsPerServer(cluster.server.nics),
      m_events(this)
{
}

CollectiveRunner::~CollectiveRunner() = default;

uint32_t
CollectiveRunner::AddCommunicator(std::vector<Rank> ranks)
{
    Communicator comm;
    for (const Rank rank : ranks)
    {
        comm.placement.serverOf.push_back(rank / m_gpusPerServer);
        comm.placement.gpuOf.push_back(rank % m_gpusPerServer);
    }
    comm.placement.nicsPerServer = m_nicsPerServer;
    comm.placement.gpusPerServer = m_gpusPerServer;
    comm.entered.resize(ranks.size());
    comm.lastConnection.resize(ranks.size() * CACHED_LANES);
    comm.ranks = std::move(ranks);
    m_communicators.push_back(std::move(comm));
    return static_cast<uint32_t>(m_communicators.size() - 1);
}

uint32_t
CollectiveRunner::GetNRanks(uint32_t communicator) const
{
    return static_cast<uint32_t>(m_communicators[communicator].ranks.size());
}

std::string
CollectiveRunner::WhyNot(uint32_t communicator, const coll::Collective& what) const
{
    const Communicator& comm = m_communicators[communicator];
    return scenario::AlgorithmOf(m_options, what.op, comm.placement)
        .WhyNot(what, comm.placement, m_options.options);
}

CollectiveRunner::Instance&
CollectiveRunner::GetInstance(Communicator& comm,
                              uint32_t sequence,
                              const coll::Collective* what,
                              uint32_t tag)
{
    NS_ASSERT_MSG(sequence - comm.first < 1U << 30, "a message for a collective that has ended");
    const uint32_t index = sequence - comm.first;
    while (comm.instances.size() <= index)
    {
        // Only a rank that enters makes an instance: it sends nothing before.
        NS_ASSERT(what && comm.instances.size() == index);
        auto instance = std::make_unique<Instance>();
        const coll::Algorithm& algorithm =
            scenario::AlgorithmOf(m_options, what->op, comm.placement);
        instance->schedule = GetSchedule(comm, algorithm, *what);
        instance->record.op = what->op;
        instance->record.algorithm = &algorithm;
        instance->record.bytes = what->bytes;
        instance->record.ranks = what->ranks;
        instance->record.tag = tag;
        instance->lanesPerRank = 1;
        for (Rank r = 0; r < what->ranks; ++r)
        {
            instance->lanesPerRank =
                std::max<uint32_t>(instance->lanesPerRank, instance->schedule->Lanes(r));
        }
        instance->lanes.resize(static_cast<std::size_t>(what->ranks) * instance->lanesPerRank);
        instance->lanesLeft.resize(what->ranks);
        instance->cookies.resize(what->ranks);
        instance->enteredAt.resize(what->ranks);
        comm.instances.push_back(std::move(instance));
    }
    return *comm.instances[index];
}

std::shared_ptr<const coll::Schedule>
CollectiveRunner::GetSchedule(Communicator& comm,
                              const coll::Algorithm& algorithm,
                              const coll::Collective& what)
{
    auto& known = comm.schedules;
    const auto it = std::find_if(known.begin(), known.end(), [&](const auto& schedule) {
        const coll::Collective& other = schedule->What();
        return other.op == what.op && other.bytes == what.bytes && other.root == what.root;
    });
    if (it != known.end())
    {
        known.splice(known.begin(), known, it);
        return known.front();
    }
    known.push_front(algorithm.Make(what, comm.placement, m_options.options));
    if (known.size() > MOST_SCHEDULES)
    {
        known.pop_back(); // collectives under way hold theirs
    }
    return known.front();
}

void
CollectiveRunner::Start(uint32_t communicator,
                        Rank position,
                        coll::Op op,
                        uint64_t bytes,
                        Rank root,
                        uint32_t tag,
                        uint64_t cookie,
                        int64_t now)
{
    Communicator& comm = m_communicators[communicator];
    coll::Collective what;
    what.op = op;
    what.bytes = bytes;
    what.ranks = static_cast<Rank>(comm.ranks.size());
    what.root = root;
    const uint32_t sequence = comm.entered[position]++;
    Instance& instance = GetInstance(comm, sequence, &what, tag);
    if (instance.record.op != op || instance.record.bytes != bytes)
    {
        throw std::logic_error("ranks of one communicator entered different collectives");
    }
    instance.record.firstStart = instance.record.firstStart < 0 ? now : instance.record.firstStart;
    instance.record.lastStart = now;
    instance.cookies[position] = cookie;
    instance.enteredAt[position] = now;
    ++instance.entered;
    const coll::Lane lanes = instance.schedule->Lanes(position);
    // One more than there are, so that the rank cannot be done before the last lane has been looked
    // at.
    instance.lanesLeft[position] = static_cast<uint16_t>(lanes + 1);
    const std::size_t base = static_cast<std::size_t>(position) * instance.lanesPerRank;
    for (coll::Lane lane = 0; lane < lanes; ++lane)
    {
        LaneState& state = instance.lanes[base + lane];
        state.started = true;
        state.steps = instance.schedule->Steps(position, lane);
        if (state.steps)
        {
            state.step = instance.schedule->At(position, lane, 0);
        }
    }
    m_cause = m_paths ? m_paths->Enter(comm.ranks[position], tag, now) : NO_PATH;
    for (coll::Lane lane = 0; lane < lanes; ++lane)
    {
        Advance(communicator, sequence, instance, position, lane, now);
    }
    if (--instance.lanesLeft[position] == 0)
    {
        EndRank(communicator, sequence, position, now); // nothing to wait for (a single rank)
    }
    DropCause();
}

void
CollectiveRunner::EndRank(uint32_t communicator, uint32_t sequence, Rank position, int64_t now)
{
    // Told through the event loop: never from within Start.
    m_events.Schedule(now,
                      ContextOf(m_communicators[communicator].ranks[position]),
                      {EventKind::LEAVE,
                       UINT16_MAX,
                       communicator,
                       sequence,
                       coll::kNoRank,
                       position,
                       0,
                       HoldCause()});
}

uint32_t
CollectiveRunner::HoldCause()
{
    if (m_paths)
    {
        m_paths->Hold(m_cause);
    }
    return m_cause;
}

void
CollectiveRunner::DropCause()
{
    if (m_paths)
    {
        m_paths->Drop(m_cause);
    }
    m_cause = NO_PATH;
}

bool
CollectiveRunner::TakeArrival(LaneState& lane, Rank peer)
{
    if (lane.peer == peer)
    {
        if (lane.arrived)
        {
            --lane.arrived;
            return true;
        }
        return false;
    }
    if (lane.more)
    {
        const auto it = lane.more->find(peer);
        if (it != lane.more->end())
        {
            if (--it->second == 0)
            {
                lane.more->erase(it);
            }
            return true;
        }
    }
    return false;
}

void
CollectiveRunner::AddArrival(LaneState& lane, Rank peer)
{
    if (lane.arrived == 0 && (!lane.more || lane.more->empty()))
    {
        lane.peer = peer;
    }
    if (lane.peer == peer)
    {
        ++lane.arrived;
        return;
    }
    if (!lane.more)
    {
        lane.more = std::make_unique<std::unordered_map<Rank, uint32_t>>();
    }
    ++(*lane.more)[peer];
}

void
CollectiveRunner::Deliver(uint32_t communicator,
                          uint32_t sequence,
                          Rank to,
                          coll::Lane lane,
                          Rank from,
                          int64_t now)
{
    Communicator& comm = m_communicators[communicator];
    Instance& instance = GetInstance(comm, sequence, nullptr, 0);
    LaneState& state = instance.lanes[static_cast<std::size_t>(to) * instance.lanesPerRank + lane];
    AddArrival(state, from);
    // Only the one a lane waits for moves it.
    if (state.started && state.index < state.steps && state.step.recvPeer == from)
    {
        Advance(communicator, sequence, instance, to, lane, now);
        if (instance.lanesLeft[to] == 0)
        {
            EndRank(communicator, sequence, to, now);
        }
    }
}

void
CollectiveRunner::Advance(uint32_t communicator,
                          uint32_t sequence,
                          Instance& instance,
                          Rank position,
                          coll::Lane lane,
                          int64_t now)
{
    LaneState& state =
        instance.lanes[static_cast<std::size_t>(position) * instance.lanesPerRank + lane];
    while (state.index < state.steps)
    {
        const coll::Step& step = state.step;
        if (step.recvPeer != coll::kNoRank && !TakeArrival(state, step.recvPeer))
        {
            return;
        }
        if (step.sendPeer != coll::kNoRank)
        {
            Send(communicator,
                 sequence,
                 instance,
                 position,
                 step.sendPeer,
                 lane,
                 step.sendBytes,
                 now);
        }
        if (++state.index < state.steps)
        {
            state.step = instance.schedule->At(position, lane, state.index);
        }
    }
    --instance.lanesLeft[position];
}

void
CollectiveRunner::Send(uint32_t communicator,
                       uint32_t sequence,
                       Instance& instance,
                       Rank from,
                       Rank to,
                       coll::Lane lane,
                       uint64_t bytes,
                       int64_t now)
{
    instance.record.bytesSent += bytes;
    m_bytes += bytes;
    if (m_options.stepLatency.ps)
    {
        m_events.Schedule(
            now + m_options.stepLatency.ps,
            ContextOf(m_communicators[communicator].ranks[from]),
            {EventKind::SEND, lane, communicator, sequence, from, to, bytes, HoldCause()});
        return;
    }
    Transfer(communicator, sequence, from, to, lane, bytes);
}

void
CollectiveRunner::Transfer(uint32_t communicator,
                           uint32_t sequence,
                           Rank from,
                           Rank to,
                           coll::Lane lane,
                           uint64_t bytes)
{
    Communicator& comm = m_communicators[communicator];
    const Instance& instance = GetInstance(comm, sequence, nullptr, 0);
    Connection connection;
    if (lane < CACHED_LANES)
    {
        Connection& cached = comm.lastConnection[from * CACHED_LANES + lane];
        if (cached.peer != to)
        {
            cached = GetConnection(communicator, from, to, lane, instance.schedule->Channel(lane));
        }
        connection = cached;
    }
    else
    {
        connection = GetConnection(communicator, from, to, lane, instance.schedule->Channel(lane));
    }
    TransportPost post;
    post.bytes = bytes;
    post.id = instance.record.tag;
    post.hasImmediate = true;
    post.immediate = sequence;
    post.parts = instance.schedule->PartsOfMessage();
    if (m_channels[connection.number].inside)
    {
        post.cause = HoldCause();
    }
    else if (m_paths)
    {
        m_paths->Post(connection.number, m_cause);
    }
    connection.transport->Post(connection.channel, post);
}

const CollectiveRunner::Connection&
CollectiveRunner::GetConnection(uint32_t communicator,
                                Rank from,
                                Rank to,
                                coll::Lane lane,
                                uint32_t rail)
{
    Communicator& comm = m_communicators[communicator];
    Connection& connection = comm.connections[ConnectionKey(from, to, lane)];
    if (!connection.transport)
    {
        ChannelName name;
        name.job = m_job;
        name.communicator = communicator;
        name.from = comm.ranks[from];
        name.to = comm.ranks[to];
        name.lane = lane;
        name.rail = rail % m_nicsPerServer;
        const auto number = static_cast<uint32_t>(m_channels.size());
        const bool inside = comm.placement.serverOf[from] == comm.placement.serverOf[to];
        m_channels.push_back({communicator, from, to, lane, inside});
        Transport& transport = m_interconnect.Serving(name.from, name.to);
        connection = {to, number, transport.Open(name, *this, number), &transport};
    }
    return connection;
}

void
CollectiveRunner::OnEvent(const EventPayload& e, int64_t now)
{
    if (e.kind == EventKind::SEND)
    {
        m_cause = e.path;
        Transfer(e.communicator, e.sequence, e.from, e.to, e.lane, e.bytes);
        DropCause();
        return;
    }
    Communicator& comm = m_communicators[e.communicator];
    // A rank has left.
    Instance& instance = *comm.instances[e.sequence - comm.first];
    const uint64_t cookie = instance.cookies[e.to];
    instance.record.meanPs += static_cast<double>(now - instance.enteredAt[e.to]) /
                              static_cast<double>(comm.ranks.size());
    const bool last = ++instance.left == comm.ranks.size();
    if (last)
    {
        instance.record.end = now;
        const CollectiveRecord record = instance.record;
        m_user->OnCollectiveDone(e.communicator, record, now);
        // Collectives of a communicator may end out of order only in name: a rank enters the next
        // after it left this one.
        while (!comm.instances.empty() && comm.instances.front()->left == comm.ranks.size())
        {
            comm.instances.pop_front();
            ++comm.first;
        }
    }
    if (m_paths)
    {
        m_paths->SetLeaving(e.path);
    }
    m_user->OnRankDone(e.communicator, e.to, cookie, now);
    if (m_paths)
    {
        m_paths->Drop(e.path);
    }
}

void
CollectiveRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    const Channel& channel = m_channels[delivery.cookie];
    if (m_paths)
    {
        const std::vector<Rank>& ranks = m_communicators[channel.communicator].ranks;
        const Rank from = ranks[channel.from];
        const Rank to = ranks[channel.to];
        m_cause = channel.inside
                      ? m_paths->ArriveInside(delivery.cause, from, to, delivery.posted, now)
                      : m_paths->Arrive(static_cast<uint32_t>(delivery.cookie), from, to, now);
    }
    Deliver(channel.communicator, delivery.immediate, channel.to, channel.lane, channel.from, now);
    DropCause();
}

void
CollectiveRunner::OnSent(ChannelId number, uint64_t cookie, uint64_t, bool failed, int64_t)
{
    // A rank goes on when data arrives, not when its own sends are acknowledged; of what failed the
    // collective is found unfinished.
    if (failed && m_failed++ == 0)
    {
        const Channel& channel = m_channels[cookie];
        const std::vector<Rank>& ranks = m_communicators[channel.communicator].ranks;
        const Rank from = ranks[channel.from];
        const Rank to = ranks[channel.to];
        m_firstFailed = "rank " + std::to_string(from) + "'s for rank " + std::to_string(to) +
                        " (" + m_interconnect.Serving(from, to).Describe(number) + ")";
    }
}

std::vector<std::string>
CollectiveRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (std::size_t c = 0; c < m_communicators.size(); ++c)
    {
        const Communicator& comm = m_communicators[c];
        for (const auto& instance : comm.instances)
        {
            std::string line = coll::OpName(instance->record.op) + " of " +
                               std::to_string(instance->record.bytes) +
                               " B: " + std::to_string(instance->entered) + " of " +
                               std::to_string(comm.ranks.size()) + " ranks entered, " +
                               std::to_string(instance->left) + " left";
            for (std::size_t i = 0; i < instance->lanes.size(); ++i)
            {
                const LaneState& lane = instance->lanes[i];
                if (lane.started && lane.index < lane.steps && lane.step.recvPeer != coll::kNoRank)
                {
                    line += "; rank " + std::to_string(comm.ranks[i / instance->lanesPerRank]) +
                            " waits for rank " + std::to_string(comm.ranks[lane.step.recvPeer]) +
                            " at step " + std::to_string(lane.index) + " of " +
                            std::to_string(lane.steps);
                    break;
                }
            }
            lines.push_back(line);
        }
    }
    if (m_failed)
    {
        lines.push_back("messages that failed: " + std::to_string(m_failed) + ", the first " +
                        m_firstFailed);
    }
    return lines;
}

} // namespace dltrain
