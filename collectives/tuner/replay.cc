/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/replay.h"

#include "collectives/core/placement.h"
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <queue>

namespace coll
{

namespace
{

/// Steps of a lane that stand for all of them, where links are added up.
constexpr StepIndex kSamples = 32;

int64_t
Ps(double seconds)
{
    return std::llround(seconds * 1e12);
}

/// Where members are, and which way their messages go: as CollectiveRunner has it.
class Ways
{
  public:
    Ways(const Schedule& schedule,
         const Placement& placement,
         const ReplayTimes& times,
         const ReplayNetwork& network)
        : m_schedule(schedule),
          m_placement(placement),
          m_times(times),
          m_network(network),
          m_ranks(schedule.What().ranks),
          m_nics(std::max(1U, network.server->nics)),
          m_planes(std::max(1U, network.topology->About().planes))
    {
    }

    uint32_t ServerOf(Rank member) const
    {
        return member < m_ranks ? m_placement.serverOf[member]
                                : m_schedule.NetworkNodes()[member - m_ranks].where;
    }

    /// The port in topo::ScaleUpModel.
    uint32_t PortOf(Rank member, Lane lane) const
    {
        if (member < m_ranks)
        {
            return m_placement.gpuOf[member];
        }
        const uint32_t gpus = m_network.server->gpus;
        const bool copies =
            m_schedule.NetworkNodes()[member - m_ranks].kind == NetworkNode::kServerCopier;
        return gpus + (copies ? gpus : 0) + lane % gpus;
    }

    /// Between two ranks of different servers.
    const topo::SharedLinks::Path& Between(Rank from, Rank to, Lane lane) const
    {
        const uint32_t channel = m_schedule.Channel(lane);
        const uint32_t nics = m_times.nics != 0 ? std::min(m_times.nics, m_nics) : m_nics;
        const Rank first = m_times.ownNics && m_times.peersRail ? to : from;
        const uint32_t rail = (m_times.ownNic ? Beside(first) + channel : channel) % nics;
        const uint32_t there = m_times.ownNics ? (Beside(to) + channel) % m_nics : rail;
        return m_network.links->Between(EndpointOf(from, rail), EndpointOf(to, there));
    }

    /// The bytes of a message between servers, on the wire.
    double WireBytes(uint64_t bytes) const
    {
        const auto data = static_cast<double>(m_times.wire.BytesOnWire(bytes));
        const double packets = std::max(1.0, std::ceil(data / m_network.mtu));
        return data + packets * m_network.header;
    }

  private:
    uint32_t Beside(Rank rank) const
    {
        return NicNearGpu(m_placement.gpuOf[rank], m_network.server->gpus, m_nics);
    }

    topo::EndpointId EndpointOf(Rank rank, uint32_t nic) const
    {
        return m_network.topology->EndpointOf((*m_network.hostOfServer)[ServerOf(rank)],
                                              static_cast<topo::PortId>(nic * m_planes));
    }

    const Schedule& m_schedule;
    const Placement& m_placement;
    const ReplayTimes& m_times;
    const ReplayNetwork& m_network;
    Rank m_ranks;
    uint32_t m_nics;
    uint32_t m_planes;
};

bool
BetweenServersAdds(const Schedule& schedule)
{
    const auto& nodes = schedule.NetworkNodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const NetworkNode& node) {
        return node.kind == NetworkNode::kFabricSwitch;
    });
}

class Replay
{
  public:
    Replay(const Schedule& schedule,
           const Placement& placement,
           const ReplayTimes& times,
           const ReplayNetwork& network,
           const ReplayLimits& limits)
        : m_schedule(schedule),
          m_times(times),
          m_network(network),
          m_ways(schedule, placement, times, network),
          m_ranks(schedule.What().ranks),
          m_parts(schedule.PartsOfMessage()),
          m_limit(limits.seconds < 1e6 ? Ps(limits.seconds) : INT64_MAX),
          m_members(schedule.Members())
    {
    }

