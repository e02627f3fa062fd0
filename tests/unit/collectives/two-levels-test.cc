/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical collectives in time: their schedules run over ideal links of two levels (ports of
 * GPUs, network interfaces of servers; both shared by max-min fairness, ScaleUpModel), without
 * packets. Phases must overlap as cost.h says.
 */
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/hierarchical-cost.h"
#include "collectives/schedules/server-groups.h"
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace coll;

namespace
{

constexpr uint64_t kMiB = 1 << 20;

struct Links
{
    double innerGBps = 360; ///< of a GPU's port
    double outerGBps = 50;  ///< of a network interface
    double innerUs = 3;
    double outerUs = 4;
};

/// Microseconds until the last rank is done.
class Played
{
  public:
    Played(const Schedule& schedule, const Placement& placement, const Links& links)
        : m_schedule(schedule),
          m_placement(placement),
          m_nics(std::max(1U, placement.nicsPerServer))
    {
        topo::ScaleUp inner;
        inner.perGpu = rdma::BitRate(static_cast<uint64_t>(links.innerGBps * 8e9));
        inner.latency = rdma::Nanoseconds(static_cast<int64_t>(links.innerUs * 1e3));
        topo::ScaleUp outer;
        outer.perGpu = rdma::BitRate(static_cast<uint64_t>(links.outerGBps * 8e9));
        outer.latency = rdma::Nanoseconds(static_cast<int64_t>(links.outerUs * 1e3));
        uint32_t servers = 0;
        for (const uint32_t server : placement.serverOf)
        {
            servers = std::max(servers, server + 1);
        }
        for (uint32_t s = 0; s < servers; ++s)
        {
            m_models.emplace_back(inner, GpusPerServer(placement));
        }
        m_models.emplace_back(outer, servers * m_nics);
        m_lanes.resize(placement.serverOf.size());
    }

    double Microseconds()
    {
        for (Rank r = 0; r < m_lanes.size(); ++r)
        {
            m_lanes[r].resize(m_schedule.Lanes(r));
            for (Lane l = 0; l < m_lanes[r].size(); ++l)
            {
                Advance(r, l);
            }
        }
        while (true)
        {
            topo::ScaleUpModel* next = nullptr;
            for (auto& model : m_models)
            {
                next = !next || model.NextWake() < next->NextWake() ? &model : next;
            }
            if (next->NextWake() == topo::ScaleUpModel::kNever)
            {
                break;
            }
            m_now = next->NextWake();
            uint64_t cookie = 0;
            while (next->Arrived(m_now, cookie))
            {
                const Message m = m_messages[cookie];
                ++m_lanes[m.to][m.lane].arrived[m.from];
                Advance(m.to, m.lane);
            }
        }
        for (Rank r = 0; r < m_lanes.size(); ++r)
        {
            for (Lane l = 0; l < m_lanes[r].size(); ++l)
            {
                EXPECT_EQ(m_lanes[r][l].step, m_schedule.Steps(r, l)) << "rank " << r << " waits";
            }
        }
        return static_cast<double>(m_now.ps) * 1e-6;
    }

  private:
    struct Message
    {
        Rank from;
        Rank to;
        Lane lane;
    };

    struct LaneState
    {
        StepIndex step = 0;
        std::map<Rank, uint32_t> arrived;
    };

    void Advance(Rank rank, Lane lane)
    {
        LaneState& state = m_lanes[rank][lane];
        for (; state.step < m_schedule.Steps(rank, lane); ++state.step)
        {
            const Step step = m_schedule.At(rank, lane, state.step);
            if (step.recvPeer != kNoRank)
            {
                uint32_t& arrived = state.arrived[step.recvPeer];
                if (arrived == 0)
                {
                    return;
                }
                --arrived;
            }
            if (step.sendPeer == kNoRank)
            {
                continue;
            }
            const uint32_t here = m_placement.serverOf[rank];
            const uint32_t there = m_placement.serverOf[step.sendPeer];
            m_messages.push_back({rank, step.sendPeer, lane});
            const uint32_t nic = m_schedule.Channel(lane) % m_nics;
            if (here == there)
            {
                m_models[here].Post(m_placement.gpuOf[rank],
                                    m_placement.gpuOf[step.sendPeer],
                                    rdma::Bytes(step.sendBytes),
                                    m_now,
                                    m_messages.size() - 1);
            }
            else
            {
                m_models.back().Post(here * m_nics + nic,
                                     there * m_nics + nic,
                                     rdma::Bytes(step.sendBytes),
                                     m_now,
                                     m_messages.size() - 1);
            }
        }
    }

