/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf: from values of its options to sizes and choices of a collective.
 */
#include "collectives/core/block-weights.h"
#include "collectives/core/registry.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/asked/network.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/collperf-job.h"
#include "scenarios/collective/collperf-options.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/reference-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/validate.h"
#include "topologies/family.h"

#include <algorithm>

namespace scenario
{

namespace
{

constexpr size_t kMostSizes = 10000;
constexpr uint32_t kMostRanksChecked = 512;
constexpr uint32_t kMostRanksWithBlocks = 4096; // matrices of 16 M sizes
constexpr double kMostMessagesChecked = 5e6;    ///< some ten seconds, assumed

std::vector<uint64_t>
Sizes(Validation* v, const CollperfScenario& s)
{
    auto& values = v->values;
    if (s.op == coll::Op::kBarrier)
    {
        return {0};
    }
    v->DecideTextUnlessGiven(&asked::Collperf::minbytes, "32MiB");
    v->DecideUnlessGiven(&asked::Collperf::maxbytes,
                         rdma::Bytes(values.Get(&asked::Collperf::minbytes).value));
    const uint64_t low = values.Get(&asked::Collperf::minbytes).value;
    const uint64_t high = values.Get(&asked::Collperf::maxbytes).value;
    const bool plus = values.Given(&asked::Collperf::stepbytes);
    if (low > high)
    {
        v->Fail(&asked::Collperf::maxbytes, "allowed: at least minbytes, " + CanonicalBytes(low));
        return {};
    }
    if (plus && values.Given(&asked::Collperf::stepfactor))
    {
        v->Fail(&asked::Collperf::stepbytes, "allowed: this or stepfactor, not both");
        return {};
    }
    // Whole elements, at least one, at most `most` bytes.
    const auto nearest = [&s](uint64_t bytes, uint64_t most) {
        const uint64_t below = bytes / s.elementBytes * s.elementBytes;
        const bool up =
            below == 0 || (bytes - below > s.elementBytes / 2 && below + s.elementBytes <= most);
        return std::to_string(below + (up ? s.elementBytes : 0));
    };
    const std::string unit = "allowed: multiples of " + std::to_string(s.elementBytes) +
                             " B, an element of " +
                             (s.datatype == kAll ? "the largest datatype" : s.datatype);
    if (low % s.elementBytes != 0)
    {
        v->Fail(&asked::Collperf::minbytes,
                unit,
                nearest(low, values.Given(&asked::Collperf::maxbytes) ? high : UINT64_MAX));
        return {};
    }
    if (plus && values.Get(&asked::Collperf::stepbytes).value % s.elementBytes != 0)
    {
        v->Fail(&asked::Collperf::stepbytes,
                unit,
                nearest(values.Get(&asked::Collperf::stepbytes).value, UINT64_MAX));
        return {};
    }
    if (!plus && !values.Given(&asked::Collperf::stepfactor))
    {
        v->DecideText(&asked::Collperf::stepfactor, "2");
    }
    std::vector<uint64_t> sizes;
    for (uint64_t bytes = low; bytes <= high;)
    {
        if (sizes.size() == kMostSizes)
        {
            v->Fail(plus ? "stepbytes" : "stepfactor",
                    "makes more than " + std::to_string(kMostSizes) +
                        " sizes; allowed: a larger step");
            return {};
        }
        sizes.push_back(bytes);
        if (plus)
        {
            bytes += values.Get(&asked::Collperf::stepbytes).value;
            continue;
        }
        // To whole elements, and always on.
        const double next = static_cast<double>(bytes) * values.Get(&asked::Collperf::stepfactor);
        const uint64_t elements = static_cast<uint64_t>(next) / s.elementBytes;
        bytes = std::max(elements * s.elementBytes, bytes + s.elementBytes);
    }
    return sizes;
}

/// Roughly, of all sizes: each rank's piece goes around twice, in messages of the pipeline's size
/// (1 MiB if none is given).
double
MessagesToCheck(const CollperfScenario& s)
{
    const double n = s.ranks;
    const double piece = n * static_cast<double>(s.collectives.options.pipelineBytes
                                                     ? s.collectives.options.pipelineBytes
                                                     : 1 << 20);
    double messages = 0;
    for (const uint64_t bytes : s.sizes)
    {
        messages += 2 * n * n * (1 + static_cast<double>(bytes) / piece);
    }
    messages *= static_cast<double>(1 + s.compare.size());
    return messages;
}

/// --block-sizes.
void
TakeBlockSizes(Validation* v, CollperfScenario* s)
{
    auto& values = v->values;
    if (s->op != coll::Op::kAllToAllV)
    {
        return;
    }
    v->DecideUnlessGiven(&asked::Collperf::blockSizes, "rccl-tests");
    if (s->ranks > kMostRanksWithBlocks)
    {
        v->Fail(&asked::Collperf::op,
                "has a size for each pair of ranks; allowed: at most " +
                    std::to_string(kMostRanksWithBlocks) + " ranks, or alltoall");
        return;
    }
    const std::string& given = values.Get(&asked::Collperf::blockSizes);
    if (given == "equal")
    {
        return;
    }
    if (given == "rccl-tests")
    {
        s->blockWeights = coll::RcclTestsWeights(s->ranks);
        return;
    }
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(given, errors);
    if (!text)
    {
        v->FailFile(&asked::Collperf::blockSizes, errors);
        return;
    }
    std::string error;
    if (!coll::ParseBlockWeights(*text, given, s->ranks, &s->blockWeights, &error))
    {
        v->errors.push_back({"", "", error, ""});
        s->blockWeights.clear();
    }
}

/// --reduction.
void
TakeReduction(Validation* v, CollperfScenario* s)
{
    const auto& values = v->values;
    if (!HasReduction(s->op))
    {
        s->reductions = {"none"};
        return;
    }
    s->reductions.clear();
    for (const NamedItem& item : ReductionItems())
    {
        const std::string& chosen = values.Get(&asked::Collperf::reduction);
        if (item.name != kAll && (chosen == kAll || item.name == chosen))
        {
            s->reductions.push_back(item.name);
        }
    }
}

/// -t and -g. A server is what a process is there.
void
TakeThreads(Validation* v, CollperfScenario* s)
{
    auto& values = v->values;
    if (values.Given(&asked::Collperf::nthreads) || values.Given(&asked::Collperf::ngpus))
    {
        s->threads =
            values.Given(&asked::Collperf::nthreads) ? values.Get(&asked::Collperf::nthreads) : 1;
        const uint64_t gpus =
            uint64_t{s->threads} *
            (values.Given(&asked::Collperf::ngpus) ? values.Get(&asked::Collperf::ngpus) : 1);
        if (values.Given(&asked::Cluster::gpusPerServer))
        {
            v->Fail(&asked::Cluster::gpusPerServer,
                    "has no meaning with --ngpus or --nthreads, whose product it is");
        }
        else if (gpus > 1024)
        {
            v->Fail(values.Given(&asked::Collperf::ngpus) ? "ngpus" : "nthreads",
                    "makes " + std::to_string(gpus) + " GPUs a server; allowed: at most 1024");
        }
        else
        {
            v->Decide(&asked::Cluster::gpusPerServer, gpus);
            Value& product = values.Slot(&asked::Cluster::gpusPerServer);
            product.given = true; // a server that is named has no say
            product.where =
                values.Where(values.Given(&asked::Collperf::ngpus) ? "ngpus" : "nthreads");
        }
    }
    // Not in the configuration as run, which has their product.
    values.Slot(&asked::Collperf::nthreads).present = values.Slot(&asked::Collperf::ngpus).present =
        false;
}

/// With -g or -t one server, as nccl-tests without mpirun is one process.
ClusterDefaults
DefaultsOf(Validation* v)
{
    ClusterDefaults defaults = CollperfClusterDefaults();
    const Values& values = v->values;
    const bool process =
        values.Given(&asked::Collperf::ngpus) || values.Given(&asked::Collperf::nthreads);
    const uint32_t gpus = process ? values.Get(&asked::Cluster::gpusPerServer) : 1;
    if (gpus > 1 && !values.Given(&asked::Cluster::servers) &&
        !values.Given(&asked::Cluster::ranks) &&
        topo::FamilyOfParameters(values.Get(&asked::Network::topology)))
    {
        defaults.defaultTotal = gpus;
        v->notes.push_back(values.Where(&asked::Cluster::gpusPerServer) +
                           ": one server, as nccl-tests without mpirun; --servers has more");
    }
    return defaults;
}

} // namespace

ParseResult<CollperfScenario>
ValidateCollperf(const ReadResult& read)
{
    Validation v{CollperfOptionTable(), read.values, {}, {}};
    auto& values = v.values;
    CollperfScenario s;
    s.op = *coll::ParseOp(values.Get(&asked::Collperf::op));
    v.Settle(&asked::Collperf::op);
    v.Fill(&s);
    s.datatypes.clear();
    s.elementBytes = 1;
    for (const auto& t : Datatypes())
    {
        if (s.datatype == kAll || s.datatype == t.name)
        {
            s.datatypes.push_back(t);
            s.elementBytes = std::max(s.elementBytes, t.bytes);
        }
    }
    TakeReduction(&v, &s);
    s.sizes = Sizes(&v, s);
    s.maxBytes = s.op == coll::Op::kBarrier ? 0 : values.Get(&asked::Collperf::maxbytes).value;
    s.checked = values.Get(&asked::Collperf::check) > 0;
    const size_t before = v.errors.size();
    TakeThreads(&v, &s);
    if (v.errors.size() != before)
    {
        return Finished(std::move(v),
                        std::move(s)); // the rest would be judged by a server that is not meant
    }
    const NcclLimits nccl = ApplyNcclVariables(&v);
    const auto server = ChosenServer(&v);
    ApplyServer(&v, server);
    s.fabric = MakeFabric(&v);
    Cluster cluster = MakeCluster(&v, DefaultsOf(&v), server, &s.fabric);
    std::vector<coll::Collective> used;
    if (cluster.valid)
    {
        s.ranks = cluster.spec.servers * cluster.spec.server.gpus;
        if (coll::HasRoot(s.op))
        {
            v.DecideUnlessGiven(&asked::Collperf::root, 0);
            s.root = values.Get(&asked::Collperf::root);
            if (s.root >= s.ranks)
            {
                v.Fail(&asked::Collperf::root, "allowed: 0 to " + std::to_string(s.ranks - 1));
                s.root = 0;
            }
        }
        s.gpusPerThread = cluster.spec.server.gpus / s.threads;
        if (s.checked && s.ranks > kMostRanksChecked)
        {
            v.Fail(&asked::Collperf::check,
                   "proving takes memory with the square of the ranks; allowed beyond " +
                       std::to_string(kMostRanksChecked) + " ranks: 0");
        }
        TakeBlockSizes(&v, &s);
        TakeReference(&v, cluster.spec.servers, &s);
        for (const uint64_t bytes : s.sizes)
        {
            // With blocks of their own the largest stands for all: a matrix each would be much.
            if (s.op != coll::Op::kAllToAllV || bytes == s.sizes.back())
            {
                used.push_back(s.CollectiveOf(bytes));
            }
        }
    }
    if (cluster.valid && !s.sizes.empty() && s.op == coll::Op::kAllToAllV &&
        s.CollectiveOf(s.sizes.front()).bytes == 0)
    {
        v.notes.push_back(values.Where(&asked::Collperf::minbytes) + "=" +
                          CanonicalBytes(s.sizes.front()) +
                          ": no block of this size has a whole element; nothing is sent");
    }
    for (const std::string& name : values.Get(&asked::Collperf::compare))
    {
        s.compare.push_back({name, {}});
    }
    s.collectives = MakeCollectives(&v,
                                    cluster.valid ? &cluster.spec : nullptr,
                                    s.fabric,
                                    nccl,
                                    {{{{}, used}}, false, s.elementBytes},
                                    &s.compare);
    if (s.collectives.measured && cluster.valid && v.errors.empty())
    {
        for (const CollectiveOptions* choice : s.Choices()) // which share one plan
        {
            s.collectives.measured->Plan(*choice, cluster.spec, {{{}, used}});
        }
    }
    if (s.checked && MessagesToCheck(s) > kMostMessagesChecked)
    {
        v.Fail(
            &asked::Collperf::check,
            "proving takes a while for each message, and there are more than " +
                std::to_string(static_cast<int>(kMostMessagesChecked * 1e-6)) +
                " million; allowed: 0, fewer or smaller sizes, fewer ranks, a larger --pipeline");
    }
    const std::shared_ptr<TrainingScenario> job =
        cluster.valid && v.errors.empty() ? MakeCollperfJob(&v, cluster.spec, s) : nullptr;
    ParseResult<CollperfScenario> result =
        FinishedOn(std::move(cluster), read, std::move(v), std::move(s));
    if (job && result.scenario)
    {
        CollperfScenario& whole = *result.scenario;
        whole.run.recovery = job->run.recovery;
        job->run = whole.run;
        job->fabric = whole.fabric;
        job->cluster = whole.cluster;
        job->collectives = whole.collectives;
        whole.job = job;
    }
    return result;
}

} // namespace scenario