    std::optional<double> Seconds()
    {
        m_now = Ps(m_times.launch);
        m_end = m_now;
        for (Rank member = 0; member < m_members.size(); ++member)
        {
            Member& its = m_members[member];
            its.server = ServerNumber(m_ways.ServerOf(member));
            its.lanes.resize(m_schedule.Lanes(member));
        }
        for (Rank member = 0; member < m_members.size() && m_hasWays; ++member)
        {
            for (Lane lane = 0; lane < m_members[member].lanes.size(); ++lane)
            {
                Advance(member, lane);
            }
        }
        while (!m_events.empty() && m_hasWays)
        {
            const Event event = m_events.top();
            m_events.pop();
            m_now = event.at;
            if (m_now > m_limit)
            {
                return static_cast<double>(m_now) * 1e-12;
            }
            switch (event.kind)
            {
            case Kind::kSend:
                Send(event);
                break;
            case Kind::kHop:
                Hop(event.bytes);
                break;
            case Kind::kCome:
                Come(event.from, event.to, event.lane);
                break;
            case Kind::kWake:
                Wake(event.to);
                break;
            }
        }
        if (!m_hasWays)
        {
            return std::nullopt;
        }
        return static_cast<double>(m_end) * 1e-12;
    }

  private:
    enum class Kind : uint8_t
    {
        kSend, ///< a message sets out
        kHop,  ///< it stands before its next bundle of links; `bytes`: in m_between
        kCome, ///< it has come
        kWake, ///< wake-up of a server's links
    };

    struct Event
    {
        int64_t at = 0;      ///< ps
        uint64_t number = 0; ///< those at the same time in their order
        Kind kind = Kind::kCome;
        Lane lane = 0;
        Rank from = 0;
        Rank to = 0; ///< kWake: in m_servers
        uint64_t bytes = 0;

        bool operator<(const Event& other) const // the latest first
        {
            return at != other.at ? at > other.at : number > other.number;
        }
    };

    struct LaneState
    {
        StepIndex next = 0;
        /// Messages from a peer that no step has taken.
        std::vector<std::pair<Rank, uint32_t>> come = {};

        uint32_t& From(Rank peer)
        {
            for (auto& [rank, count] : come)
            {
                if (rank == peer)
                {
                    return count;
                }
            }
            return come.emplace_back(peer, 0).second;
        }
    };

    struct Member
    {
        uint32_t server = 0; ///< in m_servers
        std::vector<LaneState> lanes;
        int64_t postsFrom = 0; ///< when its next message to another server can be posted
    };

    /// Under way inside a server.
    struct Inside
    {
        Rank from;
        Rank to;
        Lane lane;
    };

    /// Under way between servers.
    struct Between
    {
        const topo::SharedLinks::Path* path = nullptr;
        Rank from = 0;
        Rank to = 0;
        Lane lane = 0;
        std::size_t hop = 0;
        double wire = 0;   ///< bytes
        int64_t end = 0;   ///< ps, when the slowest bundle so far has it
        double stored = 0; ///< s, for packets that switches take in
    };

    struct Server
    {
        std::unique_ptr<topo::ScaleUpModel> model;
        std::vector<Inside> messages; ///< by cookie
        std::vector<uint64_t> free;   ///< cookies
        int64_t wakeAt = INT64_MAX;
        bool awake = false;
    };

    uint32_t ServerNumber(uint32_t server)
    {
        const auto [found, isNew] =
            m_serverOf.try_emplace(server, static_cast<uint32_t>(m_servers.size()));
        if (isNew)
        {
            Server& its = m_servers.emplace_back();
            its.model = std::make_unique<topo::ScaleUpModel>(m_network.server->scaleUp,
                                                             m_network.server->gpus,
                                                             &m_network.server->library);
        }
        return found->second;
    }

    void Push(int64_t at, Kind kind, Rank from, Rank to, Lane lane, uint64_t bytes)
    {
        m_events.push({at, m_number++, kind, lane, from, to, bytes});
    }

