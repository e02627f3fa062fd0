/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-job.h"

#include "contrib/dltrain/ranks/rank-notes.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "scenarios/inference/options/served-model.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace dltrain
{

using ns3::NodeWindows;
using serving::StageCosts;
using serving::StageOp;

/// A stage of an instance.
struct ServingJob::Stage
{
    StageCosts* costs = nullptr;
    std::vector<std::vector<uint32_t>> shards; ///< by engine, a server each
    std::vector<Rank> firstGpu;                ///< by engine
    std::vector<ServingShard::Seats> tensor;   ///< by engine, of all GPUs; none: inside a server
    ServingShard::Seats experts;
};

struct ServingJob::Instance
{
    serving::InstancePlace place;
    std::vector<Stage> stages;
    /// By shard of the last stage: ends of its iterations that others have not ended, ps.
    std::vector<std::deque<int64_t>> ends;
};

ServingJob::ServingJob(const scenario::ServingScenario& scenario,
                       std::vector<serving::Request> requests)
    : m_scenario(scenario),
      m_times(scenario.cluster, scenario.collectives),
      m_controller(scenario.serving, std::move(requests), *this),
      m_kvMessages(m_controller.CountRequests()),
      m_kvOrders(m_controller.CountRequests()),
      m_kvBytes(m_controller.CountRequests())
{
}

ServingJob::~ServingJob() = default;

int64_t
ServingJob::Now() const
{
    return ns3::RdmaClock::Now() - m_setting.start;
}

std::string
ServingJob::Populate(FabricRun& run, Setting setting)
{
    m_setting = std::move(setting);
    m_run = &run;
    m_notes = run.Notes();
    if (m_notes)
    {
        m_endKind = m_notes->Add<ShardEnd>([this](const ShardEnd& end) { HearShardEnd(end); });
        m_kvKind = m_notes->Add<KvNote>([this](const KvNote& note) { HearKv(note); });
    }
    m_interconnect = run.Connect(m_scenario.cluster, {}, m_setting.share);
    m_collectives = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                       m_scenario.collectives,
                                                       *m_interconnect,
                                                       this,
                                                       m_setting.number);
    m_messages = std::make_unique<MessageRunner>(*m_interconnect,
                                                 m_scenario.collectives,
                                                 *this,
                                                 m_setting.number);
    m_tags = {m_setting.tagOf("all-reduce"),
              m_setting.tagOf("dispatch"),
              m_setting.tagOf("combine"),
              m_setting.tagOf("activations"),
              m_setting.tagOf("kv")};
    for (const uint32_t tag : {m_tags.reduce, m_tags.dispatch, m_tags.combine})
    {
        run.Collector().MarkCollective(tag);
    }
    MakeInstances();
    MakeRoutes();
    const std::string why = WhyNoCollectives();
    if (why.empty())
    {
        ScheduleArrival();
        if (m_scenario.serving.duration > 0)
        {
            const auto stop = static_cast<int64_t>(m_scenario.serving.duration * 1e12);
            run.ActIn(m_setting.start + stop - ns3::RdmaClock::Now(), [this] {
                if (!std::exchange(m_ended, true))
                {
                    m_setting.onEnd();
                }
            });
        }
    }
    return why;
}

