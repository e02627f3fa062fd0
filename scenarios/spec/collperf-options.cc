/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf: one collective over a range of sizes, options as nccl-tests names them.
 */
#include "collectives/registry.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/validate.h"

#include <algorithm>

namespace scenario
{

namespace
{

constexpr size_t kMostSizes = 10000;

struct Datatype
{
    const char* name;
    uint32_t bytes;
};

const std::vector<Datatype>&
Datatypes()
{
    static const std::vector<Datatype> types = {{"int8", 1},   {"uint8", 1},  {"int32", 4}, {"uint32", 4}, {"int64", 8},
                                                {"uint64", 8}, {"half", 2},   {"float", 4}, {"double", 8}, {"bfloat16", 2},
                                                {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};
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
    return items;
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

ClusterDefaults
Defaults()
{
    ClusterDefaults d;
    d.total = "ranks";
    d.totalHelp = "ranks of the collective, one a GPU; must fill servers";
    d.totalNote = "16, or all GPUs of --servers";
    d.serversNote = "what the ranks fill";
    d.defaultTotal = 16;
    d.gpusPerServer = 1;
    return d;
}

OptionTable
MakeTable()
{
    OptionTable t;
    t.program = "collperf";
    t.version = kVersion;
    t.description = "one collective over a range of sizes on a packet-level RDMA network; a table in nccl-tests' columns";
    const std::string group = "Collective";
    const std::string json = "/collperf";
    t.Add({
        Opt("op", Kind::kName, json, group, "the operation").Names("operation", OpItems).Default("all_reduce").Letter('o'),
        Opt("minbytes", Kind::kBytes, json, group, "smallest size, of the whole vector as nccl-tests counts it")
            .Otherwise("32MiB")
            .Letter('b')
            .Range(1, 1e15)
            .Example("1MiB"),
        Opt("maxbytes", Kind::kBytes, json, group, "largest size").Otherwise("as minbytes").Letter('e').Range(1, 1e15).Example("64MiB"),
        Opt("stepfactor", Kind::kReal, json, group, "from one size to the next: times this").Otherwise("2, unless stepbytes is given").Letter('f').Range(1.001, 1e6).Example("4"),
        Opt("stepbytes", Kind::kBytes, json, group, "from one size to the next: plus this").Otherwise("none").Letter('i').Range(1, 1e15).Example("32MiB"),
        Opt("iters", Kind::kInteger, json, group, "measured repetitions of every size").Default("1").Letter('n').Range(1, 1000000).Example("3"),
        Opt("warmup-iters", Kind::kInteger, json, group, "repetitions before them").Default("0").Letter('w').Range(0, 1000000).Example("1"),
        Opt("datatype", Kind::kName, json, group, "of the elements").Names("datatype", DatatypeItems).Default("float").Letter('d'),
        Opt("root", Kind::kInteger, json, group, "rank that sends; broadcast only").Otherwise("0").Letter('r').Range(0, 1e6).Example("1"),
    });
    t.Add(ClusterOptionRows(Defaults()));
    t.Add(CollectiveOptionRows());
    t.Add(NetworkOptionRows("single-switch", "the smallest that fits the servers"));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(RunOptionRows("collperf"));
    t.lists = {{"ops", "Operations (--op)", OpItems}, AlgorithmList(), ServerList()};
    for (auto& list : FabricLists())
    {
        t.lists.push_back(std::move(list));
    }
    t.Finish();
    t.examples = {
        "collperf --op=all_reduce -b 1M -e 1G -f 2 --ranks=16 --algorithm=ring",
        "collperf --op=all_gather --servers=16 --gpus-per-server=8 --topology=fat-tree -b 256M",
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
        v->MustNotBeGiven({"minbytes", "maxbytes", "stepfactor", "stepbytes"}, "has no meaning for barrier, which moves no data");
        return {0};
    }
    if (!values.Given("minbytes"))
    {
        v->Decide("minbytes", "32MiB");
    }
    if (!values.Given("maxbytes"))
    {
        v->Decide("maxbytes", CanonicalBytes(values.Integer("minbytes")));
    }
    const uint64_t low = values.Integer("minbytes");
    const uint64_t high = values.Integer("maxbytes");
    const bool plus = values.Given("stepbytes");
    if (low > high)
    {
        v->Fail("maxbytes", "allowed: at least minbytes, " + CanonicalBytes(low));
        return {};
    }
    if (plus && values.Given("stepfactor"))
    {
        v->Fail("stepbytes", "allowed: this or stepfactor, not both");
        return {};
    }
    const std::string unit = "allowed: multiples of " + std::to_string(s.elementBytes) + " B, an element of " + s.datatype;
    if (low % s.elementBytes != 0)
    {
        v->Fail("minbytes", unit, std::to_string(std::max<uint64_t>(low / s.elementBytes, 1) * s.elementBytes));
        return {};
    }
    if (plus && values.Integer("stepbytes") % s.elementBytes != 0)
    {
        v->Fail("stepbytes", unit, std::to_string(std::max<uint64_t>(values.Integer("stepbytes") / s.elementBytes, 1) * s.elementBytes));
        return {};
    }
    if (!plus && !values.Given("stepfactor"))
    {
        v->Decide("stepfactor", "2");
    }
    std::vector<uint64_t> sizes;
    for (uint64_t bytes = low; bytes <= high;)
    {
        if (sizes.size() == kMostSizes)
        {
            v->Fail(plus ? "stepbytes" : "stepfactor", "makes more than " + std::to_string(kMostSizes) + " sizes; allowed: a larger step");
            return {};
        }
        sizes.push_back(bytes);
        if (plus)
        {
            bytes += values.Integer("stepbytes");
            continue;
        }
        // To whole elements, and always on.
        const double next = static_cast<double>(bytes) * values.Real("stepfactor");
        const uint64_t elements = static_cast<uint64_t>(next) / s.elementBytes;
        bytes = std::max(elements * s.elementBytes, bytes + s.elementBytes);
    }
    return sizes;
}

} // namespace

const OptionTable&
CollperfOptionTable()
{
    static const OptionTable table = MakeTable();
    return table;
}

ParseResult<CollperfScenario>
ValidateCollperf(const ReadResult& read)
{
    Validation v{CollperfOptionTable(), read.values, {}, {}};
    auto& values = v.values;
    CollperfScenario s;
    s.op = *coll::ParseOp(values.Text("op"));
    s.datatype = values.Text("datatype");
    for (const auto& t : Datatypes())
    {
        s.elementBytes = s.datatype == t.name ? t.bytes : s.elementBytes;
    }
    s.iterations = values.U32("iters");
    s.warmupIterations = values.U32("warmup-iters");
    s.sizes = Sizes(&v, s);
    s.fabric = MakeFabric(&v);
    Cluster cluster = MakeCluster(&v, Defaults(), ChosenServer(&v), &s.fabric);
    std::vector<coll::Collective> used;
    if (cluster.valid)
    {
        s.ranks = cluster.spec.servers * cluster.spec.server.gpus;
        if (s.op != coll::Op::kBroadcast)
        {
            v.MustNotBeGiven({"root"}, "has no meaning for " + coll::OpName(s.op) + "; it belongs to broadcast");
        }
        else
        {
            if (!values.Given("root"))
            {
                v.Decide("root", "0");
            }
            s.root = values.U32("root");
            if (s.root >= s.ranks)
            {
                v.Fail("root", "allowed: 0 to " + std::to_string(s.ranks - 1));
                s.root = 0;
            }
        }
        for (const uint64_t bytes : s.sizes)
        {
            used.push_back({s.op, bytes, s.ranks, s.root});
        }
    }
    s.collectives = MakeCollectives(&v, cluster.valid ? &cluster.spec : nullptr, used);
    s.run = MakeRun(&v, read, cluster.valid ? &cluster.spec.topology : nullptr);
    s.run.asRun = AsRun(v, s.run, cluster.fromFile);
    s.cluster = std::move(cluster.spec);
    return Finished(std::move(v), std::move(s));
}

ParseResult<CollperfScenario>
ParseCollperf(int argc, const char* const* argv)
{
    return ParseProgram<CollperfScenario>(CollperfOptionTable(), argc, argv, ValidateCollperf);
}

CollperfScenario
ParseCollperfOrExit(int argc, const char* const* argv)
{
    return OrExit(CollperfOptionTable(), ParseCollperf(argc, argv));
}

} // namespace scenario