    /// Does the lane's steps until one has to wait.
    void Advance(Rank member, Lane lane)
    {
        LaneState& state = m_members[member].lanes[lane];
        const StepIndex steps = m_schedule.Steps(member, lane);
        for (; state.next < steps; ++state.next)
        {
            const Step step = m_schedule.At(member, lane, state.next);
            if (step.recvPeer != kNoRank)
            {
                uint32_t& come = state.From(step.recvPeer);
                if (come == 0)
                {
                    return;
                }
                --come;
            }
            if (step.sendPeer == kNoRank)
            {
                continue;
            }
            const bool inside = m_members[member].server == m_members[step.sendPeer].server;
            const double later = member >= m_ranks ? 0 : inside ? m_times.inside : m_times.outside;
            int64_t at = m_now + Ps(later);
            if (m_times.post > 0 && !inside)
            {
                at = std::max(at, m_members[member].postsFrom);
                m_members[member].postsFrom = at + Ps(m_times.post);
            }
            const Event send{at, 0, Kind::kSend, lane, member, step.sendPeer, step.sendBytes};
            if (at > m_now)
            {
                Push(send.at, send.kind, send.from, send.to, send.lane, send.bytes);
            }
            else
            {
                Send(send);
            }
        }
    }

    void Send(const Event& event)
    {
        if (m_members[event.from].server == m_members[event.to].server)
        {
            SendInside(event);
        }
        else
        {
            SendOutside(event);
        }
    }

    void SendInside(const Event& event)
    {
        const uint32_t number = m_members[event.from].server;
        Server& server = m_servers[number];
        uint64_t cookie = server.messages.size();
        if (server.free.empty())
        {
            server.messages.emplace_back();
        }
        else
        {
            cookie = server.free.back();
            server.free.pop_back();
        }
        server.messages[cookie] = {event.from, event.to, event.lane};
        const Collective& what = m_schedule.What();
        server.model->Post(
            m_ways.PortOf(event.from, event.lane),
            m_ways.PortOf(event.to, event.lane),
            rdma::Bytes(event.bytes),
            rdma::TimePoint(m_now),
            cookie,
            m_parts,
            m_times.how,
            m_times.rates.Inside(what.op == Op::kSendRecv ? what.bytes : event.bytes));
        if (!server.awake)
        {
            ScheduleWake(number);
        }
    }

    void ScheduleWake(uint32_t number)
    {
        Server& server = m_servers[number];
        const rdma::TimePoint at = server.model->NextWake();
        if (at != topo::ScaleUpModel::kNever && at.ps < server.wakeAt)
        {
            server.wakeAt = at.ps;
            Push(at.ps, Kind::kWake, 0, number, 0, 0);
        }
    }

    void Wake(uint32_t number)
    {
        m_servers[number].wakeAt = INT64_MAX;
        m_servers[number].awake = true;
        uint64_t cookie = 0;
        while (m_servers[number].model->Arrived(rdma::TimePoint(m_now), cookie))
        {
            const Inside message = m_servers[number].messages[cookie];
            m_servers[number].free.push_back(cookie);
            Come(message.from, message.to, message.lane);
        }
        m_servers[number].awake = false;
        ScheduleWake(number);
    }

    void SendOutside(const Event& event)
    {
        const topo::SharedLinks::Path& path = m_ways.Between(event.from, event.to, event.lane);
        if (path.bundles.empty())
        {
            m_hasWays = false;
            return;
        }
        uint64_t number = m_between.size();
        if (m_freeBetween.empty())
        {
            m_between.emplace_back();
        }
        else
        {
            number = m_freeBetween.back();
            m_freeBetween.pop_back();
        }
        Between& message = m_between[number];
        message = {&path, event.from, event.to, event.lane, 0, m_ways.WireBytes(event.bytes)};
        message.end = m_now;
        Hop(number);
    }

    /// It stands before its next bundle.
    void Hop(uint64_t number)
    {
        Between& message = m_between[number];
        const std::vector<uint32_t>& path = message.path->bundles;
        const std::vector<topo::SharedLinks::Bundle>& bundles = m_network.links->Bundles();
        if (m_freeAt.size() < bundles.size())
        {
            m_freeAt.resize(bundles.size(), 0);
        }
        const uint32_t b = path[message.hop];
        const int64_t begin = std::max(m_now, m_freeAt[b]);
        m_freeAt[b] = begin + Ps(message.wire / bundles[b].rate);
        message.end = std::max(message.end, begin + Ps(message.wire / bundles[b].oneRate));
        if (message.hop > 0)
        {
            const double packet = std::min<double>(message.wire, m_network.mtu + m_network.header);
            message.stored += packet / bundles[b].oneRate;
        }
        if (++message.hop < path.size())
        {
            if (begin > m_now)
            {
                PushHop(begin, number);
            }
            else
            {
                Hop(number);
            }
            return;
        }
        if (m_times.limited)
        {
            const double rate = static_cast<double>(m_times.rates.Outside().bps) / 8;
            message.end = std::max(message.end, begin + Ps(message.wire / rate));
        }
        const uint32_t links = message.path->links;
        const double latency = links * m_network.cable + (links - 1) * m_network.pipeline +
                               (m_network.stores ? message.stored : 0);
        Push(message.end + Ps(latency), Kind::kCome, message.from, message.to, message.lane, 0);
        m_freeBetween.push_back(number);
    }

