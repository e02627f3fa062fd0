/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf, one collective over a range of sizes: its options, as nccl-tests names them. What
 * becomes of their values: collperf-scenario.cc.
 */
#include "scenarios/collective/collperf-options.h"

#include "collectives/core/registry.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/asked/foreign-names.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/reference-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/background.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/scale-up-options.h"

namespace scenario
{

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

bool
HasReduction(coll::Op op)
{
    return coll::Reduces(op) || op == coll::Op::kSendRecv;
}

ClusterDefaults
CollperfClusterDefaults()
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

namespace
{

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
    t.Add(ClusterOptionRows(CollperfClusterDefaults()));
    t.Add(CollectiveOptionRows());
    t.Add(ScaleUpOptionRows());
    t.Add(NcclOptionRows());
    t.Add(NetworkOptionRows("single-switch", ServerCount::kAlways));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(FidelityOptionRows(true));
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

} // namespace scenario
