/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: from values of its options to what is served, by whom, and how.
 */
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/multiplex.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/serving.h"
#include "scenarios/collective/collective-checks.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/inference/options/engine-options.h"
#include "scenarios/inference/options/kernel-options.h"
#include "scenarios/inference/options/packet-blocks.h"
#include "scenarios/inference/options/requests-options.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/options/serving-pools.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/options/training-inputs.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace scenario
{

namespace
{

/// The member of a table with an option's name.
template <class T>
T
Named(const Values& values, const std::string& option, const std::map<std::string, T>& all)
{
    return all.at(values.Text(option));
}

/// Reads the options one after another: what each decides, those behind it may read.
class ServingReader
{
  public:
    explicit ServingReader(const ReadResult& read)
        : m_read(read),
          m_v{ServingOptionTable(), read.values, {}, {}, read.seat}
    {
    }

    ParseResult<ServingScenario> Read();

  private:
    void ChooseInputs();
    bool TakeModel();
    void ReadScheduling();
    void ReadSparse();
    void ReadSpeculation();
    void NoteUncut();
    Cluster MakeServers(uint32_t gpusOfServer);
    std::vector<UsedBy> UsedCollectives() const;

    bool IsFine() const
    {
        return m_v.errors.empty();
    }

    const ReadResult& m_read;
    Validation m_v;
    ServingScenario m_s;
    std::optional<training::ModelSpec> m_model;
    std::optional<topo::ServerSpec> m_server;
    std::optional<training::GpuSpec> m_gpu;
    TokenUse m_use = TokenUse::kNone;
    bool m_sized = false; ///< the user says how many GPUs there are
};

void
ServingReader::ChooseInputs()
{
    m_model = NamedModel(&m_v, &asked::Model::model, m_v.values.Get(&asked::Model::model));
    ChooseServerAndGpu(&m_v, &m_server, &m_gpu);
    if (m_gpu)
    {
        m_s.gpu = *m_gpu;
        ChooseDtype(&m_v, *m_gpu);
        const std::string& name = m_v.values.Get(&asked::Model::dtype);
        if (m_gpu->Peak(*training::ParseDtype(name)) <= 0)
        {
            std::string known;
            for (const std::string& other : training::DtypeNames())
            {
                known += m_gpu->Peak(*training::ParseDtype(other)) > 0
                             ? (known.empty() ? "" : ", ") + other
                             : "";
            }
            m_v.Fail(&asked::Model::dtype, m_gpu->name + " does not compute it; allowed: " + known);
        }
    }
    m_s.dtypeName = m_v.values.Get(&asked::Model::dtype);
    m_s.dtype = *training::ParseDtype(m_s.dtypeName);
    const std::string& kv = m_v.values.Get(&asked::Serving::kvDtype);
    m_s.kvDtype = kv == "auto" ? training::WideOf(m_s.dtype) : *training::ParseDtype(kv);
    m_s.kvElementBytes = kv == "fp8" ? 1 : training::DtypeBytes(m_s.kvDtype);
    ApplyServer(&m_v, m_server);
}

/// \return whether it can be served
bool
ServingReader::TakeModel()
{
    if (!m_model)
    {
        return false;
    }
    m_s.model = *m_model;
    m_use = TokenUseOf(m_s.model);
    m_s.plain = m_use == TokenUse::kNone;
    if (!m_s.model.graph.empty())
    {
        m_v.Fail(&asked::Model::model,
                 "is a graph of operators, which has no order to serve it in; allowed: a model of "
                 "layers");
        return false;
    }
    if (m_use == TokenUse::kEncoderDecoder)
    {
        m_v.Fail(&asked::Model::model,
                 "has an encoder beside its decoder, which no scheduler here serves; allowed: "
                 "decoders, encoders, and networks without tokens");
        return false;
    }
    m_v.Settle(when::Tokens(), !m_s.plain);
    m_v.Settle(when::NoTokens(), m_s.plain);
    m_v.Settle(when::Experts(), ExpertsOf(m_s.model) > 0);
    return true;
}

void
ServingReader::ReadSparse()
{
    const Values& values = m_v.values;
    m_v.Settle(&asked::Serving::sendShare);
    serving::SparseSpec& sparse = m_s.serving.sparse;
    m_v.Fill(&sparse);
    sparse.share =
        values.Given(&asked::Serving::sendShare) ? values.Get(&asked::Serving::sendShare) : 1;
    using Codec = serving::SparseSpec::Codec;
    sparse.codec = Named<Codec>(
        values,
        "send-codec",
        {{"none", Codec::kNone}, {"index", Codec::kIndex}, {"bitmask", Codec::kBitmask}});
}

void
ServingReader::ReadSpeculation()
{
    if (!m_v.values.Given(&asked::Serving::speculate))
    {
        return;
    }
    const auto words = ParseSpeculation(m_v.values.Get(&asked::Serving::speculate));
    if (!words.value)
    {
        m_v.Fail(&asked::Serving::speculate, words.problem);
        return;
    }
    const std::string& name = words.value->draft;
    if (!training::FindModel(name) && name.find_first_of("/.") == std::string::npos)
    {
        m_v.Fail(&asked::Serving::speculate,
                 "has the draft '" + rdma::Shown(name, 60) +
                     "', which is no model of the zoo (--list=models) and no file",
                 NearestName(name, ServingOptionTable().Find(&asked::Model::model)->names()));
        return;
    }
    m_s.draft = NamedModel(&m_v, &asked::Serving::speculate, name);
    if (m_s.draft && TokenUseOf(*m_s.draft) != TokenUse::kLoop)
    {
        m_v.Fail(&asked::Serving::speculate,
                 "has a draft that writes no tokens; allowed: a decoder");
        return;
    }
    if (m_use == TokenUse::kEncoder)
    {
        m_v.Fail(&asked::Serving::speculate,
                 m_s.model.name + " writes no tokens; allowed: with a decoder");
    }
    m_s.serving.speculation = words.value;
}

void
ServingReader::ReadScheduling()
{
    const Values& values = m_v.values;
    if (!m_s.plain)
    {
        ApplyEngine(&m_v, &m_s);
    }
    m_v.Settle(&asked::Serving::scheduler);
    serving::ServingSpec& spec = m_s.serving;
    m_v.Fill(&m_s);
    m_v.Fill(&spec);
    ReadEngine(&m_v, &m_s);
    m_s.kvGiven = values.Given(&asked::Serving::kvTokens);
    spec.dollarsPerGpuHour =
        values.Given(&asked::Serving::price) ? values.Get(&asked::Serving::price) : 0;
    spec.duration = values.Given(&asked::Serving::duration)
                        ? static_cast<double>(values.Get(&asked::Serving::duration).ps) * 1e-12
                        : 0;
    ReadSparse();
    ReadSpeculation();
    if (m_s.plain)
    {
        // One pass after the other, an iteration each; how a framework launches it is part of the
        // kernels' times.
        m_s.framework = *serving::FindFramework("ideal");
        spec.scheduler = "vllm";
        spec.tokenBudget = m_s.batch;
        spec.chunkedPrefill = false;
    }
}

/// Options of cuts that the model does not have.
void
ServingReader::NoteUncut()
{
    const auto& pools = m_s.serving.pools;
    const bool cut = std::any_of(pools.begin(), pools.end(), [](const serving::PoolSpec& pool) {
        return pool.GpusOfInstance() > 1;
    });
    if (!cut && m_s.serving.sparse.share < 1)
    {
        m_v.notes.push_back("--send-share has no effect: an instance is one GPU, which sends no "
                            "activations; --tp and --pp cut the model");
    }
}

/// As many servers as the instances need, if nobody says how many there are.
Cluster
ServingReader::MakeServers(uint32_t gpusOfServer)
{
    ClusterDefaults defaults = ServingClusterDefaults();
    const Values& values = m_v.values;
    const uint32_t perServer = values.Given(&asked::Cluster::gpusPerServer)
                                   ? values.Get(&asked::Cluster::gpusPerServer)
                                   : gpusOfServer;
    m_sized = m_v.seat || values.Given(&asked::Cluster::gpus) ||
              values.Given(&asked::Cluster::servers) ||
              !topo::FamilyOfParameters(values.Get(&asked::Network::topology));
    auto pools = m_s.serving.pools;
    const uint64_t needed = PlacePools(&pools, std::max(1u, perServer));
    const uint64_t servers = (needed + perServer - 1) / std::max(1u, perServer);
    if (!m_sized)
    {
        constexpr uint64_t kMost = 1u << 20; // more is refused by the cluster's own check
        defaults.defaultTotal = static_cast<uint32_t>(std::min(servers, kMost) * perServer);
    }
    return MakeCluster(&m_v, defaults, m_server, &m_s.fabric);
}

/// The largest collectives of the first and the last group of each kind: others lie as these do.
std::vector<UsedBy>
ServingReader::UsedCollectives() const
{
    std::vector<UsedBy> used;
    const double element = training::DtypeBytes(m_s.dtype);
    double widest = 0;
    for (const training::LayerSpec& layer : m_s.model.layers)
    {
        widest = std::max(widest, m_s.plain ? layer.output.At(1, 1) : layer.output.token);
    }
    const double tokens = m_s.plain ? m_s.batch : m_s.serving.tokenBudget;
    const auto bytes = static_cast<uint64_t>(std::min(1e15, std::ceil(tokens * widest * element)));
    const auto add = [&used, bytes](coll::Op op, uint64_t first, uint32_t size, uint64_t factor) {
        UsedBy group;
        for (uint32_t i = 0; i < size; ++i)
        {
            group.ranks.push_back(static_cast<coll::Rank>(first + i));
        }
        group.collectives = {{op, std::max<uint64_t>(1, bytes * factor), size, 0, nullptr}};
        used.push_back(std::move(group));
    };
    const auto routing = training::RoutingOf(m_s.model);
    for (const serving::PoolSpec& pool : m_s.serving.pools)
    {
        const uint32_t perStage = pool.tp * pool.dp;
        const uint64_t gpus = uint64_t{pool.instances} * pool.GpusOfInstance();
        for (const bool last : {false, true})
        {
            if (pool.tp > 1)
            {
                add(coll::Op::kAllReduce, pool.firstGpu + (last ? gpus - pool.tp : 0), pool.tp, 1);
            }
            if (pool.dp > 1 && routing)
            {
                add(coll::Op::kAllToAll,
                    pool.firstGpu + (last ? gpus - perStage : 0),
                    perStage,
                    routing->topK);
            }
        }
    }
    return used;
}

ParseResult<ServingScenario>
ServingReader::Read()
{
    m_v.Settle(&asked::Multiplex::multiplex);
    ChooseInputs();
    const bool known = TakeModel();
    if (known)
    {
        ReadRequests(&m_v, m_use, &m_s);
        ReadScheduling();
        ReadKernels(&m_v, &m_s);
        m_s.serving.pools = ReadPools(&m_v, m_s.model);
        if (m_s.plain && !m_s.serving.pools.empty())
        {
            m_s.serving.maxBatch = m_s.serving.pools.front().pp; // a pass in each stage
        }
    }
    const NcclLimits nccl = ApplyNcclVariables(&m_v);
    m_s.fabric = MakeFabric(&m_v);
    Cluster cluster;
    if (known && !m_s.serving.pools.empty() && m_server)
    {
        cluster = MakeServers(m_server->gpus);
    }
    if (cluster.valid && m_gpu)
    {
        const std::size_t before = m_v.errors.size();
        CheckGpus(&m_v, cluster.spec, m_sized, &m_s);
        CheckCuts(&m_v, m_s);
        ReadPacketBlocks(&m_v, cluster.spec, &m_s);
        NoteUncut();
        if (m_v.errors.size() == before && m_s.serving.requests.count > 0)
        {
            MakeKvBlocks(&m_v, &m_s);
        }
    }
    m_v.Settle(&asked::Run::on);
    if (m_v.values.Get(&asked::Run::on) == "slurm" && !m_s.findRate && m_s.rates.size() < 2)
    {
        m_v.Fail(&asked::Run::on,
                 "is of the runs that this one starts, and it starts none without " +
                     Spell(&asked::Serving::findRate) + " or " + Spell(&asked::Serving::sweepRate));
    }
    m_s.collectives =
        MakeCollectives(&m_v,
                        cluster.valid ? &cluster.spec : nullptr,
                        m_s.fabric,
                        nccl,
                        {cluster.valid && IsFine() ? UsedCollectives() : std::vector<UsedBy>(),
                         true,
                         training::DtypeBytes(m_s.dtype)});
    if (cluster.valid && IsFine() && UsedCollectives().empty())
    {
        NoteIdleKnobs(&m_v);
    }
    return FinishedOn(std::move(cluster), m_read, std::move(m_v), std::move(m_s));
}

} // namespace

ParseResult<ServingScenario>
ValidateServing(const ReadResult& read)
{
    return ServingReader(read).Read();
}

} // namespace scenario
