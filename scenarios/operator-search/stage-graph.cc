/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/stage-graph.h"

#include "scenarios/training/pipeline/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sharding
{

namespace
{

/// Units of a graph, about.
constexpr uint32_t kMostUnits = 16;

void
AddFolded(const Segment& segment, uint32_t number, std::vector<Unit>* units)
{
    const uint32_t count = std::min(segment.times, kMostUnits);
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t turns = segment.times / count + (i < segment.times % count ? 1 : 0);
        units->push_back({number, segment.begin, segment.end, first, turns});
        first += turns;
    }
}

void
AddRow(const Segment& segment,
       uint32_t number,
       const std::vector<double>& flops,
       std::vector<Unit>* units)
{
    const std::vector<double> costs(flops.begin() + segment.begin, flops.begin() + segment.end);
    const auto pieces = std::min<uint32_t>(kMostUnits, segment.end - segment.begin);
    uint32_t begin = segment.begin;
    for (const uint32_t count : training::BalancedPartition(costs, pieces))
    {
        units->push_back({number, begin, begin + count, 0, 1});
        begin += count;
    }
}

} // namespace

std::vector<Unit>
UnitsOf(const Graph& graph, const std::vector<double>& flops)
{
    const bool folds = std::any_of(graph.segments.begin(),
                                   graph.segments.end(),
                                   [](const Segment& s) { return s.times > 1; });
    std::vector<Unit> units;
    for (uint32_t s = 0; s < graph.segments.size(); ++s)
    {
        const Segment& segment = graph.segments[s];
        if (segment.times > 1)
        {
            AddFolded(segment, s, &units);
        }
        else if (folds)
        {
            units.push_back({s, segment.begin, segment.end, 0, 1}); // embedding, or head
        }
        else
        {
            AddRow(segment, s, flops, &units);
        }
    }
    return units;
}

namespace
{

/// A part of a segment that a stage has.
struct SegmentPart
{
    uint32_t segment = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t firstTurn = 0;
    uint32_t turns = 0;
};

std::vector<SegmentPart>
PartsOf(const std::vector<Unit>& units, uint32_t begin, uint32_t end)
{
    std::vector<SegmentPart> parts;
    for (uint32_t u = begin; u < end; ++u)
    {
        const Unit& unit = units[u];
        const bool goesOn = !parts.empty() && parts.back().segment == unit.segment;
        if (goesOn && unit.begin == parts.back().begin && unit.firstTurn > 0)
        {
            parts.back().turns += unit.turns;
        }
        else if (goesOn)
        {
            parts.back().end = unit.end;
        }
        else
        {
            parts.push_back({unit.segment, unit.begin, unit.end, unit.firstTurn, unit.turns});
        }
    }
    return parts;
}

class StageBuilder
{
  public:
    StageBuilder(const Graph& graph, const std::vector<SegmentPart>& parts)
        : m_whole(graph),
          m_parts(parts)
    {
        for (const Edge& edge : graph.edges)
        {
            if (edge.next)
            {
                m_nextOf[{edge.to, edge.toInput}] = edge.from;
            }
        }
    }

    StageGraph Build()
    {
        m_stage.graph.name = m_whole.name;
        m_stage.graph.samples = m_whole.samples;
        Receive();
        for (const SegmentPart& part : m_parts)
        {
            AddPart(part);
        }
        AddEdges();
        return std::move(m_stage);
    }

  private:
    Graph& Its()
    {
        return m_stage.graph;
    }

    const SegmentPart* PartWith(uint32_t op) const
    {
        const auto at = std::find_if(m_parts.begin(), m_parts.end(), [op](const SegmentPart& part) {
            return op >= part.begin && op < part.end;
        });
        return at == m_parts.end() ? nullptr : &*at;
    }