void
ServingJob::MakeInstances()
{
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, StageCosts*> known;
    for (const serving::InstancePlace& place : serving::PlacesOf(m_scenario.serving))
    {
        const serving::PoolSpec& pool = m_scenario.serving.pools[place.pool];
        auto instance = std::make_unique<Instance>();
        instance->place = place;
        const auto number = static_cast<uint32_t>(m_instances.size());
        for (uint32_t s = 0; s < pool.pp; ++s)
        {
            Stage stage;
            StageCosts*& costs = known[{place.pool, s, place.firstGpu % gpus}];
            if (!costs)
            {
                costs = m_costs
                            .emplace_back(serving::MakeStageCosts(m_scenario,
                                                                  place.pool,
                                                                  s,
                                                                  place.firstGpu,
                                                                  m_times))
                            .get();
            }
            stage.costs = costs;
            const Rank first = place.firstGpu + s * pool.dp * pool.tp;
            if (!costs->ExpertsInside() && pool.dp > 1)
            {
                std::vector<Rank> ranks(pool.dp * pool.tp);
                std::iota(ranks.begin(), ranks.end(), first);
                stage.experts.ranks = static_cast<Rank>(ranks.size());
                stage.experts.communicator = m_collectives->AddCommunicator(std::move(ranks));
            }
            for (uint32_t e = 0; e < pool.dp; ++e)
            {
                const Rank begin = first + e * pool.tp;
                ServingShard::Seats tensor;
                if (!costs->TensorInside())
                {
                    std::vector<Rank> ranks(pool.tp);
                    std::iota(ranks.begin(), ranks.end(), begin);
                    tensor.ranks = pool.tp;
                    tensor.communicator = m_collectives->AddCommunicator(std::move(ranks));
                }
                stage.tensor.push_back(tensor);
                stage.firstGpu.push_back(begin);
                stage.shards.emplace_back();
                const uint32_t servers = (begin + pool.tp - 1) / gpus - begin / gpus + 1;
                for (Rank rank = begin; rank < begin + pool.tp;)
                {
                    ServingShard::Place of;
                    of.number = static_cast<uint32_t>(m_shards.size());
                    of.hop = pool.dp * pool.tp;
                    of.first = s == 0;
                    of.last = s + 1 == pool.pp;
                    ServingShard::Seats tensorSeats = tensor;
                    ServingShard::Seats expertSeats = stage.experts;
                    const Rank end = std::min(begin + pool.tp, (rank / gpus + 1) * gpus);
                    for (; rank < end; ++rank)
                    {
                        of.ranks.push_back(rank);
                        tensorSeats.positions.push_back(rank - begin);
                        expertSeats.positions.push_back(rank - first);
                    }
                    stage.shards.back().push_back(of.number);
                    m_roles.push_back({number,
                                       static_cast<uint32_t>(instance->ends.size()),
                                       of.last,
                                       1e-12 / (pool.pp * pool.dp * servers)});
                    if (of.last)
                    {
                        instance->ends.emplace_back();
                    }
                    const bool here = m_collectives->IsHere(of.ranks.front());
                    m_shards.push_back(here ? std::make_unique<ServingShard>(std::move(of),
                                                                             costs->Chain(),
                                                                             tensorSeats,
                                                                             expertSeats,
                                                                             m_tags,
                                                                             *m_collectives,
                                                                             *m_messages,
                                                                             *this)
                                            : nullptr);
                }
            }
            instance->stages.push_back(std::move(stage));
        }
        m_instances.push_back(std::move(instance));
    }
    m_seconds.resize(m_instances.size());
}

std::string
ServingJob::WhyNoCollectives()
{
    for (const auto& instance : m_instances)
    {
        for (Stage& stage : instance->stages)
        {
            serving::BatchLoad one;
            one.AddDecode(0, 1);
            const std::vector<serving::BatchLoad> loads(stage.shards.size(), one);
            const serving::StageLoad load = stage.costs->LoadOf(loads, 0);
            for (const StageOp& op : stage.costs->Chain())
            {
                const bool reduces = op.kind == StageOp::Kind::kReduce;
                if (op.kind == StageOp::Kind::kCompute)
                {
                    continue;
                }
                const ServingShard::Seats& seats = reduces ? stage.tensor[0] : stage.experts;
                coll::Collective what = reduces
                                            ? load.ReduceOf(op)
                                            : load.ExchangeOf(op.kind == StageOp::Kind::kDispatch);
                what.ranks = seats.ranks;
                const std::string why = m_collectives->WhyNot(seats.communicator, what);
                if (!why.empty())
                {
                    return why;
                }
            }
        }
    }
    return {};
}

void
ServingJob::Prepare(const ServingShard::Seats& seats, coll::Collective what)
{
    what.ranks = seats.ranks;
    if (!m_collectives->Knows(seats.communicator, what))
    {
        m_collectives->Prepare(seats.communicator, what);
    }
}

void
ServingJob::ScheduleArrival()
{
    const int64_t next = m_controller.NextArrival();
    if (next == INT64_MAX)
    {
        return;
    }
    m_run->ActIn(m_setting.start + next - ns3::RdmaClock::Now(), [this] {
        if (!m_ended)
        {
            m_controller.Arrive(Now());
            ScheduleArrival();
        }
    });
}

