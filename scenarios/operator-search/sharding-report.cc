/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/sharding-report.h"

#include "scenarios/operator-search/exchanges.h"
#include "scenarios/operator-search/mindspore-file.h"
#include "scenarios/operator-search/redistribution.h"
#include "scenarios/operator-search/staged-search.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace sharding
{

namespace
{

std::string
BytesWord(double bytes)
{
    char text[40];
    const char* unit = "B";
    for (const char* larger : {"kB", "MB", "GB", "TB"})
    {
        if (bytes < 1000)
        {
            break;
        }
        bytes /= 1000;
        unit = larger;
    }
    std::snprintf(text, sizeof text, bytes < 100 ? "%.3g %s" : "%.0f %s", bytes, unit);
    return text;
}

std::string
SecondsWord(double seconds)
{
    char text[40];
    std::snprintf(text,
                  sizeof text,
                  seconds < 1 ? "%.4g ms" : "%.4g s",
                  seconds < 1 ? seconds * 1e3 : seconds);
    return text;
}

std::string
CostWord(const Sharding& s, double cost)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", cost);
    return s.unit == "s" ? SecondsWord(cost) : text;
}

std::string
Padded(std::string text, std::size_t width)
{
    text.resize(std::max(text.size(), width), ' ');
    return text + "  ";
}

std::string
GroupText(const Digits& digits)
{
    std::string text = "over " + std::to_string(CountOf(digits));
    if (digits.size() == 1 && digits[0].stride > 1)
    {
        const uint32_t stride = digits[0].stride;
        text += ", every " + (stride == 2 ? std::string("other") : std::to_string(stride) + "th") +
                " GPU";
    }
    return text;
}

std::string
ExchangeText(const ExchangeOf& e)
{
    return std::string(e.when) + ": " + OpWord(e.collective.op) + " of " +
           BytesWord(e.collective.bytes) + " " + GroupText(e.collective.digits);
}

/// Rows of cells as a table.
class TextTable
{
  public:
    void Add(std::vector<std::string> cells)
    {
        m_rows.push_back(std::move(cells));
    }

    std::string Text() const
    {
        std::vector<std::size_t> widths;
        for (const auto& row : m_rows)
        {
            widths.resize(std::max(widths.size(), row.size()), 0);
            for (std::size_t i = 0; i < row.size(); ++i)
            {
                widths[i] = std::max(widths[i], row[i].size());
            }
        }
        std::string text;
        for (const auto& row : m_rows)
        {
            std::string line = "  ";
            for (std::size_t i = 0; i < row.size(); ++i)
            {
                line += i + 1 < row.size() ? Padded(row[i], widths[i]) : row[i];
            }
            line.erase(line.find_last_not_of(' ') + 1);
            text += line + "\n";
        }
        return text;
    }

  private:
    std::vector<std::vector<std::string>> m_rows;
};

/// Strategies of large graphs fill many lines: so many at most.
constexpr std::size_t kMostLines = 60;

uint32_t
GradientBytesOf(const Graph& graph, uint32_t op)
{
    return graph.tensors[graph.operators[op].output.tensor].bytes;
}

std::vector<ExchangeOf>
EdgeExchanges(const Sharding& s, const Edge& edge)
{
    return ExchangesOfEdge(s.graph,
                           edge,
                           s.strategies,
                           s.settings.devices.count,
                           GradientBytesOf(s.graph, edge.to));
}

std::string
Times(double times)
{
    char text[24];
    std::snprintf(text, sizeof text, " x %.0f", times);
    return times > 1 ? text : "";
}

std::string
EdgeName(const Graph& graph, const Edge& edge)
{
    return graph.operators[edge.from].name + " -> " + (edge.next ? "next " : "") +
           graph.operators[edge.to].name;
}

} // namespace

