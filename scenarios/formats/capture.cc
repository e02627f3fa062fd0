/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture.h"

#include "collectives/block-sizes.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/capture-blocks.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recording.h"
#include "scenarios/models/kernel.h"
#include "scenarios/training/kernel-time.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unordered_map>
#include <utility>

namespace formats
{

using coll::Op;
using coll::Rank;
using nlohmann::json;
using training::Dtype;
using training::Kernel;
using training::KernelClass;
using training::Phase;
using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

constexpr uint64_t kVersion = 1;
constexpr uint32_t kNone = UINT32_MAX;
const std::vector<std::string> kDtypes = {"f64",
                                          "f32",
                                          "tf32",
                                          "f16",
                                          "bf16",
                                          "i64",
                                          "i32",
                                          "i16",
                                          "i8",
                                          "u8",
                                          "bool",
                                          "ComplexHalf",
                                          "ComplexFloat",
                                          "ComplexDouble"};
const std::vector<std::string> kReductions =
    {"sum", "avg", "product", "min", "max", "band", "bor", "bxor", "other"};
constexpr std::size_t kMostNotes = 8; ///< of a capture's own

bool
IsFile(const std::string& path)
{
    struct stat about
    {
    };

    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

/// One JSON object, whose members are asked for one by one; the first mistake counts.
class Object
{
  public:
    Object(const json& object,
           std::string file,
           std::string where,
           std::vector<topo::Error>& errors)
        : m_object(object),
          m_file(std::move(file)),
          m_where(std::move(where)),
          m_errors(errors)
    {
    }

    bool Fail(const std::string& problem)
    {
        if (m_fine)
        {
            AddError(m_errors, m_file, m_where, problem);
        }
        m_fine = false;
        return false;
    }

    bool IsFine() const
    {
        return m_fine;
    }

    bool Has(const char* key) const
    {
        return m_object.contains(key);
    }

    const json& At(const char* key) const
    {
        return m_object.at(key);
    }

    /// Fails if one of these is not there.
    bool Needs(std::initializer_list<const char*> keys)
    {
        for (const char* key : keys)
        {
            if (!Has(key))
            {
                return Fail(std::string(key) + " is missing");
            }
        }
        return m_fine;
    }

    /// A text that is one of these, or is not there.
    std::string OneOf(const char* key, const std::vector<std::string>& allowed)
    {
        const std::string text = Text(key);
        if (Has(key) && m_fine && std::find(allowed.begin(), allowed.end(), text) == allowed.end())
        {
            Fail(std::string(key) + " is " + topo::Quoted(text) +
                 "; allowed: " + topo::JoinNames(allowed));
        }
        return text;
    }

    uint64_t Whole(const char* key, uint64_t most, uint64_t otherwise)
    {
        if (!Has(key))
        {
            return otherwise;
        }
        const json& value = m_object.at(key);
        // Some counts are computed, and written as reals.
        const double real = value.is_number() ? value.get<double>() : -1;
        if (!(real >= 0 && real <= static_cast<double>(most)) || real != std::floor(real))
        {
            Fail(std::string(key) + " is no whole number; allowed: 0 to " + std::to_string(most));
            return otherwise;
        }
        return value.is_number_unsigned() ? value.get<uint64_t>() : static_cast<uint64_t>(real);
    }

    double Real(const char* key, double most, double otherwise)
    {
        if (!Has(key))
        {
            return otherwise;
        }
        const json& value = m_object.at(key);
        const double real = value.is_number() ? value.get<double>() : -1;
        if (!(real >= 0 && real <= most))
        {
            std::ostringstream limit; // which may be above what whole numbers have
            limit << std::setprecision(15) << most;
            Fail(std::string(key) + " is no number that is allowed: 0 to " + limit.str());
            return otherwise;
        }
        return real;
    }

    std::string Text(const char* key)
    {
        if (!Has(key))
        {
            return {};
        }
        if (!m_object.at(key).is_string())
        {
            Fail(std::string(key) + " is no text");
            return {};
        }
        return m_object.at(key).get<std::string>();
    }

    bool Flag(const char* key)
    {
        if (Has(key) && !m_object.at(key).is_boolean())
        {
            Fail(std::string(key) + " is neither true nor false");
            return false;
        }
        return Has(key) && m_object.at(key).get<bool>();
    }

    /// A list of whole numbers; empty if there is none.
    std::vector<uint64_t> Wholes(const char* key, uint64_t most)
    {
        std::vector<uint64_t> list;
        if (!Has(key))
        {
            return list;
        }
        const json& value = m_object.at(key);
        if (!value.is_array())
        {
            Fail(std::string(key) + " is no list");
            return list;
        }
        for (const json& one : value)
        {
            if (!one.is_number_unsigned() || one.get<uint64_t>() > most)
            {
                Fail(std::string(key) + " has what is no whole number; allowed: 0 to " +
                     std::to_string(most));
                return {};
            }
            list.push_back(one.get<uint64_t>());
        }
        return list;
    }

  private:
    const json& m_object;
    const std::string m_file;
    const std::string m_where;
    std::vector<topo::Error>& m_errors;
    bool m_fine = true;
};

/// What a captured rank does in the step.
struct Role
{
    StepGraph graph;
    /// All-to-all-v: task, and what it has for each position.
    std::vector<std::pair<TaskId, std::vector<uint64_t>>> sends;
    std::vector<uint32_t> modules; ///< by task: ModulesOfTasks::ofTask
};

class Reader
{
  public:
    Reader(std::string folder, const CaptureMachine& machine, std::vector<topo::Error>& errors)
        : m_folder(std::move(folder)),
          m_machine(machine),
          m_errors(errors)
    {
    }

    std::optional<Captured> Read();

    /// Of the plan that was read.
    ModulesOfTasks& Modules()
    {
        return m_modulesOf;
    }

  private:
    bool ReadMeta();
    bool ReadGroups(Object& meta);
    bool ReadRoles(Object& meta);
    bool ReadRank(Rank rank, Role* role);
    bool ReadTask(Object& line, Role* role);
    bool SetKernel(Object& line, const std::string& kind, Task* task);
    bool SetCollective(Object& line, Task* task, Role* role);
    bool SetMessage(Object& line, bool sends, Task* task);
    uint16_t StreamOf(StepGraph* graph, const std::string& name);
    uint32_t KindWithRoot(uint32_t kind, uint64_t root);
    uint32_t ModuleOf(const std::string& path);
    bool MakePlan();
    bool SetBlocks();

    const std::string m_folder;
    const CaptureMachine& m_machine;
    std::vector<topo::Error>& m_errors;
    Captured m_captured;
    std::map<Rank, Role> m_roles; ///< by captured rank
    std::vector<Rank> m_roleOf;
    uint64_t m_step = 0; ///< that is taken
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> m_rootKinds;
    ModulesOfTasks m_modulesOf;
    std::unordered_map<std::string, uint32_t> m_modules; ///< index into its paths
    std::map<std::string, std::string> m_replaced; ///< data types that the GPU has not, by others

    // Of the rank:
    std::vector<std::string> m_streamNames;
    std::map<std::string, uint16_t> m_streams;
    std::unordered_map<uint64_t, TaskId> m_taskOf; ///< by id
    uint64_t m_nextId = 0;
    TaskId m_program = kNone; ///< what the program did last that holds up what it issues

    /// On a stream of NCCL's: those that start together, and those before.
    struct Batch
    {
        uint64_t number = UINT64_MAX;
        std::vector<TaskId> tasks;
        std::vector<TaskId> before;
    };

    std::map<uint64_t, Batch> m_batches; ///< by stream
    std::string m_gpu;
    bool m_anySide = false;
};

constexpr std::pair<Phase, const char*> kPhases[] = {{Phase::kForward, "forward"},
                                                     {Phase::kBackward, "backward"},
                                                     {Phase::kOptimizer, "optimizer"}};

bool
Reader::ReadGroups(Object& meta)
{
    auto& plan = m_captured.plan;
    if (!meta.Has("groups") || !meta.At("groups").is_array())
    {
        return meta.Fail("groups is missing, or no list");
    }
    for (const json& kind : meta.At("groups"))
    {
        training::GroupKind& made = plan.groupKinds.emplace_back();
        if (!kind.is_object() || !kind.contains("groups") || !kind["groups"].is_array())
        {
            return meta.Fail("groups has a kind without a list of groups");
        }
        if (kind.contains("name") && !kind["name"].is_string())
        {
            return meta.Fail("groups has a kind whose name is no text");
        }
        made.name = kind.value("name", "group");
        std::vector<bool> taken(plan.ranks);
        for (const json& group : kind["groups"])
        {
            std::vector<Rank>& ranks = made.groups.emplace_back();
            for (const json& rank : group.is_array() ? group : json::array({-1}))
            {
                if (!rank.is_number_unsigned() || rank.get<uint64_t>() >= plan.ranks ||
                    taken[rank.get<Rank>()])
                {
                    return meta.Fail("groups: \"" + rdma::Shown(made.name, 60) +
                                     "\" has what is no rank, or a rank twice; allowed: 0 to " +
                                     std::to_string(plan.ranks - 1) + ", each once");
                }
                ranks.push_back(rank.get<Rank>());
                taken[ranks.back()] = true;
            }
            if (ranks.empty())
            {
                return meta.Fail("groups: \"" + rdma::Shown(made.name, 60) +
                                 "\" has a group without ranks");
            }
        }
    }
    return true;
}

bool
Reader::ReadRoles(Object& meta)
{
    const uint64_t last = m_captured.plan.ranks - 1;
    for (const uint64_t rank : meta.Wholes("ranks", last))
    {
        m_roles[static_cast<Rank>(rank)];
    }
    for (const uint64_t role : meta.Wholes("role_of", last))
    {
        if (!m_roles.count(static_cast<Rank>(role)))
        {
            return meta.Fail("role_of names rank " + std::to_string(role) +
                             ", which is none of \"ranks\"");
        }
        m_roleOf.push_back(static_cast<Rank>(role));
    }
    if (meta.IsFine() && m_roleOf.size() != m_captured.plan.ranks)
    {
        return meta.Fail("role_of has " + std::to_string(m_roleOf.size()) +
                         " ranks; allowed: as many as \"world\" says, " +
                         std::to_string(m_captured.plan.ranks));
    }
    return meta.IsFine();
}

bool
Reader::ReadMeta()
{
    const std::string file = m_folder + "/meta.json";
    const auto text = ReadInput(file, m_errors);
    if (!text)
    {
        return false;
    }
    topo::JsonText parsed = topo::ParseJsonText(*text, file);
    if (!parsed.error.problem.empty())
    {
        m_errors.push_back(std::move(parsed.error));
        return false;
    }
    const json document = std::move(parsed.value);
    Object meta(document, file, "", m_errors);
    if (!document.is_object())
    {
        return meta.Fail("is no JSON object");
    }
    if (meta.Has("format") && meta.Text("format") != "dltrain-capture")
    {
        return meta.Fail("format is " + topo::Quoted(meta.Text("format")) +
                         "; allowed: \"dltrain-capture\"");
    }
    const uint64_t version = meta.Whole("version", 1000000, 0);
    if (version != kVersion)
    {
        return meta.Fail("version " + std::to_string(version) +
                         "; allowed: " + std::to_string(kVersion));
    }
    m_captured.plan.ranks = static_cast<uint32_t>(meta.Whole("world", kMostRanks, 0));
    if (meta.IsFine() && m_captured.plan.ranks == 0)
    {
        return meta.Fail("world is 0, or missing; allowed: 1 to " + std::to_string(kMostRanks));
    }
    m_captured.gpusPerServer = static_cast<uint32_t>(meta.Whole("gpus_per_server", 1024, 0));
    if (!meta.IsFine() || !ReadGroups(meta) || !ReadRoles(meta))
    {
        return false;
    }
    if (!meta.Has("steps") || !meta.At("steps").is_object())
    {
        return meta.Fail("steps is missing");
    }
    Object steps(meta.At("steps"), file, "/steps", m_errors);
    const auto take = steps.Wholes("take", INT32_MAX);
    if (!steps.IsFine() || take.empty())
    {
        return steps.Fail("take has no step");
    }
    m_step = take.front();
    if (steps.Has("count"))
    {
        const uint64_t count = steps.Whole("count", INT32_MAX, 0);
        for (const uint64_t one : take)
        {
            if (steps.IsFine() && one >= count)
            {
                return steps.Fail("take has step " + std::to_string(one) + " of " +
                                  std::to_string(count) + "; allowed: 0 to " +
                                  std::to_string(count == 0 ? 0 : count - 1));
            }
        }
        if (!steps.IsFine())
        {
            return false;
        }
    }
    if (meta.Has("exit_status") && !meta.At("exit_status").is_number_integer())
    {
        return meta.Fail("exit_status is no whole number");
    }
    for (const char* list : {"mistakes", "notes", "memory"})
    {
        if (meta.Has(list) && !meta.At(list).is_array())
        {
            return meta.Fail(std::string(list) + " is no list");
        }
        for (const json& one : meta.Has(list) ? meta.At(list) : json::array())
        {
            const bool isText = std::string(list) == "notes";
            if (isText ? !one.is_string() : !one.is_object())
            {
                return meta.Fail(std::string(list) + " has what is no " +
                                 (isText ? "text" : "JSON object"));
            }
            Object inside(one, file, std::string("/") + list, m_errors);
            inside.Whole("peak_allocated_bytes", kMostBytes, 0);
            inside.Whole("peak_reserved_bytes", kMostBytes, 0);
            if (!inside.IsFine())
            {
                return false;
            }
        }
    }
    if (take.size() > 1)
    {
        m_captured.notes.push_back("of " + topo::Counted(take.size(), "step") + " step " +
                                   std::to_string(m_step) + " is run, again and again");
    }
    if (meta.Has("gpu") && meta.At("gpu").is_object())
    {
        const json name = meta.At("gpu").value("name", json());
        m_gpu = name.is_string() ? name.get<std::string>() : "";
    }
    // What the capture has found and could not know.
    std::vector<std::string> said;
    for (const char* list : {"mistakes", "notes"})
    {
        if (!meta.Has(list) || !meta.At(list).is_array())
        {
            continue;
        }
        for (const json& one : meta.At(list))
        {
            const json& text2 = one.is_object() && one.contains("text") ? one["text"] : one;
            if (text2.is_string())
            {
                said.push_back((one.is_object() ? "mistake: " : "") + text2.get<std::string>());
            }
        }
    }
    for (std::size_t i = 0; i < std::min(said.size(), kMostNotes); ++i)
    {
        m_captured.notes.push_back(rdma::Shown(said[i], 300));
    }
    if (said.size() > kMostNotes)
    {
        m_captured.notes.push_back(std::to_string(said.size() - kMostNotes) + " more notes in " +
                                   file);
    }
    return meta.IsFine();
}

uint16_t
Reader::StreamOf(StepGraph* graph, const std::string& name)
{
    const auto [found, isNew] =
        m_streams.try_emplace(name, static_cast<uint16_t>(graph->streams.size()));
    if (isNew)
    {
        graph->streams.push_back(name);
    }
    return found->second;
}

uint32_t
Reader::KindWithRoot(uint32_t kind, uint64_t root)
{
    if (root == 0)
    {
        return kind;
    }
    // The same groups with another rank first, which is the root.
    auto& kinds = m_captured.plan.groupKinds;
    const auto [found, isNew] =
        m_rootKinds.try_emplace({kind, root}, static_cast<uint32_t>(kinds.size()));
    if (isNew)
    {
        training::GroupKind turned = kinds[kind];
        turned.name += " from position " + std::to_string(root);
        for (auto& ranks : turned.groups)
        {
            if (root < ranks.size())
            {
                std::rotate(ranks.begin(),
                            ranks.begin() + static_cast<std::ptrdiff_t>(root),
                            ranks.end());
            }
        }
        kinds.push_back(std::move(turned));
    }
    return found->second;
}

uint32_t
Reader::ModuleOf(const std::string& path)
{
    auto& paths = m_modulesOf.paths;
    if (paths.empty())
    {
        paths.emplace_back();
        m_modules[""] = 0;
    }
    const auto [found, isNew] = m_modules.try_emplace(path, static_cast<uint32_t>(paths.size()));
    if (isNew)
    {
        paths.push_back(path);
    }
    return found->second;
}

/// Of the text of a key "pass".
training::Pass
PassOf(const std::string& text)
{
    return text == "backward-weights"                       ? training::Pass::kBackwardWeights
           : text == "backward-input" || text == "backward" ? training::Pass::kBackwardInput
                                                            : training::Pass::kForward;
}

bool
Reader::SetKernel(Object& line, const std::string& kind, Task* task)
{
    constexpr double kMost = 1e21;
    const training::GpuSpec gpu = training::InTraining(m_machine.gpu);
    const std::string text = line.OneOf("dtype", kDtypes);
    if ((kind == "gemm" || kind == "conv") && !line.Needs({"m", "n", "k"}))
    {
        return false;
    }
    if (kind == "attention" && !line.Needs({"heads", "queries", "keys", "head_size"}))
    {
        return false;
    }
    Dtype dtype = text == "f16"    ? Dtype::kFp16
                  : text == "bf16" ? Dtype::kBf16
                  : text == "tf32" ? Dtype::kTf32
                                   : Dtype::kFp32;
    if (dtype == Dtype::kTf32 && gpu.Peak(dtype) <= 0)
    {
        dtype = Dtype::kFp32; // what libraries take on such a GPU
    }
    if (gpu.Peak(dtype) <= 0)
    {
        const Dtype other = gpu.Peak(Dtype::kFp16) > 0 ? Dtype::kFp16 : Dtype::kFp32;
        m_replaced[training::DtypeName(dtype)] = training::DtypeName(other);
        dtype = other;
    }
    Kernel kernel;
    kernel.launches = line.Real("launches", 1e9, 1);
    kernel.flops = line.Real("flops", kMost, 0);
    kernel.bytes = line.Real("read", 1e18, 0) + line.Real("written", 1e18, 0);
    kernel.pass =
        PassOf(line.OneOf("pass", {"forward", "backward", "backward-input", "backward-weights"}));
    if (kind == "gemm" || kind == "conv")
    {
        kernel.kind = kind == "gemm" ? KernelClass::kMatrix : KernelClass::kConvolution;
        kernel.batch = line.Real("batch", 1e9, 1);
        kernel.rows = line.Real("m", 1e12, 0);
        kernel.columns = line.Real("n", 1e12, 0);
        kernel.inner = line.Real("k", 1e12, 0);
        if (kernel.flops == 0)
        {
            kernel.flops =
                kernel.launches * 2 * kernel.batch * kernel.rows * kernel.columns * kernel.inner;
        }
        // Turned round for tensor cores, which want all channels of a place together, as the zoo's
        // are (layer-kernels.h): moved three times.
        if (const double turned = line.Real("channels_first", 1e18, 0); dtype != Dtype::kFp32)
        {
            kernel.bytes += 2 * turned;
        }
    }
    else if (kind == "attention")
    {
        kernel.kind = KernelClass::kAttention;
        kernel.heads = line.Real("heads", 1e12, 0);
        kernel.queries = line.Real("queries", 1e9, 0);
        kernel.keys = line.Real("keys", 1e9, 0);
        kernel.headSize = line.Real("head_size", 1e6, 0);
        kernel.causal = line.Flag("causal");
        kernel.fused = true;
        // Of the whole matrix, as layer-kernels.cc counts them: `flops` of the record has half of
        // it where causal, and how much of it a kernel computes is for its time to say.
        kernel.flops = 2 * kernel.heads * kernel.queries * kernel.keys *
                       (kernel.headSize + line.Real("value_size", 1e6, kernel.headSize)) *
                       (kernel.pass == training::Pass::kForward ? 1 : 2.5);
    }
    double seconds = 0;
    if (kind == "kernel")
    {
        if (!line.Has("us"))
        {
            return line.Fail("us is missing: what the kernel takes");
        }
        seconds = line.Real("us", 1e9, 0) * 1e-6;
    }
    else if (kind == "optimizer")
    {
        // Its traffic at the bandwidth of updates.
        constexpr auto kPlain = training::Optimizer::kSgd;
        seconds = training::OptimizerSeconds(kPlain,
                                             kernel.bytes / training::OptimizerBytes(kPlain, dtype),
                                             gpu,
                                             dtype) +
                  std::max(kernel.launches - 1, 0.0) * gpu.rates.launch;
    }
    else
    {
        seconds = training::Seconds(kernel, gpu, dtype);
    }
    if (!line.IsFine())
    {
        return false;
    }
    if (!(seconds * 1e12 <= static_cast<double>(kLongestPs)))
    {
        return line.Fail("takes more than 1000 s on " + m_machine.gpu.name);
    }
    task->duration = rdma::Duration(static_cast<int64_t>(seconds * 1e12 + 0.5));
    task->kind = kind == "optimizer" || kind == "memory" ? TaskKind::kMemory : TaskKind::kCompute;
    return true;
}

bool
Reader::SetCollective(Object& line, Task* task, Role* role)
{
    const auto& kinds = m_captured.plan.groupKinds;
    const std::string name = line.Text("op");
    const auto op = coll::ParseOp(name);
    if (!op || *op == Op::kSendRecv)
    {
        return line.Fail("op is " + topo::Quoted(name) +
                         ", no collective; allowed: all_reduce, reduce_scatter, all_gather, "
                         "broadcast, reduce, gather, scatter, alltoall, alltoallv, barrier");
    }
    line.Needs({"group", "stream"});
    if (*op != Op::kBarrier)
    {
        line.Needs({"bytes"});
    }
    line.OneOf("dtype", kDtypes);
    line.OneOf("reduce", kReductions);
    line.Whole("sequence", UINT32_MAX, 0);
    const uint64_t kind = line.Whole("group", kinds.empty() ? 0 : kinds.size() - 1, 0);
    const uint64_t root = line.Whole("root", kMostRanks, 0);
    task->kind = TaskKind::kCollective;
    task->op = *op;
    task->bytes = *op == Op::kBarrier ? 0 : line.Whole("bytes", kMostBytes, 0);
    if (!line.IsFine() || kinds.empty())
    {
        return line.Fail("there is no group");
    }
    task->group = static_cast<uint32_t>(kind);
    if (coll::HasRoot(*op))
    {
        task->group = KindWithRoot(task->group, root);
    }
    if (*op == Op::kAllToAllV)
    {
        role->sends.emplace_back(static_cast<TaskId>(role->graph.tasks.size()),
                                 line.Wholes("sends", kMostBytes));
    }
    return line.IsFine();
}

bool
Reader::SetMessage(Object& line, bool sends, Task* task)
{
    const auto& kinds = m_captured.plan.groupKinds;
    line.Needs({"group", "stream", "bytes", "peer"});
    line.OneOf("dtype", kDtypes);
    line.Whole("sequence", UINT32_MAX, 0);
    const uint64_t kind = line.Whole("group", kinds.empty() ? 0 : kinds.size() - 1, 0);
    task->kind = sends ? TaskKind::kSend : TaskKind::kRecv;
    task->bytes = line.Whole("bytes", kMostBytes, 0);
    task->group = static_cast<uint32_t>(kind);
    const json peer = line.Has("peer") ? line.At("peer") : json();
    if (!line.IsFine() || kinds.empty() || !peer.is_number_integer() ||
        peer.get<int64_t>() < -int64_t{kMostRanks} || peer.get<int64_t>() > int64_t{kMostRanks} ||
        peer.get<int64_t>() == 0)
    {
        return line.Fail("peer is no other position in the group");
    }
    task->peerOffset = static_cast<int32_t>(peer.get<int64_t>());
    return true;
}

bool
Reader::ReadTask(Object& line, Role* role)
{
    StepGraph& graph = role->graph;
    const std::string kind = line.Text("kind");
    const uint64_t id = line.Whole("id", UINT32_MAX, UINT64_MAX);
    const json step = line.Has("step") ? line.At("step") : json();
    if (!line.IsFine() || id == UINT64_MAX || !step.is_number_integer())
    {
        return line.Fail("id or step is missing");
    }
    if (id != m_nextId)
    {
        return line.Fail("id is " + std::to_string(id) + "; allowed: " + std::to_string(m_nextId) +
                         ", as ids count the tasks of the file");
    }
    ++m_nextId;
    if (step.get<int64_t>() != static_cast<int64_t>(m_step))
    {
        return true;
    }
    Task task;
    task.name = line.Text("name");
    if (line.Has("line"))
    {
        task.name += " " + line.Text("line");
    }
    const std::string phase = line.OneOf("phase", {"forward", "backward", "optimizer", "other"});
    task.phase = Phase::kOther;
    for (const auto& [which, name] : kPhases)
    {
        task.phase = phase == name ? which : task.phase;
    }
    const uint64_t stream =
        line.Whole("stream", m_streamNames.empty() ? 0 : m_streamNames.size() - 1, 0);
    const std::string streamName = m_streamNames.empty() ? "default" : m_streamNames[stream];
    const auto own = static_cast<TaskId>(graph.tasks.size());
    const bool program = kind == "host" || kind == "sync";
    bool communicates = false;
    bool blocks = program;
    bool fine = true;
    if (program)
    {
        task.kind = TaskKind::kHost;
        task.duration = rdma::Duration(static_cast<int64_t>(line.Real("us", 1e9, 0) * 1e6 + 0.5));
        task.stream = StreamOf(&graph, "program");
        task.name = task.name.empty() ? kind : task.name;
    }
    else if (kind == "collective")
    {
        communicates = true;
        fine = SetCollective(line, &task, role);
        task.stream = StreamOf(&graph,
                               streamName + (task.group < m_captured.plan.groupKinds.size()
                                                 ? " " + std::to_string(task.group)
                                                 : ""));
    }
    else if (kind == "send" || kind == "recv")
    {
        communicates = true;
        fine = SetMessage(line, kind == "send", &task);
        task.stream = StreamOf(&graph,
                               streamName + " " + kind + " " + std::to_string(task.group) + " " +
                                   std::to_string(task.peerOffset));
    }
    else if (kind == "memcpy")
    {
        if (m_machine.hostLinkRate <= 0)
        {
            return line.Fail("is a copy over PCIe, and its rate on " + m_machine.gpu.name +
                             " is not known");
        }
        line.Needs({"bytes", "direction", "stream"});
        const bool to = line.OneOf("direction", {"to-gpu", "from-gpu"}) == "to-gpu";
        task.kind = TaskKind::kHost;
        task.bytes = line.Whole("bytes", kMostBytes, 0);
        // It is begun as a kernel is: that this takes as long is assumed.
        const double seconds =
            m_machine.gpu.rates.launch + static_cast<double>(task.bytes) / m_machine.hostLinkRate;
        task.duration = rdma::Duration(static_cast<int64_t>(seconds * 1e12 + 0.5));
        task.stream = StreamOf(&graph, to ? "to GPU" : "from GPU");
        blocks = line.Flag("blocking");
    }
    else
    {
        static const std::vector<std::string> kKernels = {"gemm",
                                                          "conv",
                                                          "attention",
                                                          "norm",
                                                          "softmax",
                                                          "embedding",
                                                          "reduction",
                                                          "pointwise",
                                                          "optimizer",
                                                          "memory",
                                                          "kernel"};
        if (std::find(kKernels.begin(), kKernels.end(), kind) == kKernels.end())
        {
            return line.Fail("kind is " + topo::Quoted(kind) +
                             "; allowed: " + topo::JoinNames(kKernels) +
                             ", memcpy, collective, send, recv, sync, host");
        }
        fine = line.Needs({"stream"}) && SetKernel(line, kind, &task);
        if (stream != 0)
        {
            m_anySide = true;
            task.kind = TaskKind::kHost; // beside computing
            task.stream = StreamOf(&graph, streamName);
        }
    }
    if (!fine || !line.IsFine())
    {
        return false;
    }
    for (const uint64_t before : line.Wholes("after", UINT32_MAX))
    {
        if (before >= id)
        {
            return line.Fail("after names " + std::to_string(before) +
                             "; allowed: numbers smaller than its own, " + std::to_string(id));
        }
        const auto found = m_taskOf.find(before);
        if (found != m_taskOf.end()) // else of a step before
        {
            task.after.push_back(found->second);
        }
    }
    if (m_program != kNone)
    {
        task.after.push_back(m_program);
    }
    // The stream of the file: what starts together does, all else one after another.
    if (!program)
    {
        Batch& batch = m_batches[stream];
        const uint64_t number =
            communicates ? line.Whole("batch", UINT32_MAX, UINT64_MAX) : UINT64_MAX;
        if (number == UINT64_MAX || number != batch.number)
        {
            batch.before = std::exchange(batch.tasks, {});
            batch.number = number;
        }
        task.after.insert(task.after.end(), batch.before.begin(), batch.before.end());
        batch.tasks.push_back(own);
    }
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    if (task.after.size() > UINT16_MAX)
    {
        return line.Fail("waits for more than 65535 tasks");
    }
    if (!line.IsFine() || !m_taskOf.emplace(id, own).second)
    {
        return line.Fail("id " + std::to_string(id) + " stands in a line above");
    }
    if (blocks)
    {
        m_program = own;
    }
    graph.tasks.push_back(std::move(task));
    role->modules.push_back(ModuleOf(line.Text("module")));
    return true;
}

bool
Reader::ReadRank(Rank rank, Role* role)
{
    const std::string file = m_folder + "/rank-" + std::to_string(rank) + ".jsonl";
    if (!IsFile(file))
    {
        AddError(m_errors,
                 file,
                 "",
                 "is missing, or no file: it is what rank " + std::to_string(rank) +
                     " of this capture did");
        return false;
    }
    const auto text = ReadInput(file, m_errors);
    if (!text)
    {
        return false;
    }
    m_streamNames.clear();
    m_streams = {{"default", 0}};
    m_taskOf.clear();
    m_nextId = 0;
    bool hasHead = false;
    uint64_t tasks = UINT64_MAX;
    m_batches.clear();
    m_program = kNone;
    role->graph.streams = {"compute"};
    uint64_t number = 0;
    for (std::size_t begin = 0; begin < text->size();)
    {
        std::size_t end = text->find('\n', begin);
        end = end == std::string::npos ? text->size() : end;
        ++number;
        const std::string where = file + ":" + std::to_string(number);
        if (text->find_first_not_of(" \t\r\n", begin) >= end)
        {
            begin = end + 1;
            continue;
        }
        const auto from = text->begin() + static_cast<std::ptrdiff_t>(begin);
        const auto to = text->begin() + static_cast<std::ptrdiff_t>(end);
        const json document = json::parse(from, to, nullptr, false);
        begin = end + 1;
        if (document.is_discarded()) // is read again, for the place of what is wrong in it
        {
            topo::Error error = topo::ParseJsonText(std::string(from, to), file).error;
            error.file = where + error.file.substr(file.size() + 2); // its line is "1"
            m_errors.push_back(std::move(error));
            return false;
        }
        Object line(document, where, "", m_errors);
        if (!document.is_object())
        {
            return line.Fail("is no JSON object");
        }
        if (line.Text("kind") == "rank")
        {
            if (!line.Has("streams") || !line.At("streams").is_array())
            {
                return line.Fail("streams is missing");
            }
            if (hasHead || m_nextId > 0)
            {
                return line.Fail("a line of the rank stands behind the first one");
            }
            hasHead = true;
            if (line.Whole("rank", kMostRanks, kMostRanks) != rank || !line.IsFine())
            {
                return line.Fail("rank is not that of the file's name, " + std::to_string(rank));
            }
            tasks = line.Whole("tasks", UINT32_MAX, UINT64_MAX);
            if (!line.IsFine())
            {
                return false;
            }
            for (const json& name : line.At("streams"))
            {
                if (!name.is_string())
                {
                    return line.Fail("streams has what is no text");
                }
                m_streamNames.push_back(name.get<std::string>());
            }
            continue;
        }
        if (!hasHead)
        {
            return line.Fail("the first line is not that of the rank");
        }
        if (!ReadTask(line, role))
        {
            return false;
        }
    }
    if (!hasHead || (tasks != UINT64_MAX && tasks != m_nextId))
    {
        AddError(m_errors,
                 file,
                 "",
                 hasHead ? "has " + std::to_string(m_nextId) + " tasks, of " +
                               std::to_string(tasks) + " by its first line: it was cut"
                         : "has no line of the rank");
        return false;
    }
    if (role->graph.streams.size() > UINT16_MAX)
    {
        AddError(m_errors, file, "", "has more than 65535 streams and pairs");
        return false;
    }
    return true;
}

bool
Reader::SetBlocks()
{
    // Each group's sizes are its members' lists. Roles with some become one a rank.
    auto& plan = m_captured.plan;
    const auto fail = [&](const std::string& problem) {
        AddError(m_errors, m_folder, "", problem);
        return false;
    };
    std::map<std::pair<uint32_t, std::size_t>, std::shared_ptr<const coll::BlockSizes>> made;
    std::vector<std::vector<uint32_t>> groupOf(plan.groupKinds.size());
    for (std::size_t kind = 0; kind < plan.groupKinds.size(); ++kind)
    {
        groupOf[kind].assign(plan.ranks, kNone);
        for (std::size_t g = 0; g < plan.groupKinds[kind].groups.size(); ++g)
        {
            for (const Rank rank : plan.groupKinds[kind].groups[g])
            {
                groupOf[kind][rank] = static_cast<uint32_t>(g);
            }
        }
    }
    std::map<Rank, std::set<uint32_t>> kindsOf; // by captured rank
    for (const auto& [captured, role] : m_roles)
    {
        for (const Task& task : role.graph.tasks)
        {
            if (task.kind == TaskKind::kCollective || task.kind == TaskKind::kSend ||
                task.kind == TaskKind::kRecv)
            {
                kindsOf[captured].insert(task.group);
            }
        }
    }
    for (Rank rank = 0; rank < plan.ranks; ++rank)
    {
        for (const uint32_t kind : kindsOf[m_roleOf[rank]])
        {
            if (groupOf[kind][rank] == kNone)
            {
                return fail("rank " + std::to_string(rank) + " plays rank-" +
                            std::to_string(m_roleOf[rank]) + ".jsonl, and is in no group of \"" +
                            rdma::Shown(plan.groupKinds[kind].name, 60) + "\" of meta.json");
            }
        }
    }
    for (Rank rank = 0; rank < plan.ranks; ++rank)
    {
        const Role& role = m_roles.at(m_roleOf[rank]);
        if (role.sends.empty())
        {
            continue;
        }
        StepGraph graph = role.graph;
        for (std::size_t k = 0; k < role.sends.size(); ++k)
        {
            Task& task = graph.tasks[role.sends[k].first];
            const uint32_t g = groupOf[task.group][rank];
            if (g == kNone)
            {
                return fail("rank " + std::to_string(rank) + " is in no group of \"" +
                            rdma::Shown(plan.groupKinds[task.group].name, 60) + "\"");
            }
            const auto& ranks = plan.groupKinds[task.group].groups[g];
            std::vector<uint64_t> sizes;
            for (const Rank member : ranks)
            {
                const auto& sends = m_roles.at(m_roleOf[member]).sends;
                if (k >= sends.size() || sends[k].second.size() != ranks.size())
                {
                    return fail("alltoallv \"" + rdma::Shown(task.name, 60) + "\": rank " +
                                std::to_string(member) + " has no sizes for the " +
                                std::to_string(ranks.size()) + " ranks of its group");
                }
                sizes.insert(sizes.end(), sends[k].second.begin(), sends[k].second.end());
            }
            auto& blocks = made[{task.group, g * role.sends.size() + k}];
            if (!blocks)
            {
                blocks = std::make_shared<const coll::BlockSizes>(static_cast<Rank>(ranks.size()),
                                                                  sizes);
            }
            task.blocks = blocks;
            task.bytes = blocks->LargestInput();
        }
        plan.roleOf[rank] = static_cast<uint32_t>(plan.roles.size());
        plan.roles.push_back(std::move(graph));
        m_modulesOf.ofTask.push_back(role.modules);
    }
    return true;
}

bool
Reader::MakePlan()
{
    auto& plan = m_captured.plan;
    std::map<Rank, uint32_t> numberOf;
    for (auto& [rank, role] : m_roles)
    {
        numberOf[rank] = static_cast<uint32_t>(plan.roles.size());
        plan.roles.push_back(role.graph);
        m_modulesOf.ofTask.push_back(role.modules);
    }
    for (const Rank role : m_roleOf)
    {
        plan.roleOf.push_back(numberOf[role]);
    }
    return SetBlocks();
}

std::optional<Captured>
Reader::Read()
{
    if (!ReadMeta())
    {
        return std::nullopt;
    }
    bool any = false;
    for (auto& [rank, role] : m_roles)
    {
        if (!ReadRank(rank, &role))
        {
            return std::nullopt;
        }
        any = any || !role.graph.tasks.empty();
    }
    if (!any)
    {
        AddError(m_errors, m_folder, "", "has no task of step " + std::to_string(m_step));
        return std::nullopt;
    }
    if (!MakePlan())
    {
        return std::nullopt;
    }
    if (!m_gpu.empty())
    {
        m_captured.notes.push_back("captured for " + rdma::Shown(m_gpu, 60) +
                                   "; times are those of --gpu");
    }
    for (const auto& [dtype, other] : m_replaced)
    {
        m_captured.notes.push_back(m_machine.gpu.name + " has no " + dtype +
                                   ": such kernels take the times of " + other);
    }
    if (m_anySide)
    {
        m_captured.notes.push_back("kernels of other streams than the default one run beside it at "
                                   "full speed");
    }
    return std::move(m_captured);
}

} // namespace

bool
IsCapture(const std::string& folder)
{
    return IsFile(folder + "/meta.json");
}

std::optional<Captured>
ReadCapture(const std::string& folder,
            const CaptureMachine& machine,
            std::vector<topo::Error>& errors)
{
    return Reader(folder, machine, errors).Read();
}

std::optional<ModulesOfTasks>
ReadModules(const std::string& folder, const CaptureMachine& machine)
{
    std::vector<topo::Error> errors;
    Reader reader(folder, machine, errors);
    return IsCapture(folder) && reader.Read() ? std::optional(std::move(reader.Modules()))
                                              : std::nullopt;
}

} // namespace formats