    /// Who makes an input for the first turn of a part, and whether that is the block before.
    std::optional<std::pair<uint32_t, bool>> MakerOf(const SegmentPart& part,
                                                     uint32_t op,
                                                     uint32_t k)
    {
        const TensorInfo& tensor = m_whole.tensors[m_whole.operators[op].inputs[k].tensor];
        if (tensor.role != TensorRole::kMade)
        {
            return std::nullopt;
        }
        const auto next = m_nextOf.find({op, k});
        if (part.firstTurn > 0 && next != m_nextOf.end())
        {
            return std::pair(next->second, true);
        }
        return std::pair(static_cast<uint32_t>(tensor.maker), false);
    }

    bool IsInside(uint32_t maker, bool next) const
    {
        return !next && PartWith(maker) != nullptr;
    }

    /// An operator for each tensor of another stage; they are the first segment.
    void Receive()
    {
        std::map<std::pair<uint32_t, bool>, uint32_t> known;
        for (const SegmentPart& part : m_parts)
        {
            for (uint32_t op = part.begin; op < part.end; ++op)
            {
                for (uint32_t k = 0; k < m_whole.operators[op].inputs.size(); ++k)
                {
                    const auto maker = MakerOf(part, op, k);
                    if (maker && !IsInside(maker->first, maker->second))
                    {
                        known.emplace(*maker, 0);
                    }
                }
            }
        }
        for (auto& [maker, op] : known)
        {
            op = AddReceiver(maker.first);
            m_stage.received.push_back({maker.first, maker.second, op});
        }
        m_receiverOf = known;
        if (!known.empty())
        {
            Its().segments.push_back({0, static_cast<uint32_t>(known.size()), 1});
        }
    }

    uint32_t AddReceiver(uint32_t maker)
    {
        const TensorInfo& of = m_whole.tensors[m_whole.operators[maker].output.tensor];
        Operator op;
        op.name = "receive " + of.name;
        op.word = "receive";
        op.kind = Kind::kOther;
        Operand operand;
        const Operand& made = m_whole.operators[maker].output;
        for (std::size_t d = 0; d < of.shape.size(); ++d)
        {
            // As the maker's dimensions: what cannot be cut there is not cut here.
            Axis axis = Cuttable("dimension " + std::to_string(d + 1), of.shape[d]);
            if (made.axes[d] != kNone)
            {
                axis.granules =
                    m_whole.operators[maker].axes[static_cast<std::size_t>(made.axes[d])].granules;
            }
            op.axes.push_back(axis);
            operand.axes.push_back(static_cast<int32_t>(d));
        }
        TensorInfo from = of;
        from.role = TensorRole::kInput;
        from.maker = kNone;
        from.name += " of the stage before";
        TensorInfo to = of;
        to.maker = static_cast<int32_t>(Its().operators.size());
        operand.tensor = AddTensor(from);
        op.inputs = {operand};
        operand.tensor = AddTensor(to);
        op.output = operand;
        Its().operators.push_back(std::move(op));
        m_stage.whole.push_back(kNone);
        return static_cast<uint32_t>(Its().operators.size() - 1);
    }

    uint32_t AddTensor(const TensorInfo& tensor)
    {
        Its().tensors.push_back(tensor);
        return static_cast<uint32_t>(Its().tensors.size() - 1);
    }

    void AddPart(const SegmentPart& part)
    {
        const auto first = static_cast<uint32_t>(Its().operators.size());
        const auto segment = static_cast<uint32_t>(Its().segments.size());
        for (uint32_t i = part.begin; i < part.end; ++i)
        {
            const auto number = static_cast<uint32_t>(Its().operators.size());
            m_numberOf[i] = number;
            Operator op = m_whole.operators[i];
            op.segment = segment;
            for (uint32_t k = 0; k < op.inputs.size(); ++k)
            {
                op.inputs[k].tensor = TensorFor(part, i, k);
                op.inputs[k].shared = op.inputs[k].shared && m_readers.count(op.inputs[k].tensor);
                m_readers.insert({op.inputs[k].tensor, number});
            }
            TensorInfo made = m_whole.tensors[op.output.tensor];
            made.maker = static_cast<int32_t>(number);
            m_tensorOf[op.output.tensor] = AddTensor(made);
            op.output.tensor = m_tensorOf[op.output.tensor];
            Its().operators.push_back(std::move(op));
            m_stage.whole.push_back(static_cast<int32_t>(i));
        }
        Its().segments.push_back(
            {first, static_cast<uint32_t>(Its().operators.size()), part.turns});
    }

