/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/nccl-times.h"
#include "collectives/tuner/tuner.h"
#include "topologies/server.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace
{

using namespace coll;
using topo::Protocol;

/// 100 GB/s inside, NICs of 10 GB/s; LL 1 us a message and a quarter of the rate, Simple 10 us.
Machine
TwoProtocols()
{
    Machine machine;
    machine.insideRate = 100e9;
    machine.nicRate = 10e9;
    machine.hasLibrary = true;
    machine.library.launch = rdma::Microseconds(20);
    machine.library.exchangeLaunch = rdma::Microseconds(5);
    machine.library.Of(Protocol::kLl).inside = rdma::Microseconds(1);
    machine.library.Of(Protocol::kLl).outside = rdma::Microseconds(2);
    machine.library.Of(Protocol::kLl).insideShare = 0.25;
    machine.library.Of(Protocol::kLl).outsideShare = 0.5;
    machine.library.Of(Protocol::kLl128).inside = rdma::Microseconds(500); // never the best
    machine.library.Of(Protocol::kLl128).betweenServers = false;
    machine.library.Of(Protocol::kSimple).inside = rdma::Microseconds(10);
    machine.library.Of(Protocol::kSimple).outside = rdma::Microseconds(20);
    return machine;
}

double
Estimate(const char* name, Protocol protocol, const Collective& what, const Placement& placement)
{
    return *EstimateSeconds(*Find(what.op, name), protocol, what, placement, {}, TwoProtocols());
}

TEST(Tuner, RingInAServer)
{
    // 14 messages of S / 8: 20 us + 14 (latency + S / 8 / rate).
    const Placement placement = UniformPlacement(1, 8);
    const Collective what{Op::kAllReduce, 8000000, 8};
    EXPECT_NEAR(Estimate("ring", Protocol::kSimple, what, placement), 20e-6 + 14 * 20e-6, 1e-12);
    EXPECT_NEAR(Estimate("ring", Protocol::kLl, what, placement), 20e-6 + 14 * 41e-6, 1e-12);
    const Collective gather{Op::kAllGather, 8000000, 8};
    EXPECT_NEAR(Estimate("ring", Protocol::kSimple, gather, placement), 20e-6 + 7 * 20e-6, 1e-12);
}

TEST(Tuner, MessagesOfAServerShareItsHostBridge)
{
    // PCIe: ports of 12 GB/s, 8 GPUs share a bridge of 48 GB/s, so each has 6. A NIC has 100 GB/s.
    Machine machine = TwoProtocols();
    machine.hasLibrary = false;
    machine.insideRate = 12e9;
    machine.bridgeRate = 48e9;
    machine.nicRate = 100e9;
    const auto seconds = [&](Op op, const char* name, uint32_t servers, double rate) {
        machine.bridgeRate = rate;
        const Placement placement = UniformPlacement(servers, 8);
        const Collective what{op, 96000000, 8 * servers};
        return *EstimateSeconds(*Find(op, name), Protocol::kSimple, what, placement, {}, machine);
    };
    // 14 messages of 12 MB at 6 GB/s; without the bridge at 12.
    EXPECT_NEAR(seconds(Op::kAllReduce, "ring", 1, 48e9), 14 * 2e-3, 1e-9);
    EXPECT_NEAR(seconds(Op::kAllReduce, "ring", 1, 0), 14 * 1e-3, 1e-9);
    EXPECT_NEAR(seconds(Op::kAllGather, "ring", 1, 48e9), 7 * 2e-3, 1e-9);
    // A bridge of eight ports is no bottleneck.
    EXPECT_NEAR(seconds(Op::kAllReduce, "ring", 1, 96e9), 14 * 1e-3, 1e-9);
    // 8 GPUs send 7 messages of 12 MB each: 672 MB. To the next GPU: 8 of 96 MB.
    EXPECT_NEAR(seconds(Op::kAllToAll, "direct", 1, 48e9), 672e6 / 48e9, 1e-9);
    EXPECT_NEAR(seconds(Op::kSendRecv, "direct", 1, 48e9), 768e6 / 48e9, 1e-9);
    // Only the root sends: its port.
    EXPECT_NEAR(seconds(Op::kScatter, "direct", 1, 48e9), 84e6 / 12e9, 1e-9);
    // Two servers: in 30 rounds 7 messages of 6 MB cross the bridge, the eighth is the NIC's.
    EXPECT_NEAR(seconds(Op::kAllReduce, "ring", 2, 48e9), 30 * 7 * 6e6 / 48e9, 1e-9);
    // Islands of two: of 8 messages those of 4 cross it, at 12 GB/s each; more than the ports let.
    machine.island = 2;
    machine.insideRate = 100e9;
    machine.betweenRate = 24e9;
    EXPECT_NEAR(seconds(Op::kAllGather, "ring", 1, 48e9), 7 * 1e-3, 1e-9);
    // 6 of 7 messages of each GPU of 8.
    EXPECT_NEAR(seconds(Op::kAllToAll, "direct", 1, 48e9), 576e6 / 48e9, 1e-9);
}

TEST(Tuner, RingOverIslandsIsAsFastAsWhatIsBetweenThem)
{
    // Islands of two: 2 messages of S / 2 at 100 GB/s; of four GPUs 6 of S / 4 at 5 GB/s.
    Machine machine = TwoProtocols();
    machine.island = 2;
    machine.betweenRate = 5e9;
    const auto estimate = [&](const Placement& placement, uint32_t n) {
        return *EstimateSeconds(*Find(Op::kAllReduce, "ring"),
                                Protocol::kSimple,
                                {Op::kAllReduce, 80000000, n},
                                placement,
                                {},
                                machine);
    };
    EXPECT_NEAR(estimate(UniformPlacement(1, 2), 2), 20e-6 + 2 * (10e-6 + 40e6 / 100e9), 1e-12);
    EXPECT_NEAR(estimate(UniformPlacement(1, 4), 4), 20e-6 + 6 * (10e-6 + 20e6 / 5e9), 1e-12);
    // GPUs 1 and 2 are two, of different islands.
    Placement across = UniformPlacement(1, 2);
    across.gpuOf = {1, 2};
    across.gpusPerServer = 4;
    EXPECT_NEAR(estimate(across, 2), 20e-6 + 2 * (10e-6 + 40e6 / 5e9), 1e-12);
    // Islands of four are a server.
    machine.island = 4;
    EXPECT_NEAR(estimate(UniformPlacement(1, 4), 4), 20e-6 + 6 * (10e-6 + 20e6 / 100e9), 1e-12);
}

TEST(Tuner, RingOverServersIsBoundByItsNics)
{
    // Two servers of 4, one NIC: 14 messages of S / 8 over the NIC, one after the other, are more
    // than a chain of 4 of them outside and 10 inside, with its latencies.
    const Placement placement = UniformPlacement(2, 4);
    const Collective large{Op::kAllReduce, 80000000, 8};
    EXPECT_NEAR(Estimate("ring", Protocol::kSimple, large, placement),
                20e-6 + 14 * 10e6 / 10e9,
                1e-9);
    // Small: the chain. 4 outside (20 + 1 us), 10 inside (10 + 0.1).
    const Collective small{Op::kAllReduce, 80000, 8};
    EXPECT_NEAR(Estimate("ring", Protocol::kSimple, small, placement),
                20e-6 + 4 * 21e-6 + 10 * 10.1e-6,
                1e-9);
    // Of LL's messages half is flags.
    EXPECT_NEAR(Estimate("ring", Protocol::kLl, large, placement), 20e-6 + 14 * 20e6 / 10e9, 1e-9);
}

TEST(Tuner, SmallTakesLLAndLargeTakesSimple)
{
    const Placement placement = UniformPlacement(1, 8);
    const Machine machine = TwoProtocols();
    // LL: 14 (1 us + 4 x), Simple: 14 (10 us + x); equal at x = 3 us, S / 8 = 300 kB.
    Protocol last = Protocol::kLl;
    for (uint64_t bytes = 8; bytes < 80000000; bytes = bytes * 5 / 4)
    {
        const Choice choice = Choose({Op::kAllReduce, bytes, 8}, placement, {}, machine);
        ASSERT_TRUE(choice.protocol);
        EXPECT_EQ(*choice.protocol, bytes < 2400000 ? Protocol::kLl : Protocol::kSimple) << bytes;
        EXPECT_GE(*choice.protocol, last) << "back to a protocol of smaller messages";
        last = *choice.protocol;
        EXPECT_GT(choice.seconds, 20e-6);
    }
}

TEST(Tuner, PatForOneRankAServerAsNcclExpectsIt)
{
    // Launch 20 us; for each of floor(log2 48) = 5 doublings 20 / 3.5 us, for each rank 2.8 us;
    // 47/48 of S at 3/4 of 10 GB/s. A ring has 47 messages of 20 us (LL: 2 us, half the rate).
    const Placement one = UniformPlacement(48, 1);
    for (const Op op : {Op::kAllGather, Op::kReduceScatter})
    {
        for (const double bytes : {48.0, 4.8e6, 4.8e8})
        {
            const Collective what{op, static_cast<uint64_t>(bytes), 48};
            const double alone = 20e-6 + 5 * 20e-6 / 3.5 + 48 * 2.8e-6;
            EXPECT_NEAR(Estimate("pat", Protocol::kSimple, what, one),
                        alone + bytes * 47 / 48 / 7.5e9,
                        1e-9);
        }
        const auto name = [&](uint64_t bytes, const Placement& placement, const Fixed& fixed) {
            const Choice choice = Choose({op, bytes, 48}, placement, {}, TwoProtocols(), fixed);
            if (choice.algorithm->Name() == "pat")
            {
                EXPECT_EQ(*choice.protocol, Protocol::kSimple);
            }
            return choice.algorithm->Name();
        };
        // LL's ring: 114 us + S x 47/48 / 5 GB/s. PAT: 183 us + S x 47/48 / 7.5 GB/s. Equal at
        // S = 69 us / (47/48 (1/5 - 1/7.5) ns) = 1.06 MB. Simple's ring: 960 us + S x 47/48 / 10
        // GB/s, equal at S = 777 us / (47/48 (1/7.5 - 1/10) ns) = 23.8 MB.
        EXPECT_EQ(name(1000000, one, {}), "ring");
        EXPECT_EQ(name(1100000, one, {}), "pat");
        EXPECT_EQ(name(23000000, one, {}), "pat");
        EXPECT_EQ(name(25000000, one, {}), "ring");
        // Two ranks a server; a protocol that it does not have; a user who does without.
        EXPECT_EQ(name(5000000, UniformPlacement(24, 2), {}), "ring");
        Fixed fixed;
        fixed.protocol = Protocol::kLl;
        EXPECT_EQ(name(5000000, one, fixed), "ring");
        fixed = {};
        fixed.protocols = {Protocol::kLl};
        EXPECT_EQ(name(5000000, one, fixed), "ring");
        fixed = {};
        fixed.except = {"pat"};
        EXPECT_EQ(name(5000000, one, fixed), "ring");
        // Named it is what it was: with any protocol.
        fixed = {};
        fixed.algorithm = Find(op, "pat");
        fixed.protocol = Protocol::kLl;
        EXPECT_EQ(Choose({op, 5000000, 48}, one, {}, TwoProtocols(), fixed).algorithm->Name(),
                  "pat");
    }
    // Without a library there is none of NCCL's software.
    Machine machine = TwoProtocols();
    machine.hasLibrary = false;
    machine.outsideLatency = 2e-6;
    EXPECT_EQ(Choose({Op::kAllGather, 5000000, 48}, one, {}, machine).algorithm->Name(), "ring");
}

TEST(Tuner, WhatIsFixedIsTaken)
{
    const Placement placement = UniformPlacement(2, 4);
    const Machine machine = TwoProtocols();
    const Collective what{Op::kAllReduce, 8, 8};
    Fixed fixed;
    fixed.algorithm = Find(Op::kAllReduce, "hierarchical");
    EXPECT_EQ(Choose(what, placement, {}, machine, fixed).algorithm, fixed.algorithm);
    fixed.protocol = Protocol::kSimple;
    EXPECT_EQ(*Choose(what, placement, {}, machine, fixed).protocol, Protocol::kSimple);
    // LL128 is not chosen between such servers, and says why it cannot be asked for.
    EXPECT_NE(WhyNotProtocol(Protocol::kLl128, placement, machine), "");
    EXPECT_EQ(WhyNotProtocol(Protocol::kLl128, UniformPlacement(1, 8), machine), "");
}

/// The same machine, whose software takes no time: 1 us inside, 2 us between servers by way of a
/// switch that takes in packets of 4,000 bytes, which are 400 ns of a NIC.
Machine
NoLibrary()
{
    Machine machine = TwoProtocols();
    machine.hasLibrary = false;
    machine.insideLatency = 1e-6;
    machine.outsideLatency = 2e-6;
    machine.switches = 1;
    machine.mtu = 4000;
    return machine;
}

TEST(Tuner, WithoutALibraryThereAreNoProtocols)
{
    for (const Op op : AllOps())
    {
        const Choice choice = Choose({op, op == Op::kBarrier ? 0u : 4096u, 8},
                                     UniformPlacement(2, 4),
                                     {},
                                     NoLibrary());
        EXPECT_FALSE(choice.protocol) << OpName(op);
        ASSERT_TRUE(choice.algorithm);
        const bool several = op == Op::kAllReduce || op == Op::kBroadcast || op == Op::kReduce;
        if (!several)
        {
            EXPECT_EQ(choice.algorithm, &DefaultAlgorithm(op, UniformPlacement(2, 4)))
                << OpName(op);
        }
    }
}

TEST(Tuner, WithoutALibraryBroadcastAndReduceAreNoRingsForSmallSizes)
{
    // Of 16 ranks a ring has 15 messages in series and a k-nomial tree of radix 4 has two; of 64 MB
    // the tree sends each inner rank's 3 copies twice, and the ring's slices follow one another.
    const Placement placement = UniformPlacement(16, 1);
    for (const Op op : {Op::kBroadcast, Op::kReduce})
    {
        const Choice small = Choose({op, 8, 16}, placement, {}, NoLibrary());
        EXPECT_EQ(small.algorithm->Name(), "k-nomial") << OpName(op);
        EXPECT_LT(small.seconds, 3 * 2.4e-6);
        const Choice large = Choose({op, 64000000, 16}, placement, {}, NoLibrary());
        EXPECT_EQ(large.algorithm->Name(), "ring") << OpName(op);
        // NCCL has rings alone.
        const Choice imitated = Choose({op, 8, 16}, placement, {}, TwoProtocols());
        EXPECT_EQ(imitated.algorithm->Name(), "ring") << OpName(op);
    }
}

TEST(Tuner, WithoutALibraryFormulasChoose)
{
    // 16 servers: 30 messages of S / 16, each 2 us, what a packet waits in the switch, its bytes.
    const Placement placement = UniformPlacement(16, 1);
    const auto choose = [&](uint64_t bytes) {
        return Choose({Op::kAllReduce, bytes, 16}, placement, {}, NoLibrary());
    };
    const double large = 30 * (2e-6 + 0.4e-6 + 16e6 / 16 / 10e9);
    EXPECT_EQ(choose(16000000).algorithm->Name(), "ring");
    EXPECT_NEAR(choose(16000000).seconds, large, 1e-12);
    // Of 160 bytes the ring's 30 messages take 2.001 us and what they are; up and down a tree of 16
    // are at most 2 (log2 16 + 1) = 10 messages.
    const Choice small = choose(160);
    EXPECT_EQ(small.algorithm->Name(), "double-binary-tree");
    EXPECT_LT(small.seconds, 10 * 2.1e-6);
    // What a user has left out is not chosen.
    Fixed fixed;
    fixed.except = {"double-binary-tree"};
    EXPECT_EQ(
        Choose({Op::kAllReduce, 160, 16}, placement, {}, NoLibrary(), fixed).algorithm->Name(),
        "ring");
}

TEST(Tuner, CandidatesBeginWithTheChoiceAndAreAllDifferent)
{
    for (const bool library : {true, false})
    {
        const Machine machine = library ? TwoProtocols() : NoLibrary();
        for (const Op op : AllOps())
        {
            for (const uint32_t servers : {1, 3, 8})
            {
                for (const uint32_t gpus : {1, 4})
                {
                    const Placement placement = UniformPlacement(servers, gpus, 2);
                    const Collective what{op, op == Op::kBarrier ? 0u : 1u << 20, servers * gpus};
                    const auto all = Candidates(what, placement, {}, machine);
                    const Choice first = Choose(what, placement, {}, machine);
                    ASSERT_FALSE(all.empty());
                    EXPECT_EQ(all.front().algorithm, first.algorithm);
                    EXPECT_EQ(all.front().protocol, first.protocol);
                    EXPECT_EQ(all.front().channels, 0u);
                    // The choice, its next protocol, four others, two with more channels.
                    EXPECT_LE(all.size(), 8u);
                    std::set<std::string> seen;
                    for (const Choice& one : all)
                    {
                        AlgorithmOptions options;
                        options.channels = one.channels;
                        EXPECT_EQ(one.algorithm->WhyNot(what, placement, options), "");
                        EXPECT_FALSE(one.algorithm->Uses().fabricSwitches && servers > 1);
                        EXPECT_EQ(one.protocol.has_value(), library);
                        // Two NICs that all servers have: two channels by itself, then four.
                        EXPECT_TRUE(one.channels == 0 || (servers > 1 && one.channels % 2 == 0));
                        const std::string protocol =
                            one.protocol ? topo::ToString(*one.protocol) : "";
                        EXPECT_TRUE(seen.insert(one.algorithm->Name() + protocol +
                                                std::to_string(one.channels))
                                        .second)
                            << OpName(op) << " " << one.algorithm->Name();
                    }
                }
            }
        }
    }
}

TEST(Tuner, CandidatesAreWhatAUserHasLeft)
{
    const Placement placement = UniformPlacement(8, 1);
    const Collective what{Op::kAllReduce, 1 << 20, 8};
    Fixed fixed;
    fixed.except = {"halving-doubling"};
    fixed.protocol = Protocol::kSimple;
    const auto all = Candidates(what, placement, {}, TwoProtocols(), fixed);
    EXPECT_GT(all.size(), 2u);
    for (const Choice& one : all)
    {
        EXPECT_NE(one.algorithm->Name(), "halving-doubling");
        EXPECT_EQ(*one.protocol, Protocol::kSimple);
    }
    // Named channels are not doubled, and NCCL_MAX_NCHANNELS is not exceeded.
    AlgorithmOptions options;
    options.channels = 3;
    for (const Choice& one : Candidates(what, placement, options, TwoProtocols()))
    {
        EXPECT_EQ(one.channels, 0u);
    }
    options.channels = 0;
    options.maxChannels = 1;
    for (const Choice& one : Candidates(what, placement, options, TwoProtocols()))
    {
        EXPECT_EQ(one.channels, 0u);
    }
    fixed = {};
    fixed.among = {Find(Op::kAllReduce, "ring"), Find(Op::kAllReduce, "tree")};
    for (const Choice& one : Candidates(what, placement, {}, TwoProtocols(), fixed))
    {
        EXPECT_TRUE(one.algorithm->Name() == "ring" || one.algorithm->Name() == "tree");
    }
}

TEST(Tuner, EveryOperationAndPlacementHasAChoiceThatCanBeMade)
{
    const Machine machine = TwoProtocols();
    for (const Op op : AllOps())
    {
        for (const uint32_t servers : {1, 2, 3, 5})
        {
            for (const uint32_t gpus : {1, 2, 3, 8})
            {
                const Placement placement = UniformPlacement(servers, gpus, 2);
                for (const uint64_t bytes : {0, 1, 1000, 10000000})
                {
                    const Collective what{op, op == Op::kBarrier ? 0 : bytes, servers * gpus};
                    const Choice choice = Choose(what, placement, {}, machine);
                    ASSERT_TRUE(choice.algorithm && choice.protocol) << OpName(op);
                    EXPECT_EQ(choice.algorithm->WhyNot(what, placement, {}), "") << OpName(op);
                    EXPECT_NE(choice.algorithm->Make(what, placement, {}), nullptr);
                    EXPECT_EQ(*choice.protocol == Protocol::kExchange, IsExchange(op));
                    EXPECT_TRUE(servers == 1 || *choice.protocol != Protocol::kLl128);
                }
            }
        }
    }
}

/// Without congestion and uplinks.
Machine
MachineOfPreset(const char* name)
{
    const topo::ServerSpec& server = *topo::FindServer(topo::ServerPresets(), name);
    Machine machine;
    machine.insideRate = server.scaleUp.perGpu.bps / 8.0 * server.scaleUp.efficiency;
    machine.nicRate = server.nicRate.bps / 8.0;
    machine.nics = server.nics;
    machine.hasLibrary = true;
    machine.library = server.library;
    return machine;
}

/// Servers of 4 with 2 NICs, of which the library thinks that they carry 15 GB/s.
Machine
WithExpectations()
{
    Machine machine = TwoProtocols();
    machine.nics = 2;
    machine.nicRate = 25e9;
    machine.library.expects = {rdma::Gbps(120), rdma::Microseconds(10), rdma::Microseconds(2)};
    return machine;
}

TEST(Tuner, AsLongAsNcclItselfReckons)
{
    // Two servers of 4, B = 2 x 15 GB/s = 30,000 B/us, L = 10 us, a post 2 us; us, by nccl-times.h.
    const NcclGroup group{8, 2, 2};
    const auto expects = WithExpectations().library.expects;
    const auto us = [&](NcclAlgorithm algorithm, Protocol protocol, Op op, uint64_t bytes) {
        return *NcclSeconds(algorithm, protocol, op, bytes, group, expects) * 1e6;
    };
    const uint64_t bytes = 256 << 10; // 2^12 times 64 B
    const double s = 262144;
    // Rings: 14 steps, 4 of them between servers; the others take a post, of Simple three.
    EXPECT_NEAR(us(NcclAlgorithm::kRing, Protocol::kLl, Op::kAllReduce, bytes),
                6.6 + 10 * 2 + 4 * 12.7 + s / (30000 / 4. * 8 / 14),
                1e-6);
    EXPECT_NEAR(us(NcclAlgorithm::kRing, Protocol::kSimple, Op::kAllReduce, bytes),
                1.4 * (8.4 + 10 * 6 + 4 * 34) + s / (30000 * 8 / 14.),
                1e-6);
    // No plateau below 64 B a channel and rank, 1 KiB.
    EXPECT_NEAR(us(NcclAlgorithm::kRing, Protocol::kSimple, Op::kAllReduce, 1000),
                8.4 + 10 * 6 + 4 * 34 + 1000 / (30000 * 8 / 14.),
                1e-6);
    // 7 steps, one of them between servers.
    EXPECT_NEAR(us(NcclAlgorithm::kRing, Protocol::kSimple, Op::kAllGather, bytes),
                8.4 + 6 * 6 + 34 + s / (30000 * 8 / 7.),
                1e-6);
    EXPECT_NEAR(us(NcclAlgorithm::kRing, Protocol::kLl128, Op::kReduceScatter, bytes),
                14 + 6 * 2 + 14 + s / (30000 * 0.92 * 8 / 7),
                1e-6);
    // Trees: up and down 3 GPUs and once between servers; at this size 0.4 and 0.5 of the rate.
    EXPECT_NEAR(us(NcclAlgorithm::kTree, Protocol::kLl, Op::kAllReduce, bytes),
                6.8 + 2 * (3 * 0.6 + 15) + s / (30000 * 0.92 / 3.8 / 2 * 0.4),
                1e-6);
    EXPECT_NEAR(us(NcclAlgorithm::kTree, Protocol::kSimple, Op::kAllReduce, bytes),
                8.4 + 2 * (3 * 4 + 34) + s / (30000 * 0.92 / 2 * 0.5),
                1e-6);
    // The largest sizes have no factor.
    EXPECT_NEAR(us(NcclAlgorithm::kTree, Protocol::kSimple, Op::kAllReduce, 1ULL << 30),
                8.4 + 2 * (3 * 4 + 34) + (1 << 30) / (30000 * 0.92 / 2),
                1e-3);
    EXPECT_FALSE(NcclSeconds(NcclAlgorithm::kTree,
                             Protocol::kSimple,
                             Op::kAllGather,
                             bytes,
                             group,
                             expects)); // NCCL has none
    EXPECT_FALSE(NcclSeconds(NcclAlgorithm::kRing,
                             Protocol::kSimple,
                             Op::kBroadcast,
                             bytes,
                             group,
                             expects));
}

TEST(Tuner, ChoosesByWhatTheLibraryExpects)
{
    const Placement placement = UniformPlacement(2, 4, 2);
    const auto name = [&](const Collective& what, const Machine& machine, const Placement& of) {
        const Choice choice = Choose(what, of, {}, machine);
        // What it says of the time is the machine's own formula all the same.
        EXPECT_DOUBLE_EQ(
            choice.seconds,
            *EstimateSeconds(*choice.algorithm, *choice.protocol, what, of, {}, machine));
        return choice.algorithm->Name() + " " + topo::ToString(*choice.protocol);
    };
    const auto chosen = [&](uint64_t bytes) {
        return name({Op::kAllReduce, bytes, 8}, WithExpectations(), placement);
    };
    // By those formulas, in us:
    //              64 KiB   128 KiB   256 KiB    2 MiB    4 MiB   16 MiB
    //     tree, LL     70       113       221     1003     1690     5174
    //     ring, LL     93       108       139      567     1056     3992
    //     tree, Simple 108      119       138      354      535     1837
    //     ring, Simple 290      294       301      408      531     1265
    EXPECT_EQ(chosen(1 << 10), "double-binary-tree ll");
    EXPECT_EQ(chosen(64 << 10), "double-binary-tree ll");
    EXPECT_EQ(chosen(128 << 10), "ring ll");
    EXPECT_EQ(chosen(256 << 10), "double-binary-tree simple");
    EXPECT_EQ(chosen(2 << 20), "double-binary-tree simple");
    EXPECT_EQ(chosen(4 << 20), "ring simple");
    EXPECT_EQ(chosen(16 << 20), "ring simple");
    // In one server, and without expectations, the machine's numbers count. 256 KiB are 20 + 14 (1
    // + 1.3) us with LL, 20 + 14 (10 + 0.3) with Simple; on two 20 + 4 (2 + 3.3) + 10 (1 + 1.3) and
    // 20
    // + 4 (20 + 1.6) + 10 (10 + 0.3) along a ring, 20 + 2 (3 + 2) + 57 along a tree with LL.
    const Collective what{Op::kAllReduce, 256 << 10, 8};
    EXPECT_EQ(name(what, WithExpectations(), UniformPlacement(1, 8, 2)), "ring ll");
    Machine without = WithExpectations();
    without.library.expects = {};
    EXPECT_EQ(name(what, without, placement), "double-binary-tree ll");
    // It knows NICs that are slower than what it thinks of the way to them: of 5 GB/s, 2.5 MB are
    // 92 + 2,500,000 / (10,000 x 0.92 / 2 x 0.6) = 1,006 us along a tree, with Simple, and 286 +
    // 437 along a ring; of 15 it takes the tree (408 > 354, the table above).
    const Collective more{Op::kAllReduce, 2500000, 8};
    EXPECT_EQ(name(more, WithExpectations(), placement), "double-binary-tree simple");
    Machine slow = WithExpectations();
    slow.nicRate = 5e9;
    EXPECT_EQ(name(more, slow, placement), "ring simple");
}

TEST(Tuner, ABurstGoesAtItsRateAndTheRestAtAnother)
{
    // Messages of 3 MB: 1 MB at half of 10 GB/s, 2 MB at a tenth. Launch 5 us.
    Machine machine = TwoProtocols();
    topo::ProtocolTimes& times = machine.library.Of(Protocol::kExchange);
    times.outsideShare = 0.5;
    times.bulkFrom = 1000000;
    times.bulkShare = 0.1;
    const Placement placement = UniformPlacement(2, 1);
    const auto seconds = [&](uint64_t bytes) {
        return *EstimateSeconds(*Find(Op::kSendRecv, "direct"),
                                Protocol::kExchange,
                                {Op::kSendRecv, bytes, 2},
                                placement,
                                {},
                                machine);
    };
    EXPECT_NEAR(seconds(1000000), 5e-6 + 200e-6, 1e-9);
    EXPECT_NEAR(seconds(3000000), 5e-6 + 200e-6 + 2000e-6, 1e-9);
    EXPECT_DOUBLE_EQ(times.OnWire(1000000), 2000000);
    EXPECT_DOUBLE_EQ(times.OnWire(3000000), 22000000);
}

TEST(Tuner, WhatWasLeftForLargerSizesDoesNotComeBack)
{
    // Each way takes a latency and then its bytes, so of two ways one is faster up to a size and
    // the other from there on: no number of chunks turns that round.
    for (const char* preset : {"dgx-h100", "dgx-a100", "dgx-1-v100"})
    {
        const Machine machine = MachineOfPreset(preset);
        for (const uint32_t servers : {2U, 3U, 4U, 7U, 16U})
        {
            const Placement placement = UniformPlacement(servers, 8, machine.nics);
            std::set<std::string> left;
            std::string last;
            for (double bytes = 1024; bytes < 2e9; bytes *= 1.1)
            {
                const Collective what{Op::kAllReduce, static_cast<uint64_t>(bytes), 8 * servers};
                const Choice choice = Choose(what, placement, {}, machine);
                const std::string name =
                    choice.algorithm->Name() + " " + topo::ToString(*choice.protocol);
                if (name != last)
                {
                    EXPECT_EQ(left.count(name), 0) << preset << " x " << servers << ", " << bytes
                                                   << " B: " << name << " again";
                    left.insert(last);
                    last = name;
                }
            }
        }
    }
}

} // namespace
