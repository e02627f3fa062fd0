/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/csv-rows.h"

#include "contrib/rdma/core/name-rule.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/traffic/csv-line.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <tuple>

namespace multiplex
{

namespace
{

constexpr double MOST_MS = 1e7; // nearly three hours
constexpr std::size_t MOST_ERRORS = 10;

std::vector<std::string>
FieldsOf(const std::string& line)
{
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line)
    {
        if (c == '"')
        {
            quoted = !quoted;
        }
        else if (c == ',' && !quoted)
        {
            fields.emplace_back();
        }
        else if (c != '\r')
        {
            fields.back() += c;
        }
    }
    for (std::string& field : fields)
    {
        const std::size_t begin = field.find_first_not_of(" \t");
        field = begin == std::string::npos
                    ? ""
                    : field.substr(begin, field.find_last_not_of(" \t") - begin + 1);
    }
    return fields;
}

/// The lines of a file with a header.
class CsvReader
{
  public:
    CsvReader(const std::string& path, std::vector<topo::Error>& errors)
        : m_path(path),
          m_errors(errors),
          m_before(errors.size())
    {
        if (auto text = formats::ReadInput(path, errors))
        {
            m_in.str(*text);
            Next();
            m_header = m_fields;
        }
    }

    /// Whether all of these columns are there.
    bool Has(const std::vector<std::string>& columns) const
    {
        return std::all_of(columns.begin(), columns.end(), [this](const std::string& column) {
            return std::find(m_header.begin(), m_header.end(), column) != m_header.end();
        });
    }

    bool IsGood() const
    {
        return m_errors.size() == m_before;
    }

    bool Next()
    {
        std::string line;
        while (m_errors.size() < m_before + MOST_ERRORS && std::getline(m_in, line))
        {
            ++m_line;
            m_fields = FieldsOf(line);
            if (m_fields.size() > 1 || !m_fields.front().empty())
            {
                return true;
            }
        }
        return false;
    }

    void Fail(const std::string& value, const std::string& problem)
    {
        m_errors.push_back({m_path + ":" + std::to_string(m_line), value, problem, ""});
    }

    std::string Text(const std::string& column)
    {
        const auto at = static_cast<std::size_t>(
            std::find(m_header.begin(), m_header.end(), column) - m_header.begin());
        if (at >= m_fields.size() || m_fields[at].empty())
        {
            Fail("", column + " is missing");
            return "";
        }
        return m_fields[at];
    }

    std::string Name(const std::string& column)
    {
        const std::string name = Text(column);
        if (!rdma::IsName(name))
        {
            Fail(name, std::string("is no name; allowed: ") + rdma::kNameHelp);
        }
        return name;
    }

    double Number(const std::string& column, double above, double most)
    {
        const std::size_t before = m_errors.size();
        const std::string text = Text(column);
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        if (m_errors.size() == before && (!whole || !(value > above) || value > most))
        {
            std::ostringstream words;
            words << "is not a " << column << "; allowed: above " << above << ", at most " << most;
            Fail(text, words.str());
        }
        return value;
    }

    uint32_t Batch(const std::string& column)
    {
        const double value = Number(column, 0, 65536);
        if (value != std::floor(value))
        {
            Fail(std::to_string(value), "a batch is a whole number");
        }
        return value >= 1 && value <= 65536 ? static_cast<uint32_t>(value) : 1;
    }

    const std::string& Path() const
    {
        return m_path;
    }

    const std::vector<std::string>& Header() const
    {
        return m_header;
    }

