/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A layer profile as a table of tools that measure layers.
 */
#include "contrib/rdma/core/name-rule.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/traffic/csv-line.h"
#include "scenarios/training/spec/layer-profile.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

namespace training
{

namespace
{

constexpr double kMostMs = 1e6;

/// Fields of a line (RFC 4180, no line breaks in fields). False: a quote is not closed.
bool
Split(const std::string& line, std::vector<std::string>* fields)
{
    fields->assign(1, "");
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i)
    {
        const char c = line[i];
        if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
        {
            fields->back() += line[++i];
        }
        else if (c == '"')
        {
            quoted = !quoted;
        }
        else if (c == ',' && !quoted)
        {
            fields->emplace_back();
        }
        else if (c != '\r')
        {
            fields->back() += c;
        }
    }
    return !quoted;
}

/// A whole field as a number of [0, most].
std::optional<double>
Number(const std::string& text, double most)
{
    std::istringstream in(text);
    in.imbue(std::locale::classic());
    double value = 0;
    in >> value;
    if (in.fail() || !std::isfinite(value) || value < 0 || value > most)
    {
        return std::nullopt;
    }
    in >> std::ws;
    return in.eof() ? std::optional<double>(value) : std::nullopt;
}

/// The whole numbers in a text, in order.
std::vector<double>
NumbersIn(const std::string& text)
{
    std::vector<double> numbers;
    for (size_t i = 0; i < text.size();)
    {
        size_t end = i;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - i < 15)
        {
            ++end;
        }
        if (end > i)
        {
            numbers.push_back(std::stod(text.substr(i, end - i)));
        }
        i = std::max(end, i + 1);
    }
    return numbers;
}

/// Whether an operator has a size below 0, which NumbersIn would not see.
bool
HasNegativeSize(const std::string& op)
{
    if (op.rfind("Linear(", 0) != 0 && op.rfind("Conv2d(", 0) != 0)
    {
        return false;
    }
    for (size_t i = op.find('-'); i != std::string::npos; i = op.find('-', i + 1))
    {
        if (i + 1 < op.size() && op[i + 1] >= '0' && op[i + 1] <= '9')
        {
            return true;
        }
    }
    return false;
}

/// \param op "Conv2d(64, 128, kernel_size=(3, 3), ..., groups=2)", "Linear(in_features=25088, ..."
double
FlopsOfOp(const std::string& op, double activationBytes)
{
    const double outputs = activationBytes / 4;
    const auto numbers = NumbersIn(op.substr(std::min(op.find('('), op.size())));
    if (op.rfind("Linear(in_features=", 0) == 0 && !numbers.empty())
    {
        return 2 * outputs * numbers[0];
    }
    const size_t kernel = op.find("kernel_size=(");
    if (op.rfind("Conv2d(", 0) != 0 || numbers.empty() || kernel == std::string::npos)
    {
        return 0;
    }
    const auto size = NumbersIn(op.substr(kernel, op.find(')', kernel) - kernel));
    const size_t named = op.find("groups=");
    const auto groups = NumbersIn(named == std::string::npos ? "1" : op.substr(named));
    if (size.size() != 2 || groups.empty() || groups[0] == 0)
    {
        return 0;
    }
    return 2 * outputs * numbers[0] / groups[0] * size[0] * size[1];
}

/// Reads the table line by line.
class CsvReader
{
  public:
    CsvReader(const std::string& file, const std::string& model, std::vector<topo::Error>& errors)
        : m_file(file),
          m_model(model),
          m_errors(errors)
    {
    }

    std::optional<LayerProfile> Read(const std::string& text)
    {
        const size_t before = m_errors.size();
        std::istringstream in(text);
        std::string line;
        std::vector<std::string> fields;
        while (std::getline(in, line) && m_errors.size() - before < 20)
        {
            ++m_line;
            if (line.find_first_not_of(" \t\r") == std::string::npos)
            {
                continue;
            }
            if (!Split(line, &fields))
            {
                Say("", "a quote is not closed");
            }
            else if (m_columns.empty())
            {
                Header(fields);
                if (m_errors.size() != before)
                {
                    return std::nullopt;
                }
            }
            else
            {
                Layer(fields);
            }
        }
        if (m_errors.size() == before)
        {
            Judge();
        }
        if (m_errors.size() != before)
        {
            return std::nullopt;
        }
        m_profile.name = !m_model.empty() ? m_model : m_models.empty() ? "" : *m_models.begin();
        return std::move(m_profile);
    }

  private:
    void Say(const std::string& value, const std::string& problem)
    {
        m_errors.push_back(
            {m_file + ':' + std::to_string(std::max<size_t>(m_line, 1)), value, problem});
    }

