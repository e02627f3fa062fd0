/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/requests/request-trace.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/serving.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/requests/request-collector.h"
#include "scenarios/formats/requests/request-columns.h"
#include "scenarios/inference/requests.h"
#include "scenarios/options/member.h"
#include "scenarios/traffic/csv-line.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <unordered_set>

namespace formats
{

namespace
{

using nlohmann::json;

std::string
NoTime(const std::string& name, const std::string& text)
{
    return name + " '" + rdma::Shown(text, 60) +
           "' is no time; allowed: a number, 0 or more, or a date such as 2023-11-16 18:17:03.98";
}

std::string
NoTokens(const std::string& name, const std::string& text)
{
    return name + " '" + rdma::Shown(text, 60) + "' is no number of tokens; allowed: 0 to " +
           std::to_string(serving::kMostTokens);
}

/// A table whose first line names its columns.
class CsvRequests
{
  public:
    explicit CsvRequests(Collector* to)
        : m_to(*to)
    {
    }

    std::optional<RequestTrace> Read(const std::string& text)
    {
        std::istringstream stream(text.rfind("\xEF\xBB\xBF", 0) == 0 ? text.substr(3) : text);
        std::string line;
        std::vector<std::string> fields;
        while (std::getline(stream, line) && !m_to.TooMany())
        {
            ++m_line;
            if (line.find_first_not_of(" \t\r,") == std::string::npos)
            {
                continue;
            }
            if (!scenario::SplitCsvLine(line, &fields))
            {
                Fail("a quote is not closed");
            }
            else if (m_names.empty())
            {
                TakeNames(fields);
                if (!m_to.Fine())
                {
                    return std::nullopt;
                }
            }
            else if (fields.size() != m_names.size())
            {
                Fail(std::to_string(fields.size()) + " fields, the first line names " +
                     std::to_string(m_names.size()));
            }
            else
            {
                TakeFields(fields);
            }
        }
        if (m_names.empty())
        {
            m_to.Fail("", "has no line that names columns: arrival_s,input_tokens,output_tokens");
            return std::nullopt;
        }
        auto trace = m_to.Take(m_columns.arrival != kNoColumn);
        if (trace)
        {
            trace->note = NoteOfColumns();
        }
        return trace;
    }

  private:
    void Fail(const std::string& problem)
    {
        m_to.Fail(std::to_string(m_line), problem);
    }

    std::string NoteOfColumns() const
    {
        std::vector<std::size_t> used = {m_columns.arrival, m_columns.prompt, m_columns.output};
        used.insert(used.end(), m_runs.begin(), m_runs.end());
        used.insert(used.end(), m_filtered.begin(), m_filtered.end());
        std::vector<std::string> names;
        for (const std::size_t column : used)
        {
            if (column != kNoColumn)
            {
                names.push_back(m_names[column]);
            }
        }
        return scenario::UnusedColumns(m_to.GetFile(), m_names, names);
    }

    void TakeNames(const std::vector<std::string>& fields)
    {
        m_names = fields;
        for (auto name = m_names.begin(); name != m_names.end(); ++name)
        {
            if (!name->empty() && std::find(m_names.begin(), name, *name) != name)
            {
                Fail("column '" + rdma::Shown(*name, 60) + "' stands there twice");
            }
        }
        m_columns = FindRequestColumns(m_names, false);
        if (!m_columns.problem.empty())
        {
            Fail(m_columns.problem);
        }
        m_to.CheckFilter(m_names, std::to_string(m_line));
        for (const std::string& run : RunColumns())
        {
            const std::size_t at = FindColumn(m_names, run);
            if (at != kNoColumn && !m_to.IsChosen(run))
            {
                m_runs.push_back(at);
            }
        }
        for (const auto& one : m_to.Filter())
        {
            m_filtered.push_back(FindColumn(m_names, one.first));
        }
    }

    void TakeFields(const std::vector<std::string>& fields)
    {
        for (const std::size_t column : m_filtered)
        {
            if (!m_to.Takes(m_names[column], fields[column]))
            {
                return;
            }
        }
        for (const std::size_t column : m_runs)
        {
            m_to.SeeRun(m_names[column], fields[column]);
        }
        std::optional<WidePs> arrival;
        if (m_columns.arrival != kNoColumn)
        {
            arrival = ParseArrival(fields[m_columns.arrival], m_columns.digits);
            if (!arrival)
            {
                Fail(NoTime(m_names[m_columns.arrival], fields[m_columns.arrival]));
            }
        }
        const auto prompt = Tokens(fields, m_columns.prompt);
        const auto output = Tokens(fields, m_columns.output);
        m_to.Add(arrival, prompt, output);
    }

