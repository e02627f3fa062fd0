/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rows of collectives in a table of options.
 */
#include "collectives/core/placement.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/modes.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/common-options.h"

namespace scenario
{

namespace
{

std::vector<NamedItem>
ProtocolItems()
{
    return {{kAutoAlgorithm, "the fastest by the machine's numbers, for each size"},
            {"ll", "4 bytes of data with 4 of flag: least latency"},
            {"ll128", "120 bytes of data with 8 of flag"},
            {"simple", "data alone: most bandwidth"}};
}

std::vector<NamedItem>
TunerItems()
{
    return {{kModelTuner, "by formula with the machine's numbers, among what NCCL has"},
            {kNetworkTuner, "by formula with this network's links, among all algorithms"},
            {kMeasuredTuner, "by simulating what is best by formula, kept in --tuner-cache"}};
}

std::vector<NamedItem>
LibraryItems()
{
    return {{"nccl", "launch, protocols and latencies of the server's `library`"},
            {"none", "nothing takes time but links"}};
}

} // namespace

std::vector<Option>
CollectiveOptionRows()
{
    const Section section{"/collectives", "Collectives"};
    const Section collective = section.Only(when::Collectives());
    const Section dims = collective.Only(when::Is("network", {"dims"}));
    return {
        collective
            .List("algorithm",
                  "an algorithm for all operations, or OP=NAME,OP=NAME; NAME@FROM-TO;NAME@TO- for "
                  "sizes; "
                  "auto: the fastest by the machine's numbers; FILE.xml: a schedule in MSCCL's "
                  "format")
            .As(&asked::Collective::algorithm)
            .Shows("NAME|OP=NAME,...")
            .Otherwise("auto")
            .Example("all_reduce=ring")
            .IdleUnless(when::Job(job::kMessages)),
        collective.Name("protocol", "how messages of a collective are sent")
            .As(&asked::Collective::protocol)
            .Names("protocol", ProtocolItems)
            .Default(kAutoAlgorithm)
            .Example("ll128")
            .IdleUnless(when::Job(job::kMessages))
            .IdleUnless(when::Job(job::kProtocols)),
        collective
            .Name("tuner",
                  "how auto chooses: model (NCCL's formula), network (times on these links), "
                  "measured "
                  "(the best few are simulated first, and the fastest is taken)")
            .As(&asked::Collective::tuner)
            .Names("tuner", TunerItems)
            .Default(kModelTuner)
            .Example(kMeasuredTuner),
        collective
            .Text(
                "tuner-cache",
                "folder where measurements of --tuner=measured are kept for later runs on the same "
                "network, created if missing")
            .As(&asked::Collective::tunerCache)
            .Shows("DIR")
            .Otherwise("tuner-cache in --out, or results/tuner-cache")
            .Example("tuned")
            .Only(when::Is("tuner", {"measured"})),
        section
            .Name("library",
                  "whose time it takes beyond the links: to launch, for each message, for flags")
            .As(&asked::Collective::library)
            .Names("library", LibraryItems)
            .Default("nccl")
            .Example("none"),
        collective.Integer("channels", "channels of an algorithm that has several")
            .As(&asked::Collective::channels)
            .Otherwise("the algorithm's own, one a NIC for rings")
            .Range(1, coll::kMaxChannels)
            .Example("2"),
        collective
            .Bytes("pipeline",
                   "largest message of a pipelined algorithm; hierarchical ones choose it so that "
                   "both "
                   "levels work at once, others do not cut")
            .As(&asked::Collective::pipeline)
            .Otherwise("the algorithm's own")
            .Range(1, 9e15)
            .Example("512KiB"),
        collective
            .Integer("radix",
                     "of k-nomial trees: a rank sends to at most one less of each size of subtree; "
                     "2 is the "
                     "binomial tree")
            .As(&asked::Collective::radix)
            .Otherwise("4")
            .Range(2, 1e6)
            .Example("2"),
        collective
            .List("levels",
                  "hierarchical all_reduce: an algorithm for each level, the smallest groups "
                  "first; the "
                  "last is the all_reduce between groups. With fewer names the smallest groups are "
                  "left "
                  "out")
            .As(&asked::Collective::levels)
            .Shows("NAME,NAME")
            .Otherwise("rings on both, which overlap")
            .Example("ring,halving-doubling"),
        collective
            .Text("dimensions",
                  "torus: ranks along each dimension, the last between the nearest, as --torus "
                  "counts switches")
            .As(&asked::Collective::dimensions)
            .Shows("NxN")
            .Otherwise("the network's on a torus or HyperX; elsewhere servers by GPUs of a server")
            .Example("4x4"),
        collective
            .Integer("splits", "by-dimension: chunks that go through the dimensions as a pipeline")
            .As(&asked::Collective::splits)
            .Otherwise("as many as leave each rank 16 KiB, at most 64, 16 where pieces are "
                       "messages, 4 of all-to-all; with --network=dims 4")
            .Range(1, 4096)
            .Example("16"),
        collective
            .Name("dimension-order", "by-dimension: in which order chunks go through dimensions")
            .As(&asked::Collective::dimensionOrder)
            .Names("dimension order",
                   {{"ascending", "the nearest first; all_gather the farthest first"},
                    {"round-robin", "each chunk begins with another dimension"},
                    {"themis", "the least loaded first, by bytes and rates"}})
            .Otherwise("themis; with --network=dims ascending")
            .Example("round-robin"),
        collective
            .Name("phase-order", "by-dimension: which of the chunks that wait for a dimension")
            .As(&asked::Collective::phaseOrder)
            .Names("phase order",
                   {{"fifo", "the one that came first"},
                    {"shortest", "the one that takes it for the shortest time"},
                    {"fewest-left", "the one with the fewest phases to come"}})
            .Otherwise("fifo")
            .Example("shortest"),
        collective
            .List("dimension-algorithms",
                  "by-dimension: how each dimension goes, the nearest first: ring, one-way-ring, "
                  "direct, halving-doubling")
            .As(&asked::Collective::dimensionAlgorithms)
            .Shows("NAME,NAME")
            .Otherwise("as its links are: ring, direct where all are linked, halving-doubling at a "
                       "switch; with --network=dims one-way-ring for ring")
            .Example("ring,direct"),
        dims.Duration("endpoint-delay", "before a phase of a chunk, and behind each message of it")
            .As(&asked::Collective::endpointDelay)
            .Otherwise("10ns, as in ASTRA-sim's example systems")
            .Range(0, 1e9)
            .Example("50ns"),
        dims.Rate("local-memory-rate", "rate at which a GPU's memory is read and written to add up")
            .As(&asked::Collective::localMemoryRate)
            .Otherwise("1600GBps, as in ASTRA-sim's example systems")
            .Range(1e6, 1e15)
            .Example("3350GBps"),
        dims.Integer("active-chunks",
                     "phases of chunks at once in a dimension of a GPU, each at "
                     "the full rate, as ASTRA-sim has it: more than 1 is too fast")
            .As(&asked::Collective::activeChunks)
            .Otherwise("1")
            .Range(1, 4096)
            .Example("4"),
        dims.Name("collective-optimization", "all-reduce by dimension")
            .As(&asked::Collective::collectiveOptimization)
            .Names("optimization",
                   {{"local-bandwidth",
                     "reduce-scatter towards the last dimension, all-gather back (ASTRA-sim's "
                     "localBWAware)"},
                    {"baseline", "an all-reduce of all the bytes in every dimension"}})
            .Otherwise("local-bandwidth")
            .Example("baseline"),
        section
            .Integer("parameter-servers",
                     "how many of the ranks are servers of a shard, too: of the algorithm "
                     "parameter-server, "
                     "and of a --strategy that has them")
            .As(&asked::Collective::parameterServers)
            .Otherwise("1; with a --strategy of dltrain one a server")
            .Range(1, 1e6)
            .Example("2"),
        section
            .Duration(
                "aggregation-delay",
                "time from a switch to its reduction unit, and again back (sharp, collnet-*, nvls "
                "between servers)")
            .As(&asked::Collective::aggregationDelay)
            .Default("100ns")
            .Range(1, 1e9)
            .Example("250ns"),
        section.Bytes("aggregation-memory", "bytes of one group that such a switch has room for")
            .As(&asked::Collective::aggregationMemory)
            .Default("1MiB")
            .Range(1024, 9e15)
            .Example("256KiB"),
        section
            .Integer("aggregation-groups",
                     "groups of ranks that such a switch serves; those that come later do without")
            .As(&asked::Collective::aggregationGroups)
            .Default("8")
            .Range(0, 1e6)
            .Example("2"),
        section.Duration("step-latency", "time that software takes before every send of a schedule")
            .As(&asked::Collective::stepLatency)
            .Default("0ns")
            .Range(0, 1e12)
            .Example("2us"),
        collective.Name("in-server", "how collectives inside a server are simulated")
            .As(&asked::Collective::inServer)
            .Names("in-server",
                   {{"messages",
                     "every message over the links between its GPUs; a collective inside it, and "
                     "what a ring passes on, are worked out at once where nothing else is sent, to "
                     "the same picosecond"},
                    {"one-by-one",
                     "the same without that: an event for each message, the same results, slower"},
                    {"formula",
                     "the time that --algorithm=auto compares by, from the last GPU's entry on; "
                     "they do not slow each other down"}})
            .Default("messages")
            .Example("formula"),
        collective
            .Name("collective-times",
                  "of collectives on a network without packets, between servers too")
            .As(&asked::Collective::collectiveTimes)
            .Names("collective-times",
                   {{"messages", "every message shares its NICs with all others"},
                    {"formula",
                     "the time that --algorithm=auto compares by, from the last GPU's entry on, on "
                     "the group's share of the NICs; nothing slows it down: seconds for what takes "
                     "messages hours"}})
            .Otherwise("messages")
            .Example("formula")
            .Only(when::Is("network", {"analytic"})),
    };
}

} // namespace scenario
