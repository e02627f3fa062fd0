/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: from values of its options to training steps of a neural network.
 */
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/compute-options.h"
#include "scenarios/spec/data-parallel-options.h"
#include "scenarios/spec/idle-options.h"
#include "scenarios/spec/jobs.h"
#include "scenarios/spec/launch-options.h"
#include "scenarios/spec/measured-choices.h"
#include "scenarios/spec/micro-batch.h"
#include "scenarios/spec/nccl-environment.h"
#include "scenarios/spec/parallel-options.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/recovery-options.h"
#include "scenarios/spec/strategy-options.h"
#include "scenarios/spec/trace-options.h"
#include "scenarios/spec/training-options.h"
#include "scenarios/spec/validate.h"
#include "scenarios/training/plan-check.h"
#include "scenarios/training/profile-shape.h"
#include "scenarios/training/served-plan.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/training-plan.h"
#include "scenarios/workload/registry.h"
#include "topologies/family.h"
#include "topologies/json-reader.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace scenario
{

namespace
{

constexpr uint32_t kDefaultSequence = 2048;

/// Mistakes in a file, with its name and the place in it.
void
TakeFileErrors(Validation* v, const std::vector<topo::Error>& errors)
{
    for (const auto& e : errors)
    {
        v->errors.push_back({"", "", e.Sentence(), ""});
    }
}

/// JSON of a file named by an option, or an error.
std::optional<nlohmann::json>
JsonFile(Validation* v, const std::string& option)
{
    const std::string& file = v->values.Text(option);
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(file, errors);
    if (!text)
    {
        v->FailFile(option, errors);
        return std::nullopt;
    }
    auto json = topo::ReadJson(*text, file, errors);
    TakeFileErrors(v, errors);
    return json;
}

/// What `parse` makes of the JSON file that an option names; nothing after an error.
template <class T>
std::optional<T>
FromFile(Validation* v,
         const std::string& option,
         std::optional<T> (*parse)(const nlohmann::json&,
                                   const std::string&,
                                   std::vector<topo::Error>&))
{
    const auto json = JsonFile(v, option);
    if (!json)
    {
        return std::nullopt;
    }
    std::vector<topo::Error> errors;
    auto parsed = parse(*json, v->values.Text(option), errors);
    TakeFileErrors(v, errors);
    return parsed;
}

/// Problems of options.
void
TakeProblems(Validation* v, const std::vector<training::Problem>& problems)
{
    for (const auto& p : problems)
    {
        if (!p.error)
        {
            v->notes.push_back("warning: " +
                               (p.path.empty() ? ""
                                               : (p.path[0] == '/' ? "" : "--") +
                                                     rdma::Shown(p.path, 300) + ": ") +
                               p.text);
        }
        else if (v->table.Find(p.path))
        {
            v->Fail(p.path, p.text);
        }
        else
        {
            v->errors.push_back({p.path, "", p.text, ""});
        }
    }
}

std::string
Extension(const std::string& file)
{
    const size_t slash = file.find_last_of('/');
    const size_t dot = file.find_last_of('.');
    return dot == std::string::npos || (slash != std::string::npos && dot < slash)
               ? ""
               : file.substr(dot);
}

/// "vgg16" of "profiles/vgg16.csv".
std::string
Stem(const std::string& file)
{
    const size_t slash = file.find_last_of('/');
    const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    return name.substr(0, name.size() - Extension(file).size());
}

/// Measured layers; nothing if there are none, or after an error.
std::optional<training::LayerProfile>
ChosenProfile(Validation* v, training::ProfileShape* shape)
{
    const auto& values = v->values;
    if (!values.Given("profile"))
    {
        const char* why = "has no meaning without --profile";
        v->MustNotBeSet({"profile-model", "profile-batch", "profile-floor"}, why);
        return std::nullopt;
    }
    const std::string& file = values.Text("profile");
    const bool isCsv = Extension(file) == ".csv";
    std::optional<training::LayerProfile> profile;
    if (isCsv)
    {
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(file, errors);
        if (!text)
        {
            v->FailFile("profile", errors);
            return std::nullopt;
        }
        const std::string model =
            values.Given("profile-model") ? values.Text("profile-model") : std::string();
        profile = training::ParseProfileCsv(*text, file, model, errors);
        TakeFileErrors(v, errors);
    }
    else
    {
        v->MustNotBeGiven({"profile-model"}, "has no meaning for a profile in JSON");
        if (const auto json = JsonFile(v, "profile"))
        {
            std::vector<topo::Error> errors;
            profile = training::ParseProfileJson(*json, file, errors);
            TakeFileErrors(v, errors);
            *shape = profile ? training::ShapeOfProfile(*json) : *shape;
        }
    }
    if (profile && values.Given("profile-batch"))
    {
        const uint32_t batch = values.U32("profile-batch");
        if (profile->batch != 0 && profile->batch != batch)
        {
            v->Fail("profile-batch",
                    file + " says " + std::to_string(profile->batch),
                    std::to_string(profile->batch));
        }
        profile->batch = batch;
    }
    return profile;
}

/// \param profile gets the names of its layers, if it is the model
std::optional<training::ModelSpec>
ChosenModel(Validation* v, std::optional<training::LayerProfile>* profile)
{
    const bool inOrder = *profile && (*profile)->inOrder;
    if (inOrder)
    {
        v->DecideUnlessGiven("model", kProfileModel);
    }
    if (v->values.Text("model") == kProfileModel)
    {
        if (!inOrder)
        {
            // Of a profile that cannot be read this has been said.
            if (*profile || !v->values.Given("profile"))
            {
                v->Fail("model",
                        *profile ? "the layers of " + v->values.Text("profile") +
                                       " stand in no order; allowed: a list of them, or CSV"
                                 : "needs --profile");
            }
            return std::nullopt;
        }
        if ((*profile)->batch == 0)
        {
            v->Fail("profile",
                    "does not say of how many samples its times are; give --profile-batch");
            return std::nullopt;
        }
        if ((*profile)->elementBytes == 4)
        {
            v->DecideUnlessGiven("dtype", "fp32");
        }
        auto model = training::ModelOfProfile(**profile, Stem(v->values.Text("profile")));
        model.source = v->values.Text("profile");
        return model;
    }
    auto model = training::FindModel(v->values.Text("model"));
    return model ? model : FromFile(v, "model", training::ParseModelJson);
}

std::optional<training::GpuSpec>
GpuOfOption(Validation* v)
{
    auto gpu = training::FindGpu(v->values.Text("gpu"));
    return gpu ? gpu : FromFile(v, "gpu", training::ParseGpuJson);
}

/// Server and GPU depend on each other: --gpu alone chooses a server that has it.
void
ChooseServerAndGpu(Validation* v,
                   std::optional<topo::ServerSpec>* server,
                   std::optional<training::GpuSpec>* gpu)
{
    auto& values = v->values;
    const bool gpuGiven = values.Given("gpu");
    if (gpuGiven)
    {
        *gpu = GpuOfOption(v);
        if (!*gpu)
        {
            return;
        }
        if (!values.Given("server"))
        {
            const auto& presets = topo::ServerPresets();
            const std::string& name = (*gpu)->name;
            const topo::ServerSpec* fitting = topo::FindServerForGpu(presets, name);
            fitting =
                fitting ? fitting : topo::FindServerForGpu(presets, name.substr(0, name.find('-')));
            if (fitting)
            {
                v->Decide("server", fitting->name);
            }
            else
            {
                v->notes.push_back("no server preset has " + name + " GPUs: they stand in a " +
                                   values.Text("server") +
                                   ", with its links; --server says otherwise");
            }
        }
    }
    *server = ChosenServer(v);
    if (!*server)
    {
        return;
    }
    if (!gpuGiven)
    {
        *gpu = training::FindGpu((*server)->gpu);
        if (!*gpu)
        {
            v->Fail("server",
                    "has GPUs called " + (*server)->gpu +
                        ", which are not known; give --gpu, allowed: " + JoinNames(GpuItems()));
            return;
        }
        v->Decide("gpu", (*gpu)->name);
    }
    (*server)->gpu = (*gpu)->name;
}

/// Older GPUs have no bf16: what they have of 16 bits, or fp32, unless it is said.
void
ChooseDtype(Validation* v, const training::GpuSpec& gpu)
{
    const std::string usual = v->values.Text("dtype");
    if (v->values.Given("dtype") || gpu.Peak(*training::ParseDtype(usual)) > 0)
    {
        return;
    }
    for (const char* narrower : {"fp16", "fp32"})
    {
        if (gpu.Peak(*training::ParseDtype(narrower)) > 0)
        {
            v->Decide("dtype", narrower);
            v->notes.push_back(gpu.name + " has no " + usual + ": --dtype=" + narrower +
                               " is taken");
            return;
        }
    }
}

/// The different collectives of a plan, by the first and the last group of each kind, and the first
/// that lies on several servers of `gpus`: others lie as one of these do. \param all groups, which
/// do not do the same
std::vector<UsedBy>
CollectivesOf(const training::TrainingPlan& plan, uint32_t gpus, bool all = false)
{
    std::vector<UsedBy> used;
    for (uint32_t kind = 0; kind < plan.groupKinds.size(); ++kind)
    {
        const auto& groups = plan.groupKinds[kind].groups;
        std::set<std::size_t> looked;
        if (!groups.empty())
        {
            looked = {0, groups.size() - 1};
        }
        const auto between = std::find_if(groups.begin(), groups.end(), [gpus](const auto& ranks) {
            return std::any_of(ranks.begin(), ranks.end(), [&](coll::Rank rank) {
                return rank / gpus != ranks.front() / gpus;
            });
        });
        if (between != groups.end())
        {
            looked.insert(static_cast<std::size_t>(between - groups.begin()));
        }
        for (std::size_t g = 0; all && g < groups.size(); ++g)
        {
            looked.insert(g);
        }
        for (const std::size_t g : looked)
        {
            UsedBy user{groups[g], {}};
            std::set<std::tuple<coll::Op, uint64_t>> seen; // of blocks the largest sum tells
            for (const auto& task : plan.roles[plan.roleOf[groups[g].front()]].tasks)
            {
                if (task.kind == training::TaskKind::kCollective && task.group == kind &&
                    seen.insert({task.op, task.bytes}).second)
                {
                    user.collectives.push_back({task.op,
                                                task.bytes,
                                                static_cast<coll::Rank>(groups[g].size()),
                                                0,
                                                task.blocks});
                }
            }
            if (!user.collectives.empty())
            {
                used.push_back(std::move(user));
            }
        }
    }
    return used;
}

/// Stragglers of --slow-gpu.
void
SlowDown(Validation* v, training::TrainingPlan* plan)
{
    std::set<uint32_t> named;
    for (const auto& word : v->values.List("slow-gpu"))
    {
        const auto fail = [&](const std::string& problem) {
            v->errors.push_back({v->values.Where("slow-gpu"), word, problem, ""});
        };
        const size_t colon = word.find(':');
        uint32_t rank = 0;
        double factor = 0;
        const char* const end = word.data() + word.size();
        const auto [afterRank, badRank] = std::from_chars(word.data(), end, rank);
        const auto [afterFactor, badFactor] =
            colon == std::string::npos
                ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                : std::from_chars(word.data() + colon + 1, end, factor);
        if (badRank != std::errc() || afterRank != word.data() + colon ||
            badFactor != std::errc() || afterFactor != end || rank >= plan->ranks ||
            !(factor >= 1 && factor <= 1000))
        {
            fail("allowed: GPU:FACTOR as 5:1.3, GPU 0 to " + std::to_string(plan->ranks - 1) +
                 ", factor 1 to 1000");
            return;
        }
        plan->slowness.resize(plan->ranks, 1);
        if (!named.insert(rank).second)
        {
            fail("names GPU " + std::to_string(rank) + " a second time; allowed: once");
            return;
        }
        plan->slowness[rank] = factor;
    }
}

} // namespace

ParseResult<TrainingScenario>
ValidateTraining(const ReadResult& read)
{
    if (!read.seat && read.values.Given("jobs"))
    {
        return ValidateJobs(read);
    }
    Validation v{TrainingOptionTable(), read.values, {}, {}, read.seat};
    auto& values = v.values;
    // In a configuration as run it stands as it is without being given.
    if (v.values.Given("alone") && v.values.Where("alone").rfind("--", 0) == 0)
    {
        v.Fail("alone", "has no meaning without --jobs");
    }
    else
    {
        v.MustNotBeSet({"alone"}, "has no meaning without --jobs");
    }
    CheckLaunch(&v);
    TrainingScenario s;
    s.steps = values.U32("steps");
    s.warmupSteps = values.U32("warmup");
    s.workload = values.Given("workload") ? values.Text("workload") : workload::kDefaultWorkload;

    const bool traced = HasTrace(&v);
    DecideStages(&v);
    // DeepSpeed refuses stages 2 and 3 in a pipeline; Megatron-LM's distributed optimizer is 1.
    const bool whole =
        training::NeedsWholeTensors(*training::ParseOptimizer(values.Text("optimizer")));
    if (!traced)
    {
        v.DecideUnlessGiven("zero", whole || !HasFlush(v) ? "0" : values.U32("pp") > 1 ? "1" : "2");
        s.zero = values.U32("zero");
    }

    training::ProfileShape profileShape;
    auto profile = ChosenProfile(&v, &profileShape);
    const auto model = traced ? std::nullopt : ChosenModel(&v, &profile);
    DecideGpus(&v);
    std::optional<topo::ServerSpec> server;
    std::optional<training::GpuSpec> gpu;
    ChooseServerAndGpu(&v, &server, &gpu);
    if (gpu && !traced)
    {
        ChooseDtype(&v, *gpu);
    }
    s.dtype = values.Text("dtype");
    ApplyServer(&v, server);
    std::optional<formats::Trace> trace;
    if (traced && server && gpu)
    {
        if (IsToLaunch(values))
        {
            s.launch = MakeLaunch(&v, *gpu, *server);
        }
        else
        {
            trace = ReadTraceFiles(&v, *gpu, *server, &s.capture);
        }
    }
    const NcclLimits nccl = ApplyNcclVariables(&v);
    s.fabric = MakeFabric(&v);
    Cluster cluster;
    if (!s.launch || values.Given("gpus") || values.Given("servers"))
    {
        cluster = MakeCluster(&v, TrainingClusterDefaults(), server, &s.fabric);
    }
    if (s.launch && cluster.valid)
    {
        s.launch->servers = cluster.spec.servers;
        s.launch->gpusPerServer = cluster.spec.server.gpus;
    }

    std::vector<UsedBy> used;
    if (model && gpu && cluster.valid && v.errors.empty())
    {
        training::TrainingOptions o;
        o.model = *model;
        o.gpu = *gpu;
        o.ranks = cluster.spec.servers * cluster.spec.server.gpus;
        const training::ServedOptions served = MakeStrategy(&v, o.ranks, cluster.spec.servers);
        const bool isServed = served.strategy != training::Strategy::kSync;
        s.zero = values.U32("zero");
        o.zero = s.zero;
        o.zeroImpl = *training::ParseZeroImpl(values.Text("zero-impl"));
        o.dtype = *training::ParseDtype(s.dtype);
        o.recompute = *training::ParseRecompute(values.Text("recompute"));
        o.fusedAttention = values.Flag("fused-attention");
        o.masterWeights = values.Flag("master-weights");
        o.kernels = *training::ParseKernelSet(values.Text("kernels"));
        o.collectiveSms = values.U32("collective-sms");
        o.ignoreMemory = values.Flag("ignore-memory") || values.Flag("dry-run");
        if (!model->hasSequence)
        {
            v.MustNotBeGiven({"seq"},
                             "has no meaning for " + model->name +
                                 ", whose samples are no sequences");
            o.sequence = 1;
        }
        else
        {
            if (!values.Given("seq"))
            {
                v.Decide("seq", std::to_string(std::min(kDefaultSequence, model->sequence)));
            }
            o.sequence = values.U32("seq");
        }
        if (values.Given("buckets"))
        {
            o.bucketBytes = values.Integer("buckets");
        }
        if (values.Given("gather-bytes"))
        {
            o.gatherBytes = values.Integer("gather-bytes");
        }
        if (values.Given("prefetch"))
        {
            o.prefetchBytes = values.Integer("prefetch");
            if (s.zero != 3)
            {
                v.MustNotBeGiven({"prefetch"},
                                 "has no meaning with --zero=" + std::to_string(s.zero) +
                                     "; it belongs to --zero=3");
            }
        }
        if (values.Given("overlap"))
        {
            o.overlap = values.Flag("overlap");
        }
        o.profile = std::move(profile);
        o.profileFloor = values.Flag("profile-floor");
        if (v.errors.empty())
        {
            MakeParallel(&v, LinksOf(cluster.spec, s.fabric), &o);
        }
        if (v.errors.empty())
        {
            MakeDataParallel(&v, &o, cluster.spec.server.gpus);
            MakeCompute(&v, cluster.spec.server, &o);
        }
        // Of backup workers no sample counts.
        const uint32_t gpus = o.ranks;
        if (v.errors.empty())
        {
            o.ranks -= served.backupWorkers;
            MakeBatch(&v, &o);
            o = training::Partitioned(std::move(o));
        }
        s.microBatch = o.microBatch;
        s.accumulation = o.accumulation;
        s.globalBatch = static_cast<uint32_t>(o.GlobalBatch());
        o.ranks = gpus;
        if (v.errors.empty())
        {
            TakeProblems(&v, training::Check(o));
        }
        if (v.errors.empty() && o.profile)
        {
            TakeFileErrors(&v,
                           training::CheckProfileShape(profileShape, values.Text("profile"), o));
            const std::string note = training::NoteOfProfileShape(profileShape, o);
            if (!note.empty())
            {
                v.notes.push_back("--profile: " + note);
            }
        }
        const uint32_t few = 20; // of a run that begins with all GPUs at once: assumed
        const bool ownPace = served.strategy == training::Strategy::kDownpour;
        if (v.errors.empty() && (ownPace || !HasFlush(v)) && values.U32("steps") < few)
        {
            v.notes.push_back("--steps=" + std::to_string(values.U32("steps")) +
                              (ownPace ? ": replicas go at their own pace, and a few steps from a "
                                         "common start hardly show a slow one"
                                       : ": steps of different stages overlap, so the time "
                                         "between the ends of a few of them is rough") +
                              "; --steps=" + std::to_string(few) + " or more tell better");
        }
        if (v.errors.empty())
        {
            s.options = training::ResolvedOptions(o);
            if (isServed)
            {
                const auto plan = std::make_shared<training::ServedPlan>(s.options, served);
                s.plan = plan->TakePlan();
                s.served = plan;
            }
            else
            {
                s.plan = training::MakePlan(o);
            }
            NoteIdleOptions(&v, s.options, s.plan, nccl, isServed);
            used = CollectivesOf(s.plan, cluster.spec.server.gpus);
            SlowDown(&v, &s.plan);
            MakeGpuFaults(&v, cluster.spec, &s.plan);
            s.plan.jitter.sigma = values.Real("jitter");
            s.plan.jitter.seed = values.Integer("seed");
            // The same of each size, or their differences would be those of chance.
            s.plan.jitter.period = isServed ? UINT32_MAX : s.warmupSteps + s.steps;
            if (s.options.bucketBytes && !isServed)
            {
                v.Decide("buckets", CanonicalBytes(*s.options.bucketBytes));
                DecideDataParallel(&v, s.options);
            }
            if (s.options.overlap &&
                (!isServed || served.strategy == training::Strategy::kDownpour))
            {
                v.Decide("overlap", *s.options.overlap ? "1" : "0");
            }
        }
        s.model = model->name;
        s.parameters = model->parameters;
        s.sequence = o.sequence;
        s.gpu = gpu->name;
    }
    if (trace && cluster.valid && v.errors.empty())
    {
        MakeTraced(&v, *trace, *gpu, cluster.spec, &s);
    }
    if (s.trace)
    {
        used = CollectivesOf(s.plan, cluster.spec.server.gpus, true);
        SlowDown(&v, &s.plan);
        s.plan.jitter.sigma = values.Real("jitter");
        s.plan.jitter.seed = values.Integer("seed");
        s.plan.jitter.period = s.warmupSteps + s.steps;
    }
    s.collectives =
        MakeCollectives(&v,
                        cluster.valid ? &cluster.spec : nullptr,
                        s.fabric,
                        nccl,
                        {used,
                         s.workload != workload::kDefaultWorkload,
                         model && v.errors.empty() ? training::DtypeBytes(s.options.dtype) : 1});
    if (s.collectives.measured && cluster.valid && v.errors.empty())
    {
        s.collectives.measured->Plan(s.collectives,
                                     cluster.spec,
                                     CollectivesOf(s.plan, cluster.spec.server.gpus, true));
    }
    if (s.HasSteps())
    {
        CheckExports(&v, &s, cluster.spec);
    }
    else
    {
        s.model = NameOfTrace(values);
    }
    const std::shared_ptr<const RecoverySpec> recovery =
        cluster.valid && v.errors.empty() ? MakeRecovery(&v, cluster.spec, s) : nullptr;
    ParseResult<TrainingScenario> result =
        FinishedOn(std::move(cluster), read, std::move(v), std::move(s));
    if (result.scenario)
    {
        result.scenario->run.recovery = recovery;
    }
    return result;
}

} // namespace scenario
