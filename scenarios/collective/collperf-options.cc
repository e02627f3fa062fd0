/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf: one collective over a range of sizes, options as nccl-tests names them.
 */
#include "collectives/core/block-weights.h"
#include "collectives/core/registry.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/asked/foreign-names.h"
#include "scenarios/asked/network.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/collperf-job.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/reference-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/background.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/recovery-options.h"
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

constexpr const char* kAll = "all";

const std::vector<Datatype>&
Datatypes()
{
    static const std::vector<Datatype> types = {{"int8", 1},
                                                {"uint8", 1},
                                                {"int32", 4},
                                                {"uint32", 4},
                                                {"int64", 8},
                                                {"uint64", 8},
                                                {"half", 2},
                                                {"float", 4},
                                                {"double", 8},
                                                {"bfloat16", 2},
                                                {"fp8_e4m3", 1},
                                                {"fp8_e5m2", 1}};
    return types;
}

std::vector<NamedItem>
DatatypeItems()
{
    std::vector<NamedItem> items;
    for (const auto& t : Datatypes())
    {
        items.push_back({t.name, std::to_string(t.bytes) + " B"});
    }
    items.push_back({kAll, "a row for each, of sizes that are multiples of 8 B"});
    return items;
}

/// In the order of nccl-tests (src/common.cu, test_opnames).
std::vector<NamedItem>
ReductionItems()
{
    return {{"sum", "the sum"},
            {"prod", "the product"},
            {"max", "the largest"},
            {"min", "the smallest"},
            {"avg", "the mean"},
            {"mulsum", "the sum, each times a factor first"},
            {kAll, "a row for each"}};
}

/// nccl-tests' -o is the reduction, and so it is here.
std::string
WhyNoReduction(const std::string& text)
{
    return coll::ParseOp(text)
               ? "is a collective, which is --op here; allowed: " + JoinNames(ReductionItems())
               : "";
}

std::vector<NamedItem>
OpItems()
{
    std::vector<NamedItem> items;
    for (const coll::Op op : coll::AllOps())
    {
        items.push_back({coll::OpName(op), "algorithms: " + coll::AlgorithmNames(op)});
    }
    return items;
}

std::vector<NamedItem>
BlockSizeItems()
{
    return {{"rccl-tests", "0 to 2 times the mean, as ROCm/rccl-tests' alltoallv_perf has them"},
            {"equal", "as alltoall"}};
}

/// sendrecv has the column redop in nccl-tests, too.
bool
HasReduction(coll::Op op)
{
    return coll::Reduces(op) || op == coll::Op::kSendRecv;
}

std::vector<std::string>
OpsWith(bool (*property)(coll::Op))
{
    std::vector<std::string> names;
    for (const coll::Op op : coll::AllOps())
    {
        if (property(op))
        {
            names.push_back(coll::OpName(op));
        }
    }
    return names;
}

/// nccl-tests' -o is the reduction.
std::string
WhyNoOp(const std::string& text)
{
    for (const char* reduction : {"sum", "prod", "min", "max", "avg", "mulsum", "all"})
    {
        if (text == reduction)
        {
            return "is a reduction of nccl-tests, where each collective is a program; here "
                   "--reduction (-o) is the reduction and --op the collective; allowed: " +
                   JoinNames(OpItems());
        }
    }
    return "";
}

ClusterDefaults
Defaults()
{
    ClusterDefaults d;
    d.total = "ranks";
    d.counts = &asked::Cluster::ranks;
    d.totalHelp = "ranks of the collective, one a GPU; must fill servers";
    d.totalNote = "16, or all GPUs of --servers; with -g or -t those of one";
    d.serversNote = "what the ranks fill";
    d.defaultTotal = 16;
    d.gpusPerServer = 1;
    return d;
}