void
ServingJob::Run(const serving::IterationOrder& iteration)
{
    Instance& instance = *m_instances[iteration.instance];
    const serving::PoolSpec& pool = m_scenario.serving.pools[instance.place.pool];
    const double share = 1.0 / (pool.pp * pool.dp);
    ShardsKv kv;
    for (const serving::TransferOrder& transfer : iteration.byLayer)
    {
        Send(transfer, &kv);
    }
    for (Stage& stage : instance.stages)
    {
        for (uint32_t e = 0; e < stage.shards.size(); ++e)
        {
            const serving::StageLoad load = stage.costs->LoadOf(iteration.loads, e);
            for (std::size_t i = 0; i < serving::kTimeParts; ++i)
            {
                m_seconds[iteration.instance][i] +=
                    static_cast<double>(load.parts[i]) * 1e-12 * share;
            }
            for (const StageOp& op : stage.costs->Reduces())
            {
                Prepare(stage.tensor[e], load.ReduceOf(op));
            }
            if (stage.experts.ranks > 0)
            {
                Prepare(stage.experts, load.ExchangeOf(true));
                Prepare(stage.experts, load.ExchangeOf(false));
            }
            for (const uint32_t shard : stage.shards[e])
            {
                if (m_shards[shard])
                {
                    const auto sends = kv.find(shard);
                    m_shards[shard]->Add(
                        {iteration.number,
                         load,
                         sends == kv.end() ? std::vector<KvLayerSend>() : sends->second},
                        ns3::RdmaClock::Now());
                }
            }
        }
    }
}

void
ServingJob::OnShardEnd(const ShardEnd& end)
{
    NodeWindows::Note<&ServingJob::TellShardEnd>(this, end);
}

void
ServingJob::TellShardEnd(const ShardEnd& end)
{
    if (m_notes)
    {
        m_notes->Tell(m_endKind, end, true);
        return;
    }
    HearShardEnd(end);
}

void
ServingJob::HearShardEnd(const ShardEnd& end)
{
    const ShardRole& role = m_roles[end.shard];
    Instance& instance = *m_instances[role.instance];
    m_seconds[role.instance][static_cast<std::size_t>(serving::TimePart::kTensor)] +=
        static_cast<double>(end.tensor) * role.seconds;
    m_seconds[role.instance][static_cast<std::size_t>(serving::TimePart::kExperts)] +=
        static_cast<double>(end.experts) * role.seconds;
    if (!role.last)
    {
        return;
    }
    instance.ends[role.end].push_back(end.at);
    if (std::any_of(instance.ends.begin(), instance.ends.end(), [](const auto& ends) {
            return ends.empty();
        }))
    {
        return;
    }
    int64_t at = 0;
    for (std::deque<int64_t>& ends : instance.ends)
    {
        at = std::max(at, ends.front());
        ends.pop_front();
    }
    m_setting.decide({IterationEnded{role.instance, at}});
}

void
ServingJob::OnRankDone(const reports::CollectivePart& part, uint64_t cookie, reports::PathRecord*)
{
    m_shards[cookie]->OnDone(part.left);
}

void
ServingJob::OnMessageDone(Rank, uint64_t cookie, int64_t now, int64_t, reports::PathRecord*)
{
    if (cookie == ServingShard::NOBODY)
    {
        return;
    }
    if (cookie >= KV_COOKIE)
    {
        NodeWindows::Note<&ServingJob::TellKv>(
            this,
            KvNote{static_cast<uint32_t>(cookie - KV_COOKIE), now});
        return;
    }
    m_shards[cookie]->OnDone(now);
}

void
ServingJob::TellKv(const KvNote& note)
{
    if (m_notes)
    {
        m_notes->Tell(m_kvKind, note, true);
        return;
    }
    HearKv(note);
}

void
ServingJob::HearKv(const KvNote& note)
{
    if (--m_kvMessages[note.request] == 0)
    {
        // All orders whose messages have come; one that follows has messages of its own.
        m_setting.decide(
            {TransferEnded{note.request, note.at, std::exchange(m_kvOrders[note.request], 0)}});
    }
}

void
ServingJob::Apply(const Decision& decision)
{
    if (m_ended)
    {
        return;
    }
    if (const auto* iteration = std::get_if<IterationEnded>(&decision.what))
    {
        m_controller.IterationEnded(iteration->instance, iteration->at - m_setting.start, Now());
    }
    else
    {
        const auto& transfer = std::get<TransferEnded>(decision.what);
        for (uint32_t order = 0; order < transfer.orders; ++order)
        {
            m_controller.TransferEnded(transfer.request, transfer.at - m_setting.start, Now());
        }
    }
    if (m_controller.IsDone() && !std::exchange(m_ended, true))
    {
        m_setting.onEnd();
    }
}

double
ServingJob::GetShareDone() const
{
    // All ranks know all of it, and their shares are added up.
    return static_cast<double>(m_controller.CountAnswered()) /
           static_cast<double>(m_controller.CountRequests()) / Ranks::Get().Size();
}

bool
ServingJob::IsDone() const
{
    return m_ended;
}