    uint32_t Tokens(const std::vector<std::string>& fields, std::size_t column)
    {
        const auto tokens = ParseTokenCount(fields[column]);
        if (!tokens)
        {
            Fail(NoTokens(m_names[column], fields[column]));
        }
        return tokens.value_or(1);
    }

    Collector& m_to;
    uint64_t m_line = 0;
    std::vector<std::string> m_names;
    RequestColumns m_columns;
    std::vector<std::size_t> m_filtered;
    std::vector<std::size_t> m_runs;
};

/// A number or text of JSON as a CSV has it.
std::string
FieldOf(const json& value)
{
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Code points of UTF-8.
std::size_t
CharactersOf(const std::string& text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

uint32_t
EstimatedTokens(const std::string& text)
{
    const double tokens = std::ceil(static_cast<double>(CharactersOf(text)) / kCharactersOfToken);
    return static_cast<uint32_t>(std::min<double>(tokens, serving::kMostTokens));
}

/// JSON objects, one after another.
class JsonRequests
{
  public:
    explicit JsonRequests(Collector* to)
        : m_to(*to)
    {
    }

    /// \param place a line, or a JSON path
    void Take(const json& object, const std::string& place)
    {
        if (!object.is_object())
        {
            m_to.Fail(place, "is no JSON object with a request");
            return;
        }
        for (const char* turns : {"conversations", "conversation", "messages"})
        {
            if (object.contains(turns))
            {
                TakeConversation(object[turns], place);
                return;
            }
        }
        TakeRequest(object, place);
    }

    std::optional<RequestTrace> Finish()
    {
        if (m_promptTokens > 0)
        {
            m_to.Trace().prefixShare = m_sharedTokens / m_promptTokens;
        }
        return m_to.Take(m_arrivals);
    }

  private:
    void TakeRequest(const json& object, const std::string& place)
    {
        std::vector<std::string> names;
        std::vector<const json*> values;
        for (const auto& [name, value] : object.items())
        {
            names.push_back(name);
            values.push_back(&value);
        }
        if (names != m_names)
        {
            m_names = names;
            m_columns = FindRequestColumns(names, true);
        }
        if (!m_columns.problem.empty())
        {
            m_to.Fail(place, m_columns.problem);
            return;
        }
        m_to.CheckFilter(names, place);
        for (std::size_t i = 0; i < names.size(); ++i)
        {
            if (!m_to.Takes(names[i], FieldOf(*values[i])))
            {
                return;
            }
        }
        for (const std::string& run : RunColumns())
        {
            const std::size_t at = FindColumn(names, run);
            if (at != kNoColumn && !m_to.IsChosen(run))
            {
                m_to.SeeRun(names[at], FieldOf(*values[at]));
            }
        }
        std::optional<WidePs> arrival;
        if (m_columns.arrival != kNoColumn)
        {
            const std::string text = FieldOf(*values[m_columns.arrival]);
            arrival = ParseArrival(text, m_columns.digits);
            if (!arrival)
            {
                m_to.Fail(place, NoTime(names[m_columns.arrival], text));
            }
        }
        NoteArrival(arrival.has_value(), place);
        const uint32_t prompt = Tokens(names, values, m_columns.prompt, place);
        const uint32_t output = Tokens(names, values, m_columns.output, place);
        CountShared(object, prompt);
        m_to.Add(arrival, prompt, output);
    }

    uint32_t Tokens(const std::vector<std::string>& names,
                    const std::vector<const json*>& values,
                    std::size_t column,
                    const std::string& place)
    {
        const std::string text = FieldOf(*values[column]);
        const auto tokens = ParseTokenCount(text);
        if (!tokens)
        {
            m_to.Fail(place, NoTokens(names[column], text));
        }
        return tokens.value_or(1);
    }

    /// All requests have an arrival, or none.
    void NoteArrival(bool has, const std::string& place)
    {
        if (m_any && has != m_arrivals)
        {
            m_to.Fail(place,
                      has ? "has an arrival, and those before it have none"
                          : "has no arrival, and those before it have one");
        }
        m_any = true;
        m_arrivals = m_arrivals || has;
    }

    void CountShared(const json& object, uint32_t prompt)
    {
        const auto ids = object.find("hash_ids");
        if (ids == object.end() || !ids->is_array())
        {
            return;
        }
        std::size_t blocks = 0;
        bool shared = true;
        for (const json& id : *ids)
        {
            const bool isNew = m_blocks.insert(FieldOf(id)).second;
            shared = shared && !isNew;
            blocks += shared ? 1 : 0;
        }
        m_promptTokens += prompt;
        m_sharedTokens += std::min<double>(prompt, static_cast<double>(blocks) * kMooncakeBlock);
    }

    /// Text of one turn; null: it has none.
    const json* TextOf(const json& turn)
    {
        for (const char* key : {"value", "content"})
        {
            if (turn.is_object() && turn.contains(key) && turn[key].is_string())
            {
                return &turn[key];
            }
        }
        return nullptr;
    }

    /// The first two turns. One that has no answer asks for no tokens.
    void TakeConversation(const json& turns, const std::string& place)
    {
        if (!turns.is_array())
        {
            m_to.Fail(place, "has conversations that are no list of turns");
            return;
        }
        if (!m_to.Filter().empty())
        {
            m_to.Fail(place,
                      "is a conversation, which has no columns for " +
                          scenario::Spell(&scenario::asked::Serving::requestsWhere));
            return;
        }
        m_to.Trace().estimated = true;
        NoteArrival(false, place);
        if (turns.size() < 2)
        {
            m_to.Add(std::nullopt, 0, 0);
            return;
        }
        const json* const question = TextOf(turns[0]);
        const json* const answer = TextOf(turns[1]);
        if (!question || !answer)
        {
            m_to.Fail(place, "has a turn without a text, 'value' or 'content'");
            return;
        }
        m_to.Add(std::nullopt,
                 EstimatedTokens(question->get_ref<const std::string&>()),
                 EstimatedTokens(answer->get_ref<const std::string&>()));
    }

    Collector& m_to;
    std::vector<std::string> m_names;
    RequestColumns m_columns;
    bool m_any = false;
    bool m_arrivals = false;
    std::unordered_set<std::string> m_blocks;
    double m_promptTokens = 0;
    double m_sharedTokens = 0;
};

/// An object a line.
std::optional<RequestTrace>
ReadLines(const std::string& text, Collector* to)
{
    JsonRequests requests(to);
    std::istringstream stream(text);
    std::string line;
    uint64_t number = 0;
    while (std::getline(stream, line) && !to->TooMany())
    {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos)
        {
            continue;
        }
        const topo::JsonText parsed = topo::ParseJsonText(line, "");
        if (parsed.error)
        {
            // ":1:COLUMN" of the line
            to->Fail(std::to_string(number) + parsed.error.file.substr(2), parsed.error.problem);
            continue;
        }
        requests.Take(parsed.value, std::to_string(number));
    }
    return requests.Finish();
}

std::optional<RequestTrace>
ReadList(const std::string& text,
         const std::string& file,
         Collector* to,
         std::vector<topo::Error>& errors)
{
    topo::JsonText parsed = topo::ParseJsonText(text, file);
    if (parsed.error)
    {
        errors.push_back(std::move(parsed.error));
        return std::nullopt;
    }
    JsonRequests requests(to);
    for (std::size_t i = 0; i < parsed.value.size() && !to->TooMany(); ++i)
    {
        requests.Take(parsed.value[i], "/" + std::to_string(i));
    }
    return requests.Finish();
}

} // namespace

std::optional<RequestTrace>
ParseRequestTrace(const std::string& text,
                  const std::string& file,
                  const RequestFilter& filter,
                  std::vector<topo::Error>& errors)
{
    Collector to(file, filter, errors);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
    {
        to.Fail("", "is empty");
        return std::nullopt;
    }
    return text[first] == '['   ? ReadList(text, file, &to, errors)
           : text[first] == '{' ? ReadLines(text, &to)
                                : CsvRequests(&to).Read(text);
}

std::optional<RequestTrace>
ReadRequestTrace(const std::string& file,
                 const RequestFilter& filter,
                 std::vector<topo::Error>& errors)
{
    const auto text = ReadInput(file, errors);
    return text ? ParseRequestTrace(*text, file, filter, errors) : std::nullopt;
}

} // namespace formats