    const Schedule& m_schedule;
    const Placement& m_placement;
    uint32_t m_nics;
    std::vector<topo::ScaleUpModel> m_models; ///< of servers, and the network
    std::vector<std::vector<LaneState>> m_lanes;
    std::vector<Message> m_messages;
    rdma::TimePoint m_now;
};

struct Times
{
    double took;
    double formula;
    double inside; ///< bytes of all phases inside servers, no latency
    double between;
};

Times
TimesOf(Op op,
        uint32_t servers,
        uint32_t gpus,
        uint32_t nics,
        uint64_t bytes,
        uint64_t pipeline,
        const Links& links = {})
{
    const Algorithm* algorithm = Find(op, "hierarchical");
    const Placement placement = UniformPlacement(servers, gpus, nics);
    const Collective what{op, bytes, servers * gpus, 0};
    AlgorithmOptions options;
    options.pipelineBytes = pipeline;
    const auto schedule = algorithm->Make(what, placement, options);
    TwoLevels levels;
    levels.inner.alpha = links.innerUs;
    levels.inner.beta = 1e-3 / links.innerGBps;
    levels.outer.alpha = links.outerUs;
    levels.outer.beta = 1e-3 / (links.outerGBps * ChannelCount(placement, options));
    // Loops as Make chose them, from the number of messages: a chain of one loop's phases apart,
    // all is posted once a loop.
    const uint64_t share = op == Op::kAllReduce ? (gpus > 1 ? gpus : servers) : what.ranks;
    const Shape shape = TwoLevelShape(what, placement, options, share);
    const Extent e = ExtentOf(what, placement, shape.channels, shape.loops);
    Times t{};
    t.took = Played(*schedule, placement, links).Microseconds();
    t.formula = HierarchicalSeconds(op, e, levels);
    const double twice = op == Op::kAllReduce ? 2 : 1;
    t.inside = twice * static_cast<double>(bytes) * (gpus - 1) / gpus * levels.inner.beta;
    t.between = twice * static_cast<double>(bytes) * (servers - 1) / servers * levels.outer.beta;
    return t;
}

const Op kOps[] = {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather};

std::string
Name(Op op, uint32_t servers, uint32_t gpus, uint32_t nics)
{
    return OpName(op) + " on " + std::to_string(servers) + " x " + std::to_string(gpus) + ", " +
           std::to_string(nics) + " NICs";
}

TEST(TwoLevels, PhasesOverlapByDefault)
{
    // Large: time tends to the slower level, and is far from the sum where the levels are alike.
    for (const Op op : kOps)
    {
        for (const uint32_t servers : {2U, 3U, 4U, 8U})
        {
            for (const uint32_t gpus : {2U, 4U, 8U})
            {
                for (const uint32_t nics : {1U, 8U})
                {
                    const Times t =
                        TimesOf(op, servers, gpus, std::min(nics, gpus), 1024 * kMiB, 0);
                    const std::string name = Name(op, servers, gpus, nics);
                    const double slower = std::max(t.inside, t.between);
                    const double faster = std::min(t.inside, t.between);
                    EXPECT_GT(t.took, slower) << name;
                    EXPECT_LT(t.took, slower * 1.08 + faster * 0.22)
                        << name << ": " << t.inside << " inside, " << t.between << " between";
                    EXPECT_LT(t.took, 1.15 * t.formula) << name;
                    EXPECT_GT(t.took, 0.85 * t.formula) << name;
                }
            }
        }
    }
}

TEST(TwoLevels, OneLoopIsTheSumOfItsPhases)
{
    for (const Op op : kOps)
    {
        for (const uint32_t servers : {2U, 3U, 5U})
        {
            for (const uint32_t gpus : {2U, 3U, 8U})
            {
                const Times t = TimesOf(op, servers, gpus, 1, 64 * kMiB, 1ULL << 40);
                EXPECT_NEAR(t.took / t.formula, 1, 0.03) << Name(op, servers, gpus, 1);
                EXPECT_GT(t.took, t.inside + t.between);
            }
        }
    }
}

TEST(TwoLevels, SmallOnesAreNotCut)
{
    // Latency alone: 2 (g-1) messages inside and 2 (k-1) between, no more.
    const Times t = TimesOf(Op::kAllReduce, 4, 8, 1, 64 * 1024, 0);
    EXPECT_LT(t.took, 14 * 3 + 6 * 4 + 10);
}

TEST(TwoLevels, DefaultIsNeverMuchWorseThanAnySize)
{
    // The choice of loops: against one loop, and against messages of all sizes.
    for (const Op op : kOps)
    {
        for (const uint64_t bytes : {kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB})
        {
            for (const uint32_t nics : {1U, 8U})
            {
                const double chosen = TimesOf(op, 4, 8, nics, bytes, 0).took;
                double best = TimesOf(op, 4, 8, nics, bytes, 1ULL << 40).took;
                EXPECT_LT(chosen, 1.02 * best)
                    << OpName(op) << " " << bytes << " B, " << nics << " NICs: against one loop";
                for (const uint64_t message :
                     {kMiB / 8, kMiB / 4, kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB, 16 * kMiB})
                {
                    best = std::min(best, TimesOf(op, 4, 8, nics, bytes, message).took);
                }
                EXPECT_LT(chosen, 1.35 * best)
                    << OpName(op) << " " << bytes << " B, " << nics << " NICs";
            }
        }
    }
}

TEST(PhaseOrder, EveryStepOnceInOrder)
{
    const std::vector<std::vector<uint32_t>> phases =
        {{4, 7, 4}, {2, 15, 2}, {8, 3, 8}, {24, 3}, {3, 24}, {0, 5, 0}, {6, 0, 6}, {5}};
    for (const auto& steps : phases)
    {
        for (const uint32_t loops : {1U, 2U, 3U, 4U, 9U})
        {
            const PhaseOrder order(steps, loops);
            uint32_t total = 0;
            for (const uint32_t s : steps)
            {
                total += s * loops;
            }
            std::map<std::pair<uint32_t, uint32_t>, std::vector<StepIndex>>
                seen; // by phase and loop
            std::map<std::pair<uint32_t, uint32_t>, StepIndex> end;
            for (StepIndex k = 0; k < total; ++k)
            {
                const auto place = order.At(k);
                ASSERT_LT(place.phase, steps.size());
                ASSERT_LT(place.loop, loops);
                auto& list = seen[{place.phase, place.loop}];
                ASSERT_EQ(place.step, list.size());
                list.push_back(place.step);
                end[{place.phase, place.loop}] = k;
                // A phase begins when the ones before are done, of this loop, and its own of the
                // loop before.
                for (uint32_t before = 0; before < place.phase; ++before)
                {
                    ASSERT_EQ((seen[{before, place.loop}].size()), steps[before]);
                }
                if (place.loop > 0)
                {
                    ASSERT_EQ((seen[{place.phase, place.loop - 1}].size()), steps[place.phase]);
                }
            }
            for (uint32_t phase = 0; phase < steps.size(); ++phase)
            {
                for (uint32_t loop = 0; loop < loops; ++loop)
                {
                    ASSERT_EQ((seen[{phase, loop}].size()), steps[phase]);
                }
            }
        }
    }
}

} // namespace