namespace
{

/// The stages of a pipeline, one after another.
std::string
StagesTable(const Sharding& s)
{
    std::string text = "Pipeline of " + topo::Counted(s.stages.size(), "stage") + " on " +
                       topo::Counted(s.settings.devices.count, "GPU") + "; step by formula " +
                       SecondsWord(s.step.value_or(0)) + ", without messages between stages\n";
    for (std::size_t i = 0; i < s.stages.size(); ++i)
    {
        const ShardedStage& stage = *s.stages[i];
        const uint32_t count = stage.sharding.settings.devices.count;
        text += "Stage " + std::to_string(i) + " (GPU " + std::to_string(stage.firstRank) +
                (count > 1 ? " to " + std::to_string(stage.firstRank + count - 1) : "") +
                "): " + SecondsWord(stage.seconds) + " a micro-batch\n" + TableText(stage.sharding);
    }
    return text;
}

/// Results that were run.
std::string
RankedText(const Sharding& s)
{
    std::string text;
    for (const Ranked& r : s.ranked)
    {
        if (r.step || !r.why.empty())
        {
            text += "    " + r.what + ": by formula " + SecondsWord(*r.sharding->step) +
                    ", simulated " + (r.step ? SecondsWord(*r.step) : "not: " + r.why) +
                    (r.sharding->strategies == s.strategies ? "  taken" : "") + "\n";
        }
    }
    return text.empty() ? "" : "Run in turn (--shard-verify)\n" + text;
}

} // namespace

std::string
TableText(const Sharding& s)
{
    if (!s.stages.empty())
    {
        return StagesTable(s);
    }
    const Graph& graph = s.graph;
    const Scatters scatters(graph, s.strategies);
    TextTable table;
    table.Add({"operator", "strategy", "output", "cost", "exchanged"});
    std::size_t lines = 0;
    for (uint32_t i = 0; i < graph.operators.size() && lines < kMostLines; ++i)
    {
        const Operator& op = graph.operators[i];
        const auto exchanges = ExchangesOfOperator(graph,
                                                   i,
                                                   s.strategies,
                                                   scatters,
                                                   s.settings.devices.count,
                                                   GradientBytesOf(graph, i));
        table.Add({op.name + Times(graph.Times(i)),
                   StrategyText(op, s.strategies[i]),
                   PartsText(LayoutOf(op.output, s.strategies[i])),
                   CostWord(s, s.ofOperator[i].total),
                   exchanges.empty() ? "" : ExchangeText(exchanges[0])});
        ++lines;
        for (std::size_t e = 1; e < exchanges.size(); ++e, ++lines)
        {
            table.Add({"", "", "", "", ExchangeText(exchanges[e])});
        }
    }
    std::string text = "Sharding (" + std::string(ModeName(s.settings.mode)) + ", cost " +
                       (s.settings.seconds ? "simulator" : "mindspore") + ")\n" + table.Text();
    if (lines >= kMostLines)
    {
        text += "  ... sharding.json has all " + std::to_string(graph.operators.size()) +
                " operators\n";
    }
    std::string moves;
    std::size_t count = 0;
    for (uint32_t e = 0; e < graph.edges.size(); ++e)
    {
        for (const ExchangeOf& x : EdgeExchanges(s, graph.edges[e]))
        {
            moves += ++count > kMostLines
                         ? ""
                         : "  " + EdgeName(graph, graph.edges[e]) + Times(graph.edges[e].times) +
                               ": " + ExchangeText(x) + "\n";
        }
    }
    text += moves.empty() ? "  no redistribution between operators\n" : "Redistributions\n" + moves;
    text += "Total cost " + CostWord(s, s.total.total) + " (computation " +
            CostWord(s, s.total.computation) + ", communication " +
            CostWord(s, s.total.communication);
    // Rounding makes no time.
    const double hidden = s.total.computation + s.total.communication - s.total.total;
    text += s.settings.seconds && hidden > 1e-9 * s.total.total
                ? ", of which " + SecondsWord(hidden) + " beside computation)"
                : ")";
    char memory[80];
    std::snprintf(memory, sizeof memory, "; memory %.2f GiB a GPU", s.memory / (1ULL << 30));
    text += memory;
    text += s.step ? "; step by formula " + SecondsWord(*s.step) : "";
    return text + "\n" + RankedText(s);
}

