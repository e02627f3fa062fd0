/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/layer-text.h"

#include "contrib/rdma/core/name-rule.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/layer-step.h"
#include "scenarios/formats/recording.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace formats
{

using coll::Op;
using namespace layers; // the list's own types

namespace
{

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

constexpr std::pair<const char*, Op> kCollectives[] = {{"ALLREDUCE", Op::kAllReduce},
                                                       {"ALLGATHER", Op::kAllGather},
                                                       {"REDUCESCATTER", Op::kReduceScatter},
                                                       {"ALLTOALL", Op::kAllToAll}};

constexpr uint64_t kMostLayers = 1u << 20; ///< assumed

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

/// The policies that may precede a list, with the one that may have been meant.
std::string
PolicyNames(const std::string& instead)
{
    std::string text;
    std::vector<std::string> names;
    for (const auto& [name, policy] : kPolicies)
    {
        text += (text.empty() ? "" : ", ") + std::string(name);
        names.emplace_back(name);
    }
    return text + topo::DidYouMean(instead, names);
}

/// Whole numbers, also as Python may write them: "8388608.0".
bool
ParseWholeOrDecimal(const std::string& word, uint64_t most, uint64_t* value)
{
    const char* const end = word.data() + word.size();
    const auto [rest, bad] = std::from_chars(word.data(), end, *value);
    const bool whole = rest == end || (rest < end && *rest == '.' && rest + 1 < end &&
                                       std::all_of(rest + 1, end, [](char c) { return c == '0'; }));
    return bad == std::errc() && whole && *value <= most;
}

std::vector<std::string>
WordsOf(const std::string& line)
{
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
    {
        words.push_back(std::move(word));
    }
    return words;
}

class LayerReader
{
  public:
    LayerReader(std::string file, const TraceCluster& cluster, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_cluster(cluster),
          m_errors(errors)
    {
    }

    std::optional<LayerText> Read(const std::string& text);

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file + (m_line > 0 ? ":" + std::to_string(m_line) : ""), "", problem);
        return false;
    }

    bool FailOn(const std::string& word, const std::string& expected)
    {
        return Fail(topo::Quoted(word) + " where there should be " + expected);
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

    const std::string m_file;
    const TraceCluster m_cluster;
    std::vector<topo::Error>& m_errors;
    uint64_t m_line = 0;
    List m_list;
    Policy& m_policy = m_list.policy;
    std::map<std::string, uint64_t> m_numbers; ///< numbers of the header, by name
    std::vector<uint64_t> m_checkpoints;
    std::vector<uint64_t> m_initiates;
    uint64_t m_announced = 0;
    std::vector<Layer>& m_layers = m_list.layers;
    uint32_t& m_ranks = m_list.ranks;
    uint32_t& m_ofServer = m_list.gpusPerServer;
    std::set<std::string> m_passedOver; ///< types
    bool m_noGroup = false;             ///< collectives that have no group
};

bool
LayerReader::ReadLayerNumbers(const std::vector<std::string>& words,
                              std::size_t* at,
                              std::vector<uint64_t>* layers)
{
    uint64_t count = 0;
    if (*at >= words.size() || !ParseWholeOrDecimal(words[*at], kMostLayers, &count) ||
        count > words.size() - *at - 1)
    {
        return Fail(words[*at - 1] + " is not followed by a number, and by as many layers");
    }
    for (uint64_t i = 0; i < count; ++i)
    {
        uint64_t layer = 0;
        if (!ParseWholeOrDecimal(words[++*at], kMostLayers, &layer))
        {
            return FailOn(words[*at], "a layer, from 0");
        }
        layers->push_back(layer);
    }
    return true;
}

bool
LayerReader::ReadHeader(const std::vector<std::string>& words)
{
    static const std::set<std::string> kKnown =
        {"model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "pp_comm"};
    const auto policy = PolicyOf(words[0]);
    if (!policy)
    {
        return FailOn(words[0], "a policy: " + PolicyNames(words[0]));
    }
    m_policy = *policy;
    std::size_t at = 1;
    if (m_policy == Policy::kDlrm)
    {
        // ASTRA-sim writes the number alone, SimAI reads it behind its name.
        at += at < words.size() && words[at] == "DLRM_LAST_BOTTOM_LAYER:" ? 1 : 0;
        if (at >= words.size() || !ParseWholeOrDecimal(words[at], kMostLayers, &m_numbers["last"]))
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
        if (!m_list.IsTransformer())
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
        if (++at >= words.size() || !ParseWholeOrDecimal(words[at], kMostBytes, &m_numbers[name]))
        {
            return Fail(name + ": is not followed by a whole number");
        }
    }
    if (m_list.IsTransformer() && m_numbers["model_parallel_NPU_group"] == 0)
    {
        return Fail("model_parallel_NPU_group: is missing, or 0");
    }
    return true;
}

/// The group of a collective without a group of its own.
Group
LayerReader::GroupOf(Pass pass, Policy policy) const
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
LayerReader::ReadWork(const std::vector<std::string>& words, Pass pass, Policy policy, Work* work)
{
    const std::string& time = words[2 + 3 * pass];
    const std::string& type = words[3 + 3 * pass];
    const std::string& size = words[4 + 3 * pass];
    const std::string what = std::string("of the ") + kPassNames[pass];
    uint64_t ns = 0;
    if (!ParseWholeOrDecimal(time, kLongestPs / 1000, &ns))
    {
        return FailOn(time,
                      "the time " + what + " in ns, 0 to " + std::to_string(kLongestPs / 1000));
    }
    work->time = rdma::Duration(static_cast<int64_t>(ns) * 1000);
    if (!ParseWholeOrDecimal(size, kMostBytes, &work->bytes))
    {
        return FailOn(size, "the bytes " + what + ", at most 2^50");
    }
    if (type == "NONE")
    {
        return true;
    }
    if (type == "BROADCAST" && m_list.IsTransformer())
    {
        m_passedOver.insert(type); // of early versions of AICB
        return true;
    }
    std::string allowed = "NONE";
    for (const auto& [name, op] : kCollectives)
    {
        allowed += std::string(", ") + name;
        for (const auto& [suffix, group] : {std::pair{"", GroupOf(pass, policy)},
                                            std::pair{"_EP", Group::kExpert},
                                            std::pair{"_DP_EP", Group::kDataExpert}})
        {
            if (type == std::string(name) + suffix && (m_list.IsTransformer() || suffix[0] == '\0'))
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
                      (m_list.IsTransformer() ? ", with _EP or _DP_EP behind it or without" : ""));
}

bool
LayerReader::ReadLayer(const std::vector<std::string>& words)
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
    if (!rdma::IsName(layer.name))
    {
        return FailOn(words[0], std::string("the name of a layer: ") + rdma::kNameHelp);
    }
    for (const Pass pass : {kForward, kInput, kWeight})
    {
        if (!ReadWork(words, pass, policy, &layer.work[pass]))
        {
            return false;
        }
    }
    uint64_t update = 0;
    if (!ParseWholeOrDecimal(words[11], kLongestPs / 1000, &update))
    {
        return FailOn(words[11], "the time of the update in ns");
    }
    layer.update = rdma::Duration(static_cast<int64_t>(update) * 1000);
    m_layers.push_back(std::move(layer));
    return true;
}

bool
LayerReader::MarkLayers()
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
LayerReader::CheckRanks()
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
        return Fail("does not say how many GPUs there are; give " +
                    scenario::Spell(&scenario::asked::Cluster::gpus) + "=N or " +
                    scenario::Spell(&scenario::asked::Cluster::servers) + "=N");
    }
    m_ofServer = std::min(std::max<uint32_t>(m_cluster.gpusPerServer, 1), m_ranks);
    for (const Layer& layer : m_layers)
    {
        for (const Work& work : layer.work)
        {
            if (work.op == Op::kAllGather && !m_list.IsTransformer() &&
                work.bytes > kMostBytes / m_ranks)
            {
                return Fail("an all-gather of layer " + topo::Quoted(layer.name) +
                            " has more than 2^50 B of all ranks together");
            }
        }
    }
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
    if (!m_list.IsTransformer())
    {
        return true;
    }
    const uint64_t tensor = m_numbers["model_parallel_NPU_group"];
    const uint64_t stages = std::max<uint64_t>(m_numbers["pp"], 1);
    const uint64_t experts = std::max<uint64_t>(m_numbers["ep"], 1);
    m_list.tensor = tensor;
    m_list.stages = stages;
    m_list.experts = experts;
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

std::optional<LayerText>
LayerReader::Read(const std::string& text)
{
    std::istringstream lines(text);
    std::string line;
    uint64_t header = 0;
    while (std::getline(lines, line))
    {
        ++m_line;
        const std::vector<std::string> words = WordsOf(line);
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
            fine = (words.size() == 1 && ParseWholeOrDecimal(words[0], kMostLayers, &m_announced) &&
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

    m_list.bottom = m_numbers["last"];
    training::TrainingPlan plan = layers::MakeStep(m_list);
    m_line = 0;
    if (plan.roles[0].tasks.empty())
    {
        Fail("has nothing to run; allowed: at least one operation that takes time");
        return std::nullopt;
    }
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
    result.plan = std::move(plan);
    return result;
}

} // namespace

bool
IsLayerText(const std::string& text)
{
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; rows.size() < 3 && std::getline(lines, line);)
    {
        std::vector<std::string> words = WordsOf(line);
        if (!words.empty() && rows.empty() && PolicyOf(words[0]))
        {
            return true;
        }
        if (!words.empty())
        {
            rows.push_back(std::move(words));
        }
    }
    uint64_t number = 0;
    return rows.size() == 3 && rows[1].size() == 1 &&
           ParseWholeOrDecimal(rows[1][0], kMostLayers, &number) &&
           (rows[2].size() == 12 || rows[2].size() == 13) &&
           ParseWholeOrDecimal(rows[2][2], UINT64_MAX, &number);
}

std::optional<LayerText>
ReadLayerText(const std::string& text,
              const std::string& file,
              const TraceCluster& cluster,
              std::vector<topo::Error>& errors)
{
    return LayerReader(file, cluster, errors).Read(text);
}

} // namespace formats