    void PushHop(int64_t at, uint64_t number)
    {
        Push(at, Kind::kHop, 0, 0, 0, number);
    }

    void Come(Rank from, Rank to, Lane lane)
    {
        m_end = m_now;
        if (m_members[to].lanes.size() <= lane)
        {
            return; // no lane waits for it
        }
        ++m_members[to].lanes[lane].From(from);
        Advance(to, lane);
    }

    const Schedule& m_schedule;
    const ReplayTimes& m_times;
    const ReplayNetwork& m_network;
    const Ways m_ways;
    const Rank m_ranks;
    const uint64_t m_parts;
    const int64_t m_limit;
    std::vector<Member> m_members;
    std::vector<Server> m_servers;
    std::map<uint32_t, uint32_t> m_serverOf; ///< place in m_servers
    std::vector<Between> m_between;
    std::vector<uint64_t> m_freeBetween; ///< free entries of m_between
    std::vector<int64_t> m_freeAt;       ///< ps, by bundle
    std::priority_queue<Event> m_events;
    uint64_t m_number = 0;
    int64_t m_now = 0;
    int64_t m_end = 0; ///< end of the last message; before there is one, the launch's
    bool m_hasWays = true;
};

} // namespace

uint64_t
CountMessages(const Schedule& schedule)
{
    uint64_t steps = 0;
    for (Rank member = 0; member < schedule.Members(); ++member)
    {
        for (Lane lane = 0; lane < schedule.Lanes(member); ++lane)
        {
            steps += schedule.Steps(member, lane);
        }
    }
    return steps;
}

std::optional<double>
ReplaySeconds(const Schedule& schedule,
              const Placement& placement,
              const ReplayTimes& times,
              const ReplayNetwork& network,
              const ReplayLimits& limits)
{
    if (BetweenServersAdds(schedule) || CountMessages(schedule) > limits.messages)
    {
        return std::nullopt;
    }
    return Replay(schedule, placement, times, network, limits).Seconds();
}

std::optional<double>
BusiestLinkSeconds(const Schedule& schedule,
                   const Placement& placement,
                   const ReplayTimes& times,
                   const ReplayNetwork& network)
{
    if (BetweenServersAdds(schedule))
    {
        return std::nullopt;
    }
    const Ways ways(schedule, placement, times, network);
    std::vector<double> bytes; // by bundle
    for (Rank rank = 0; rank < schedule.What().ranks; ++rank)
    {
        for (Lane lane = 0; lane < schedule.Lanes(rank); ++lane)
        {
            const StepIndex steps = schedule.Steps(rank, lane);
            const StepIndex samples = std::min(steps, kSamples);
            for (StepIndex i = 0; i < samples; ++i)
            {
                // The middle of each of as many parts.
                const auto k =
                    static_cast<StepIndex>((2 * uint64_t{i} + 1) * steps / (2 * samples));
                const Step step = schedule.At(rank, lane, k);
                if (step.sendPeer == kNoRank || ways.ServerOf(step.sendPeer) == ways.ServerOf(rank))
                {
                    continue;
                }
                const topo::SharedLinks::Path& path = ways.Between(rank, step.sendPeer, lane);
                if (path.bundles.empty())
                {
                    return std::nullopt;
                }
                bytes.resize(network.links->Bundles().size(), 0);
                for (const uint32_t b : path.bundles)
                {
                    bytes[b] += ways.WireBytes(step.sendBytes) * steps / samples;
                }
            }
        }
    }
    double most = 0;
    for (std::size_t b = 0; b < bytes.size(); ++b)
    {
        most = std::max(most, bytes[b] / network.links->Bundles()[b].rate);
    }
    return most;
}

} // namespace coll
