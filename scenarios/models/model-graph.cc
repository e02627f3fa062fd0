/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/model-graph.h"

#include "contrib/rdma/core/name-rule.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-forms.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace training
{

namespace
{

struct GraphWord
{
    const char* word;
    std::size_t least; ///< inputs
    std::size_t most;
    std::vector<std::string> numbers = {};
};

const std::vector<GraphWord>&
NonElementwise()
{
    static const std::vector<GraphWord> words = {
        {"matmul", 2, 2, {"transpose_a", "transpose_b"}},
        {"linear", 2, 3, {}},
        {"conv", 2, 2, {"stride", "padding", "groups"}},
        {"maxpool", 1, 1, {"kernel", "stride", "padding"}},
        {"avgpool", 1, 1, {"kernel", "stride", "padding"}},
        {"flatten", 1, 1, {}},
        {"embedding", 2, 2, {}},
        {"attention", 3, 3, {"heads", "causal"}},
        {"layernorm", 1, 3, {}},
        {"rmsnorm", 1, 2, {}},
        {"batchnorm", 1, 3, {}},
        {"softmax", 1, 1, {}},
        {"prelu", 2, 2, {}},
        {"reduce-sum", 1, 1, {"axis"}},
        {"reduce-mean", 1, 1, {"axis"}},
        {"loss", 1, 2, {}},
    };
    return words;
}

constexpr const char* kElementwiseWords[] = {
    "elementwise", "add",    "sub",     "mul",  "div",     "floordiv", "pow",    "maximum",
    "minimum",     "select", "betainc", "relu", "gelu",    "silu",     "tanh",   "sigmoid",
    "exp",         "log",    "sqrt",    "neg",  "dropout", "cast",     "biasadd"};

const GraphWord*
FindWord(const std::string& word)
{
    const auto& words = NonElementwise();
    const auto at = std::find_if(words.begin(), words.end(), [&word](const GraphWord& w) {
        return word == w.word;
    });
    return at == words.end() ? nullptr : &*at;
}

constexpr std::pair<const char*, uint32_t> kElementTypes[] = {{"f32", 4},
                                                              {"tf32", 4},
                                                              {"f16", 2},
                                                              {"bf16", 2},
                                                              {"f8", 1}};

/// Entries by name.
using NodeNames = std::unordered_map<std::string, uint32_t>;

/// Reads one entry of "graph".
class NodeReader
{
  public:
    NodeReader(const nlohmann::json& json,
               const std::vector<GraphNode>& before,
               const NodeNames& names)
        : m_json(json),
          m_before(before),
          m_names(names)
    {
    }

    /// \return a message if it is malformed
    std::string Read(GraphNode* node) const
    {
        if (!m_json.is_array() || m_json.size() < 2 || !m_json[0].is_string() ||
            !m_json[1].is_string() || m_json[0].get<std::string>().empty())
        {
            return "must be a list of a name, a kind and what the kind takes, e.g. [\"m\", "
                   "\"matmul\", \"x\", \"w\"]";
        }
        node->name = m_json[0].get<std::string>();
        if (!rdma::IsName(node->name))
        {
            return topo::Quoted(node->name) + " is no name; allowed: " + rdma::kNameHelp;
        }
        if (node->name.find_first_of("=;()") != std::string::npos)
        {
            return "has a name with one of = ; ( ), which --shard needs";
        }
        if (m_names.count(node->name) > 0)
        {
            return "\"" + rdma::Shown(node->name, 60) + "\" is the name of two entries";
        }
        const std::string kind = m_json[1].get<std::string>();
        for (const auto& [word, of] : {std::pair("input", NodeKind::kInput),
                                       std::pair("data", NodeKind::kData),
                                       std::pair("parameter", NodeKind::kParameter)})
        {
            if (kind == word)
            {
                node->kind = of;
                return ReadTensor(node);
            }
        }
        node->word = kind;
        return ReadOperator(node);
    }

  private:
    std::string ReadTensor(GraphNode* node) const
    {
        const std::string hint = "needs a shape behind its kind: a list of 1 to 8 whole numbers "
                                 "from 1 to 2^40";
        if (m_json.size() < 3 || !m_json[2].is_array() || m_json[2].empty() || m_json[2].size() > 8)
        {
            return hint;
        }
        double elements = 1;
        for (const auto& dimension : m_json[2])
        {
            if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() < 1 ||
                dimension.get<uint64_t>() > kMost)
            {
                return hint;
            }
            node->shape.push_back(dimension.get<uint64_t>());
            elements *= dimension.get<double>();
        }
        if (elements > kMost)
        {
            return "has more than 2^40 elements";
        }
        for (std::size_t i = 3; i < m_json.size(); ++i)
        {
            const std::string word = m_json[i].is_string() ? m_json[i].get<std::string>() : "";
            const auto* const type = std::find_if(std::begin(kElementTypes),
                                                  std::end(kElementTypes),
                                                  [&](const auto& t) { return word == t.first; });
            if (type != std::end(kElementTypes))
            {
                node->bytes = type->second;
            }
            else if (word == "transposed" && node->shape.size() == 2)
            {
                node->transposed = true;
            }
            else
            {
                return "element " + std::to_string(i) +
                       " must be an element type (f32, tf32, f16, bf16, f8) or, of a matrix, "
                       "transposed";
            }
        }
        return "";
    }

    std::string ReadOperator(GraphNode* node) const
    {
        const GraphWord* const known = FindWord(node->word);
        if (known == nullptr && !IsElementwise(node->word))
        {
            const auto words = GraphWords();
            const std::string nearest = rdma::NearestName(node->word, words);
            std::string all;
            for (const std::string& word : words)
            {
                all += (all.empty() ? "" : ", ") + word;
            }
            return "\"" + rdma::Shown(node->word, 60) + "\" is not an operator" +
                   (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
                   " There are data, " + "input, parameter, " + all;
        }
        std::size_t end = m_json.size();
        if (m_json[end - 1].is_object())
        {
            --end;
            if (const std::string why = ReadNumbers(node); !why.empty())
            {
                return why;
            }
        }
        for (std::size_t i = 2; i < end; ++i)
        {
            const std::string name = m_json[i].is_string() ? m_json[i].get<std::string>() : "";
            const auto at = m_names.find(name);
            if (at == m_names.end())
            {
                std::vector<std::string> names;
                for (const GraphNode& other : m_before)
                {
                    names.push_back(other.name);
                }
                const std::string nearest = rdma::NearestName(name, names);
                return "element " + std::to_string(i) + ", " + rdma::Shown(m_json[i].dump(), 60) +
                       ", is no entry before it" +
                       (nearest.empty() ? "" : "; did you mean " + nearest + "?");
            }
            node->inputs.push_back(at->second);
        }
        const std::size_t least = known ? known->least : 1;
        const std::size_t most = known ? known->most : 8;
        if (node->inputs.size() < least || node->inputs.size() > most)
        {
            return "\"" + node->word + "\" takes " + std::to_string(least) +
                   (most > least ? " to " + std::to_string(most) : "") + " inputs, not " +
                   std::to_string(node->inputs.size());
        }
        return "";
    }

    std::string ReadNumbers(GraphNode* node) const
    {
        const auto allowed = NumbersOf(node->word);
        for (const auto& [key, value] : m_json.back().items())
        {
            if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
            {
                const std::string nearest = rdma::NearestName(key, allowed);
                return "\"" + rdma::Shown(key, 60) + "\" is no number of " + node->word +
                       (nearest.empty() ? "" : "; did you mean " + nearest + "?");
            }
            const bool whole = value.is_number_unsigned() && value.get<uint64_t>() <= (1U << 20);
            if (!whole && !value.is_boolean())
            {
                return "\"" + key + "\" must be a whole number, at most 2^20, or true or false";
            }
            node->numbers[key] =
                value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
        }
        return "";
    }

    const nlohmann::json& m_json;
    const std::vector<GraphNode>& m_before;
    const NodeNames& m_names;
};

} // namespace

bool
IsElementwise(const std::string& word)
{
    return std::find(std::begin(kElementwiseWords), std::end(kElementwiseWords), word) !=
           std::end(kElementwiseWords);
}

std::vector<std::string>
GraphWords()
{
    std::vector<std::string> words;
    for (const GraphWord& word : NonElementwise())
    {
        words.emplace_back(word.word);
    }
    words.insert(words.end(), std::begin(kElementwiseWords), std::end(kElementwiseWords));
    return words;
}

std::vector<std::string>
NumbersOf(const std::string& word)
{
    const GraphWord* const known = FindWord(word);
    return known == nullptr ? std::vector<std::string>{} : known->numbers;
}

void
BuildGraph(ModelSpec& model, topo::JsonObject& in)
{
    constexpr std::size_t kMostNodes = 10000; // assumed: more than a network is written by hand
    model.hasSequence = false;
    model.sequence = 1;
    const nlohmann::json* const list = in.List("graph");
    if (list == nullptr)
    {
        return;
    }
    if (list->empty() || list->size() > kMostNodes)
    {
        in.Say("graph", "must have 1 to 10000 entries");
        return;
    }
    bool computes = false;
    NodeNames names;
    for (std::size_t i = 0; i < list->size(); ++i)
    {
        GraphNode node;
        const std::string why = NodeReader((*list)[i], model.graph, names).Read(&node);
        if (!why.empty())
        {
            in.Say("graph/" + std::to_string(i), why);
            return;
        }
        if (node.kind == NodeKind::kParameter)
        {
            LayerSpec layer;
            layer.name = node.name;
            uint64_t elements = 1;
            for (const uint64_t dimension : node.shape)
            {
                elements *= dimension;
            }
            Part part;
            part.tensors.push_back({elements});
            layer.parts.push_back(std::move(part));
            model.layers.push_back(std::move(layer));
        }
        names.emplace(node.name, static_cast<uint32_t>(i));
        computes = computes || node.kind == NodeKind::kOperator;
        model.graph.push_back(std::move(node));
    }
    if (!computes)
    {
        in.Say("graph", "has no operator");
    }
    if (model.layers.empty())
    {
        LayerSpec layer; // a model has one, if only of inputs
        layer.name = "graph";
        layer.parts.push_back({});
        model.layers.push_back(std::move(layer));
    }
}

} // namespace training
