/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/layer-text.h"

#include "collectives/registry.h"
#include "scenarios/formats/recording.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace formats
{

using coll::Op;
using coll::Rank;
using training::Phase;
using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

enum class Policy : uint8_t
{
    kMicro,
    kData,
    kModel,
    kDataModel,
    kModelData,
    kCustomized,
    kDlrm,
    kInference,
    kTransformer,
    kTransformerAgain, ///< computes the forward again
};

constexpr std::pair<const char*, Policy> kPolicies[] = {
    {"MICRO", Policy::kMicro},
    {"DATA", Policy::kData},
    {"MODEL", Policy::kModel},
    {"HYBRID_DATA_MODEL", Policy::kDataModel},
    {"HYBRID_MODEL_DATA", Policy::kModelData},
    {"HYBRID_CUSTOMIZED", Policy::kCustomized},
    {"HYBRID_DLRM", Policy::kDlrm},
    {"HYBRID_DLRM_ENHANCED", Policy::kDlrm},
    {"DISTRIBUTED_INFERENCE", Policy::kInference},
    {"HYBRID_TRANSFORMER", Policy::kTransformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::kTransformerAgain}};

/// Groups of ranks that a text may mean.
enum class Group : uint8_t
{
    kNone,
    kAll,
    kServer, ///< the GPUs of a server
    kPlace,  ///< those of one place in all servers
    kTensor,
    kData,
    kExpert,
    kDataExpert,
};

constexpr std::pair<Group, const char*> kGroupNames[] = {{Group::kAll, "all"},
                                                         {Group::kServer, "server"},
                                                         {Group::kPlace, "place"},
                                                         {Group::kTensor, "tp"},
                                                         {Group::kData, "dp"},
                                                         {Group::kExpert, "ep"},
                                                         {Group::kDataExpert, "dp-ep"}};

constexpr std::pair<const char*, Op> kTypes[] = {{"ALLREDUCE", Op::kAllReduce},
                                                 {"ALLGATHER", Op::kAllGather},
                                                 {"REDUCESCATTER", Op::kReduceScatter},
                                                 {"ALLTOALL", Op::kAllToAll}};

constexpr uint64_t kMostLayers = 1u << 20; ///< assumed

/// Forward, input gradient, weight gradient.
enum Pass : uint8_t
{
    kForward,
    kInput,
    kWeight,
    kPasses,
};

constexpr const char* kPassNames[] = {"forward", "input gradient", "weight gradient"};
constexpr Phase kPhases[] = {Phase::kForward, Phase::kBackward, Phase::kGradient};

/// What a layer does in a pass.
struct Work
{
    rdma::Duration time;
    std::optional<Op> op;
    Group group = Group::kNone;
    uint64_t bytes = 0;
};

struct Layer
{
    std::string name;
    std::array<Work, kPasses> work;
    rdma::Duration update;
    bool checkpoint = false;
    bool again = false; ///< before its backward
};

std::optional<Policy>
PolicyOf(const std::string& word)
{
    for (const auto& [name, policy] : kPolicies)
    {
        if (word == name)
        {
            return policy;
        }
    }
    return std::nullopt;
}

std::string
PolicyNames()
{
    std::string names;
    for (const auto& [name, policy] : kPolicies)
    {
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return names;
}

/// Whole numbers, also as Python may write them: "8388608.0".
bool
ParseWhole(const std::string& word, uint64_t most, uint64_t* value)
{
    const char* const end = word.data() + word.size();
    const auto [rest, bad] = std::from_chars(word.data(), end, *value);
    const bool whole = rest == end || (rest < end && *rest == '.' && rest + 1 < end &&
                                       std::all_of(rest + 1, end, [](char c) { return c == '0'; }));
    return bad == std::errc() && whole && *value <= most;
}

class Reader
{
  public:
    Reader(std::string file, const TraceCluster& cluster, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_cluster(cluster),
          m_errors(errors)
    {
    }

    std::optional<LayerText> Read(const std::string& text);

  private:
    bool Fail(const std::string& problem)
    {
        topo::Error error;
        error.file = m_file + (m_line > 0 ? ":" + std::to_string(m_line) : "");
        error.problem = problem;
        m_errors.push_back(std::move(error));
        return false;
    }

    bool FailOn(const std::string& word, const std::string& expected)
    {
        return Fail(topo::Quoted(word) + " where there should be " + expected);
    }

    bool IsTransformer() const
    {
        return m_policy == Policy::kTransformer || m_policy == Policy::kTransformerAgain;
    }

    bool ReadHeader(const std::vector<std::string>& words);
    bool ReadLayerNumbers(const std::vector<std::string>& words,
                          std::size_t* at,
                          std::vector<uint64_t>* layers);
    bool ReadLayer(const std::vector<std::string>& words);
    bool ReadWork(const std::vector<std::string>& words, Pass pass, Policy policy, Work* work);
    bool MarkLayers();
    bool CheckRanks();
    Group GroupOf(Pass pass, Policy policy) const;
    std::vector<std::vector<Rank>> RanksOf(Group group) const;

    TaskId Compute(const Layer& layer, Pass pass, bool again, std::vector<TaskId> after);
    /// \return what ends it, or `before` if there is none
    std::vector<TaskId> Communicate(const Layer& layer,
                                    Pass pass,
                                    bool again,
                                    std::vector<TaskId> before);
    void Update(const Layer& layer, const std::vector<TaskId>& after);
    uint32_t KindOf(Group group);
    TaskId Add(Task task, const std::string& stream);
    void MakeMicro();
    void MakeForward();
    void MakeBackward();
    void MakeDlrm();

    const std::string m_file;
    const TraceCluster m_cluster;
    std::vector<topo::Error>& m_errors;
    uint64_t m_line = 0;
    Policy m_policy = Policy::kData;
    std::map<std::string, uint64_t> m_numbers; ///< of the header, by name
    std::vector<uint64_t> m_checkpoints;
    std::vector<uint64_t> m_initiates;
    uint64_t m_announced = 0;
    std::vector<Layer> m_layers;
    uint32_t m_ranks = 0;
    uint32_t m_ofServer = 1;
    std::set<std::string> m_passedOver; ///< types
    bool m_noGroup = false;             ///< collectives that have no group
    std::map<Group, uint32_t> m_kinds;
    training::TrainingPlan m_plan;
    StepGraph m_graph;
    std::map<std::string, uint16_t> m_streams;
    std::vector<TaskId> m_last; ///< what the next task of computing waits for
};

bool
Reader::ReadLayerNumbers(const std::vector<std::string>& words,
                         std::size_t* at,
                         std::vector<uint64_t>* layers)
{
    uint64_t count = 0;
    if (*at >= words.size() || !ParseWhole(words[*at], kMostLayers, &count) ||
        count > words.size() - *at - 1)
    {
        return Fail(words[*at - 1] + " is not followed by a number, and by as many layers");
    }
    for (uint64_t i = 0; i < count; ++i)
    {
        uint64_t layer = 0;
        if (!ParseWhole(words[++*at], kMostLayers, &layer))
        {
            return FailOn(words[*at], "a layer, from 0");
        }
        layers->push_back(layer);
    }
    return true;
}

bool
Reader::ReadHeader(const std::vector<std::string>& words)
{
    static const std::set<std::string> kKnown =
        {"model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "pp_comm"};
    const auto policy = PolicyOf(words[0]);
    if (!policy)
    {
        return FailOn(words[0], "a policy: " + PolicyNames());
    }
    m_policy = *policy;
    std::size_t at = 1;
    if (m_policy == Policy::kDlrm)
    {
        // ASTRA-sim writes the number alone, SimAI reads it behind its name.
        at += at < words.size() && words[at] == "DLRM_LAST_BOTTOM_LAYER:" ? 1 : 0;
        if (at >= words.size() || !ParseWhole(words[at], kMostLayers, &m_numbers["last"]))
        {
            return Fail("the number of the last bottom layer is missing behind " + words[0]);
        }
        ++at;
    }
    for (; at < words.size(); ++at)
    {
        std::string name = words[at];
        if (!name.empty() && name.back() == ':')
        {
            name.pop_back();
        }
        if (!IsTransformer())
        {
            return FailOn(words[at], "the end of the line");
        }
        if (name == "checkpoints" || name == "checkpoint_initiates")
        {
            ++at;
            if (!ReadLayerNumbers(words,
                                  &at,
                                  name == "checkpoints" ? &m_checkpoints : &m_initiates))
            {
                return false;
            }
            continue;
        }
        if (!kKnown.count(name))
        {
            return FailOn(
                words[at],
                "model_parallel_NPU_group:, ep:, pp:, vpp:, ga:, all_gpus:, checkpoints:, "
                "checkpoint_initiates: or pp_comm:");
        }
        if (++at >= words.size() || !ParseWhole(words[at], kMostBytes, &m_numbers[name]))
        {
            return Fail(name + ": is not followed by a whole number");
        }
    }
    if (IsTransformer() && m_numbers["model_parallel_NPU_group"] == 0)
    {
        return Fail("model_parallel_NPU_group: is missing, or 0");
    }
    return true;
}

/// Whom a collective without a name of its own is among.
Group
Reader::GroupOf(Pass pass, Policy policy) const
{
    const bool weight = pass == kWeight;
    switch (policy)
    {
    case Policy::kMicro:
    case Policy::kData:
        return weight ? Group::kAll : Group::kNone;
    case Policy::kDlrm:
        return weight || m_layers.empty() ? Group::kAll : Group::kNone; // the embedding: all
    case Policy::kModel:
    case Policy::kInference:
        return weight ? Group::kNone : Group::kAll;
    case Policy::kDataModel:
        return weight ? Group::kPlace : Group::kServer;
    case Policy::kModelData:
        return weight ? Group::kServer : Group::kPlace;
    default:
        return weight ? Group::kData : Group::kTensor;
    }
}

bool
Reader::ReadWork(const std::vector<std::string>& words, Pass pass, Policy policy, Work* work)
{
    const std::string& time = words[2 + 3 * pass];
    const std::string& type = words[3 + 3 * pass];
    const std::string& size = words[4 + 3 * pass];
    const std::string what = std::string("of the ") + kPassNames[pass];
    uint64_t ns = 0;
    if (!ParseWhole(time, kLongestPs / 1000, &ns))
    {
        return FailOn(time,
                      "the time " + what + " in ns, 0 to " + std::to_string(kLongestPs / 1000));
    }
    work->time = rdma::Duration(static_cast<int64_t>(ns) * 1000);
    if (!ParseWhole(size, kMostBytes, &work->bytes))
    {
        return FailOn(size, "the bytes " + what + ", at most 2^50");
    }
    if (type == "NONE")
    {
        return true;
    }
    if (type == "BROADCAST" && IsTransformer())
    {
        m_passedOver.insert(type); // of early versions of AICB
        return true;
    }
    std::string allowed = "NONE";
    for (const auto& [name, op] : kTypes)
    {
        allowed += std::string(", ") + name;
        for (const auto& [suffix, group] : {std::pair{"", GroupOf(pass, policy)},
                                            std::pair{"_EP", Group::kExpert},
                                            std::pair{"_DP_EP", Group::kDataExpert}})
        {
            if (type == std::string(name) + suffix && (IsTransformer() || suffix[0] == '\0'))
            {
                work->op = op;
                work->group = group;
                m_noGroup = m_noGroup || (group == Group::kNone && work->bytes > 0);
                return true;
            }
        }
    }
    return FailOn(type,
                  "the communication " + what + ": " + allowed +
                      (IsTransformer() ? ", with _EP or _DP_EP behind it or without" : ""));
}

bool
Reader::ReadLayer(const std::vector<std::string>& words)
{
    const std::size_t fields = m_policy == Policy::kCustomized ? 13 : 12;
    if (words.size() != fields)
    {
        return Fail(
            "layer " + std::to_string(m_layers.size()) + " has " +
            topo::Counted(words.size(), "field") + "; allowed: " + std::to_string(fields) +
            ", the name, a dependency, and time, communication and bytes of the forward, the "
            "input gradient and the weight gradient, and the update's time" +
            (fields == 13 ? ", and the layer's policy" : ""));
    }
    Policy policy = m_policy;
    if (m_policy == Policy::kCustomized)
    {
        const auto own = PolicyOf(words[12]);
        if (!own || (*own != Policy::kData && *own != Policy::kModel &&
                     *own != Policy::kDataModel && *own != Policy::kModelData))
        {
            return FailOn(words[12],
                          "a layer's policy: DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA");
        }
        policy = *own;
    }
    Layer layer;
    layer.name = words[0];
    for (const Pass pass : {kForward, kInput, kWeight})
    {
        if (!ReadWork(words, pass, policy, &layer.work[pass]))
        {
            return false;
        }
    }
    uint64_t update = 0;
    if (!ParseWhole(words[11], kLongestPs / 1000, &update))
    {
        return FailOn(words[11], "the time of the update in ns");
    }
    layer.update = rdma::Duration(static_cast<int64_t>(update) * 1000);
    m_layers.push_back(std::move(layer));
    return true;
}

bool
Reader::MarkLayers()
{
    for (const auto* list : {&m_checkpoints, &m_initiates})
    {
        for (const uint64_t layer : *list)
        {
            if (layer >= m_layers.size())
            {
                return Fail((list == &m_checkpoints ? "checkpoints: layer "
                                                    : "checkpoint_initiates: layer ") +
                            std::to_string(layer) + "; allowed: 0 to " +
                            std::to_string(m_layers.size() - 1));
            }
            (list == &m_checkpoints ? m_layers[layer].checkpoint : m_layers[layer].again) = true;
        }
    }
    for (const uint64_t layer : m_initiates)
    {
        if (std::none_of(m_checkpoints.begin(), m_checkpoints.end(), [&](uint64_t checkpoint) {
                return checkpoint <= layer;
            }))
        {
            return Fail("checkpoint_initiates: layer " + std::to_string(layer) +
                        " has no checkpoint before it");
        }
    }
    return true;
}

bool
Reader::CheckRanks()
{
    m_line = 1;
    const uint64_t said = m_numbers.count("all_gpus") ? m_numbers["all_gpus"] : 0;
    if (said > kMostRanks)
    {
        return Fail("all_gpus: " + std::to_string(said) + "; allowed: at most " +
                    std::to_string(kMostRanks));
    }
    m_ranks = said > 0 ? static_cast<uint32_t>(said) : m_cluster.gpus;
    if (m_ranks == 0)
    {
        return Fail("does not say how many GPUs there are; give --gpus=N or --servers=N");
    }
    m_ofServer = std::min(std::max<uint32_t>(m_cluster.gpusPerServer, 1), m_ranks);
    const auto uses = [this](Group group) {
        return std::any_of(m_layers.begin(), m_layers.end(), [&](const Layer& layer) {
            return std::any_of(layer.work.begin(), layer.work.end(), [&](const Work& work) {
                return work.op && work.bytes > 0 && work.group == group;
            });
        });
    };
    if ((uses(Group::kServer) || uses(Group::kPlace)) && m_ranks % m_ofServer != 0)
    {
        return Fail("groups in servers and between them need servers alike; there are " +
                    std::to_string(m_ranks) + " GPUs, " + std::to_string(m_ofServer) +
                    " in a server");
    }
    if (!IsTransformer())
    {
        return true;
    }
    const uint64_t tensor = m_numbers["model_parallel_NPU_group"];
    const uint64_t stages = std::max<uint64_t>(m_numbers["pp"], 1);
    const uint64_t experts = std::max<uint64_t>(m_numbers["ep"], 1);
    if (tensor > m_ranks || stages > m_ranks || m_ranks % (tensor * stages) != 0)
    {
        return Fail("model_parallel_NPU_group: " + std::to_string(tensor) +
                    (stages > 1 ? " times pp: " + std::to_string(stages) : "") +
                    " does not divide " + topo::Counted(m_ranks, "GPU"));
    }
    const uint64_t data = m_ranks / (tensor * stages);
    if (experts > data || data % experts != 0)
    {
        return Fail("ep: " + std::to_string(experts) + " does not divide the " +
                    topo::Counted(data, "replica"));
    }
    return true;
}

std::vector<std::vector<Rank>>
Reader::RanksOf(Group group) const
{
    // Ranks number b * block + p + i * stride, i < size, for each b and p < stride.
    const auto strided = [this](uint64_t size, uint64_t stride) {
        std::vector<std::vector<Rank>> groups;
        for (uint64_t block = 0; block < m_ranks; block += size * stride)
        {
            for (uint64_t p = 0; p < stride; ++p)
            {
                auto& ranks = groups.emplace_back();
                for (uint64_t i = 0; i < size; ++i)
                {
                    ranks.push_back(static_cast<Rank>(block + p + i * stride));
                }
            }
        }
        return groups;
    };
    const auto number = [this](const char* name) {
        const auto found = m_numbers.find(name);
        return found == m_numbers.end() ? uint64_t{1} : std::max<uint64_t>(found->second, 1);
    };
    const uint64_t tensor = number("model_parallel_NPU_group");
    const uint64_t experts = number("ep");
    const uint64_t data = std::max<uint64_t>(m_ranks / (tensor * number("pp")), 1);
    switch (group)
    {
    case Group::kServer:
        return strided(m_ofServer, 1);
    case Group::kPlace:
        return strided(m_ranks / m_ofServer, m_ofServer);
    case Group::kTensor:
        return strided(tensor, 1);
    case Group::kData:
        return strided(data, m_ranks / data);
    case Group::kExpert: // of tensor groups one after another
        return strided(experts, tensor);
    case Group::kDataExpert:
        return strided(data / experts, tensor * experts);
    default:
        return strided(m_ranks, 1);
    }
}

uint32_t
Reader::KindOf(Group group)
{
    const auto number = static_cast<uint32_t>(m_plan.groupKinds.size());
    const auto [found, isNew] = m_kinds.try_emplace(group, number);
    if (isNew)
    {
        const auto name = std::find_if(std::begin(kGroupNames),
                                       std::end(kGroupNames),
                                       [&](const auto& one) { return one.first == group; });
        m_plan.groupKinds.push_back({name->second, RanksOf(group)});
    }
    return found->second;
}

TaskId
Reader::Add(Task task, const std::string& stream)
{
    const auto [found, isNew] =
        m_streams.try_emplace(stream, static_cast<uint16_t>(m_graph.streams.size()));
    if (isNew)
    {
        m_graph.streams.push_back(stream);
    }
    task.stream = found->second;
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    m_graph.tasks.push_back(std::move(task));
    return static_cast<TaskId>(m_graph.tasks.size() - 1);
}

TaskId
Reader::Compute(const Layer& layer, Pass pass, bool again, std::vector<TaskId> after)
{
    Task task;
    task.phase = pass == kForward && !again ? Phase::kForward : Phase::kBackward;
    task.duration = layer.work[pass].time;
    task.name = std::string(kPassNames[pass]) + (again ? " again " : " ") + layer.name;
    task.after = std::move(after);
    return Add(std::move(task), "compute");
}

std::vector<TaskId>
Reader::Communicate(const Layer& layer, Pass pass, bool again, std::vector<TaskId> before)
{
    const Work& work = layer.work[pass];
    if (!work.op || work.bytes == 0 || work.group == Group::kNone)
    {
        return before;
    }
    const uint32_t kind = KindOf(work.group);
    const auto ranks = m_plan.groupKinds[kind].groups[0].size();
    if (ranks == 1)
    {
        return before;
    }
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = kPhases[pass];
    task.op = *work.op;
    // A rank's part: see the header.
    task.bytes =
        work.bytes * (*work.op == Op::kAllGather && !IsTransformer() ? uint64_t{ranks} : 1);
    task.group = kind;
    task.name = std::string(coll::OpName(*work.op)) + " " + kPassNames[pass] +
                (again ? " again " : " ") + layer.name;
    task.after = std::move(before);
    return {Add(std::move(task), m_plan.groupKinds[kind].name)};
}

void
Reader::Update(const Layer& layer, const std::vector<TaskId>& after)
{
    if (layer.update.ps == 0 || m_graph.tasks[after[0]].kind != TaskKind::kCollective)
    {
        return;
    }
    Task task;
    task.kind = TaskKind::kHost;
    task.phase = Phase::kOptimizer;
    task.duration = layer.update;
    task.name = "update " + layer.name;
    task.after = after;
    Add(std::move(task), "updates");
}

void
Reader::MakeMicro()
{
    for (const Layer& layer : m_layers)
    {
        const auto end = Communicate(layer, kWeight, false, {});
        if (!end.empty())
        {
            Update(layer, end);
        }
    }
}

void
Reader::MakeForward()
{
    for (const Layer& layer : m_layers)
    {
        m_last = Communicate(layer, kForward, false, {Compute(layer, kForward, false, m_last)});
    }
}

void
Reader::MakeBackward()
{
    const bool data = m_policy == Policy::kData;
    for (std::size_t i = m_layers.size(); i-- > 0;)
    {
        const Layer& layer = m_layers[i];
        if (layer.again)
        {
            std::size_t from = i;
            while (!m_layers[from].checkpoint)
            {
                --from;
            }
            for (; from < i; ++from)
            {
                const Layer& once = m_layers[from];
                m_last = Communicate(once, kForward, true, {Compute(once, kForward, true, m_last)});
            }
        }
        if (data)
        {
            // Gradients of weights come first; of the first layer's inputs there are none.
            const TaskId weight = Compute(layer, kWeight, false, m_last);
            Update(layer, Communicate(layer, kWeight, false, {weight}));
            m_last = {i > 0 ? Compute(layer, kInput, false, {weight}) : weight};
            continue;
        }
        const TaskId input = Compute(layer, kInput, false, m_last);
        const auto shared = i > 0 || IsTransformer() ? Communicate(layer, kInput, false, {input})
                                                     : std::vector<TaskId>{input};
        // Transformers await the one before the other.
        const TaskId weight =
            Compute(layer, kWeight, false, IsTransformer() ? shared : std::vector<TaskId>{input});
        Update(layer, Communicate(layer, kWeight, false, {weight}));
        m_last = shared;
        m_last.push_back(weight);
    }
}

void
Reader::MakeDlrm()
{
    const std::size_t bottom = m_numbers["last"];
    std::vector<TaskId> embedding;
    for (std::size_t i = 0; i < m_layers.size(); ++i)
    {
        const TaskId forward = Compute(m_layers[i], kForward, false, m_last);
        m_last = {forward};
        if (i == 0)
        {
            embedding = Communicate(m_layers[0], kForward, false, m_last);
        }
        if (i == bottom)
        {
            m_last.insert(m_last.end(), embedding.begin(), embedding.end());
        }
    }
    std::vector<TaskId> back;
    for (std::size_t i = m_layers.size(); i-- > 0;)
    {
        const Layer& layer = m_layers[i];
        const TaskId weight = Compute(layer, kWeight, false, m_last);
        Update(layer, Communicate(layer, kWeight, false, {weight}));
        m_last = {weight};
        if (i > 0)
        {
            m_last = {Compute(layer, kInput, false, {weight})};
        }
        if (i == bottom + 1)
        {
            Communicate(m_layers[0], kInput, false, m_last);
        }
    }
}

std::optional<LayerText>
Reader::Read(const std::string& text)
{
    std::istringstream lines(text);
    std::string line;
    uint64_t header = 0;
    while (std::getline(lines, line))
    {
        ++m_line;
        std::istringstream stream(line);
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
        {
            words.push_back(std::move(word));
        }
        if (words.empty())
        {
            continue;
        }
        bool fine = true;
        if (header == 0)
        {
            fine = ReadHeader(words);
            ++header;
        }
        else if (header == 1)
        {
            fine = (words.size() == 1 && ParseWhole(words[0], kMostLayers, &m_announced) &&
                    m_announced > 0) ||
                   FailOn(words[0], "the number of layers, 1 to " + std::to_string(kMostLayers));
            ++header;
        }
        else if (m_layers.size() == m_announced)
        {
            fine = Fail("the second line announces " + topo::Counted(m_announced, "layer") +
                        ", and here is one more");
        }
        else
        {
            fine = ReadLayer(words);
        }
        if (!fine)
        {
            return std::nullopt;
        }
    }
    if (m_layers.size() != m_announced || header < 2)
    {
        Fail(header < 2 ? std::string("the number of layers is missing")
                        : "the second line announces " + topo::Counted(m_announced, "layer") +
                              ", the file has " + std::to_string(m_layers.size()));
        return std::nullopt;
    }
    m_line = 1;
    if (!MarkLayers() || !CheckRanks())
    {
        return std::nullopt;
    }
    if (m_policy == Policy::kDlrm && m_numbers["last"] >= m_layers.size())
    {
        Fail("the last bottom layer is " + std::to_string(m_numbers["last"]) + "; allowed: 0 to " +
             std::to_string(m_layers.size() - 1));
        return std::nullopt;
    }

    m_streams["compute"] = 0;
    m_graph.streams = {"compute"};
    m_plan.ranks = m_ranks;
    switch (m_policy)
    {
    case Policy::kMicro:
        MakeMicro();
        break;
    case Policy::kDlrm:
        MakeDlrm();
        break;
    default:
        MakeForward();
        if (m_policy != Policy::kInference)
        {
            MakeBackward();
        }
    }
    if (m_graph.tasks.empty())
    {
        m_line = 0;
        Fail("has nothing to run; allowed: at least one operation that takes time");
        return std::nullopt;
    }
    for (const Task& task : m_graph.tasks)
    {
        if (task.bytes > kMostBytes)
        {
            m_line = 0;
            Fail("\"" + task.name + "\" has more than 2^50 B of all ranks together");
            return std::nullopt;
        }
    }
    if (m_plan.groupKinds.empty())
    {
        m_plan.groupKinds.push_back({"all", RanksOf(Group::kAll)});
    }
    m_plan.roles.push_back(std::move(m_graph));
    m_plan.roleOf.assign(m_ranks, 0);

    LayerText result;
    result.format = m_numbers.count("all_gpus") ? "AICB text" : "ASTRA-sim text";
    for (const std::string& type : m_passedOver)
    {
        result.notes.push_back(type + " is passed over, as SimAI does");
    }
    if (m_noGroup)
    {
        result.notes.push_back("communication that the policy has no group for is passed over, as "
                               "ASTRA-sim does");
    }
    if (m_numbers.count("pp") && m_numbers["pp"] > 1)
    {
        result.notes.push_back(
            "the layers are those of one stage of the pipeline: neither its "
            "messages (pp_comm) nor its bubble are in the text, so all stages do "
            "them at the same time");
    }
    if (m_policy == Policy::kMicro)
    {
        result.notes.push_back("MICRO: collectives of weight gradients alone, one after another");
    }
    result.plan = std::move(m_plan);
    return result;
}

} // namespace

bool
IsLayerText(const std::string& first)
{
    return PolicyOf(first).has_value();
}

std::optional<LayerText>
ReadLayerText(const std::string& text,
              const std::string& file,
              const TraceCluster& cluster,
              std::vector<topo::Error>& errors)
{
    return Reader(file, cluster, errors).Read(text);
}

} // namespace formats