namespace
{

std::string
ShapeOf(const TensorInfo& tensor)
{
    std::string text;
    for (const uint64_t d : tensor.shape)
    {
        text += (text.empty() ? "" : ", ") + std::to_string(d);
    }
    return tensor.name + " [" + text + "]" +
           (tensor.role == TensorRole::kParameter ? " (parameter)" : "");
}

std::string
GraphLines(const Sharding& s)
{
    const Graph& graph = s.graph;
    std::string text = "(a) Graph: " + std::to_string(graph.operators.size()) + " operators, " +
                       std::to_string(graph.edges.size()) + " edges\n";
    for (uint32_t i = 0; i < std::min(graph.operators.size(), kMostLines); ++i)
    {
        const Operator& op = graph.operators[i];
        std::string inputs;
        for (const Operand& input : op.inputs)
        {
            inputs += input.implied
                          ? ""
                          : (inputs.empty() ? "" : ", ") + ShapeOf(graph.tensors[input.tensor]);
        }
        text += "    " + op.name + Times(graph.Times(i)) + " = " + op.word + "(" + inputs +
                ") -> " + ShapeOf(graph.tensors[op.output.tensor]) + "\n";
    }
    return text;
}

std::string
StrategyLines(const Sharding& s)
{
    // The others make one strategy for each operator, by a rule.
    const bool isSearched = s.settings.mode != Mode::kSemi && s.settings.mode != Mode::kRecursive;
    char combinations[60];
    std::snprintf(combinations, sizeof combinations, "%.4g", s.combinations);
    std::string text =
        "(b) Strategies on " + topo::Counted(s.settings.devices.count, "GPU") + ": " +
        (isSearched ? std::string(combinations) + " combinations" : "none compared") + "\n";
    for (uint32_t i = 0; i < std::min(s.graph.operators.size(), kMostLines); ++i)
    {
        const Operator& op = s.graph.operators[i];
        const bool given = s.settings.given.count(i) > 0;
        text += "    " + op.name + ": " +
                (given        ? "given"
                 : isSearched ? std::to_string(s.choices[i]) + " legal"
                              : "not searched") +
                "; taken " + StrategyText(op, s.strategies[i]) + ", cost " +
                CostWord(s, s.ofOperator[i].total) + "\n";
    }
    return text;
}

std::string
EdgeLines(const Sharding& s)
{
    std::string text = "(c) Costs of edges\n";
    for (uint32_t e = 0; e < std::min(s.graph.edges.size(), kMostLines); ++e)
    {
        const Edge& edge = s.graph.edges[e];
        const Layout from =
            LayoutOf(s.graph.OperandOf(edge.from, edge.fromInput), s.strategies[edge.from]);
        const Layout to =
            LayoutOf(s.graph.operators[edge.to].inputs[edge.toInput], s.strategies[edge.to]);
        std::string steps;
        for (const MoveStep& step : MergedSteps(StepsBetween(from, to)))
        {
            steps += (steps.empty() ? "" : ", ") + std::string(MoveName(step.move)) + " over " +
                     std::to_string(CountOf(step.digits));
        }
        text += "    " + EdgeName(s.graph, edge) + Times(edge.times) + ": " + PartsText(from) +
                " to " + PartsText(to) + ": " + (steps.empty() ? "the same layout" : steps) +
                ", cost " + CostWord(s, s.ofEdge[e].total) + "\n";
    }
    return text;
}

std::string
OrderLines(const Sharding& s)
{
    const auto& operators = s.graph.operators;
    std::string text = "(d) Order\n";
    for (const Propagated& p : s.propagated)
    {
        text += "    " + operators[p.op].name + ": " +
                (p.from == kNone ? s.settings.given.count(p.op) > 0
                                       ? std::string("given")
                                       : std::string("begins, with its cheapest strategy")
                                 : "from " + operators[static_cast<std::size_t>(p.from)].name) +
                "\n";
    }
    for (std::size_t i = 0; i < std::min(s.eliminated.size(), kMostLines); ++i)
    {
        const Elimination& e = s.eliminated[i];
        std::string beside;
        for (const uint32_t n : e.neighbours)
        {
            beside += (beside.empty() ? "" : ", ") + operators[n].name;
        }
        text +=
            "    " + operators[e.op].name + ": " + EliminationName(e) +
            (beside.empty() ? "" : " elimination, its best strategy kept for each of " + beside) +
            "\n";
    }
    for (std::size_t i = 0; i < std::min(s.halved.size(), kMostLines); ++i)
    {
        const Halving& h = s.halved[i];
        const Operator& op = operators[h.op];
        text += "    round " + std::to_string(h.round + 1) + ": " + op.name + ": " +
                (h.axis == kNone ? std::string("not cut, the work is repeated")
                                 : "halves " + op.axes[static_cast<std::size_t>(h.axis)].name) +
                "\n";
    }
    if (s.settings.mode == Mode::kSemi)
    {
        text += "    given strategies; all else is cut along its first dimension\n";
    }
    if (s.settings.mode == Mode::kExhaustive)
    {
        text += "    all combinations, one after another\n";
    }
    return text;
}

} // namespace