  private:
    std::string m_path;
    std::vector<topo::Error>& m_errors;
    std::size_t m_before;
    std::istringstream m_in;
    std::size_t m_line = 0;
    std::vector<std::string> m_header;
    std::vector<std::string> m_fields;
};

const std::vector<std::string> ALONE = {"model", "batch", "gpu_percent", "latency_ms"};
const std::vector<std::string> PAIRS = {"model1",
                                        "model2",
                                        "batch1",
                                        "batch2",
                                        "gpu_percent1",
                                        "gpu_percent2",
                                        "latency1_ms",
                                        "latency2_ms"};

const std::vector<std::string> SLICES = {"model",
                                         "instance",
                                         "processes",
                                         "batch",
                                         "throughput_total_per_s"};
constexpr double LEAST_PER_SECOND = 1e-6;
constexpr double MOST_PER_SECOND = 1e9;

std::string
Joined(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names)
    {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

void
NoteColumns(const CsvReader& reader,
            const std::vector<std::string>& known,
            std::vector<std::string>* notes)
{
    const std::string note = scenario::UnusedColumns(reader.Path(), reader.Header(), known);
    if (notes && !note.empty())
    {
        notes->push_back(note);
    }
}

void
SayColumns(CsvReader& reader, const std::string& needed)
{
    reader.Fail("", "has the columns " + Joined(reader.Header()) + "; needed: " + needed);
}

CurveTable
ReadAlone(CsvReader& reader, std::vector<std::string>* notes)
{
    NoteColumns(reader, ALONE, notes);
    CurveTable table;
    std::set<std::tuple<std::string, uint32_t, double>> seen;
    while (reader.Next())
    {
        const std::string model = reader.Name("model");
        CurvePoint point;
        point.batch = reader.Batch("batch");
        point.percent = reader.Number("gpu_percent", 0, kWholeGpu);
        point.seconds = reader.Number("latency_ms", 0, MOST_MS) / 1e3;
        if (!seen.emplace(topo::FoldedName(model), point.batch, point.percent).second)
        {
            reader.Fail(model, "has this batch and share on an earlier line, too");
        }
        table[model].push_back(point);
    }
    return table;
}

/// Other columns of theirs say where a row is from: no note names them.
std::vector<SliceRow>
ReadSlices(CsvReader& reader)
{
    std::vector<SliceRow> rows;
    const bool named = reader.Has({"row_id"});
    const bool timed = reader.Has({"latency_ms"});
    while (reader.Next())
    {
        SliceRow row;
        row.id = named ? reader.Text("row_id") : "";
        row.model = reader.Text("model");
        const std::string instance = reader.Text("instance");
        row.instance = FindMigInstance(instance);
        if (!instance.empty() && !row.instance)
        {
            reader.Fail(instance, "is no MIG instance; allowed: " + MigInstanceNames());
        }
        const double processes = reader.Number("processes", 0, kMostProcesses);
        if (processes != std::floor(processes))
        {
            reader.Fail(std::to_string(processes), "processes are a whole number");
        }
        row.processes = processes >= 1 ? static_cast<uint32_t>(processes) : 1;
        row.batch = reader.Batch("batch");
        row.perSecond = reader.Number("throughput_total_per_s", LEAST_PER_SECOND, MOST_PER_SECOND);
        row.seconds = timed ? reader.Number("latency_ms", 0, MOST_MS) / 1e3 : 0;
        rows.push_back(row);
    }
    return rows;
}

} // namespace

Measurements
ReadCurveRows(const std::string& path,
              std::vector<topo::Error>& errors,
              std::vector<std::string>* notes)
{
    CsvReader reader(path, errors);
    Measurements all;
    if (!reader.IsGood())
    {
        return all;
    }
    if (reader.Has(ALONE))
    {
        all.alone = ReadAlone(reader, notes);
    }
    else if (reader.Has(SLICES))
    {
        all.slices = ReadSlices(reader);
    }
    else
    {
        SayColumns(reader, Joined(ALONE) + ", or " + Joined(SLICES));
        return all;
    }
    if (reader.IsGood() && all.alone.empty() && all.slices.empty())
    {
        reader.Fail("", "has no rows");
    }
    return all;
}

Measurements
ReadMeasurements(const std::string& path,
                 std::vector<topo::Error>& errors,
                 std::vector<std::string>* notes)
{
    CsvReader reader(path, errors);
    Measurements all;
    if (!reader.IsGood())
    {
        return all;
    }
    if (reader.Has(ALONE))
    {
        all.alone = ReadAlone(reader, notes);
        return all;
    }
    if (reader.Has(SLICES))
    {
        all.slices = ReadSlices(reader);
        return all;
    }
    if (!reader.Has(PAIRS))
    {
        SayColumns(reader, Joined(ALONE) + "; or " + Joined(PAIRS) + "; or " + Joined(SLICES));
        return all;
    }
    NoteColumns(reader, PAIRS, notes);
    while (reader.Next())
    {
        PairRow row;
        for (const int i : {0, 1})
        {
            const std::string n = std::to_string(i + 1);
            row.model[i] = reader.Name("model" + n);
            row.batch[i] = reader.Batch("batch" + n);
            row.percent[i] = reader.Number("gpu_percent" + n, 0, kWholeGpu);
            row.seconds[i] = reader.Number("latency" + n + "_ms", 0, MOST_MS) / 1e3;
        }
        all.pairs.push_back(row);
    }
    return all;
}

} // namespace multiplex
