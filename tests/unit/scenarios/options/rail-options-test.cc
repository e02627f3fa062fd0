/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --peer-nic: which collectives go from NIC to NIC, take pxn, and cannot on rails that are apart.
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/tuner.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/rail-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>

using namespace scenario;

namespace
{

CollectiveOptions
OnRails(uint32_t rails, bool apart, bool own = true)
{
    CollectiveOptions options;
    options.ownNics = own;
    options.rails = rails;
    options.railsApart = apart;
    return options;
}

/// GPU `gpu` of each of so many servers of 8 GPUs and NICs.
coll::Placement
OfOnePlace(uint32_t servers, uint32_t gpu)
{
    coll::Placement placement;
    for (uint32_t s = 0; s < servers; ++s)
    {
        placement.serverOf.push_back(s);
        placement.gpuOf.push_back(gpu);
    }
    placement.gpusPerServer = placement.nicsPerServer = 8;
    return placement;
}

/// Only alltoall of ranks on several rails of several servers takes pxn by itself; and it always
/// can: for any numbers of servers, GPUs and NICs.
TEST(RailOptions, AlltoallTakesPxn)
{
    for (uint32_t servers = 1; servers <= 4; ++servers)
    {
        for (const uint32_t gpus : {1u, 2u, 3u, 8u})
        {
            for (const uint32_t nics : {1u, 2u, 3u, 8u})
            {
                const auto placement = coll::UniformPlacement(servers, gpus, nics);
                const uint32_t ranks = servers * gpus;
                for (const bool apart : {false, true})
                {
                    const CollectiveOptions options = OnRails(nics, apart);
                    // NICs that are beside a GPU, or whose nearest GPU is there: all are used.
                    const bool crosses = servers > 1 && nics > 1;
                    EXPECT_EQ(TakesPxn(options, coll::Op::kAllToAll, placement), crosses)
                        << servers << " " << gpus << " " << nics;
                    const coll::Collective what{coll::Op::kAllToAll, 64ULL * ranks, ranks};
                    const coll::Algorithm& chosen = *ChoiceOf(options, what, placement).algorithm;
                    EXPECT_EQ(chosen.Name() == "pxn", crosses);
                    EXPECT_EQ(chosen.WhyNot(what, placement, options.OptionsFor(what.op)), "");
                    EXPECT_EQ(WhyNotOnRails(options, chosen, placement, what.op), "");
                    for (const coll::Op op : coll::AllOps())
                    {
                        EXPECT_FALSE(op != coll::Op::kAllToAll && TakesPxn(options, op, placement));
                    }
                }
                EXPECT_FALSE(TakesPxn(OnRails(nics, true, false), coll::Op::kAllToAll, placement));
                EXPECT_FALSE(TakesPxn(OnRails(0, false), coll::Op::kAllToAll, placement));
            }
        }
    }
}

/// With the NIC of the receiver's number at both ends nothing crosses, so nothing is refused.
TEST(RailOptions, PxnCrossesNoRails)
{
    CollectiveOptions options = OnRails(8, true);
    options.peersRail = true;
    const auto several = coll::UniformPlacement(2, 8, 8);
    for (const coll::Op op : coll::AllOps())
    {
        for (const coll::Algorithm* algorithm : coll::AlgorithmsFor(op))
        {
            EXPECT_EQ(WhyNotOnRails(options, *algorithm, several, op), "") << algorithm->Name();
        }
    }
}

/// Of all algorithms of all operations: refused are the exchanges, but pxn, and only where rails
/// are apart, NICs own, and the ranks on several rails of several servers.
TEST(RailOptions, WhatCannotCross)
{
    const auto several = coll::UniformPlacement(2, 8, 8);
    for (const coll::Op op : coll::AllOps())
    {
        for (const coll::Algorithm* algorithm : coll::AlgorithmsFor(op))
        {
            const bool crosses = coll::IsExchange(op) && algorithm->Name() != "pxn";
            const std::string why = WhyNotOnRails(OnRails(8, true), *algorithm, several, op);
            EXPECT_EQ(!why.empty(), crosses) << algorithm->Name();
            EXPECT_EQ(why.find("alltoall=pxn") != std::string::npos,
                      crosses && op == coll::Op::kAllToAll);
            EXPECT_EQ(OwnNics(OnRails(0, false), *algorithm, op), crosses);
            for (const auto& [options, placement] :
                 {std::make_pair(OnRails(8, false), several),
                  std::make_pair(OnRails(8, true, false), several),
                  std::make_pair(OnRails(8, true), coll::UniformPlacement(1, 8, 8)),
                  std::make_pair(OnRails(8, true), OfOnePlace(4, 3)),
                  std::make_pair(OnRails(1, false), several)})
            {
                EXPECT_EQ(WhyNotOnRails(options, *algorithm, placement, op), "")
                    << algorithm->Name();
            }
        }
    }
}

/// From one NIC to one: a channel. pxn's rails are channels of its own.
TEST(RailOptions, OneChannel)
{
    const auto placement = coll::UniformPlacement(2, 4, 4);
    for (const bool own : {false, true})
    {
        const CollectiveOptions options = OnRails(0, false, own);
        for (const coll::Op op : {coll::Op::kAllToAll, coll::Op::kAllReduce})
        {
            const uint32_t channels = coll::ChannelCount(placement, options.OptionsFor(op));
            EXPECT_EQ(channels, own && op == coll::Op::kAllToAll ? 1u : 4u);
        }
    }
    // A GPU between several NICs uses those, and no other GPU's.
    CollectiveOptions between = OnRails(0, false);
    between.besideGpu = 4;
    const auto lone = coll::UniformPlacement(2, 2, 8);
    EXPECT_EQ(coll::ChannelCount(lone, between.OptionsFor(coll::Op::kAllToAll)), 4u);
    CollectiveOptions asked = OnRails(0, false);
    asked.options.channels = 3;
    EXPECT_EQ(coll::ChannelCount(placement, asked.OptionsFor(coll::Op::kAllToAll)), 3u);
}

template <class T>
T
Runs(const std::string& options)
{
    const auto result = ParseWords<T>(options);
    EXPECT_TRUE(result.scenario) << options << ": " << result.errors.at(0).Text();
    return *result.scenario;
}

/// Servers of several NICs stand on rails and use the NIC beside each GPU, in every program that
/// has servers; those of one NIC keep the program's network.
TEST(RailOptions, DefaultsAreWhatServersAreSoldWith)
{
    const std::string model = "--model=gpt2 --seq=64 ";
    for (const std::string server :
         {"--server=dgx-h100", "--server=dgx-1-v100", "--nics-per-server=2", "--server=hgx-a800"})
    {
        const auto trained = Runs<TrainingScenario>(model + "--servers=3 " + server);
        const auto tried = Runs<CollperfScenario>("--servers=3 -b 1M " + server);
        EXPECT_EQ(trained.cluster.topology.About().rails, trained.cluster.server.nics) << server;
        EXPECT_EQ(tried.cluster.topology.About().rails, tried.cluster.server.nics) << server;
        EXPECT_TRUE(trained.collectives.ownNics && tried.collectives.ownNics) << server;
        EXPECT_TRUE(trained.collectives.peersRail && tried.collectives.peersRail) << server;
    }
    const auto one = Runs<TrainingScenario>(model + "--servers=3 --server=pcie4-a100");
    EXPECT_EQ(one.cluster.topologyName, "fat-tree k=4");
    EXPECT_FALSE(one.collectives.ownNics);
    // Another network's parameter asks for that network, on which GPUs keep their NICs.
    const auto tree = Runs<TrainingScenario>(model + "--servers=16 --server=dgx-h100 --k=8");
    EXPECT_EQ(tree.cluster.topologyName, "fat-tree k=8");
    EXPECT_TRUE(tree.collectives.ownNics);
    EXPECT_FALSE(tree.collectives.peersRail);
    // PXN is NVLink's.
    const auto pcie = Runs<CollperfScenario>("--servers=2 -b 1M --server=pcie4-a100 "
                                             "--nics-per-server=4");
    EXPECT_TRUE(pcie.collectives.ownNics && !pcie.collectives.peersRail);
    const auto shared = Runs<TrainingScenario>(model + "--servers=16 --server=dgx-h100 --spines=3 "
                                                       "--oversubscription=2");
    EXPECT_EQ(shared.cluster.topology.About().rails, 8u);
    // Polaris's measurements say which NIC its library uses for exchanges.
    EXPECT_FALSE(Runs<CollperfScenario>("--servers=2 -b 1M --server=polaris").collectives.ownNics);
    EXPECT_EQ(Runs<CollperfScenario>("--servers=2 -b 1M --gpus-per-server=2 --nics-per-server=6")
                  .collectives.besideGpu,
              3u);
}

/// NICs share the GPUs out evenly, and the GPU nearest to a NIC has it, where there are as many.
TEST(RailOptions, NicsBesideGpus)
{
    for (uint32_t gpus = 1; gpus <= 9; ++gpus)
    {
        for (uint32_t nics = 1; nics <= 9; ++nics)
        {
            uint32_t before = 0;
            for (uint32_t gpu = 0; gpu < gpus; ++gpu)
            {
                const uint32_t nic = coll::NicNearGpu(gpu, gpus, nics);
                EXPECT_LT(nic, nics);
                EXPECT_GE(nic, before);
                before = nic;
                if (nics == gpus)
                {
                    EXPECT_EQ(nic, gpu);
                    EXPECT_EQ(coll::GpuNearNic(nic, gpus, nics), gpu);
                }
            }
        }
    }
}

} // namespace