std::string
ExplainText(const Sharding& s)
{
    if (!s.stages.empty())
    {
        std::string text;
        for (std::size_t i = 0; i < s.stages.size(); ++i)
        {
            text += "Stage " + std::to_string(i) + "\n" + GraphLines(s.stages[i]->sharding) +
                    EdgeLines(s.stages[i]->sharding);
        }
        return text;
    }
    std::string text = GraphLines(s) + StrategyLines(s) + EdgeLines(s) + OrderLines(s);
    const auto add = [&text](const std::vector<Compared>& steps) {
        for (const Compared& c : steps)
        {
            char memory[40];
            std::snprintf(memory, sizeof memory, "%.2f GiB", c.memory / (1ULL << 30));
            text += "    " + c.what + ": step " + SecondsWord(c.step) + ", memory " + memory + "\n";
        }
    };
    if (!s.compared.empty())
    {
        text += "(e) Compared as step graphs\n";
        add(s.compared);
        text += s.improved.empty() ? "" : "    faster beside the best of these\n";
        add(s.improved);
    }
    return text;
}

namespace
{

using Json = nlohmann::ordered_json;

Json
LayoutJson(const Layout& layout)
{
    Json parts = Json::array();
    for (const Digits& digits : layout)
    {
        parts.push_back(CountOf(digits));
    }
    return parts;
}

Json
DigitsJson(const Digits& digits)
{
    Json all = Json::array();
    for (const Digit& digit : digits)
    {
        all.push_back(Json{{"stride", digit.stride}, {"size", digit.size}});
    }
    return all;
}

Json
ExchangesJson(const std::vector<ExchangeOf>& exchanges, std::set<Digits>* groups)
{
    Json all = Json::array();
    for (const ExchangeOf& e : exchanges)
    {
        groups->insert(e.collective.digits);
        all.push_back(Json{{"when", e.when},
                           {"operation", OpWord(e.collective.op)},
                           {"tensor", e.of},
                           {"bytes", e.collective.bytes},
                           {"group", DigitsName(e.collective.digits)}});
    }
    return all;
}

} // namespace

