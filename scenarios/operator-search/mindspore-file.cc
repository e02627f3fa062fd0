/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/mindspore-file.h"

#include <algorithm>
#include <set>

namespace sharding
{

namespace
{

using Json = nlohmann::ordered_json;

/// The sizes of a matrix of all devices, major first, that has each of the digits as a dimension,
/// and where each begins; none where digits overlap.
std::vector<Digit>
MatrixWith(const Strategy& strategy, uint32_t devices)
{
    std::set<Digit> cuts;
    for (const Digits& digits : strategy.digits)
    {
        const Digits joined = Joined(digits);
        cuts.insert(joined.begin(), joined.end());
    }
    std::vector<Digit> matrix; // minor first
    uint32_t stride = 1;
    for (const Digit& digit : cuts)
    {
        if (digit.stride < stride || digit.stride % stride != 0)
        {
            return {};
        }
        if (digit.stride > stride)
        {
            matrix.push_back({stride, digit.stride / stride}); // devices that repeat the work
        }
        matrix.push_back(digit);
        stride = digit.stride * digit.size;
    }
    if (devices > stride)
    {
        matrix.push_back({stride, devices / stride});
    }
    std::reverse(matrix.begin(), matrix.end());
    return matrix;
}

/// The layout of a parameter; nothing: a dimension is cut along several of the matrix.
Json
LayoutItem(const TensorInfo& tensor,
           const Layout& layout,
           const std::vector<Digit>& matrix,
           uint32_t devices)
{
    Json sizes = Json::array();
    for (const Digit& digit : matrix)
    {
        sizes.push_back(digit.size);
    }
    if (matrix.empty())
    {
        sizes.push_back(devices);
    }
    Json map = Json::array();
    for (const Digits& digits : layout)
    {
        const Digits joined = Joined(digits);
        const auto at =
            joined.empty() ? matrix.end() : std::find(matrix.begin(), matrix.end(), joined.front());
        if (joined.size() > 1 || (!joined.empty() && at == matrix.end()))
        {
            return {};
        }
        map.push_back(joined.empty() ? -1 : static_cast<int>(matrix.end() - at) - 1);
    }
    return {{"dev_matrix", sizes},
            {"tensor_map", map},
            {"tensor_shape", tensor.shape},
            {"field", 0},
            {"opt_weight_shard_step", 0},
            {"opt_weight_shard_size", 0}};
}

/// An operator in Python: its name, or where it is no word, an element of a dictionary. A name is
/// never code: JSON of ASCII alone is a literal of Python.
std::string
PythonOperator(const std::string& name)
{
    static const std::set<std::string> keywords = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    bool begins = true;
    std::string word;
    bool words = !name.empty();
    for (const char c : name + ".")
    {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        words = words && (letter || (!begins && ((c >= '0' && c <= '9') || c == '.')));
        words = words && (c != '.' || keywords.count(word) == 0);
        begins = c == '.';
        word = begins ? "" : word + c;
    }
    return words ? name
                 : "operators[" + Json(name).dump(-1, ' ', true, Json::error_handler_t::replace) +
                       "]";
}

} // namespace

nlohmann::ordered_json
MindSporeJson(const Sharding& s)
{
    Json strategies = Json::object();
    Json layouts = Json::object();
    for (uint32_t i = 0; i < s.graph.operators.size(); ++i)
    {
        const Operator& op = s.graph.operators[i];
        strategies[op.name] = {{"stage", 0}, {"parallel_strategy", CutsOf(op, s.strategies[i])}};
        const auto matrix = MatrixWith(s.strategies[i], s.settings.devices.count);
        for (uint32_t k = 0; k < op.inputs.size(); ++k)
        {
            const TensorInfo& tensor = s.graph.tensors[op.inputs[k].tensor];
            if (tensor.role != TensorRole::kParameter || !s.graph.Owns(i, k))
            {
                continue;
            }
            Json item = LayoutItem(tensor,
                                   LayoutOf(op.inputs[k], s.strategies[i]),
                                   matrix,
                                   s.settings.devices.count);
            if (!item.is_null())
            {
                layouts[tensor.name] = item;
            }
        }
    }
    return {{"current_stage", 0},
            {"parallel_strategy_item", strategies},
            {"parallel_layout_item", layouts}};
}

std::string
MindSporeLines(const Sharding& s)
{
    std::string text = "# Operators' strategies, as MindSpore's Primitive.shard() takes them.\n";
    for (uint32_t i = 0; i < s.graph.operators.size(); ++i)
    {
        const Operator& op = s.graph.operators[i];
        std::string inputs;
        const Cuts all = CutsOf(op, s.strategies[i]);
        for (const auto& cuts : all)
        {
            std::string parts;
            for (const uint64_t part : cuts)
            {
                parts += (parts.empty() ? "" : ", ") + std::to_string(part);
            }
            inputs += (inputs.empty() ? "(" : ", (") + parts + (cuts.size() == 1 ? ",)" : ")");
        }
        text +=
            PythonOperator(op.name) + ".shard((" + inputs + (all.size() == 1 ? ",))" : "))") + "\n";
    }
    return text;
}

std::string
ShardText(const Sharding& s)
{
    std::string text;
    for (uint32_t i = 0; i < s.graph.operators.size(); ++i)
    {
        const Operator& op = s.graph.operators[i];
        text += (i == 0 ? "" : ";") + op.name + "=" + StrategyText(op, s.strategies[i]);
    }
    return text;
}

namespace
{

/// The strategies of such a file as {"dense": [[2, 1], [1, 4]]}; others as they are.
nlohmann::json
WithoutMindSpore(const nlohmann::json& json)
{
    if (!json.is_object() || !json.contains("parallel_strategy_item") ||
        !json["parallel_strategy_item"].is_object())
    {
        return json;
    }
    nlohmann::json plain = nlohmann::json::object();
    for (const auto& [name, item] : json["parallel_strategy_item"].items())
    {
        plain[name] = item.is_object() && item.contains("parallel_strategy")
                          ? item["parallel_strategy"]
                          : item;
    }
    return plain;
}

} // namespace

std::optional<std::vector<std::pair<std::string, Cuts>>>
ShardsOfJson(const nlohmann::json& read, std::string* why)
{
    const nlohmann::json json = WithoutMindSpore(read);
    const bool nested = json.is_object() && json.contains("strategies");
    const nlohmann::json& list = nested ? json["strategies"] : json;
    if (!list.is_object() || list.empty())
    {
        *why = "must be an object of operators, {\"dense\": [[2, 1], [1, 4]]}, or have one as "
               "\"strategies\"";
        return std::nullopt;
    }
    std::vector<std::pair<std::string, Cuts>> shards;
    for (const auto& [name, value] : list.items())
    {
        Cuts cuts;
        bool good = value.is_array() && !value.empty();
        for (std::size_t i = 0; good && i < value.size(); ++i)
        {
            good = value[i].is_array();
            auto& of = cuts.emplace_back();
            for (std::size_t d = 0; good && d < value[i].size(); ++d)
            {
                good = value[i][d].is_number_unsigned();
                of.push_back(good ? value[i][d].get<uint64_t>() : 0);
            }
        }
        if (!good)
        {
            *why = "/" + std::string(nested ? "strategies/" : "") + name +
                   " must be a list of lists of whole numbers, one list an input: [[2, 1], [1, 4]]";
            return std::nullopt;
        }
        shards.emplace_back(name, std::move(cuts));
    }
    return shards;
}

std::vector<uint32_t>
MatrixOfJson(const nlohmann::json& json)
{
    std::vector<uint32_t> matrix;
    if (json.is_object() && json.contains("device_matrix") && json["device_matrix"].is_array())
    {
        for (const auto& size : json["device_matrix"])
        {
            matrix.push_back(size.is_number_unsigned() ? size.get<uint32_t>() : 0);
        }
    }
    return matrix;
}

namespace
{

/// Of [{"stride": 1, "size": 4}].
Digits
DigitsOf(const nlohmann::json& json)
{
    Digits digits;
    for (const auto& digit : json)
    {
        const auto number = [&digit](const char* key) {
            return digit.is_object() && digit.contains(key) && digit[key].is_number_unsigned()
                       ? digit[key].get<uint32_t>()
                       : 0;
        };
        digits.push_back({number("stride"), number("size")});
    }
    return digits;
}

} // namespace

std::optional<Strategy>
StrategyOfJson(const nlohmann::json& json,
               const Operator& op,
               const Strategy& parts,
               const Devices& devices)
{
    if (!json.is_object() || !json.contains("operators") || !json["operators"].is_array())
    {
        return std::nullopt;
    }
    Strategy named;
    for (const auto& of : json["operators"])
    {
        if (of.is_object() && of.contains("name") && of["name"] == op.name && of.contains("axes") &&
            of["axes"].is_array())
        {
            for (const auto& axis : of["axes"])
            {
                named.digits.push_back(axis.is_object() && axis.contains("digits")
                                           ? DigitsOf(axis["digits"])
                                           : Digits());
            }
            break;
        }
    }
    for (const Strategy& strategy : StrategiesOf(op, devices))
    {
        if (strategy == named && strategy.AllParts() == parts.AllParts())
        {
            return strategy;
        }
    }
    return std::nullopt;
}

} // namespace sharding