bool
ServingJob::GoesOnByItself() const
{
    return !m_ended && (m_controller.NextArrival() != INT64_MAX ||
                        std::any_of(m_shards.begin(), m_shards.end(), [](const auto& shard) {
                            return shard && shard->GoesOnByItself();
                        }));
}

std::vector<std::string>
ServingJob::DescribeUnfinished() const
{
    std::vector<std::string> lines = m_controller.DescribeUnfinished();
    for (const auto& more : {m_messages->DescribeUnfinished(), m_collectives->DescribeUnfinished()})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
}

serving::ServingOutcome
ServingJob::TakeOutcome(int64_t now)
{
    serving::ServingOutcome outcome = m_controller.TakeOutcome(now - m_setting.start, m_seconds);
    for (serving::RequestRecord& request : outcome.requests)
    {
        request.kvBytes = m_kvBytes[request.id];
    }
    return outcome;
}

// KV.

void
ServingJob::MakeRoutes()
{
    if (m_scenario.serving.pools.size() < 2)
    {
        return;
    }
    std::array<serving::KvSide, 2> sides;
    const scenario::HeadCounts heads = scenario::HeadsOf(m_scenario.model);
    const uint32_t shared = heads.latent ? 1 : std::max(1U, heads.kv);
    for (const auto& instance : m_instances)
    {
        serving::KvSide& side = sides[instance->place.pool];
        if (!side.firstBlock.empty())
        {
            continue;
        }
        side.tp = m_scenario.serving.pools[instance->place.pool].tp;
        for (const Stage& stage : instance->stages)
        {
            side.firstBlock.push_back(stage.costs->FirstBlock());
        }
        side.firstBlock.push_back(side.firstBlock.back() + instance->stages.back().costs->Blocks());
        if (instance->place.pool == 0)
        {
            const uint32_t local = std::max(1U, shared / side.tp);
            m_kvHeadBytes = instance->stages.front().costs->KvLayerBytes() / local;
        }
    }
    m_routes = serving::KvRoutes(sides[0], sides[1], shared);
}

MessageOrder
ServingJob::OrderOf(const serving::TransferOrder& transfer,
                    const serving::KvRoute& route,
                    bool byLayer) const
{
    const auto rankOf = [&](uint32_t instance, uint32_t engine, uint32_t stage, uint32_t tensor) {
        const serving::InstancePlace& place = m_instances[instance]->place;
        const serving::PoolSpec& pool = m_scenario.serving.pools[place.pool];
        return static_cast<Rank>(place.firstGpu + (stage * pool.dp + engine) * pool.tp + tensor);
    };
    // Messages of layers wait for their computation; others do not wait behind them.
    return {ServingShard::KV,
            rankOf(transfer.from, transfer.fromEngine, route.fromStage, route.fromTensor),
            rankOf(transfer.to, transfer.toEngine, route.toStage, route.toTensor),
            static_cast<uint16_t>(byLayer)};
}

void
ServingJob::Send(const serving::TransferOrder& transfer, ShardsKv* byLayer)
{
    ++m_kvOrders[transfer.request];
    const int64_t now = ns3::RdmaClock::Now();
    for (const serving::KvRoute& route : m_routes)
    {
        const MessageOrder order = OrderOf(transfer, route, byLayer);
        const uint32_t messages = byLayer ? route.blocks : 1;
        const auto bytes = static_cast<uint64_t>(
            std::ceil(m_kvHeadBytes * transfer.tokens * route.heads * route.blocks / messages));
        m_kvMessages[transfer.request] += messages;
        m_kvBytes[transfer.request] += bytes * messages;
        if (m_collectives->IsHere(order.to))
        {
            for (uint32_t i = 0; i < messages; ++i)
            {
                m_messages->Receive(order, KV_COOKIE + transfer.request, now);
            }
        }
        if (!byLayer)
        {
            if (m_collectives->IsHere(order.from))
            {
                m_messages->Send(order, bytes, m_tags.kv, ServingShard::NOBODY, now);
            }
            continue;
        }
        const Stage& stage = m_instances[transfer.from]->stages[route.fromStage];
        (*byLayer)[ShardOf(stage, transfer.fromEngine, order.from)].push_back(
            {order, route.firstBlock - stage.costs->FirstBlock(), route.blocks, bytes});
    }
}

uint32_t
ServingJob::ShardOf(const Stage& stage, uint32_t engine, Rank rank) const
{
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    const std::vector<uint32_t>& shards = stage.shards[engine];
    return shards[rank / gpus - stage.firstGpu[engine] / gpus];
}

void
ServingJob::Transfer(const serving::TransferOrder& transfer)
{
    Send(transfer, nullptr);
}

} // namespace dltrain
