/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/strategy.h"

#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>

namespace sharding
{

Strategy
WithParts(const std::vector<uint32_t>& parts, uint32_t devices)
{
    Strategy strategy;
    strategy.digits.resize(parts.size());
    uint32_t stride = devices;
    for (std::size_t a = 0; a < parts.size(); ++a)
    {
        stride /= parts[a];
        if (parts[a] > 1)
        {
            strategy.digits[a] = {{stride, parts[a]}};
        }
    }
    return strategy;
}

namespace
{

/// Calls `visit` with all ways to cut axes into parts whose product divides the devices.
void
VisitParts(const Operator& op,
           uint32_t devices,
           const std::function<void(const std::vector<uint32_t>&)>& visit)
{
    std::vector<uint32_t> parts(op.axes.size(), 1);
    const std::function<void(std::size_t, uint32_t)> go = [&](std::size_t axis, uint32_t left) {
        if (axis == parts.size())
        {
            visit(parts);
            return;
        }
        for (uint32_t p = 1; p <= left; ++p)
        {
            if (left % p == 0 && op.axes[axis].granules % p == 0)
            {
                parts[axis] = p;
                go(axis + 1, left / p);
            }
        }
        parts[axis] = 1;
    };
    go(0, devices);
}

/// Calls `visit` with all ways to give the dimensions of a matrix to axes. \return after the first
/// true
bool
VisitMatrix(const Operator& op,
            const std::vector<uint32_t>& matrix,
            const std::function<bool(const Strategy&)>& visit)
{
    Strategy strategy;
    strategy.digits.resize(op.axes.size());
    const uint32_t all =
        std::accumulate(matrix.begin(), matrix.end(), 1U, std::multiplies<uint32_t>());
    const std::function<bool(std::size_t, uint32_t)> go = [&](std::size_t d, uint32_t stride) {
        if (d == matrix.size())
        {
            return visit(strategy);
        }
        stride /= matrix[d];
        for (std::size_t a = 0; a < op.axes.size() && matrix[d] > 1; ++a)
        {
            Digits& digits = strategy.digits[a];
            if (op.axes[a].granules % (uint64_t{CountOf(digits)} * matrix[d]) == 0)
            {
                digits.push_back({stride, matrix[d]});
                const bool done = go(d + 1, stride);
                digits.pop_back();
                if (done)
                {
                    return true;
                }
            }
        }
        return go(d + 1, stride); // along this dimension the work is repeated
    };
    return go(0, all);
}

uint32_t
Used(const Strategy& strategy)
{
    uint32_t used = 1;
    for (const Digits& digits : strategy.digits)
    {
        used *= CountOf(digits);
    }
    return used;
}

} // namespace

std::vector<Strategy>
StrategiesOf(const Operator& op, const Devices& devices)
{
    std::vector<Strategy> strategies;
    if (devices.matrix.empty())
    {
        VisitParts(op, devices.count, [&](const std::vector<uint32_t>& parts) {
            strategies.push_back(WithParts(parts, devices.count));
        });
    }
    else
    {
        VisitMatrix(op, devices.matrix, [&](const Strategy& strategy) {
            strategies.push_back(strategy);
            return false;
        });
    }
    if (devices.all)
    {
        uint32_t most = 1;
        for (const Strategy& strategy : strategies)
        {
            most = std::max(most, Used(strategy));
        }
        strategies.erase(std::remove_if(strategies.begin(),
                                        strategies.end(),
                                        [most](const Strategy& s) { return Used(s) < most; }),
                         strategies.end());
    }
    std::vector<std::pair<Cuts, std::size_t>> order;
    for (std::size_t i = 0; i < strategies.size(); ++i)
    {
        order.emplace_back(CutsOf(op, strategies[i]), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<Strategy> sorted;
    for (const auto& [cuts, i] : order)
    {
        sorted.push_back(std::move(strategies[i]));
    }
    return sorted;
}

Cuts
CutsOf(const Operator& op, const Strategy& strategy)
{
    Cuts cuts;
    for (const Operand& input : op.inputs)
    {
        if (input.implied)
        {
            continue;
        }
        auto& of = cuts.emplace_back();
        for (std::size_t d = 0; d < input.axes.size(); ++d)
        {
            of.push_back(strategy.Parts(input, d));
        }
    }
    return cuts;
}

std::string
CutsText(const Cuts& cuts)
{
    std::string text;
    for (const auto& of : cuts)
    {
        std::string parts;
        for (const uint64_t p : of)
        {
            parts += (parts.empty() ? "" : ",") + std::to_string(p);
        }
        text += (text.empty() ? "(" : ",(") + parts + ")";
    }
    return "(" + text + ")";
}

std::string
StrategyText(const Operator& op, const Strategy& strategy)
{
    return CutsText(CutsOf(op, strategy));
}

namespace
{

/// The parts of all axes that cuts mean, or why they mean none.
std::optional<std::vector<uint64_t>>
PartsOf(const Operator& op, const Cuts& cuts, std::string* why)
{
    std::vector<uint64_t> parts(op.axes.size(), 0);
    std::vector<const Operand*> named;
    for (const Operand& input : op.inputs)
    {
        if (!input.implied)
        {
            named.push_back(&input);
        }
    }
    if (cuts.size() != named.size())
    {
        *why = "cuts " + topo::Counted(cuts.size(), "input") + "; allowed: the " +
               std::to_string(named.size()) + " that " + op.word + " has";
        return std::nullopt;
    }
    for (std::size_t i = 0; i < cuts.size(); ++i)
    {
        const std::string input = "input " + std::to_string(i + 1);
        if (cuts[i].size() != named[i]->axes.size())
        {
            *why = "has " + topo::Counted(cuts[i].size(), "number") + " for " + input +
                   "; allowed: " + std::to_string(named[i]->axes.size()) + ", one a dimension";
            return std::nullopt;
        }
        for (std::size_t d = 0; d < cuts[i].size(); ++d)
        {
            const uint64_t p = cuts[i][d];
            const int32_t axis = named[i]->axes[d];
            const std::string where = "dimension " + std::to_string(d + 1) + " of " + input;
            if (axis == kNone)
            {
                if (p != 1)
                {
                    *why = "cuts " + where + ", which has one element; allowed: 1";
                    return std::nullopt;
                }
                continue;
            }
            const Axis& of = op.axes[static_cast<std::size_t>(axis)];
            uint64_t& known = parts[static_cast<std::size_t>(axis)];
            if (!of.whole.empty() && p != 1)
            {
                *why = "cuts " + where + ", " + of.whole + "; allowed: 1";
                return std::nullopt;
            }
            if (p == 0 || of.granules % p != 0)
            {
                *why = "cuts " + where + " into " + topo::Counted(p, "part") +
                       "; allowed: a divisor of " + std::to_string(of.granules) +
                       (of.granules == of.size ? "" : " (" + of.name + ")");
                return std::nullopt;
            }
            if (known != 0 && known != p)
            {
                *why = "cuts " + where + " into " + topo::Counted(p, "part") +
                       ", and the same axis (" + of.name + ") of an input before it into " +
                       std::to_string(known) + "; allowed: " + std::to_string(known);
                return std::nullopt;
            }
            known = p;
        }
    }
    std::replace(parts.begin(), parts.end(), uint64_t{0}, uint64_t{1});
    return parts;
}

} // namespace

std::string
MatrixText(const std::vector<uint32_t>& matrix)
{
    std::string text;
    for (const uint32_t d : matrix)
    {
        text += (text.empty() ? "" : ",") + std::to_string(d);
    }
    return text;
}

std::optional<Strategy>
StrategyWith(const Operator& op, const Cuts& cuts, const Devices& devices, std::string* why)
{
    const auto known = PartsOf(op, cuts, why);
    if (!known)
    {
        return std::nullopt;
    }
    const uint64_t product =
        std::accumulate(known->begin(), known->end(), uint64_t{1}, [](uint64_t a, uint64_t b) {
            return a > UINT64_MAX / b ? UINT64_MAX : a * b;
        });
    if (devices.count % product != 0)
    {
        *why = "makes " + topo::Counted(product, "part") + ", which do not divide the " +
               topo::Counted(devices.count, "GPU") + "; allowed: divisors of " +
               std::to_string(devices.count);
        return std::nullopt;
    }
    const std::vector<uint32_t> parts(known->begin(), known->end()); // divisors of the devices
    if (devices.matrix.empty())
    {
        return WithParts(parts, devices.count);
    }
    std::optional<Strategy> found;
    VisitMatrix(op, devices.matrix, [&](const Strategy& strategy) {
        if (strategy.AllParts() == parts)
        {
            found = strategy;
        }
        return found.has_value();
    });
    if (!found)
    {
        *why = "cannot be made of the dimensions of the device matrix " +
               MatrixText(devices.matrix) + "; allowed: each axis along whole dimensions of it";
    }
    return found;
}

Strategy
DataParallel(const Operator& op, const Devices& devices)
{
    const auto strategies = StrategiesOf(op, {devices.count, devices.matrix, false});
    const int32_t batch =
        op.inputs.empty() || op.inputs[0].axes.empty() ? kNone : op.inputs[0].axes[0];
    const Strategy* best = &strategies.front(); // no cut at all
    for (const Strategy& strategy : strategies)
    {
        const bool alone =
            batch != kNone && Used(strategy) == strategy.Parts(static_cast<uint32_t>(batch));
        if (alone && Used(strategy) > Used(*best))
        {
            best = &strategy;
        }
    }
    return *best;
}

namespace
{

/// Reads "((2,1),(1,4))" and the like.
class ShardReader
{
  public:
    explicit ShardReader(const std::string& text)
        : m_text(text)
    {
    }

    void SkipBlanks()
    {
        while (m_at < m_text.size() && std::isspace(static_cast<unsigned char>(m_text[m_at])))
        {
            ++m_at;
        }
    }

    bool Ended()
    {
        SkipBlanks();
        return m_at == m_text.size();
    }

    bool Take(char c)
    {
        SkipBlanks();
        if (m_at < m_text.size() && m_text[m_at] == c)
        {
            ++m_at;
            return true;
        }
        return false;
    }

    std::string Name()
    {
        SkipBlanks();
        const std::size_t begin = m_at;
        while (m_at < m_text.size() && m_text[m_at] != '=' && m_text[m_at] != ';')
        {
            ++m_at;
        }
        std::string name = m_text.substr(begin, m_at - begin);
        while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())))
        {
            name.pop_back();
        }
        return name;
    }

    /// Nothing: no number, or one of 2^63 or more.
    std::optional<uint64_t> Number()
    {
        SkipBlanks();
        uint64_t number = 0;
        const std::size_t begin = m_at;
        while (m_at < m_text.size() && std::isdigit(static_cast<unsigned char>(m_text[m_at])))
        {
            const auto digit = static_cast<uint64_t>(m_text[m_at++] - '0');
            if (number > (static_cast<uint64_t>(INT64_MAX) - digit) / 10)
            {
                return std::nullopt;
            }
            number = number * 10 + digit;
        }
        return m_at == begin ? std::nullopt : std::optional(number);
    }

    /// (2,1): a comma may stand behind the last one, as in Python.
    bool Tuple(std::vector<uint64_t>* numbers)
    {
        if (!Take('('))
        {
            return false;
        }
        while (!Take(')'))
        {
            const auto number = Number();
            if (!number)
            {
                return false;
            }
            numbers->push_back(*number);
            if (!Take(','))
            {
                return Take(')');
            }
        }
        return true;
    }

    bool Tuples(Cuts* cuts)
    {
        if (!Take('('))
        {
            return false;
        }
        while (!Take(')'))
        {
            if (!Tuple(&cuts->emplace_back()))
            {
                return false;
            }
            if (!Take(','))
            {
                return Take(')');
            }
        }
        return !cuts->empty();
    }

  private:
    const std::string& m_text;
    std::size_t m_at = 0;
};

} // namespace

std::optional<std::vector<std::pair<std::string, Cuts>>>
ParseShards(const std::string& text, std::string* why)
{
    ShardReader reader(text);
    std::vector<std::pair<std::string, Cuts>> shards;
    while (!reader.Ended())
    {
        const std::string name = reader.Name();
        Cuts cuts;
        if (name.empty() || !reader.Take('=') || !reader.Tuples(&cuts))
        {
            *why = "allowed: NAME=((parts,...),...), with ';' between, as "
                   "dense=((2,1),(1,4));relu=((2,4))";
            return std::nullopt;
        }
        for (const auto& [other, its] : shards)
        {
            if (other == name)
            {
                *why = "names " + name + " twice";
                return std::nullopt;
            }
        }
        shards.emplace_back(name, std::move(cuts));
        if (!reader.Take(';') && !reader.Ended())
        {
            *why = "allowed: ';' between operators, as dense=((2,1),(1,4));relu=((2,4))";
            return std::nullopt;
        }
    }
    if (shards.empty())
    {
        *why = "names no operator; allowed: dense=((2,1),(1,4));relu=((2,4))";
        return std::nullopt;
    }
    return shards;
}

} // namespace sharding