OptionTable
MakeCollperfTable()
{
    OptionTable t;
    t.program = "collperf";
    t.version = kVersion;
    t.description = "one collective over a range of sizes on a packet-level RDMA network; a table "
                    "in nccl-tests' columns";
    const Section section{"/collperf", "Collective"};
    const Section sizes = section.Only(when::IsNot("op", {"barrier"}).Usual());
    t.Add({
        section.Name("op", "the operation")
            .As(&asked::Collperf::op)
            .Names("operation", OpItems)
            .Refuse(WhyNoOp)
            .Default("all_reduce"),
        section
            .Name(
                "reduction",
                "how contributions are added up, for the redop column: time does not depend on it")
            .As(&asked::Collperf::reduction)
            .Names("reduction", ReductionItems)
            .Refuse(WhyNoReduction)
            .Default("sum")
            .Letter('o')
            .Example("max")
            .Only(when::Is("op", OpsWith(HasReduction)).Usual().Hides().Strict()),
        sizes.Bytes("minbytes", "smallest size, of the whole vector as nccl-tests counts it")
            .As(&asked::Collperf::minbytes)
            .Otherwise("32MiB")
            .Letter('b')
            .Range(1, 1e15)
            .Example("1MiB"),
        sizes.Bytes("maxbytes", "largest size")
            .As(&asked::Collperf::maxbytes)
            .Otherwise("as minbytes")
            .Letter('e')
            .Range(1, 1e15)
            .Example("64MiB"),
        sizes.Real("stepfactor", "from one size to the next: times this")
            .As(&asked::Collperf::stepfactor)
            .Otherwise("2, unless stepbytes is given")
            .Letter('f')
            .Range(1.001, 1e6)
            .Example("4"),
        sizes.Bytes("stepbytes", "from one size to the next: plus this")
            .As(&asked::Collperf::stepbytes)
            .Otherwise("none")
            .Letter('i')
            .Range(1, 1e15)
            .Example("32MiB"),
        section.Integer("iters", "measured repetitions of every size")
            .As(&asked::Collperf::iters)
            .Default("1")
            .Letter('n')
            .Range(1, 1000000)
            .Example("3")
            .To(&CollperfScenario::iterations),
        section.Integer("warmup-iters", "repetitions before them")
            .As(&asked::Collperf::warmupIters)
            .Default("0")
            .Letter('w')
            .Range(0, 1000000)
            .Example("1")
            .To(&CollperfScenario::warmupIterations),
        section
            .Integer(
                "check",
                "prove each size's schedule for these ranks first; 0: leave it to the tests, which "
                "prove up to 33 ranks")
            .As(&asked::Collperf::check)
            .Default("0")
            .Letter('c')
            .Range(0, 1e6)
            .Example("1"),
        section
            .Integer("ngpus",
                     "GPUs of a thread, as nccl-tests has them: with --nthreads it makes "
                     "--gpus-per-server, "
                     "a server being a process")
            .As(&asked::Collperf::ngpus)
            .Otherwise("1")
            .Letter('g')
            .Range(1, 1024)
            .Example("8"),
        section.Integer("nthreads", "threads of a server")
            .As(&asked::Collperf::nthreads)
            .Otherwise("1")
            .Letter('t')
            .Range(1, 1024)
            .Example("2"),
        section
            .Name("datatype",
                  "type of the elements: sizes are whole elements; time does not depend on it "
                  "otherwise")
            .As(&asked::Collperf::datatype)
            .Names("datatype", DatatypeItems)
            .Default("float")
            .Letter('d')
            .To(&CollperfScenario::datatype),
        section
            .Integer("average",
                     "whose time is reported, from the start to a rank's leaving; 0: rank 0's, 1: "
                     "mean, 2: "
                     "least, 3: largest")
            .As(&asked::Collperf::average)
            .Default("3")
            .Letter('a')
            .Range(0, 3)
            .Example("1")
            .To(&CollperfScenario::average),
        section
            .List("compare",
                  "run these algorithms (or auto, or FILE.xml) as well at each size, and tell "
                  "which is "
                  "the fastest")
            .As(&asked::Collperf::compare)
            .Shows("NAME,NAME")
            .Otherwise("none")
            .Distinct()
            .Example("ring,auto"),
        ReferenceOptionRow(section),
        section.Integer("root", "rank that has the data at first, or in the end")
            .As(&asked::Collperf::root)
            .Otherwise("0")
            .Letter('r')
            .Range(0, 1e6)
            .Example("1")
            .Only(when::Is("op", OpsWith(coll::HasRoot))),
        section
            .NameOrFile(
                "block-sizes",
                "what each rank has for each other, the size being what the rank with "
                "most has: a name, or a file with a line a rank of shares for ranks 0, 1, ...")
            .As(&asked::Collperf::blockSizes)
            .Names("block sizes", BlockSizeItems)
            .Otherwise("rccl-tests")
            .Example("equal")
            .Only(when::Is("op", {"alltoallv"})),
    });
    t.Add(ClusterOptionRows(Defaults()));
    t.Add(CollectiveOptionRows());
    t.Add(NcclOptionRows());
    t.Add(NetworkOptionRows("single-switch", ServerCount::kAlways));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(BackgroundOptionRows());
    t.Add(RecoveryOptionRows(Checkpoints::kNone));
    t.Add(RunOptionRows("collperf"));
    t.lists = {{"ops", "Operations (--op)", OpItems},
               AlgorithmList(),
               NcclVariableList(),
               ServerList()};
    Append(&t.lists, FabricLists());
    t.foreign = NcclTestsNames();
    t.Finish();
    t.examples = {
        "collperf --op=all_reduce -b 1M -e 1G -f 2 --ranks=16 --algorithm=ring",
        "collperf -b 1m -e 1g -f 2 -g 8 --servers=2 --server=dgx-h100",
        "collperf --op=all_gather --servers=16 --gpus-per-server=8 --topology=fat-tree -b 256M",
        "collperf --ranks=16 -b 1K -e 16M -f 4 --compare=ring,double-binary-tree,auto",
        "collperf --op=alltoallv --ranks=16 --block-sizes=equal -b 1M -e 16M",
        "collperf --op=alltoall --ranks=64 --topology=fat-tree --oversubscription=4 -b 64M",
    };
    return t;
}

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
    ClusterDefaults defaults = Defaults();
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

const OptionTable&
CollperfOptionTable()
{
    static const OptionTable table = MakeCollperfTable();
    return table;
}

namespace
{

const RegisteredTable g_collperfRows(&CollperfOptionTable);

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