    void Header(const std::vector<std::string>& fields)
    {
        for (size_t i = 0; i < fields.size(); ++i)
        {
            if (!m_columns.emplace(fields[i], i).second)
            {
                Say(topo::Quoted(fields[i]), "names two columns");
            }
        }
        std::string missing;
        uint32_t count = 0;
        for (const char* column : {"fwd_ms", "bwd_ms", "activation_bytes", "parameter_bytes"})
        {
            if (m_columns.count(column) == 0)
            {
                missing += (count++ == 0 ? "" : ", ") + std::string(column);
            }
        }
        if (count > 0)
        {
            Say("",
                (count == 1 ? "the column " : "the columns ") + missing +
                    (count == 1 ? " is missing" : " are missing"));
        }
        m_width = fields.size();
        m_profile.note = scenario::UnusedColumns(
            m_file,
            fields,
            {"model", "name", "op", "fwd_ms", "bwd_ms", "activation_bytes", "parameter_bytes"});
    }

    void Layer(const std::vector<std::string>& fields)
    {
        if (fields.size() != m_width)
        {
            Say("",
                std::to_string(fields.size()) + " fields where the first line has " +
                    std::to_string(m_width));
            return;
        }
        if (m_columns.count("model") > 0)
        {
            const std::string& model = fields[m_columns["model"]];
            m_models.insert(model);
            if (!m_model.empty() && model != m_model)
            {
                return;
            }
        }
        const auto number = [&](const char* column, double most) {
            const std::string& text = fields[m_columns[column]];
            const auto value = Number(text, most);
            if (!value)
            {
                std::ostringstream limit;
                limit << most;
                Say(topo::Quoted(text),
                    std::string("is not a number from 0 to ") + limit.str() + " (" + column + ")");
            }
            return value.value_or(0);
        };
        if (m_columns.count("op") > 0 && fields[m_columns["op"]] == "Input")
        {
            return; // loads a batch
        }
        ProfiledLayer layer;
        const bool named = m_columns.count("name") > 0;
        if (named || m_columns.count("op") > 0)
        {
            layer.name = fields[m_columns[named ? "name" : "op"]];
        }
        if (!rdma::IsName(layer.name))
        {
            Say(topo::Quoted(layer.name),
                std::string("is no name of a layer; allowed: ") + rdma::kNameHelp);
        }
        layer.forwardSeconds = number("fwd_ms", kMostMs) * 1e-3;
        layer.backwardSeconds = number("bwd_ms", kMostMs) * 1e-3;
        layer.activationBytes = number("activation_bytes", kMostBytes);
        layer.parameterBytes = number("parameter_bytes", kMostBytes);
        if (std::fmod(layer.parameterBytes, m_profile.elementBytes) != 0)
        {
            Say(fields[m_columns["parameter_bytes"]],
                NotWhole(m_profile.elementBytes) + " (parameter_bytes)");
        }
        if (m_columns.count("op") > 0)
        {
            const std::string& op = fields[m_columns["op"]];
            if (HasNegativeSize(op))
            {
                Say(topo::Quoted(op), "has a size below 0 (op)");
            }
            layer.forwardFlops = FlopsOfOp(op, layer.activationBytes);
        }
        m_profile.layers.push_back(std::move(layer));
    }

    /// Checks that need all lines together.
    void Judge()
    {
        const std::vector<std::string> models(m_models.begin(), m_models.end());
        if (m_model.empty() && m_models.size() > 1)
        {
            m_errors.push_back({m_file,
                                "",
                                "has several models; " +
                                    scenario::Spell(&scenario::asked::Training::profileModel) +
                                    " says which; allowed: " + topo::JoinNames(models)});
        }
        else if (!m_model.empty() && m_columns.count("model") == 0)
        {
            m_errors.push_back(
                {m_file, "", "has no column model, so none can be named (" + m_model + ")"});
        }
        else if (m_profile.layers.empty())
        {
            m_errors.push_back(
                {m_file,
                 "",
                 m_model.empty() || m_models.empty()
                     ? "has no layers"
                     : "has no layers of " + topo::Quoted(m_model) + ", which " +
                           scenario::Spell(&scenario::asked::Training::profileModel) +
                           " says; allowed: " + topo::JoinNames(models) +
                           topo::DidYouMean(m_model, models)});
        }
    }

    std::string m_file;
    std::string m_model;
    std::vector<topo::Error>& m_errors;
    size_t m_line = 0;
    size_t m_width = 0;
    std::map<std::string, size_t> m_columns;
    std::set<std::string> m_models;
    LayerProfile m_profile;
};

} // namespace

std::optional<LayerProfile>
ParseProfileCsv(const std::string& text,
                const std::string& file,
                const std::string& model,
                std::vector<topo::Error>& errors)
{
    return CsvReader(file, model, errors).Read(text);
}

} // namespace training