    uint32_t TensorFor(const SegmentPart& part, uint32_t op, uint32_t k)
    {
        const uint32_t whole = m_whole.operators[op].inputs[k].tensor;
        const auto maker = MakerOf(part, op, k);
        if (maker && !IsInside(maker->first, maker->second))
        {
            return Its().operators[m_receiverOf.at(*maker)].output.tensor;
        }
        const auto [at, isNew] = m_tensorOf.try_emplace(whole, 0);
        if (isNew)
        {
            at->second = AddTensor(m_whole.tensors[whole]);
        }
        return at->second;
    }

    void AddEdges()
    {
        for (const Edge& edge : m_whole.edges)
        {
            const SegmentPart* const to = PartWith(edge.to);
            if (!to)
            {
                continue;
            }
            const SegmentPart* const from = PartWith(edge.from);
            const uint32_t reader = m_numberOf.at(edge.to);
            if (edge.fromInput != kNone) // a parameter of both
            {
                if (from && Its().operators[reader].inputs[edge.toInput].shared)
                {
                    Add(edge, m_numberOf.at(edge.from), reader, edge.times, false);
                }
            }
            else if (edge.next)
            {
                if (to->turns > 1)
                {
                    Add(edge, m_numberOf.at(edge.from), reader, to->turns - 1.0, true);
                }
            }
            else
            {
                AddMade(edge, *to, reader);
            }
        }
    }

    void AddMade(const Edge& edge, const SegmentPart& to, uint32_t reader)
    {
        const auto maker = *MakerOf(to, edge.to, edge.toInput);
        const bool inside = IsInside(maker.first, maker.second);
        const uint32_t from = inside ? m_numberOf.at(maker.first) : m_receiverOf.at(maker);
        const bool same =
            m_whole.operators[edge.from].segment == m_whole.operators[edge.to].segment;
        Add(edge, from, reader, same ? to.turns : edge.times, false);
    }

    void Add(const Edge& like, uint32_t from, uint32_t to, double times, bool next)
    {
        Edge edge = like;
        edge.from = from;
        edge.to = to;
        edge.times = times;
        edge.next = next;
        Its().edges.push_back(edge);
    }

    const Graph& m_whole;
    const std::vector<SegmentPart>& m_parts;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> m_nextOf; ///< by reader and input
    std::map<std::pair<uint32_t, bool>, uint32_t> m_receiverOf; ///< by maker
    std::map<uint32_t, uint32_t> m_numberOf;                    ///< of operators
    std::map<uint32_t, uint32_t> m_tensorOf;
    std::map<uint32_t, uint32_t> m_readers; ///< the first, by tensor
    StageGraph m_stage;
};

} // namespace

StageGraph
StageOf(const Graph& graph, const std::vector<Unit>& units, uint32_t begin, uint32_t end)
{
    StageGraph stage = StageBuilder(graph, PartsOf(units, begin, end)).Build();
    stage.begin = begin;
    stage.end = end;
    return stage;
}

std::string
ContentOf(const std::vector<Unit>& units, uint32_t begin, uint32_t end)
{
    std::string text;
    for (const SegmentPart& part : PartsOf(units, begin, end))
    {
        text += std::to_string(part.begin) + "-" + std::to_string(part.end) + "x" +
                std::to_string(part.turns) + (part.firstTurn > 0 ? "+ " : " ");
    }
    return text;
}

} // namespace sharding
