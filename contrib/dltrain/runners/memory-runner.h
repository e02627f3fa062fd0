/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_MEMORY_RUNNER_H
#define DLTRAIN_MEMORY_RUNNER_H

#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/base/slots.h"
#include "fabric-run.h"
#include "message-runner.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace dltrain
{

/**
 * Loads and stores of ranks in memory tiers (training::MemoryTier).
 *
 * A device of a tier serves accesses in the order in which they come, one at a time. A device of a
 * single rank is its server's own. Others may belong to ranks of several servers: they are asked by
 * NodeWindows::Note, so in the order of time, then of servers. The end of an access is then at
 * least two of the network's shortest cables away, as nothing tells a host of another sooner.
 *
 * Tiers on the network have servers of their own, which are hosts of it: rank r's are those of
 * memory server r mod n, over the NIC beside its GPU.
 *
 * One process.
 */
class MemoryRunner : public TransportUser
{
  public:
    /// \param plan, cluster, user must outlive this
    /// \param memoryHosts hosts of the memory servers \param interconnect to them and the ranks'
    /// servers; null: no tier is on the network
    MemoryRunner(const training::TrainingPlan& plan,
                 const scenario::ClusterSpec& cluster,
                 const Places& places,
                 std::unique_ptr<Interconnect> interconnect,
                 uint32_t memoryServers,
                 MessageUser& user);
    ~MemoryRunner() override;

    /// An access begins, in an event of the rank's server. MessageUser::OnMessageDone tells its
    /// end. \param round of the rank \param name tag for observers
    void Access(Rank rank,
                const training::Task& task,
                uint32_t round,
                uint32_t name,
                uint64_t cookie,
                int64_t now);

    /// \return whether an end is sure to come, without packets
    bool GoesOnByItself() const;

    /// No end is told any more.
    void Abort();

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

  private:
    struct End
    {
        Rank rank;
        uint64_t cookie;
    };

    using Ends = EventPool<MemoryRunner, End>;
    friend Ends;

    /// An access to a device of several ranks.
    struct Request
    {
        Rank rank;
        uint32_t device;
        uint64_t bytes;
        uint64_t cookie;
        const training::Task* task;
        uint32_t round;
        int64_t at; ///< ps
    };

    struct Tier
    {
        uint32_t first = 0; ///< of m_busy
        bool apart = true;  ///< its devices are each a single server's
    };

    /// Ranks that share a datum and wait for each other.
    struct Gathering
    {
        std::vector<End> ends;
        int64_t last = 0;
    };

    void OnEvent(const End& end, int64_t now);
    uint32_t DeviceOf(Rank rank, uint32_t tier) const;
    bool IsGathered(const training::Task& task) const;
    void Ask(const Request& request);
    /// \return when an access of the device ends
    int64_t Serve(uint32_t device, const training::Task& task, int64_t now);
    void Tell(const End& end, int64_t at);
    void Send(Rank rank, const training::Task& task, uint32_t name, uint64_t cookie);

    const training::TrainingPlan& m_plan;
    const scenario::ClusterSpec& m_cluster;
    const Places& m_places;
    std::unique_ptr<Interconnect> m_interconnect;
    uint32_t m_memoryServers;
    MessageUser& m_user;
    int64_t m_least; ///< ps until a host may hear of another
    bool m_aborted = false;
    std::vector<Tier> m_tiers;
    std::vector<int64_t> m_busy;               ///< by device, ps: until then
    std::vector<std::unique_ptr<Ends>> m_ends; ///< by server
    /// By tier, shared data and group, name of the task and round.
    std::map<std::tuple<uint8_t, uint8_t, uint32_t, std::string, uint32_t>, Gathering> m_gatherings;

    /// A way to a memory server.
    struct Channel
    {
        Channel();

        ChannelId id;
        std::deque<uint64_t> cookies; ///< of accesses under way, in their order
    };

    /// By rank, for loads and for stores; touched by its server alone.
    std::vector<Channel> m_channels;
};

} // namespace dltrain

#endif // DLTRAIN_MEMORY_RUNNER_H
