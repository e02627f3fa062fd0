/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SERVING_JOB_H
#define DLTRAIN_SERVING_JOB_H

#include "contrib/dltrain/runners/fabric-run.h"
#include "scenarios/inference/controller.h"
#include "scenarios/inference/kv-routes.h"
#include "scenarios/job/serving-scenario.h"
#include "serving-shard.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Serving on a fabric, alone or beside other jobs. Its controller exists in every process and
 * hears of the same events at the same times, so all of them order the same; each carries out what
 * concerns its own hosts.
 *
 *     shard ends, KV has come  --note-->  first process  --decided-->  all: controller --> shards
 *     a request arrives (an event without context in all processes)  ---------^
 */
class ServingJob : public serving::Backend,
                   public CollectiveUser,
                   public MessageUser,
                   public ShardListener
{
  public:
    /// The place of the job among others, and its listeners.
    struct Setting
    {
        uint32_t number = 0;
        int64_t start = 0; ///< ps: time 0 of its requests
        /// The number of a name.
        std::function<uint32_t(const std::string& name)> tagOf;
        /// Has it applied: FabricRun::DecideForAll.
        std::function<void(Decision decision)> decide;
        std::function<void()> onEnd;   ///< all is answered, or its time is over; between events
        NetworkShare* share = nullptr; ///< with other jobs
    };

    /// \param scenario kept by reference
    ServingJob(const scenario::ServingScenario& scenario, std::vector<serving::Request> requests);
    ~ServingJob() override;

    /// Before all events; once. \return why not, or nothing
    std::string Populate(FabricRun& run, Setting setting);
    /// As decided.
    void Apply(const Decision& decision);

    double GetShareDone() const;
    bool IsDone() const;
    bool GoesOnByItself() const;
    std::vector<std::string> DescribeUnfinished() const;

    /// Once. \param now ps, when the run ended
    serving::ServingOutcome TakeOutcome(int64_t now);

    // serving::Backend
    void Run(const serving::IterationOrder& iteration) override;
    void Transfer(const serving::TransferOrder& transfer) override;

    // CollectiveUser
    void OnRankDone(const reports::CollectivePart& part,
                    uint64_t cookie,
                    reports::PathRecord* path) override;

    // MessageUser
    void OnMessageDone(Rank rank,
                       uint64_t cookie,
                       int64_t now,
                       int64_t sent,
                       reports::PathRecord* path) override;

    // ShardListener
    void OnShardEnd(const ShardEnd& end) override;

  private:
    struct Stage;
    struct Instance;

    /// What a shard is to its instance.
    struct ShardRole
    {
        uint32_t instance;
        uint32_t end; ///< place in Instance::ends; of the last stage
        bool last;    ///< stage
        /// Seconds of the instance, a mean over its GPUs, for a ps of the shard.
        double seconds;
    };

    /// KV of a request that has come, as a note.
    struct KvNote
    {
        uint32_t request;
        int64_t at; ///< ps
    };

    /// By shard: KV that leaves it layer by layer in an iteration.
    using ShardsKv = std::map<uint32_t, std::vector<KvLayerSend>>;

    void MakeInstances();
    void MakeRoutes();
    /// \return why a collective cannot run as asked for, or nothing
    std::string WhyNoCollectives();
    void TellShardEnd(const ShardEnd& end);
    void TellKv(const KvNote& note);
    // In the first process:
    void HearShardEnd(const ShardEnd& end);
    void HearKv(const KvNote& note);

    void ScheduleArrival();
    /// Makes a schedule that ranks will enter, if there is none.
    void Prepare(const ServingShard::Seats& seats, coll::Collective what);
    /// Its receives begin; and its sends, but those of layers. \param byLayer not null: gets them
    void Send(const serving::TransferOrder& transfer, ShardsKv* byLayer);
    MessageOrder OrderOf(const serving::TransferOrder& transfer,
                         const serving::KvRoute& route,
                         bool byLayer) const;
    /// The shard of a stage's engine that has this GPU.
    uint32_t ShardOf(const Stage& stage, uint32_t engine, Rank rank) const;

    int64_t Now() const;

    /// Cookies of receives of KV: this and the request's number.
    static constexpr uint64_t KV_COOKIE = 1ULL << 32;

    const scenario::ServingScenario& m_scenario;
    Setting m_setting;
    FabricRun* m_run = nullptr;
    RankNotes* m_notes = nullptr; ///< null: a single process
    uint16_t m_endKind = 0;
    uint16_t m_kvKind = 0;
    std::unique_ptr<Interconnect> m_interconnect;
    std::unique_ptr<CollectiveRunner> m_collectives;
    std::unique_ptr<MessageRunner> m_messages;
    scenario::CollectiveTimes m_times;
    ServingShard::Tags m_tags{};
    std::vector<std::unique_ptr<serving::StageCosts>> m_costs;
    std::vector<std::unique_ptr<Instance>> m_instances;
    std::vector<std::unique_ptr<ServingShard>> m_shards; ///< by number; null: of another process
    std::vector<ShardRole> m_roles;                      ///< by number of the shard
    serving::Controller m_controller;
    std::vector<std::array<double, serving::kTimeParts>> m_seconds; ///< by instance
    // KV:
    std::vector<serving::KvRoute> m_routes; ///< from any engine to any other
    double m_kvHeadBytes = 0;               ///< bytes of a token's head in one block
    // By request:
    std::vector<uint32_t> m_kvMessages; ///< that have not come
    std::vector<uint32_t> m_kvOrders;   ///< transfers that these belong to
    std::vector<uint64_t> m_kvBytes;
    bool m_ended = false;
};

} // namespace dltrain

#endif // DLTRAIN_SERVING_JOB_H