nlohmann::ordered_json
ShardingJson(const Sharding& s)
{
    if (!s.stages.empty())
    {
        Json json;
        json["model"] = s.graph.name;
        json["gpus"] = s.settings.devices.count;
        json["step_by_formula_s"] = s.step ? Json(*s.step) : Json();
        json["stages"] = Json::array();
        for (const auto& stage : s.stages)
        {
            Json its = ShardingJson(stage->sharding);
            its["first_gpu"] = stage->firstRank;
            its["micro_batch_s"] = stage->seconds;
            json["stages"].push_back(std::move(its));
        }
        return json;
    }
    const Graph& graph = s.graph;
    const Scatters scatters(graph, s.strategies);
    Json json;
    json["model"] = graph.name;
    json["gpus"] = s.settings.devices.count;
    json["mode"] = ModeName(s.settings.mode);
    json["cost"] = s.settings.seconds ? "simulator" : "mindspore";
    json["cost_unit"] = s.unit;
    json["total"] = s.total.total;
    json["computation"] = s.total.computation;
    json["communication"] = s.total.communication;
    json["memory_bytes"] = s.memory;
    json["step_by_formula_s"] = s.step ? Json(*s.step) : Json();
    if (!s.settings.devices.matrix.empty())
    {
        json["device_matrix"] = s.settings.devices.matrix;
    }
    Json strategies;
    Json operators = Json::array();
    std::set<Digits> groups;
    for (uint32_t i = 0; i < graph.operators.size(); ++i)
    {
        const Operator& op = graph.operators[i];
        const Strategy& strategy = s.strategies[i];
        strategies[op.name] = CutsOf(op, strategy);
        Json axes = Json::array();
        for (uint32_t a = 0; a < op.axes.size(); ++a)
        {
            axes.push_back(Json{{"name", op.axes[a].name},
                                {"size", op.axes[a].size},
                                {"parts", strategy.Parts(a)},
                                {"digits", DigitsJson(strategy.digits[a])}});
        }
        Json inputs = Json::array();
        for (const Operand& input : op.inputs)
        {
            const TensorInfo& tensor = graph.tensors[input.tensor];
            inputs.push_back(Json{{"tensor", tensor.name},
                                  {"shape", tensor.shape},
                                  {"parts", LayoutJson(LayoutOf(input, strategy))},
                                  {"parameter", tensor.role == TensorRole::kParameter}});
        }
        operators.push_back(Json{{"name", op.name},
                                 {"kind", op.word},
                                 {"times", graph.Times(i)},
                                 {"strategy", CutsOf(op, strategy)},
                                 {"axes", axes},
                                 {"inputs", inputs},
                                 {"output",
                                  Json{{"tensor", graph.tensors[op.output.tensor].name},
                                       {"shape", graph.tensors[op.output.tensor].shape},
                                       {"parts", LayoutJson(LayoutOf(op.output, strategy))}}},
                                 {"exchanges",
                                  ExchangesJson(ExchangesOfOperator(graph,
                                                                    i,
                                                                    s.strategies,
                                                                    scatters,
                                                                    s.settings.devices.count,
                                                                    GradientBytesOf(graph, i)),
                                                &groups)},
                                 {"cost", s.ofOperator[i].total}});
    }
    json["strategies"] = strategies;
    json["shard"] = ShardText(s);
    json["operators"] = operators;
    Json edges = Json::array();
    for (uint32_t e = 0; e < graph.edges.size(); ++e)
    {
        const Edge& edge = graph.edges[e];
        edges.push_back(
            Json{{"from", graph.operators[edge.from].name},
                 {"to", graph.operators[edge.to].name},
                 {"tensor", graph.tensors[graph.OperandOf(edge.from, edge.fromInput).tensor].name},
                 {"times", edge.times},
                 {"to_next_block", edge.next},
                 {"exchanges", ExchangesJson(EdgeExchanges(s, edge), &groups)},
                 {"cost", s.ofEdge[e].total}});
    }
    json["edges"] = edges;
    Json named;
    for (const Digits& digits : groups)
    {
        named[DigitsName(digits)] = GroupsAlong(digits, s.settings.devices.count);
    }
    json["groups"] = named;
    for (const Ranked& r : s.ranked)
    {
        json["ranked"].push_back(Json{{"what", r.what},
                                      {"shard", ShardText(*r.sharding)},
                                      {"step_by_formula_s", *r.sharding->step},
                                      {"step_s", r.step ? Json(*r.step) : Json()}});
    }
    return json;
}

} // namespace sharding
